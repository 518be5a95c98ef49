// Fabrics of boxes of GPUs on a switch of their own: with a switch for every rail (GPU r of every
// box has its NIC on rail r), or with one big switch for all NICs.
#include "stellwerk/io/catalogue_boxes.hpp"

namespace stellwerk {
namespace {

struct Sizes {
  std::size_t boxes, gpus;
};

Sizes take_sizes(const CatalogueName& name) {
  const auto sizes = name.dimensions(2, 2, name.family() + ":4x8 (boxes x GPUs a box)");
  return {static_cast<std::size_t>(sizes[0]), static_cast<std::size_t>(sizes[1])};
}

CatalogueDraft draft_boxes_with_nics(CatalogueName& name, bool one_switch) {
  const Sizes sizes = take_sizes(name);
  const double count = static_cast<double>(sizes.boxes) * static_cast<double>(sizes.gpus);
  BoxKind box;
  box.gpus = sizes.gpus;
  box.bandwidth = name.take_bandwidth("nvlink", megabytes_per_second(450000));
  box.latency = nanoseconds(350);
  NicFabric fabric;
  fabric.one_switch = one_switch;
  fabric.rails = sizes.gpus;
  fabric.bandwidth = name.take_bandwidth("nic", megabytes_per_second(50000));
  fabric.latency = nanoseconds(1300);
  fabric.nics = static_cast<std::size_t>(name.take_count("nics", 1, 64));
  fabric.multicast = box.multicast = name.take_flag("multicast");
  const double rails = static_cast<double>(sizes.gpus) * static_cast<double>(fabric.nics);
  check_catalogue_size(name, count + static_cast<double>(sizes.boxes) + rails,
                       2 * count * static_cast<double>(1 + fabric.nics));
  box.source = name.family() + ": " + to_exact_string(box.bandwidth) +
               " a GPU (18 NVLink 4 of an H100: 450GB/s), 0.35us to or from the box's switch";
  fabric.source = name.family() + ": " + to_exact_string(fabric.bandwidth) +
                  " a NIC (400 Gbit/s: 50GB/s), 1.3us to or from " +
                  (one_switch ? "the switch" : "the rail's switch");

  CatalogueDraft draft;
  draft.name = name.family() + "-" + name.shape();
  if (fabric.nics > 1) draft.name += "-nics" + std::to_string(fabric.nics);
  if (box.multicast) draft.name += "-multicast";
  const Boxes boxes = add_boxes(draft, box, sizes.boxes);
  connect_boxes(draft, box, boxes);
  add_nic_fabric(draft, fabric, boxes);
  return draft;
}

}  // namespace

CatalogueDraft draft_rail(CatalogueName& name) { return draft_boxes_with_nics(name, false); }
CatalogueDraft draft_boxes(CatalogueName& name) { return draft_boxes_with_nics(name, true); }

}  // namespace stellwerk
