// Packing of spanning arborescences into a digraph with integer capacities.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/base/stop.hpp"
#include "stellwerk/graph/digraph.hpp"

namespace stellwerk::graph {

/// A spanning tree whose arcs lead away from its root, so many times.
struct Arborescence {
  int root = 0;
  std::int64_t copies = 0;
  std::vector<int> arcs;  ///< the tail of each is the root or the head of an earlier one
};

/// Can a source that feeds every vertex its copies send the sum of all of them to `vertex`? Empty if
/// it can; else the vertices on its side of the minimum cut that is nearest to the source. If it
/// can for all vertices a packing exists (Edmonds).
std::vector<bool> deficient_cut(const Digraph& graph, const std::vector<std::int64_t>& capacity,
                                const std::vector<std::int64_t>& copies, int vertex);

struct PackingOptions {
  /// Arcs are chosen by length + percent of the path length from the root / 100.
  int depth_percent = 30;
  std::int64_t step_limit = INT64_MAX;  ///< max-flows, at most
};

/// For every vertex v copies[v] spanning arborescences rooted at it, such that arc a is in at most
/// capacity[a] of them. `length`: short arcs are preferred, and short paths. Nothing when there is no
/// such packing, when too many different trees would be needed, or when stopped. Precondition: one
/// non-negative entry an arc, or a vertex.
std::optional<std::vector<Arborescence>> pack_arborescences(
    const Digraph& graph, const std::vector<std::int64_t>& capacity,
    const std::vector<std::int64_t>& copies, const std::vector<std::int64_t>& length,
    const PackingOptions& options, Rng& rng, const StopCondition& stop);

}  // namespace stellwerk::graph
