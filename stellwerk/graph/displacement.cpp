// Every shortest path has exactly one vertex at each distance from its start, so once a forward
// search of a levels and a backward search of b levels meet for the first time, the distance is
// a + b, and the sum over the vertices where they meet of (paths from the start) times (paths to
// the end) counts all shortest paths. Weights multiply along a path, which keeps that true.
#include "stellwerk/graph/displacement.hpp"

#include "stellwerk/graph/refinement.hpp"

namespace stellwerk::graph {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

DisplacementFinder::DisplacementFinder(const ColouredGraph& graph) : graph_(graph) {
  for (int label = 0; label < graph.labels(); ++label) {
    weight_.push_back(mix(static_cast<std::uint64_t>(label) + 101) | 1);
  }
  for (Side* side : {&forward_, &backward_}) {
    side->distance.assign(at(graph.vertices()), -1);
    side->paths.assign(at(graph.vertices()), 0);
  }
}

void DisplacementFinder::start(Side& side, int vertex, bool forward) {
  for (const int v : side.reached) side.distance[at(v)] = -1;
  side.reached.assign(1, vertex);
  side.distance[at(vertex)] = 0;
  side.paths[at(vertex)] = 1;
  side.level_begin = 0;
  side.level = 0;
  side.level_arcs =
      static_cast<std::int64_t>((forward ? graph_.out(vertex) : graph_.in(vertex)).size());
}

void DisplacementFinder::extend(Side& side, bool forward, std::int64_t& work) {
  const std::size_t end = side.reached.size();
  ++side.level;
  work += side.level_arcs;
  side.level_arcs = 0;
  for (std::size_t i = side.level_begin; i < end; ++i) {
    const int v = side.reached[i];
    for (const auto& half : forward ? graph_.out(v) : graph_.in(v)) {
      const std::size_t w = at(half.vertex);
      if (side.distance[w] < 0) {
        side.distance[w] = side.level;
        side.paths[w] = 0;
        side.reached.push_back(half.vertex);
        side.level_arcs += static_cast<std::int64_t>(
            (forward ? graph_.out(half.vertex) : graph_.in(half.vertex)).size());
      }
      if (side.distance[w] == side.level) {
        side.paths[w] += side.paths[at(v)] * weight_[at(half.label)];
      }
    }
  }
  side.level_begin = end;
}

Displacement DisplacementFinder::operator()(int from, int to, std::int64_t& work) {
  return find(from, to, graph_.vertices(), work);
}

bool DisplacementFinder::is(const Displacement& wanted, int from, int to, std::int64_t& work) {
  const int longest = wanted.distance < 0 ? graph_.vertices() : wanted.distance;
  return find(from, to, longest, work) == wanted;
}

/// No distance if it is more than `longest`.
Displacement DisplacementFinder::find(int from, int to, int longest, std::int64_t& work) {
  start(forward_, from, true);
  start(backward_, to, false);
  if (from == to) return {0, 1};
  while (forward_.level + backward_.level < longest) {
    const bool forward = forward_.level_arcs <= backward_.level_arcs;
    Side& side = forward ? forward_ : backward_;
    const Side& other = forward ? backward_ : forward_;
    extend(side, forward, work);
    if (side.level_begin == side.reached.size()) return {};
    Displacement result;
    for (std::size_t i = side.level_begin; i < side.reached.size(); ++i) {
      const std::size_t v = at(side.reached[i]);
      if (other.distance[v] != other.level) continue;
      result.distance = side.level + other.level;
      result.paths += side.paths[v] * other.paths[v];
    }
    if (result.distance >= 0) return result;
  }
  return {};
}

}  // namespace stellwerk::graph
