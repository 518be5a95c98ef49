// Boxes of GPUs around a switch of their own: what most fabrics of the catalogue are built from.
// Not for use outside io/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stellwerk/io/catalogue_draft.hpp"

namespace stellwerk {

/// What the boxes of a fabric are like. A box of one GPU has no switch.
struct BoxKind {
  std::size_t gpus = 8;
  Bandwidth bandwidth;                   ///< of a GPU to and from the box's switch
  Time latency;                          ///< of each of these two hops
  std::string source;                    ///< where the two come from
  std::string switch_name = "nvswitch";  ///< "h0." goes before it
  bool multicast = false;
  std::size_t rails = 0;  ///< GPUs are labelled with their number modulo this; 0: with their number
};

/// The GPUs of each box, in order.
using Boxes = std::vector<std::vector<NodeId>>;

/// Adds the nodes of `count` boxes ("h0.gpu0", ..., then the box's switch), no links.
Boxes add_boxes(CatalogueDraft& draft, const BoxKind& kind, std::size_t count);

/// Adds the links between GPUs and switches of boxes that add_boxes made.
void connect_boxes(CatalogueDraft& draft, const BoxKind& kind, const Boxes& boxes);

/// Both directions of a cable.
void connect_both(CatalogueDraft& draft, NodeId a, NodeId b, Bandwidth bandwidth, Time latency,
                  const std::string& source);

/// How boxes meet: every NIC of a GPU on the switch of its own rail, or all on one switch.
struct NicFabric {
  bool one_switch = false;
  std::size_t nics = 1;   ///< of a GPU
  std::size_t rails = 8;  ///< GPU g is on rails (g mod rails) * nics, ...
  Bandwidth bandwidth;    ///< of a NIC
  Time latency;           ///< to or from the switch
  std::string source;
  bool multicast = false;
};

/// Adds the switches and the links of the NICs of all boxes.
void add_nic_fabric(CatalogueDraft& draft, const NicFabric& fabric, const Boxes& boxes);

/// A box that is sold, with one NIC a GPU; megabytes per second and direction.
struct BoxProduct {
  std::size_t gpus;
  std::int64_t nvlink_mb, nic_mb;
  std::size_t rails;
  const char* nvlink_source;
  const char* nic_source;
};

/// dgx-a100, dgx-h100, dgx-b200; null for others.
const BoxProduct* find_box_product(std::string_view family);

}  // namespace stellwerk
