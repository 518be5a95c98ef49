// A plain directed multigraph: vertices 0 .. n-1, arcs numbered in the order in which they were
// given. What it carries (capacities, lengths) lives in vectors beside it, one entry an arc.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace stellwerk::graph {

struct Arc {
  int from;
  int to;

  friend bool operator==(const Arc&, const Arc&) = default;
};

/// Immutable, indexed by tail and by head.
class Digraph {
 public:
  Digraph() : Digraph(0, {}) {}
  /// Precondition: the ends of all arcs are in [0, vertices).
  Digraph(int vertices, std::vector<Arc> arcs);

  int vertices() const { return vertices_; }
  int arcs() const { return static_cast<int>(arcs_.size()); }
  const Arc& arc(int id) const { return arcs_[static_cast<std::size_t>(id)]; }

  /// Arcs that leave / enter a vertex, in ascending order.
  std::span<const int> out(int vertex) const { return group(out_, out_begin_, vertex); }
  std::span<const int> in(int vertex) const { return group(in_, in_begin_, vertex); }

  /// The same arcs, turned round; arc numbers stay.
  Digraph reversed() const;

 private:
  static std::span<const int> group(const std::vector<int>& arcs, const std::vector<int>& begin,
                                    int vertex) {
    const std::size_t v = static_cast<std::size_t>(vertex);
    return std::span(arcs).subspan(static_cast<std::size_t>(begin[v]),
                                   static_cast<std::size_t>(begin[v + 1] - begin[v]));
  }

  int vertices_;
  std::vector<Arc> arcs_;
  std::vector<int> out_, in_;
  std::vector<int> out_begin_, in_begin_;
};

}  // namespace stellwerk::graph
