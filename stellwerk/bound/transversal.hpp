// The elements of a group that acts freely on the ranks, named by what they do to one rank.
#pragma once

#include <cstdint>
#include <vector>

#include "stellwerk/base/ids.hpp"
#include "stellwerk/core/symmetry.hpp"

namespace stellwerk::bound {

/// Every orbit of ranks has a base, its smallest member. Exactly one element t_r takes the base to
/// the rank r. Elements are kept as words in the generators and some of their powers: applying one
/// to a node costs as many look-ups as the word is long, about the logarithm of the group's order.
class Transversal {
 public:
  /// `ranks`: all of them, whole orbits.
  Transversal(std::size_t nodes, const Symmetry& symmetry, const std::vector<NodeId>& ranks);

  std::int64_t order() const { return order_; }
  /// Is the node a rank?
  bool moves(NodeId node) const { return base_[node.index()].valid(); }
  NodeId base(NodeId rank) const { return base_[rank.index()]; }
  /// The bases, ascending.
  const std::vector<NodeId>& bases() const { return bases_; }
  /// The ranks of one orbit, its base first.
  const std::vector<NodeId>& orbit(NodeId rank) const { return orbits_[orbit_of_[rank.index()]]; }

  /// t_rank(node), and its inverse.
  NodeId from_base(NodeId rank, NodeId node) const;
  NodeId to_base(NodeId rank, NodeId node) const;
  /// t_rank for all nodes.
  Permutation element(NodeId rank) const;

 private:
  struct Step {
    NodeId before;  ///< the rank that the step takes here
    std::int32_t permutation;
  };

  std::vector<Permutation> permutations_, inverses_;
  std::vector<NodeId> base_;  // invalid for nodes that are no ranks
  std::vector<Step> step_;
  std::vector<std::size_t> orbit_of_;
  std::vector<NodeId> bases_;
  std::vector<std::vector<NodeId>> orbits_;
  std::int64_t order_ = 1;
};

}  // namespace stellwerk::bound
