#include "stellwerk/plan/path_tree.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace stellwerk {
namespace {

IdVector<NodeId, char> forwarders(const Problem& problem, JobId job) {
  IdVector<NodeId, char> result(problem.topology.nodes().size(), 0);
  for (const NodeId node : problem.topology.node_ids()) {
    const bool member_only = problem.relays == Relays::members;
    result[node] = member_only && problem.topology.node(node).kind == NodeKind::gpu ? 0 : 1;
  }
  for (const NodeId node : problem.jobs[job.index()].ranks) result[node] = 1;
  return result;
}

}  // namespace

PathFinder::PathFinder(const Problem& problem, const Routes& routes)
    : problem_(problem), routes_(routes) {
  for (std::size_t j = 0; j < problem.jobs.size(); ++j)
    forwards_.push_back(forwarders(problem, JobId(j)));
}

const PathTree& PathFinder::tree(NodeId root, Bytes bytes, JobId job, Direction direction) {
  const auto key = std::tuple(root, bytes, job, direction);
  const auto known = trees_.find(key);
  if (known != trees_.end()) return known->second;
  return trees_.emplace(key, find(root, bytes, job, direction)).first->second;
}

Time PathFinder::cheapest_hop(Bytes bytes) {
  const auto [entry, fresh] = cheapest_.emplace(bytes, Time::max());
  if (fresh) {
    for (const HopId id : routes_.hop_ids()) {
      const Hop& hop = routes_.hop(id);
      entry->second =
          std::min(entry->second, hop.latency + transmission_time(bytes, hop.bandwidth));
    }
  }
  return entry->second;
}

PathTree PathFinder::find(NodeId root, Bytes bytes, JobId job, Direction direction) {
  const Topology& topology = problem_.topology;
  const IdVector<NodeId, char>& forwards = forwards_[job.index()];
  PathTree tree{root, direction, IdVector<NodeId, Time>(forwards.size(), Time::max()),
                IdVector<NodeId, HopId>(forwards.size()),
                IdVector<NodeId, int>(forwards.size(), 0)};
  using Entry = std::pair<Time, NodeId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  tree.distance[root] = Time{0};
  queue.emplace(Time{0}, root);
  // On a big switch the root's own hops reach everybody in equal time. Once even the cheapest
  // further hop could not improve the farthest node, the other nodes' hops (all pairs of them) need
  // not be looked at.
  const Time cheapest = cheapest_hop(bytes);
  bool improved = false;
  Time farthest = Time::max();
  while (!queue.empty()) {
    const auto [time, node] = queue.top();
    queue.pop();
    if (time > tree.distance[node]) continue;
    if (improved) {
      farthest = Time{0};
      for (const NodeId other : topology.node_ids()) {
        if (topology.stores(other)) farthest = std::max(farthest, tree.distance[other]);
      }
      improved = false;
    }
    if (farthest != Time::max() && time + cheapest >= farthest) break;
    if (node != root && forwards[node] == 0) continue;
    for (const HopId id : direction == Direction::outward ? routes_.out(node) : routes_.in(node)) {
      const Hop& hop = routes_.hop(id);
      const NodeId end = direction == Direction::outward ? hop.to : hop.from;
      const Time arrival = time + hop.latency + transmission_time(bytes, hop.bandwidth);
      if (arrival >= tree.distance[end]) continue;
      tree.distance[end] = arrival;
      tree.hop[end] = id;
      tree.depth[end] = tree.depth[node] + 1;
      queue.emplace(arrival, end);
      improved = true;
    }
  }
  return tree;
}

std::vector<HopId> PathFinder::path(const PathTree& tree, NodeId node) const {
  std::vector<HopId> result;
  while (node != tree.root) {
    const HopId id = tree.hop[node];
    result.push_back(id);
    node = tree.direction == Direction::outward ? routes_.hop(id).from : routes_.hop(id).to;
  }
  if (tree.direction == Direction::outward) std::reverse(result.begin(), result.end());
  return result;
}

std::optional<std::string> unreachable_demand(const Problem& problem, PathFinder& paths) {
  const Topology& topology = problem.topology;
  for (const ChunkId id : problem.chunk_ids()) {
    const Chunk& chunk = problem.chunks[id];
    const auto complain = [&](NodeId from, NodeId to) {
      return "chunk " + std::to_string(id.value) + " of job '" +
             problem.jobs[chunk.job.index()].name + "' cannot reach " + topology.node(to).name +
             " from " + topology.node(from).name + ": no path leads there";
    };
    for (const NodeId destination : chunk.destinations) {
      const PathTree& tree = paths.tree(destination, chunk.bytes, chunk.job, Direction::inward);
      if (chunk.is_reduction()) {
        for (const NodeId contributor : chunk.contributors) {
          if (!tree.reaches(contributor)) return complain(contributor, destination);
        }
      } else if (std::none_of(chunk.origins.begin(), chunk.origins.end(),
                              [&](NodeId origin) { return tree.reaches(origin); })) {
        return complain(chunk.origins.front(), destination);
      }
    }
  }
  return std::nullopt;
}

}  // namespace stellwerk
