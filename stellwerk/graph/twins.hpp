// Points with the same neighbours: they can be permuted at will, so one of each kind is enough to
// find the symmetries of the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stellwerk/graph/coloured_graph.hpp"

namespace stellwerk::graph {

/// The graph with one vertex for every class of twins: points of one colour with the same arcs to
/// the same vertices (and none between them).
class Twins {
 public:
  /// Nothing if the sizes of the classes of points have no common divisor above 1: then no rotation
  /// of all classes moves every point.
  static std::optional<Twins> find(const ColouredGraph& graph);

  const ColouredGraph& reduced() const { return reduced_; }
  /// The greatest common divisor of the sizes of the classes of points.
  std::int64_t period() const { return period_; }

  /// The symmetry of the graph that does to classes what `p` does; lifts of products are products
  /// of lifts.
  VertexPermutation lift(const VertexPermutation& p) const;
  /// Rotates every class of points in cycles of `period()`. Commutes with all lifts.
  VertexPermutation rotation() const;

 private:
  Twins(std::vector<std::vector<int>> members, ColouredGraph reduced, std::int64_t period)
      : members_(std::move(members)), reduced_(std::move(reduced)), period_(period) {}
  std::size_t vertices() const;

  std::vector<std::vector<int>> members_;  ///< of each vertex of the reduced graph
  ColouredGraph reduced_;
  std::int64_t period_;
};

}  // namespace stellwerk::graph
