#include "stellwerk/plan/flow_reach.hpp"

#include <algorithm>
#include <queue>

namespace stellwerk {
namespace {

using Entry = std::pair<std::int64_t, NodeId>;

// Dijkstra over the allowed links, from nodes that have a distance already.
void spread(const Topology& topology, const IdVector<LinkId, char>& allowed,
            const IdVector<LinkId, std::int64_t>& length, bool backwards,
            IdVector<NodeId, std::int64_t>& distance) {
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (const NodeId node : topology.node_ids()) {
    if (distance[node] < FlowReach::kNever) queue.emplace(distance[node], node);
  }
  while (!queue.empty()) {
    const auto [at, node] = queue.top();
    queue.pop();
    if (at > distance[node]) continue;
    for (const LinkId id : backwards ? topology.in(node) : topology.out(node)) {
      if (allowed[id] == 0) continue;
      const Link& link = topology.link(id);
      const NodeId next = backwards ? link.from : link.to;
      if (at + length[id] < distance[next]) {
        distance[next] = at + length[id];
        queue.emplace(distance[next], next);
      }
    }
  }
}

}  // namespace

FlowClock continuous_clock(const Topology& topology) {
  FlowClock clock{1e-12, {}, 0, [](Time time) { return time.ps; }};
  for (const Link& link : topology.links()) clock.length.push_back(link.latency.ps);
  return clock;
}

FlowClock epoch_clock(const Topology& topology, const EpochGrid& grid) {
  FlowClock clock{grid.duration().seconds(), {}, 1, [grid](Time time) {
                    return static_cast<std::int64_t>(grid.epoch_at_or_after(time));
                  }};
  for (const LinkId id : topology.link_ids()) {
    clock.length.push_back(grid.latency(id) + (topology.stores(topology.link(id).to) ? 1 : 0));
  }
  return clock;
}

FlowReach flow_reach(const Topology& topology, const Commodity& commodity, const FlowClock& clock) {
  FlowReach reach;
  reach.usable.resize(topology.links().size());
  for (const LinkId id : topology.link_ids()) {
    reach.usable[id] = may_use(commodity, topology, id) ? 1 : 0;
  }
  const IdVector<NodeId, std::int64_t> never(
      std::vector<std::int64_t>(topology.nodes().size(), FlowReach::kNever));

  reach.earliest = never;
  for (std::size_t i = 0; i < commodity.supplies.size(); ++i) {
    for (const NodeId node : commodity.supplies[i].nodes) {
      reach.earliest[node] =
          std::min(reach.earliest[node], clock.from(commodity.supplies[i].ready));
    }
  }
  spread(topology, reach.usable, clock.length, false, reach.earliest);
  reach.remaining = never;
  for (const Commodity::Sink& sink : commodity.sinks) reach.remaining[sink.node] = 0;
  spread(topology, reach.usable, clock.length, true, reach.remaining);

  for (const LinkId id : topology.link_ids()) {
    const Link& link = topology.link(id);
    if (reach.earliest[link.from] >= FlowReach::kNever ||
        reach.remaining[link.to] >= FlowReach::kNever) {
      reach.usable[id] = 0;
    }
  }
  // With one source every sink is measured from it, with one sink every supply to it: see
  // make_commodities.
  for (const Commodity::Sink& sink : commodity.sinks) {
    if (reach.earliest[sink.node] >= FlowReach::kNever) reach.connected = false;
    if (commodity.supplies.size() == 1) {
      reach.least_finish = std::max(reach.least_finish, reach.earliest[sink.node]);
    }
  }
  if (commodity.sinks.size() == 1) {
    for (std::size_t i = 0; i < commodity.supplies.size(); ++i) {
      std::int64_t nearest = FlowReach::kNever;
      for (const NodeId node : commodity.supplies[i].nodes) {
        nearest = std::min(nearest, reach.remaining[node]);
      }
      if (nearest >= FlowReach::kNever) reach.connected = false;
      reach.least_finish =
          std::max(reach.least_finish, clock.from(commodity.supplies[i].ready) + nearest);
    }
  }
  return reach;
}

}  // namespace stellwerk
