// Shortest paths with non-negative integer lengths.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "stellwerk/graph/digraph.hpp"

namespace stellwerk::graph {

/// No path. Far below overflow, so that two of them can be added.
inline constexpr std::int64_t kUnreachable = std::numeric_limits<std::int64_t>::max() / 4;

/// A vertex and the distance at which the search starts there.
struct Start {
  int vertex;
  std::int64_t distance = 0;
};

/// The least over the starts of start distance + length of a path, for every vertex; kUnreachable
/// without a path. Precondition: lengths >= 0, one an arc. With `backwards`, paths lead from the
/// vertices to the starts.
std::vector<std::int64_t> distances(const Digraph& graph, std::span<const std::int64_t> lengths,
                                    std::span<const Start> starts, bool backwards = false);

/// Vertices that can be reached from `starts` over arcs for which `usable` is true (empty: all
/// arcs).
std::vector<bool> reachable(const Digraph& graph, std::span<const int> starts,
                            const std::vector<bool>& usable = {});

/// The strongly connected component of every vertex, over arcs for which `usable` is true (empty:
/// all). Components are numbered by their smallest vertex.
std::vector<int> strong_components(const Digraph& graph, const std::vector<bool>& usable = {});

}  // namespace stellwerk::graph
