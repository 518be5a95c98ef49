// Machines that are sold, from the figures that their makers publish. Real ones differ: a NIC may
// be slower, a switch oversubscribed; write such a network to a file and edit it.
#include <array>

#include "stellwerk/io/catalogue_boxes.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

/// How NICs meet: option fabric=rails|switch.
bool take_one_switch(CatalogueName& name) {
  const auto text = name.take("fabric");
  if (text && *text != "rails" && *text != "switch") {
    name.fail("fabric: " + in_quotes(*text) + " is neither rails nor switch");
  }
  return text && *text == "switch";
}

constexpr Time kNicLatency = nanoseconds(1300);
constexpr const char* kNicLatencySource =
    "; 1.3us to or from the switch (InfiniBand in TACCL, NSDI 2023)";

constexpr BoxProduct kDgxA100 = {
    8,
    300'000,
    25'000,
    8,
    "DGX A100 data sheet: 12 NVLink 3 of 25 GB/s each way a GPU, through NVSwitch",
    "DGX A100 data sheet: a ConnectX-6 of 200 Gbit/s a GPU"};

constexpr BoxProduct kDgxH100 = {
    8,
    450'000,
    50'000,
    8,
    "DGX H100 data sheet: 18 NVLink 4 of 25 GB/s each way a GPU, through NVSwitch",
    "DGX H100 data sheet: a ConnectX-7 of 400 Gbit/s a GPU"};

constexpr BoxProduct kDgxB200 = {
    8,
    900'000,
    50'000,
    8,
    "DGX B200 data sheet: 18 NVLink 5 of 50 GB/s each way a GPU, through NVSwitch",
    "DGX B200 data sheet: a ConnectX-7 of 400 Gbit/s a GPU"};

CatalogueDraft draft_product(CatalogueName& name, const BoxProduct& product) {
  const std::int64_t count = name.dimensions(1, 1, name.family() + ":2").front();
  NicFabric fabric;
  fabric.one_switch = take_one_switch(name);
  BoxKind box;
  box.gpus = product.gpus;
  box.rails = product.rails;
  box.bandwidth = megabytes_per_second(product.nvlink_mb);
  box.latency = nanoseconds(350);
  box.source =
      std::string(product.nvlink_source) + "; 0.35us a hop (NVSwitch in TE-CCL, SIGCOMM 2024)";
  box.multicast = fabric.multicast = name.take_flag("multicast");
  fabric.rails = product.rails;
  fabric.bandwidth = megabytes_per_second(product.nic_mb);
  fabric.latency = kNicLatency;
  fabric.source = std::string(product.nic_source) + kNicLatencySource;
  const double gpus = static_cast<double>(count) * static_cast<double>(product.gpus);
  check_catalogue_size(name, gpus + static_cast<double>(count) + 8, 4 * gpus);

  CatalogueDraft draft;
  draft.name = name.family() + "-" + name.shape();
  if (fabric.one_switch && count > 1) draft.name += "-switch";
  if (box.multicast) draft.name += "-multicast";
  const Boxes boxes = add_boxes(draft, box, static_cast<std::size_t>(count));
  connect_boxes(draft, box, boxes);
  if (count > 1) add_nic_fabric(draft, fabric, boxes);
  return draft;
}

struct DieLink {
  std::size_t a, b;
  std::int64_t width;  ///< links of Infinity Fabric
};
/// Between the 16 dies of a box of eight MI250, as RCCL's topo_16p1h.xml lists them.
constexpr std::array kDieLinks = {
    DieLink{0, 1, 4},  DieLink{2, 3, 4},   DieLink{4, 5, 4},   DieLink{6, 7, 4},
    DieLink{8, 9, 4},  DieLink{10, 11, 4}, DieLink{12, 13, 4}, DieLink{14, 15, 4},
    DieLink{0, 4, 2},  DieLink{3, 7, 2},   DieLink{8, 12, 2},  DieLink{11, 15, 2},
    DieLink{0, 2, 1},  DieLink{1, 2, 1},   DieLink{1, 3, 1},   DieLink{1, 5, 1},
    DieLink{2, 6, 1},  DieLink{4, 12, 1},  DieLink{5, 13, 1},  DieLink{5, 14, 1},
    DieLink{6, 13, 1}, DieLink{6, 14, 1},  DieLink{7, 15, 1},  DieLink{8, 10, 1},
    DieLink{9, 10, 1}, DieLink{9, 11, 1},  DieLink{9, 13, 1},  DieLink{10, 14, 1},
};

}  // namespace

const BoxProduct* find_box_product(std::string_view family) {
  if (family == "dgx-a100") return &kDgxA100;
  if (family == "dgx-h100") return &kDgxH100;
  if (family == "dgx-b200") return &kDgxB200;
  return nullptr;
}

CatalogueDraft draft_dgx_a100(CatalogueName& name) { return draft_product(name, kDgxA100); }

CatalogueDraft draft_dgx_h100(CatalogueName& name) { return draft_product(name, kDgxH100); }

CatalogueDraft draft_dgx_b200(CatalogueName& name) { return draft_product(name, kDgxB200); }

CatalogueDraft draft_nvl72(CatalogueName& name) {
  return draft_product(
      name,
      {72, 900'000, 50'000, 4,
       "GB200 NVL72: 1.8 TB/s both ways a GPU (18 NVLink 5 of 50 GB/s each way), one level of "
       "NVLink switches, drawn as one switch",
       "GB200 NVL72: a ConnectX-7 of 400 Gbit/s a GPU; the four GPUs of a tray on a rail each"});
}

CatalogueDraft draft_mi250(CatalogueName& name) {
  constexpr std::size_t kDies = 16;
  const std::int64_t count = name.dimensions(1, 1, "mi250:2").front();
  const double dies = static_cast<double>(count) * kDies;
  check_catalogue_size(name, dies + 1, dies * 2 + 56 * static_cast<double>(count));
  CatalogueDraft draft;
  draft.name = "mi250-" + name.shape();
  draft.note = "every MI250 is two dies, and every die a GPU: 16 a box";
  Boxes boxes;
  for (std::int64_t b = 0; b < count; ++b) {
    const std::string host = "h" + std::to_string(b);
    boxes.emplace_back();
    for (std::size_t g = 0; g < kDies; ++g) {
      boxes.back().push_back(draft.add(host + ".gpu" + std::to_string(g), NodeKind::gpu, host));
    }
  }
  for (const std::vector<NodeId>& gpus : boxes) {
    for (const DieLink& link : kDieLinks) {
      connect_both(draft, gpus[link.a], gpus[link.b], megabytes_per_second(50'000 * link.width),
                   nanoseconds(700),
                   "MI250 (CDNA 2 white paper): " + std::to_string(link.width) +
                       " Infinity Fabric of 50 GB/s each way, as in RCCL's topo_16p1h.xml; 0.7us "
                       "assumed, as for NVLink");
    }
  }
  if (count > 1) {
    NicFabric fabric;
    fabric.one_switch = true;
    fabric.rails = kDies;
    fabric.bandwidth = megabytes_per_second(16'000);
    fabric.latency = kNicLatency;
    fabric.source = std::string(
                        "MI250 box: 16 GB/s a die to InfiniBand, as in ForestColl (arXiv "
                        "2402.06787)") +
                    kNicLatencySource;
    add_nic_fabric(draft, fabric, boxes);
  }
  return draft;
}

CatalogueDraft draft_mi300x(CatalogueName& name) {
  constexpr std::size_t kGpus = 8;
  const std::int64_t count = name.dimensions(1, 1, "mi300x:2").front();
  const double gpus = static_cast<double>(count) * kGpus;
  check_catalogue_size(name, gpus + kGpus, gpus * (kGpus + 1));
  NicFabric fabric;
  fabric.one_switch = take_one_switch(name);
  fabric.multicast = name.take_flag("multicast");
  fabric.bandwidth = megabytes_per_second(50'000);
  fabric.latency = kNicLatency;
  fabric.source =
      std::string("MI300X platform: a NIC of 400 Gbit/s a GPU (assumed: PCIe 5.0 x16)") +
      kNicLatencySource;
  CatalogueDraft draft;
  draft.name = "mi300x-" + name.shape();
  if (fabric.one_switch && count > 1) draft.name += "-switch";
  if (fabric.multicast) draft.name += "-multicast";
  Boxes boxes;
  for (std::int64_t b = 0; b < count; ++b) {
    const std::string host = "h" + std::to_string(b);
    boxes.emplace_back();
    for (std::size_t g = 0; g < kGpus; ++g) {
      boxes.back().push_back(draft.add(host + ".gpu" + std::to_string(g), NodeKind::gpu, host));
      draft.nodes[boxes.back().back()].rail = static_cast<int>(g);
    }
  }
  for (const std::vector<NodeId>& box : boxes) {
    for (const NodeId a : box) {
      for (const NodeId b : box) {
        if (a == b) continue;
        draft.connect(a, b, megabytes_per_second(64'000), nanoseconds(700),
                      "MI300X platform data sheet: all to all, Infinity Fabric of 128 GB/s both "
                      "ways; 0.7us assumed, as for NVLink");
      }
    }
  }
  if (count > 1) add_nic_fabric(draft, fabric, boxes);
  return draft;
}

}  // namespace stellwerk
