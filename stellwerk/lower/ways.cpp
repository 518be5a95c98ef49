#include "stellwerk/lower/ways.hpp"

#include <algorithm>
#include <limits>

#include "stellwerk/core/send.hpp"

namespace stellwerk::lower {

std::vector<Way> Ways::through_switches(NodeId from, NodeId to) const {
  const Topology& topology = problem_.topology;
  constexpr int kFar = std::numeric_limits<int>::max();
  // Links to `to`, counted backwards through switches.
  IdVector<NodeId, int> left(topology.nodes().size(), kFar);
  std::vector<NodeId> queue{to};
  left[to] = 0;
  for (std::size_t k = 0; k < queue.size(); ++k) {
    if (left[from] != kFar && left[queue[k]] >= left[from]) break;
    for (const LinkId id : topology.in(queue[k])) {
      const NodeId tail = topology.link(id).from;
      if (left[tail] != kFar || (tail != from && topology.stores(tail))) continue;
      left[tail] = left[queue[k]] + 1;
      queue.push_back(tail);
    }
  }
  std::vector<Way> result;
  if (left[from] == kFar) return result;
  // Depth first, links in order: all paths that come one nearer with every link.
  std::vector<std::pair<NodeId, std::size_t>> path{{from, 0}};
  std::vector<LinkId> links;
  while (!path.empty() && result.size() < kMostWays) {
    auto& [node, next] = path.back();
    const auto& out = topology.out(node);
    if (node == to) result.push_back({links});
    if (node == to || next == out.size()) {
      path.pop_back();
      if (!links.empty()) links.pop_back();
      continue;
    }
    const LinkId id = out[next++];
    const NodeId head = topology.link(id).to;
    if (left[head] == kFar || left[head] + 1 != left[node]) continue;
    links.push_back(id);
    path.emplace_back(head, 0);
  }
  return result;
}

const std::vector<Way>& Ways::between(NodeId from, NodeId to, const Chunk& chunk, bool whole) {
  const auto [entry, added] = known_.try_emplace({from, to, whole});
  std::vector<Way>& ways = entry->second;
  if (!added) return ways;
  ways = through_switches(from, to);
  if (!ways.empty() && (ways.front().front().size() == 1 || !whole)) return ways;
  Router& router = routers_.of(chunk);
  if (!router.reaches(from, to)) return ways;
  for (const Way& way : ways) {
    const Send send =
        whole_chunk_send(problem_.topology, chunk, ChunkId(0), Op::copy, Time{}, way.front());
    if (timing(problem_.topology, send).arrival.front() <= router.distance(from, to)) return ways;
  }
  ways.clear();
  for (std::uint32_t salt = 0; salt < router.salts(from, to) && salt < kMostWays; ++salt) {
    Way& way = ways.emplace_back();
    for (const HopId hop : router.way(from, to, salt)) way.push_back(router.hop(hop).links);
  }
  return ways;
}

const Way& Ways::take(NodeId from, NodeId to, const Chunk& chunk, bool whole) {
  if (busy_.empty()) busy_ = IdVector<LinkId, Time>(problem_.topology.links().size(), Time{});
  const std::vector<Way>& ways = between(from, to, chunk, whole);
  // A longer time counts as this one, so that millions of them can be added.
  constexpr Time kMost{std::int64_t{1} << 39};
  const auto lasts = [&](LinkId id) {
    return std::min(kMost, transmission_time(chunk.bytes, problem_.topology.link(id).bandwidth));
  };
  const Way* best = nullptr;
  Time least = Time::max();
  for (const Way& way : ways) {
    Time most;
    for (const auto& hop : way) {
      for (const LinkId id : hop) most = std::max(most, busy_[id] + lasts(id));
    }
    if (most >= least) continue;
    least = most;
    best = &way;
  }
  for (const auto& hop : *best) {
    for (const LinkId id : hop) busy_[id] = busy_[id] + lasts(id);
  }
  return *best;
}

}  // namespace stellwerk::lower
