// Koenig's theorem (Math. Annalen 77, 1916) by its classical proof: colour one edge after the other
// with the lowest colour that is free at both ends; if there is none, take a colour a that is free
// on the left and b that is free on the right, and swap a and b along the alternating path that
// starts at the right end with a. The path cannot reach the left end, which lacks a, so a is free at
// both ends then. Cost: O(degree / 64) a look for a free colour, O(vertices) a swap in the worst
// case, in practice a few edges. Held to its word by edge_colouring_test.cpp.
#include "stellwerk/graph/edge_colouring.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace stellwerk::graph {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Which edge has which colour at the vertices of one side, and which colours are free.
class Side {
 public:
  Side(int vertices, int colours)
      : colours_(at(colours)),
        words_((at(colours) + 63) / 64),
        edge_(at(vertices) * colours_, -1),
        free_(at(vertices) * words_, 0) {
    for (std::size_t v = 0; v < at(vertices); ++v) {
      for (int c = 0; c < colours; ++c) mark(v, c, true);
    }
  }

  int edge(int vertex, int colour) const { return edge_[at(vertex) * colours_ + at(colour)]; }
  void set(int vertex, int colour, int edge) {
    edge_[at(vertex) * colours_ + at(colour)] = edge;
    mark(at(vertex), colour, edge < 0);
  }
  std::size_t words() const { return words_; }
  std::uint64_t free(int vertex, std::size_t word) const {
    return free_[at(vertex) * words_ + word];
  }
  int first_free(int vertex) const {
    for (std::size_t w = 0; w < words_; ++w) {
      if (free(vertex, w) != 0) return static_cast<int>(w) * 64 + std::countr_zero(free(vertex, w));
    }
    return -1;
  }

 private:
  void mark(std::size_t vertex, int colour, bool is_free) {
    std::uint64_t& word = free_[vertex * words_ + at(colour) / 64];
    const std::uint64_t bit = std::uint64_t{1} << (at(colour) % 64);
    word = is_free ? word | bit : word & ~bit;
  }

  std::size_t colours_, words_;
  std::vector<std::int32_t> edge_;
  std::vector<std::uint64_t> free_;
};

}  // namespace

std::vector<int> colour_edges(int lefts, int rights, std::span<const BipartiteEdge> edges) {
  std::vector<int> degree(at(lefts) + at(rights), 0);
  for (const BipartiteEdge& edge : edges) {
    ++degree[at(edge.left)];
    ++degree[at(lefts) + at(edge.right)];
  }
  const int colours = edges.empty() ? 0 : *std::max_element(degree.begin(), degree.end());
  Side left(lefts, colours), right(rights, colours);
  std::vector<int> colour(edges.size(), -1);
  const auto paint = [&](int e, int c) {
    colour[at(e)] = c;
    left.set(edges[at(e)].left, c, e);
    right.set(edges[at(e)].right, c, e);
  };
  std::vector<int> path;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const BipartiteEdge& edge = edges[e];
    int chosen = -1;
    for (std::size_t w = 0; w < left.words() && chosen < 0; ++w) {
      const std::uint64_t both = left.free(edge.left, w) & right.free(edge.right, w);
      if (both != 0) chosen = static_cast<int>(w) * 64 + std::countr_zero(both);
    }
    if (chosen < 0) {
      const int a = left.first_free(edge.left), b = right.first_free(edge.right);
      path.clear();
      bool on_right = true;
      for (int vertex = edge.right, c = a;; c = c == a ? b : a, on_right = !on_right) {
        const int next = on_right ? right.edge(vertex, c) : left.edge(vertex, c);
        if (next < 0) break;
        path.push_back(next);
        vertex = on_right ? edges[at(next)].left : edges[at(next)].right;
      }
      for (const int f : path) {
        left.set(edges[at(f)].left, colour[at(f)], -1);
        right.set(edges[at(f)].right, colour[at(f)], -1);
      }
      for (const int f : path) paint(f, colour[at(f)] == a ? b : a);
      chosen = a;
    }
    paint(static_cast<int>(e), chosen);
  }
  return colour;
}

}  // namespace stellwerk::graph
