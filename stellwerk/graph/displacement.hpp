// How two vertices of a graph lie to each other: distance and shortest paths.
#pragma once

#include <cstdint>
#include <vector>

#include "stellwerk/graph/coloured_graph.hpp"

namespace stellwerk::graph {

/// Equal for pairs that a symmetry maps to each other.
struct Displacement {
  int distance = -1;        ///< arcs on a shortest path; -1: there is none
  std::uint64_t paths = 0;  ///< number of shortest paths, weighted by their labels, modulo 2^64

  friend bool operator==(const Displacement&, const Displacement&) = default;
};

/// Answers one pair after the other by two searches that meet in the middle.
class DisplacementFinder {
 public:
  /// The graph must outlive it.
  explicit DisplacementFinder(const ColouredGraph& graph);
  /// Adds the number of arcs seen to `work`.
  Displacement operator()(int from, int to, std::int64_t& work);
  /// Whether the answer would be `wanted`; gives up earlier if it is not.
  bool is(const Displacement& wanted, int from, int to, std::int64_t& work);

 private:
  /// A breadth-first search that is extended by whole levels.
  struct Side {
    std::vector<int> distance;
    std::vector<std::uint64_t> paths;
    std::vector<int> reached;     ///< in order
    std::size_t level_begin = 0;  ///< of the last level in `reached`
    int level = 0;
    std::int64_t level_arcs = 0;  ///< out of the last level
  };
  Displacement find(int from, int to, int longest, std::int64_t& work);
  void start(Side& side, int vertex, bool forward);
  void extend(Side& side, bool forward, std::int64_t& work);

  const ColouredGraph& graph_;
  std::vector<std::uint64_t> weight_;  // odd, one a label
  Side forward_, backward_;
};

}  // namespace stellwerk::graph
