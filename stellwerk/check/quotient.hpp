// A problem by representatives: is the group of permutations what it claims to be, and what do all
// images together put on a link or a node?
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stellwerk/check/finding.hpp"
#include "stellwerk/core/symmetry.hpp"

namespace stellwerk::check {

/// Links and nodes that the group maps to each other are one *resource*. Without a symmetry every
/// link and every node is one by itself.
class Quotient {
 public:
  /// `problem` must outlive this object.
  explicit Quotient(const Problem& problem) : problem_(problem) {}

  /// wrong_symmetry, unless all generators are automorphisms of topology and jobs and the group acts
  /// freely on the jobs' ranks. Then answers the questions below.
  Judgement build();

  bool trivial() const { return node_.empty(); }
  /// Elements of the group.
  std::int64_t order() const { return order_; }

  std::size_t link(LinkId id) const { return trivial() ? id.index() : link_[id]; }
  std::size_t node(NodeId id) const { return trivial() ? id.index() : node_[id]; }
  std::size_t links() const {
    return trivial() ? problem_.topology.links().size() : first_link_.size();
  }
  std::size_t nodes() const {
    return trivial() ? problem_.topology.nodes().size() : first_node_.size();
  }
  /// One of a resource's links or nodes.
  LinkId link_of(std::size_t resource) const {
    return trivial() ? LinkId(resource) : first_link_[resource];
  }
  NodeId node_of(std::size_t resource) const {
    return trivial() ? NodeId(resource) : first_node_[resource];
  }

  /// How many images of one use of a link (or node) of a resource fall on the same link (node): the
  /// elements that keep it where it is.
  std::int64_t link_share(std::size_t resource) const {
    return trivial() ? 1 : order_ / link_size_[resource];
  }
  std::int64_t node_share(std::size_t resource) const {
    return trivial() ? 1 : order_ / node_size_[resource];
  }

  /// The inverse of the element that takes the orbit's base to `rank`. The base is the rank that
  /// owns the first chunk of one of the orbit. Not without a symmetry.
  const Permutation& to_base(NodeId rank);
  NodeId base(NodeId rank) const { return first_node_[node_[rank]]; }

  const LinkImages& images() const { return *images_; }

 private:
  Judgement wrong(std::string message) const;
  Judgement check_generator(std::size_t number);
  Judgement check_job(std::size_t number, const Job& job);
  Judgement check_freeness();
  void find_orbits();
  bool equivariant(const std::vector<NodeId>& order, NodeId image);

  const Problem& problem_;
  std::int64_t order_ = 1;
  std::optional<LinkImages> images_;
  std::vector<IdVector<LinkId, LinkId>> link_images_;  // one a generator
  IdVector<NodeId, std::uint32_t> node_;
  IdVector<LinkId, std::uint32_t> link_;
  std::vector<NodeId> first_node_;
  std::vector<LinkId> first_link_;
  std::vector<std::int64_t> node_size_, link_size_;
  // How a search from the base of an orbit came to a node: the generator used last, and from where.
  IdVector<NodeId, std::uint32_t> generator_;
  IdVector<NodeId, NodeId> parent_;
  IdVector<NodeId, NodeId> map_;  // scratch
  NodeId to_base_of_;
  Permutation to_base_;
  std::vector<Permutation> inverses_;
};

}  // namespace stellwerk::check
