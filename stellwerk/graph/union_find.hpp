// Sets that grow together: union by number, with path halving (Tarjan and van Leeuwen, J. ACM 31(2), 1984).
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace stellwerk::graph {

/// The numbers 0 .. n-1, each alone at first. A set is named by its smallest member.
class UnionFind {
 public:
  explicit UnionFind(std::size_t n) : parent_(n) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }

  /// The smallest member of the set of `v`.
  std::size_t root(std::size_t v) {
    while (parent_[v] != v) v = parent_[v] = parent_[parent_[v]];
    return v;
  }
  void join(std::size_t a, std::size_t b) {
    const std::size_t x = root(a), y = root(b);
    parent_[std::max(x, y)] = std::min(x, y);
  }

 private:
  std::vector<std::size_t> parent_;
};

}  // namespace stellwerk::graph
