// Ordered partitions of the vertices of a graph and their refinement (colour refinement), with undo
// and with traces that tell two refinements apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stellwerk/graph/coloured_graph.hpp"

namespace stellwerk::graph {

/// What refinement sees: the arcs of a graph from both ends, and arcs from every vertex to its
/// images under permutations. A permutation that keeps the latter commutes with them.
class RefinementGraph {
 public:
  enum class Arcs : std::uint8_t {
    directed,    ///< keeping them: sigma commutes with every generator
    undirected,  ///< or turns it into its inverse
    alike,       ///< or into another one or its inverse
  };
  struct Half {
    int vertex;
    std::uint64_t weight;  ///< a hash of label and direction
  };

  RefinementGraph(const ColouredGraph& graph, const std::vector<VertexPermutation>& generators,
                  Arcs arcs);

  int vertices() const { return static_cast<int>(begin_.size()) - 1; }
  std::span<const Half> around(int vertex) const {
    const std::size_t v = static_cast<std::size_t>(vertex);
    return std::span(halves_).subspan(begin_[v], begin_[v + 1] - begin_[v]);
  }

 private:
  std::vector<Half> halves_;
  std::vector<std::size_t> begin_;
};

/// The hashes that a refinement went through, in order. Two that come from vertices which a symmetry
/// maps to each other are equal.
using Trace = std::vector<std::uint64_t>;

/// A partition of the vertices into an ordered list of cells. A cell is known by its first position.
class OrderedPartition {
 public:
  /// Cells by ascending colour; points and other vertices are in different cells.
  explicit OrderedPartition(const ColouredGraph& graph);

  int cells() const { return cells_; }
  bool discrete() const { return cells_ == static_cast<int>(element_.size()); }
  int cell(int vertex) const { return cell_of_[at(vertex)]; }
  int size(int cell) const { return size_[at(cell)]; }
  std::span<const int> members(int cell) const {
    return std::span(element_).subspan(at(cell), at(size_[at(cell)]));
  }
  /// The cells of more than one vertex, in no particular order: the first and the one after `cell`
  /// (-1: none).
  int first_large() const { return next_large_.back(); }
  int next_large(int cell) const { return next_large_[at(cell)]; }

  /// Takes `vertex` out of its cell, as a cell of its own behind the rest.
  void individualise(int vertex);

  /// Splits cells until all members of a cell have the same arcs to every cell. Starts from the
  /// cells that have changed since the last call. Adds the number of arcs seen to `work`.
  void refine(const RefinementGraph& graph, Trace& trace, std::int64_t& work);
  /// The same, but stops with false as soon as the trace is not `trace`. (After that the partition
  /// must be undone.)
  bool refine_like(const RefinementGraph& graph, const Trace& trace, std::int64_t& work);

  /// The splits so far: pairs of the old cell and the one that was split off.
  const std::vector<std::pair<int, int>>& splits() const { return splits_; }
  /// Back to when there were `count` splits.
  void undo(std::size_t count);

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  void split(int cell, int begin);
  void swap_positions(int a, int b);
  void enqueue(int cell);
  template <class Emit>
  bool run(const RefinementGraph& graph, std::int64_t& work, Emit emit);
  template <class Emit>
  bool split_by_weight(int cell, std::vector<int>& touched, Emit emit);

  std::vector<int> element_, position_, cell_of_, size_;
  std::vector<int> next_large_, previous_large_;  // the last entry is the head of the list
  int cells_ = 0;
  std::vector<std::pair<int, int>> splits_;
  std::vector<int> queue_;
  std::size_t queue_head_ = 0;
  std::vector<char> queued_;
  // Scratch.
  std::vector<std::uint64_t> weight_;
  std::vector<std::vector<int>> touched_in_;
};

/// A well-mixed 64-bit hash of an integer.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace stellwerk::graph
