#include "stellwerk/plan/fabrics.hpp"

#include <algorithm>
#include <functional>
#include <queue>

namespace stellwerk {

Fabrics::Fabrics(const Topology& topology)
    : topology_(topology),
      of_node_(topology.nodes().size(), -1),
      of_link_(topology.links().size(), -1),
      before_(topology.links().size(), Time{0}),
      after_(topology.links().size(), Time{0}),
      into_(topology.nodes().size(), Time{0}) {
  find_components();
  find_offsets();
}

void Fabrics::find_components() {
  for (const NodeId seed : topology_.node_ids()) {
    if (topology_.stores(seed) || of_node_[seed] >= 0) continue;
    const int number = static_cast<int>(fabrics_.size());
    Fabric& fabric = fabrics_.emplace_back();
    of_node_[seed] = number;
    fabric.switches.push_back(seed);
    for (std::size_t i = 0; i < fabric.switches.size(); ++i) {
      const NodeId node = fabric.switches[i];
      const auto join = [&](NodeId other) {
        if (topology_.stores(other) || of_node_[other] >= 0) return;
        of_node_[other] = number;
        fabric.switches.push_back(other);
      };
      for (const LinkId id : topology_.out(node)) join(topology_.link(id).to);
      for (const LinkId id : topology_.in(node)) join(topology_.link(id).from);
    }
    std::sort(fabric.switches.begin(), fabric.switches.end());
  }
  for (const LinkId id : topology_.link_ids()) {
    const Link& link = topology_.link(id);
    const bool from = topology_.stores(link.from);
    const bool to = topology_.stores(link.to);
    if (from && to) {
      direct_.push_back(id);
      continue;
    }
    of_link_[id] = of_node_[from ? link.to : link.from];
    Fabric& fabric = fabrics_[static_cast<std::size_t>(of_link_[id])];
    (from ? fabric.up : to ? fabric.down : fabric.inner).push_back(id);
  }
}

void Fabrics::find_offsets() {
  // From the ends inwards: the least latency from an up link's tail to each switch, and from each
  // switch to a down link's head.
  using Entry = std::pair<Time, NodeId>;
  for (const bool backwards : {false, true}) {
    IdVector<NodeId, Time> least(topology_.nodes().size(), Time::max());
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    const auto reach = [&](NodeId node, Time time) {
      if (time >= least[node]) return;
      least[node] = time;
      queue.emplace(time, node);
    };
    for (const Fabric& fabric : fabrics_) {
      for (const LinkId id : backwards ? fabric.down : fabric.up) {
        const Link& link = topology_.link(id);
        reach(backwards ? link.from : link.to, link.latency);
      }
    }
    while (!queue.empty()) {
      const auto [time, node] = queue.top();
      queue.pop();
      if (time > least[node]) continue;
      for (const LinkId id : backwards ? topology_.in(node) : topology_.out(node)) {
        const Link& link = topology_.link(id);
        const NodeId next = backwards ? link.from : link.to;
        if (!topology_.stores(next)) reach(next, time + link.latency);
      }
    }
    for (const LinkId id : topology_.link_ids()) {
      const Link& link = topology_.link(id);
      const NodeId near = backwards ? link.to : link.from;
      if (topology_.stores(near) || least[near] == Time::max()) continue;
      (backwards ? after_ : before_)[id] = least[near];
    }
  }
  for (const NodeId node : topology_.node_ids()) {
    if (!topology_.stores(node) || topology_.in(node).empty()) continue;
    Time least = Time::max();
    for (const LinkId id : topology_.in(node))
      least = std::min(least, before_[id] + topology_.link(id).latency);
    into_[node] = least;
  }
}

const std::vector<std::vector<LinkId>>& Fabrics::inner_paths(NodeId from, NodeId to) const {
  const auto known = paths_.find({from, to});
  if (known != paths_.end()) return known->second;
  return paths_.emplace(std::pair(from, to), find_paths(from, to)).first->second;
}

std::vector<std::vector<LinkId>> Fabrics::find_paths(NodeId from, NodeId to) const {
  if (from == to) return {{}};
  // Links to go to the target, by breadth-first search backwards.
  IdVector<NodeId, int> steps(topology_.nodes().size(), -1);
  std::vector<NodeId> queue{to};
  steps[to] = 0;
  for (std::size_t i = 0; i < queue.size() && steps[from] < 0; ++i) {
    for (const LinkId id : topology_.in(queue[i])) {
      const NodeId next = topology_.link(id).from;
      if (topology_.stores(next) || steps[next] >= 0) continue;
      steps[next] = steps[queue[i]] + 1;
      queue.push_back(next);
    }
  }
  std::vector<std::vector<LinkId>> result;
  if (steps[from] < 0) return result;
  // Depth first, but the choice at the first switch varies fastest, so that the paths that are kept
  // use many different links.
  std::vector<std::vector<std::vector<LinkId>>> by_first;
  std::vector<LinkId> path;
  const std::function<void(NodeId)> extend = [&](NodeId node) {
    if (node == to) {
      by_first.back().push_back(path);
      return;
    }
    for (const LinkId id : topology_.out(node)) {
      if (by_first.back().size() >= kMostPaths) return;
      const NodeId next = topology_.link(id).to;
      if (topology_.stores(next) || steps[next] != steps[node] - 1) continue;
      path.push_back(id);
      extend(next);
      path.pop_back();
    }
  };
  for (const LinkId id : topology_.out(from)) {
    const NodeId next = topology_.link(id).to;
    if (topology_.stores(next) || steps[next] < 0 || steps[next] != steps[from] - 1) continue;
    by_first.emplace_back();
    path = {id};
    extend(next);
  }
  for (std::size_t round = 0; result.size() < kMostPaths; ++round) {
    bool any = false;
    for (const auto& paths : by_first) {
      if (round >= paths.size() || result.size() >= kMostPaths) continue;
      result.push_back(paths[round]);
      any = true;
    }
    if (!any) break;
  }
  return result;
}

}  // namespace stellwerk
