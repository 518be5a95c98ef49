// Clusters that grew: boxes of several generations on common rails, some with half of the NICs.
//
// mix:dgx-a100:4+dgx-h100:4/4 is four DGX A100 and four DGX H100 with a NIC at every second GPU. Every
// box keeps the NVLinks and NICs of its kind; a rail's switch takes whatever speed its cables have.
#include <algorithm>
#include <cmath>
#include <utility>

#include "stellwerk/io/catalogue_boxes.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

struct Part {
  const BoxProduct* product = nullptr;
  std::size_t boxes = 0;
  std::size_t nics = 0;  ///< of a box
};

std::size_t number_at(const CatalogueName& name, std::string_view text, const char* what) {
  const auto value = whole_number<std::size_t>(text);
  if (!value || *value < 1 || *value > 100'000)
    name.fail(in_quotes(text) + " is no number of " + what + ": write it as in dgx-h100:4/4");
  return *value;
}

std::vector<Part> take_parts(const CatalogueName& name) {
  std::vector<Part> parts;
  std::string_view rest = name.shape();
  for (bool more = true; more;) {
    const std::size_t end = std::min(rest.find('+'), rest.size());
    const std::string_view text = rest.substr(0, end);
    more = end < rest.size();
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t colon = text.find(':');
    Part part;
    part.product = find_box_product(text.substr(0, colon));
    if (part.product == nullptr || colon == std::string_view::npos) {
      name.fail(in_quotes(text) +
                " is not boxes of dgx-a100, dgx-h100 or dgx-b200 and their number: write it as in "
                "mix:dgx-a100:4+dgx-h100:4");
    }
    const std::string_view counts = text.substr(colon + 1);
    const std::size_t slash = std::min(counts.find('/'), counts.size());
    part.boxes = number_at(name, counts.substr(0, slash), "boxes");
    part.nics = part.product->gpus;
    if (slash < counts.size()) {
      part.nics = number_at(name, counts.substr(slash + 1), "NICs a box");
      if (part.product->gpus % part.nics != 0) {
        name.fail("a box of " + std::to_string(part.product->gpus) + " GPUs has 1, 2, 4 or 8 NICs");
      }
    }
    parts.push_back(part);
  }
  return parts;
}

}  // namespace

CatalogueDraft draft_mix(CatalogueName& name) {
  const std::vector<Part> parts = take_parts(name);
  const auto fabric = name.take("fabric");
  if (fabric && *fabric != "rails" && *fabric != "switch") {
    name.fail("fabric: " + in_quotes(*fabric) + " is neither rails nor switch");
  }
  const bool one_switch = fabric && *fabric == "switch";
  const bool multicast = name.take_flag("multicast");
  const bool slow = name.has("slow-nic");
  Ratio ratio;
  if (slow) {
    // Written as what is left of the NIC: x0.5.
    const std::string text = name.take("slow-nic").value_or("");
    const auto left =
        whole_number<double>(std::string_view(text).substr(text.starts_with('x') ? 1 : 0));
    if (!left || !(*left > 0) || *left > 1)
      name.fail("slow-nic: " + in_quotes(text) + " is no part of a NIC: write it as in x0.5");
    ratio.numerator = std::llround(*left * 1000);
    ratio.denominator = 1000;
  }
  double gpus = 0, boxes = 0;
  for (const Part& part : parts) {
    boxes += static_cast<double>(part.boxes);
    gpus += static_cast<double>(part.boxes) * static_cast<double>(part.product->gpus);
  }
  check_catalogue_size(name, gpus + boxes + 8, 4 * gpus);

  CatalogueDraft draft;
  draft.name = "mix";
  for (const Part& part : parts) {
    draft.name += "-" + std::to_string(part.boxes) + "x" +
                  (part.product == find_box_product("dgx-a100")   ? "a100"
                   : part.product == find_box_product("dgx-h100") ? "h100"
                                                                  : "b200");
    if (part.nics < part.product->gpus) draft.name += "n" + std::to_string(part.nics);
  }
  if (one_switch) draft.name += "-switch";
  if (multicast) draft.name += "-multicast";
  if (slow) draft.name += "-slow";

  // Hosts are numbered through all parts.
  struct Nic {
    NodeId gpu;
    std::size_t rail;
    Bandwidth bandwidth;
    std::string source;
  };
  std::vector<Nic> nics;
  std::size_t host_number = 0;
  for (const Part& part : parts) {
    const BoxProduct& product = *part.product;
    const std::string nvlink = std::string(product.nvlink_source) + "; 0.35us a hop (TE-CCL)";
    const std::string nic_source = std::string(product.nic_source) + "; 1.3us a hop (TACCL)";
    const std::size_t step = product.gpus / part.nics;
    for (std::size_t b = 0; b < part.boxes; ++b) {
      const std::string host = "h" + std::to_string(host_number++);
      std::vector<NodeId> members;
      for (std::size_t g = 0; g < product.gpus; ++g) {
        members.push_back(draft.add(host + ".gpu" + std::to_string(g), NodeKind::gpu, host));
        draft.nodes[members.back()].rail = static_cast<int>(g);
      }
      const NodeId box_switch = draft.add(host + ".nvswitch", NodeKind::switch_, host);
      draft.nodes[box_switch].multicast = multicast;
      for (const NodeId gpu : members) {
        connect_both(draft, gpu, box_switch, megabytes_per_second(product.nvlink_mb),
                     nanoseconds(350), nvlink);
      }
      for (std::size_t g = 0; g < product.gpus; g += step) {
        Bandwidth bandwidth = megabytes_per_second(product.nic_mb);
        std::string source = nic_source;
        if (slow && nics.empty()) {
          bandwidth.bytes_per_second =
              bandwidth.bytes_per_second / ratio.denominator * ratio.numerator;
          source += "; slow";
        }
        nics.push_back({members[g], g, bandwidth, std::move(source)});
      }
    }
  }
  std::vector<NodeId> switches(8);
  for (const Nic& nic : nics) {
    NodeId& rail_switch = switches[one_switch ? 0 : nic.rail];
    if (!rail_switch.valid()) {
      rail_switch = draft.add(one_switch ? "fabric" : "rail" + std::to_string(nic.rail),
                              NodeKind::switch_, "");
      draft.nodes[rail_switch].multicast = multicast;
      if (!one_switch) draft.nodes[rail_switch].rail = static_cast<int>(nic.rail);
    }
    connect_both(draft, nic.gpu, rail_switch, nic.bandwidth, nanoseconds(1300), nic.source);
  }
  return draft;
}

}  // namespace stellwerk
