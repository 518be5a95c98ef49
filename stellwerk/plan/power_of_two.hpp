// Recursive halving and doubling: trees over a power of two of the ranks, and how the rest joins.
#pragma once

#include <cstddef>
#include <vector>

#include "stellwerk/plan/textbook_schedule.hpp"

namespace stellwerk {

/// The largest power of two of a job's ranks. Of the others, each is the double of one of them: with
/// e ranks too many, ranks 1, 3, ..., 2e-1 and 2e, 2e+1, ... take part, and 0, 2, ... are doubles.
class PowerOfTwo {
 public:
  explicit PowerOfTwo(const std::vector<NodeId>& ranks);

  std::size_t size() const { return members_.size(); }
  /// log2 of size().
  int steps() const;
  NodeId member(std::size_t i) const { return members_[i]; }

  /// The binomial tree of doubling from member `from`: in step k those that have the chunk pass it to
  /// the member whose number differs in binary digit k. Steps count from `first`.
  void add_doubling(std::size_t from, int first, std::vector<TreeEdge>& edges) const;
  /// The same tree for sums: halving, the largest distance first.
  void add_halving(std::size_t to, int first, std::vector<TreeEdge>& edges) const;
  /// Edges that join the doubles to their members.
  void add_doubles(int step, std::vector<TreeEdge>& edges) const;

  /// Pairs of a member and its double.
  struct Double {
    NodeId member;
    NodeId rank;
  };
  const std::vector<Double>& doubles() const { return doubles_; }

 private:
  std::vector<NodeId> members_;
  std::vector<Double> doubles_;
};

}  // namespace stellwerk
