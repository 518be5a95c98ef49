// Fabrics: switches that are joined to each other, seen from the nodes around them.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "stellwerk/core/topology.hpp"

namespace stellwerk {

/// Switches connected by links between them (often a single one), with their links.
struct Fabric {
  std::vector<NodeId> switches;
  std::vector<LinkId> up;     ///< from a storing node into a switch
  std::vector<LinkId> down;   ///< from a switch to a storing node
  std::vector<LinkId> inner;  ///< from switch to switch
};

/// The fabrics of a topology, and the ways through them.
class Fabrics {
 public:
  explicit Fabrics(const Topology& topology);

  const std::vector<Fabric>& all() const { return fabrics_; }
  const std::vector<LinkId>& direct() const { return direct_; }  ///< between storing nodes
  /// The fabric that a switch or a link belongs to; -1 for storing nodes and direct links.
  int of(NodeId node) const { return of_node_[node]; }
  int of(LinkId link) const { return of_link_[link]; }

  /// The least latency that a send can have spent before its first byte enters the link, and, once
  /// it has come in, on the links after it.
  Time least_before(LinkId link) const { return before_[link]; }
  Time least_after(LinkId link) const { return after_[link]; }
  /// The same for a storing node: the least latency of a send that reaches it; zero without one.
  Time least_into(NodeId node) const { return into_[node]; }

  /// Shortest ways (in links) from one switch of a fabric to another: at most kMostPaths of them,
  /// spread over the alternatives. One empty path from a switch to itself; none where there is no
  /// way. Found when first asked for.
  const std::vector<std::vector<LinkId>>& inner_paths(NodeId from, NodeId to) const;
  static constexpr std::size_t kMostPaths = 16;

 private:
  void find_components();
  void find_offsets();
  std::vector<std::vector<LinkId>> find_paths(NodeId from, NodeId to) const;

  const Topology& topology_;
  std::vector<Fabric> fabrics_;
  std::vector<LinkId> direct_;
  IdVector<NodeId, int> of_node_;
  IdVector<LinkId, int> of_link_;
  IdVector<LinkId, Time> before_, after_;
  IdVector<NodeId, Time> into_;
  mutable std::map<std::pair<NodeId, NodeId>, std::vector<std::vector<LinkId>>> paths_;
};

}  // namespace stellwerk
