// Rail-optimised fabrics: boxes of GPUs on a switch of their own; GPU r of every box has a NIC on
// rail r, which is one more switch.
#include "stellwerk/io/catalogue_draft.hpp"

namespace stellwerk {

CatalogueDraft draft_rail(CatalogueName& name) {
  const auto sizes = name.dimensions(2, 2, "rail:4x8 (boxes x GPUs a box)");
  const auto boxes = static_cast<std::size_t>(sizes[0]);
  const auto gpus = static_cast<std::size_t>(sizes[1]);
  const double count = static_cast<double>(boxes) * static_cast<double>(gpus);
  check_catalogue_size(name, count + static_cast<double>(boxes + gpus), 4 * count);
  const Bandwidth nvlink = name.take_bandwidth("nvlink", megabytes_per_second(450000));
  const Bandwidth nic = name.take_bandwidth("nic", megabytes_per_second(50000));
  const bool multicast = name.take_flag("multicast");
  const std::string in_box =
      "rail: " + to_exact_string(nvlink) +
      " a GPU (18 NVLink 4 of an H100: 450GB/s), 0.35us to or from the box's switch";
  const std::string on_rail = "rail: " + to_exact_string(nic) +
                              " a NIC (400 Gbit/s: 50GB/s), 1.3us to or from the rail's switch";

  CatalogueDraft draft;
  draft.name = "rail-" + name.shape() + (multicast ? "-multicast" : "");
  std::vector<NodeId> box_switch, rail_switch;
  IdVector<NodeId, Node>& nodes = draft.nodes;
  for (std::size_t b = 0; b < boxes; ++b) {
    const std::string host = "h" + std::to_string(b);
    for (std::size_t g = 0; g < gpus; ++g) {
      const NodeId id = draft.add(host + ".gpu" + std::to_string(g), NodeKind::gpu, host);
      nodes[id].rail = static_cast<int>(g);
    }
    box_switch.push_back(draft.add(host + ".nvswitch", NodeKind::switch_, host));
    nodes[box_switch.back()].multicast = multicast;
  }
  for (std::size_t g = 0; g < gpus; ++g) {
    rail_switch.push_back(draft.add("rail" + std::to_string(g), NodeKind::switch_, ""));
    nodes[rail_switch.back()].multicast = multicast;
    nodes[rail_switch.back()].rail = static_cast<int>(g);
  }
  const auto gpu = [&](std::size_t b, std::size_t g) { return NodeId(b * (gpus + 1) + g); };
  for (std::size_t b = 0; b < boxes; ++b) {
    for (std::size_t g = 0; g < gpus; ++g) {
      draft.connect(gpu(b, g), box_switch[b], nvlink, nanoseconds(350), in_box);
      draft.connect(box_switch[b], gpu(b, g), nvlink, nanoseconds(350), in_box);
    }
  }
  for (std::size_t g = 0; g < gpus; ++g) {
    for (std::size_t b = 0; b < boxes; ++b) {
      draft.connect(gpu(b, g), rail_switch[g], nic, nanoseconds(1300), on_rail);
      draft.connect(rail_switch[g], gpu(b, g), nic, nanoseconds(1300), on_rail);
    }
  }
  return draft;
}

}  // namespace stellwerk
