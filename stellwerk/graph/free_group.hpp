// Groups of symmetries of a graph that move its points freely: no element but the identity keeps a
// point where it is.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stellwerk/graph/coloured_graph.hpp"

namespace stellwerk::graph {

/// Generators with the orbits and the order of the group that they generate.
class FreeGroup {
 public:
  explicit FreeGroup(int vertices) : vertices_(vertices) { find_orbits(); }

  const std::vector<VertexPermutation>& generators() const { return generators_; }
  std::int64_t order() const { return order_; }
  /// The least vertex of the orbit.
  int orbit(int vertex) const { return orbit_[static_cast<std::size_t>(vertex)]; }

  /// Adds a generator. Precondition: the group that results acts freely on the points and is
  /// `index` times as large.
  void extend(VertexPermutation generator, std::int64_t index);

  /// The element that takes point `from` to `to`, which is in its orbit.
  VertexPermutation element(int from, int to) const;

 private:
  void find_orbits();

  int vertices_;
  std::vector<VertexPermutation> generators_;
  std::int64_t order_ = 1;
  std::vector<int> orbit_;
};

/// The order of the group that `generators` (automorphisms of `graph`) generate if it acts freely on
/// the points, at least one of which there must be; nothing if it does not, if it has more than
/// `limit` elements, or if listing its elements would take more than 256 MB.
std::optional<std::int64_t> free_order(const ColouredGraph& graph,
                                       const std::vector<VertexPermutation>& generators,
                                       std::int64_t limit);

/// The share (0 to 1) of the arcs that no element of a group but the identity keeps where they are;
/// the group acts freely on the points and has `order` elements.
double free_arcs(const ColouredGraph& graph, const std::vector<VertexPermutation>& generators,
                 std::int64_t order);

}  // namespace stellwerk::graph
