// Boxes and rails: the shape of fabric for which AllToAll(V) needs no search.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stellwerk/core/topology.hpp"

namespace stellwerk {

/// A link of a GPU to or from a switch.
struct RailPort {
  LinkId link;
  std::int64_t rate = 0;     ///< bytes/s
  std::int64_t latency = 0;  ///< ps
};

/// A GPU's place: its box, and its rail if it has a NIC.
struct RailGpu {
  std::int32_t box = -1, rail = -1;
  RailPort box_up, box_down;    ///< to and from the box's switch
  RailPort rail_up, rail_down;  ///< to and from the rail's switch
};

/// GPUs in boxes, each box on a switch of its own, and NICs on rails: a rail's switch joins at most
/// one GPU of every box. GPUs without NIC are allowed, and links of different speeds.
struct RailFabric {
  std::size_t boxes = 0, rails = 0;
  IdVector<NodeId, RailGpu> gpus;           ///< of switches nothing is said
  std::vector<std::vector<NodeId>> member;  ///< [box][rail]; -1: no NIC of the box on that rail
};

/// Nothing, and the reason in `why`, for other fabrics. Every link leads between a GPU and a switch;
/// a box is what a GPU's fastest link leads to; latencies into a switch are equal, so that windows on
/// the way out are shifted alike.
std::optional<RailFabric> find_rail_fabric(const Topology& topology, std::string& why);

}  // namespace stellwerk
