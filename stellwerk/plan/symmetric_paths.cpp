// Balanced routing by multiplicative prices.
//
// Problem. Chunks with one destination each; the fullest link orbit bounds the time from below.
//
// Idea. Every resource has a price that grows exponentially with its load (Garg and Koenemann, SIAM
// J. Comput. 37, 2007, among others). Again and again the paths from one source to a part of its
// destinations are taken out and replaced by cheapest ones; prices sharpen from sweep to sweep. All
// sends over a lane cost the same, so Dijkstra's algorithm needs one heap a lane and finds nodes
// through the frontier, whatever the number of pairs that a switch connects. Ties are broken at
// random. The routing with the least full resource is kept.
//
// Complexity: sweeps * batches * sources trees, each nodes * (lanes of a node + log). Test:
// symmetric_test.cpp (loads near the metric bound).
#include "stellwerk/plan/symmetric_paths.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace stellwerk::symmetric {

bool PathRouter::farther(const Reached& a, const Reached& b) {
  return std::tie(a.distance, a.tie) > std::tie(b.distance, b.tie);
}

PathRouter::PathRouter(const Problem& problem, const Quotient& quotient, const Lanes& lanes)
    : problem_(problem),
      quotient_(quotient),
      lanes_(lanes),
      frontier_(quotient, lanes),
      paths_(problem.chunks.size()),
      length_(lanes.size()),
      heaps_(lanes.size()),
      by_(problem.topology.nodes().size()) {
  std::map<std::pair<NodeId, JobId>, std::size_t> known;
  for (const ChunkId id : problem.chunk_ids()) {
    const Chunk& chunk = problem.chunks[id];
    const auto [at, fresh] = known.try_emplace({chunk.origins.front(), chunk.job}, groups_.size());
    if (fresh) groups_.push_back({chunk.origins.front(), chunk.job, {}});
    groups_[at->second].chunks.push_back(id);
    mean_ += static_cast<double>(chunk.bytes.value);
  }
  mean_ /= static_cast<double>(std::max<std::size_t>(problem.chunks.size(), 1));
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const Bytes bytes{std::max<std::int64_t>(1, std::llround(mean_))};
    unit_.push_back(quotient.shape(lanes.lane(i).example, bytes));
  }
}

void PathRouter::price(double beta) {
  const double full = std::max(fullest(), 1.0);
  for (std::size_t r = 0; r < price_.size(); ++r)
    price_[r] = std::exp(beta * (load_[r] / full - 1));
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const Shape& shape = unit_[i];
    length_[i] = per_latency_ * static_cast<double>(shape.span);
    for (const Use& use : shape.uses) {
      length_[i] += price_[static_cast<std::size_t>(use.resource)] *
                    static_cast<double>(shape.duration) * static_cast<double>(use.amount) /
                    static_cast<double>(quotient_.capacity(use.resource));
    }
  }
}

double PathRouter::fullest() const {
  return load_.empty() ? 0 : *std::max_element(load_.begin(), load_.end());
}

void PathRouter::charge(const std::vector<Hop>& path, double bytes) {
  for (const Hop& hop : path) {
    const Shape& shape = unit_[hop.lane];
    for (const Use& use : shape.uses) {
      load_[static_cast<std::size_t>(use.resource)] +=
          bytes / mean_ * static_cast<double>(shape.duration) * static_cast<double>(use.amount) /
          static_cast<double>(quotient_.capacity(use.resource));
    }
  }
}

/// Shortest paths from the group's source until all destinations of `wanted` are reached.
bool PathRouter::tree(const Group& group, const std::vector<ChunkId>& wanted, Rng& rng) {
  const Topology& topology = problem_.topology;
  // Nodes that may not pass the chunk on are found, but not extended.
  std::vector<char> closed(topology.nodes().size(), 0);
  closed[group.source.index()] = 1;
  std::vector<char> missing(topology.nodes().size(), 0);
  std::size_t left = 0;
  for (const ChunkId id : wanted) {
    char& flag = missing[problem_.chunks[id].destinations.front().index()];
    left += flag == 0 ? 1 : 0;
    flag = 1;
  }
  frontier_.shuffle(rng);
  frontier_.reset(std::move(closed));
  for (auto& heap : heaps_) heap.clear();
  using Entry = std::tuple<double, std::uint64_t, std::size_t>;  // key, tie, lane
  std::vector<Entry> lanes;
  const auto offer = [&](std::size_t lane) {
    lanes.emplace_back(heaps_[lane].front().distance + length_[lane], rng.next(), lane);
    std::push_heap(lanes.begin(), lanes.end(), std::greater<>());
  };
  const auto extend = [&](NodeId node, double distance) {
    for (const std::size_t lane : lanes_.from(quotient_.orbit(node))) {
      heaps_[lane].push_back({distance, rng.next(), node});
      std::push_heap(heaps_[lane].begin(), heaps_[lane].end(), farther);
      if (heaps_[lane].size() == 1) offer(lane);
    }
  };
  extend(group.source, 0);
  std::vector<LinkId> links;
  while (left > 0 && !lanes.empty()) {
    std::pop_heap(lanes.begin(), lanes.end(), std::greater<>());
    const auto [key, tie, lane] = lanes.back();
    lanes.pop_back();
    auto& heap = heaps_[lane];
    if (heap.empty()) continue;
    const Reached holder = heap.front();
    if (holder.distance + length_[lane] > key) {  // another holder since
      offer(lane);
      continue;
    }
    if (!frontier_.find(holder.node, lanes_.lane(lane), -1, false, links)) {
      std::pop_heap(heap.begin(), heap.end(), farther);
      heap.pop_back();
      if (!heap.empty()) offer(lane);
      continue;
    }
    const NodeId node = topology.link(links.back()).to;
    frontier_.close(node);
    by_[node.index()] = {lane, holder.node, links};
    left -= missing[node.index()] != 0 ? 1 : 0;
    if (problem_.may_forward(node, group.job)) extend(node, key);
    offer(lane);
  }
  return left == 0;
}

std::optional<TaskGraph> PathRouter::route(const PathRules& rules, Rng& rng,
                                           const StopCondition& stop) {
  load_.assign(quotient_.resources(), 0);
  price_.assign(quotient_.resources(), 1);
  per_latency_ = rules.latency;
  for (auto& path : paths_) path.clear();
  std::vector<std::vector<Hop>> best;
  double least = 0;
  double beta = 2;
  for (int sweep = 0; sweep < rules.sweeps; ++sweep, beta *= 1.5) {
    for (const Group& group : groups_) {
      std::vector<ChunkId> chunks = group.chunks;
      rng.shuffle(chunks);
      const auto batches = static_cast<std::size_t>(rules.batches);
      for (std::size_t b = 0; b < batches; ++b) {
        const std::size_t begin = chunks.size() * b / batches;
        const std::size_t end = chunks.size() * (b + 1) / batches;
        if (begin == end) continue;
        if (stop.should_stop()) return std::nullopt;
        const std::vector<ChunkId> wanted(chunks.begin() + static_cast<std::ptrdiff_t>(begin),
                                          chunks.begin() + static_cast<std::ptrdiff_t>(end));
        for (const ChunkId id : wanted)
          charge(paths_[id.index()], -static_cast<double>(problem_.chunks[id].bytes.value));
        price(beta);
        if (!tree(group, wanted, rng)) return std::nullopt;
        for (const ChunkId id : wanted) {
          std::vector<Hop>& path = paths_[id.index()];
          path.clear();
          for (NodeId at = problem_.chunks[id].destinations.front(); at != group.source;
               at = by_[at.index()].from)
            path.push_back(by_[at.index()]);
          std::reverse(path.begin(), path.end());
          charge(path, static_cast<double>(problem_.chunks[id].bytes.value));
        }
      }
    }
    if (best.empty() || fullest() < least) {
      least = fullest();
      best = paths_;
    }
  }
  paths_ = std::move(best);
  TaskGraph graph = tasks();
  paths_.assign(problem_.chunks.size(), {});
  return graph;
}

TaskGraph PathRouter::tasks() const {
  TaskGraph graph;
  std::map<std::pair<std::size_t, Bytes>, int> shapes;
  for (const ChunkId id : problem_.chunk_ids()) {
    const Chunk& chunk = problem_.chunks[id];
    int before = -1;
    for (const Hop& hop : paths_[id.index()]) {
      const auto [at, fresh] =
          shapes.try_emplace({hop.lane, chunk.bytes}, static_cast<int>(graph.shapes.size()));
      if (fresh)
        graph.shapes.push_back(quotient_.shape(lanes_.lane(hop.lane).example, chunk.bytes));
      const int task = static_cast<int>(graph.tasks.size());
      if (before >= 0) graph.arcs.emplace_back(before, task);
      graph.tasks.push_back({at->second, id, Op::copy, chunk.ready.ps, hop.links});
      before = task;
    }
  }
  return graph;
}

}  // namespace stellwerk::symmetric
