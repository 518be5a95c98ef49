#include "stellwerk/plan/rail_fabric.hpp"

#include <algorithm>
#include <utility>

namespace stellwerk {
namespace {

/// The GPUs on a switch are its members; all ways in have one latency.
bool even_latency(const Topology& topology, NodeId switch_node) {
  const auto in = topology.in(switch_node);
  return std::all_of(in.begin(), in.end(), [&](LinkId link) {
    return topology.link(link).latency == topology.link(in.front()).latency;
  });
}

RailPort port(const Topology& topology, LinkId id) {
  const Link& link = topology.link(id);
  return {id, link.bandwidth.bytes_per_second, link.latency.ps};
}

}  // namespace

std::optional<RailFabric> find_rail_fabric(const Topology& topology, std::string& why) {
  const auto refuse = [&](std::string reason) {
    why = std::move(reason);
    return std::nullopt;
  };
  RailFabric fabric;
  fabric.gpus.resize(topology.nodes().size());
  IdVector<NodeId, std::int32_t> box_of(topology.nodes().size(), -1);
  IdVector<NodeId, std::int32_t> rail_of(topology.nodes().size(), -1);
  for (const NodeId id : topology.node_ids()) {
    const Node& node = topology.node(id);
    if (node.kind == NodeKind::switch_) {
      if (!even_latency(topology, id)) return refuse(node.name + " has links of unequal latency");
      continue;
    }
    if (node.kind == NodeKind::relay) return refuse(node.name + " is a relay");
    RailGpu& gpu = fabric.gpus[id];
    const auto out = topology.out(id);
    const auto in = topology.in(id);
    if (out.empty() || out.size() > 2 || in.size() != out.size()) {
      return refuse(node.name + " is not on a box's switch and at most one rail");
    }
    std::vector<LinkId> ups(out.begin(), out.end());
    std::sort(ups.begin(), ups.end(), [&](LinkId a, LinkId b) {
      return topology.link(a).bandwidth > topology.link(b).bandwidth;
    });
    for (const LinkId up : ups) {
      const NodeId at = topology.link(up).to;
      const auto down = std::find_if(in.begin(), in.end(),
                                     [&](LinkId link) { return topology.link(link).from == at; });
      if (topology.stores(at) || down == in.end()) {
        return refuse(node.name + " has a link that is not to and from a switch");
      }
      const bool box = up == ups.front();
      (box ? gpu.box_up : gpu.rail_up) = port(topology, up);
      (box ? gpu.box_down : gpu.rail_down) = port(topology, *down);
      std::int32_t& number = (box ? box_of : rail_of)[at];
      if ((box ? rail_of : box_of)[at] >= 0) return refuse("its boxes and rails are not apart");
      std::size_t& count = box ? fabric.boxes : fabric.rails;
      if (number < 0) number = static_cast<std::int32_t>(count++);
      (box ? gpu.box : gpu.rail) = number;
    }
  }
  fabric.member.assign(fabric.boxes, std::vector<NodeId>(fabric.rails));
  for (const NodeId id : topology.gpus()) {
    const RailGpu& gpu = fabric.gpus[id];
    if (gpu.rail < 0) continue;
    NodeId& member =
        fabric.member[static_cast<std::size_t>(gpu.box)][static_cast<std::size_t>(gpu.rail)];
    if (member.valid()) return refuse("two GPUs of one box are on one rail");
    member = id;
  }
  return fabric;
}

}  // namespace stellwerk
