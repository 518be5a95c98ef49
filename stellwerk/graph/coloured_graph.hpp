// A directed graph with colours on its vertices and labels on its arcs, and its symmetries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stellwerk::graph {

/// The image of vertex v is at [v].
using VertexPermutation = std::vector<int>;

/// First `a`, then `b`.
VertexPermutation product(const VertexPermutation& a, const VertexPermutation& b);
VertexPermutation inverse(const VertexPermutation& p);
VertexPermutation identity(int vertices);
/// Applied `exponent` >= 0 times; time linear in the number of vertices.
VertexPermutation power(const VertexPermutation& p, std::int64_t exponent);

/// Immutable. Some of the vertices are *points*: those that a symmetry must move freely.
class ColouredGraph {
 public:
  struct Arc {
    int from;
    int to;
    int label;
  };
  /// An arc seen from one end.
  struct Half {
    int vertex;  ///< the other end
    int label;

    friend auto operator<=>(const Half&, const Half&) = default;
  };

  /// Preconditions: `points` and `colours` have one entry a vertex; between two vertices there is
  /// at most one arc each way; labels are not negative.
  ColouredGraph(std::vector<int> colours, std::vector<char> points, const std::vector<Arc>& arcs);

  int vertices() const { return static_cast<int>(colours_.size()); }
  int labels() const { return labels_; }
  int colour(int vertex) const { return colours_[static_cast<std::size_t>(vertex)]; }
  bool is_point(int vertex) const { return points_[static_cast<std::size_t>(vertex)] != 0; }
  std::span<const Half> out(int vertex) const { return group(out_, out_begin_, vertex); }
  std::span<const Half> in(int vertex) const { return group(in_, in_begin_, vertex); }

  /// Whether `p` keeps colours, points, arcs and labels. Precondition: a permutation.
  bool is_automorphism(const VertexPermutation& p) const;

 private:
  static std::span<const Half> group(const std::vector<Half>& halves,
                                     const std::vector<std::size_t>& begin, int vertex) {
    const std::size_t v = static_cast<std::size_t>(vertex);
    return std::span(halves).subspan(begin[v], begin[v + 1] - begin[v]);
  }

  std::vector<int> colours_;
  std::vector<char> points_;
  int labels_ = 0;
  std::vector<Half> out_, in_;  // of each vertex in ascending order
  std::vector<std::size_t> out_begin_, in_begin_;
};

}  // namespace stellwerk::graph
