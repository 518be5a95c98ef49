// Large groups of symmetries that move all points of a graph freely, found without hints.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "stellwerk/graph/coloured_graph.hpp"

namespace stellwerk::graph {

struct FoundGroup {
  std::vector<VertexPermutation> generators;
  std::int64_t order = 1;
  double free_arcs = 1;  ///< see free_arcs()
};

struct FreeGroups {
  FoundGroup largest;      ///< the most elements; of such, the most arcs free
  FoundGroup arc_free;     ///< the most elements that move all arcs, too
  std::int64_t bound = 1;  ///< no free group has more elements; it divides this number
  bool complete = true;    ///< false if the search was told to stop or ran out of work
};

struct FreeGroupOptions {
  std::uint64_t seed = 1;
  std::int64_t most_work = 0;  ///< arcs looked at, some 10 ns each; 0: 3*10^8 + 3*10^4 a vertex
  std::function<bool()> should_stop = {};  ///< polled every millisecond or so
};

/// Precondition: the graph has a point. Deterministic, unless `should_stop` cuts it short.
FreeGroups find_free_groups(const ColouredGraph& graph, const FreeGroupOptions& options = {});

}  // namespace stellwerk::graph
