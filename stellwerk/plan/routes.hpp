// Hops: the ways from one storing node (GPU, relay) to the next through switches. Planners think in hops; a send over a
// hop is a cut-through chain of links, a multicast send a tree of hops that share their first links.
#pragma once

#include <span>
#include <vector>

#include "stellwerk/base/ids.hpp"
#include "stellwerk/base/units.hpp"
#include "stellwerk/core/topology.hpp"

namespace stellwerk {

using HopId = Id<struct HopTag>;

/// A simple path whose inner nodes are switches.
struct Hop {
  NodeId from;
  NodeId to;
  std::vector<LinkId> links;
  Time latency;  ///< sum over the links
  Bandwidth
      bandwidth;  ///< smallest of the links, of the injection of `from` and the ejection of `to`
};

/// All hops of a topology. Between one pair of nodes at most `max_alternatives` are kept: fewest links first, then
/// widest, then lowest latency, then by link numbers.
class Routes {
 public:
  explicit Routes(const Topology& topology, int max_links = 8, int max_alternatives = 16);

  const Hop& hop(HopId id) const { return hops_[id]; }
  std::size_t size() const { return hops_.size(); }
  IdRange<HopId> hop_ids() const { return IdRange<HopId>(hops_.size()); }
  /// Hops that leave / reach a node.
  std::span<const HopId> out(NodeId node) const { return out_[node]; }
  std::span<const HopId> in(NodeId node) const { return in_[node]; }

  /// The hops of a least-time path for `bytes` moved whole (store-and-forward at each inner node), from the nearest of
  /// `sources` (equal start) to `to`; empty when there is none. Nodes for which `allowed` is false are not passed
  /// through (ends excepted).
  std::vector<HopId> path(std::span<const NodeId> sources, NodeId to, Bytes bytes,
                          const IdVector<NodeId, char>& allowed) const;

 private:
  IdVector<HopId, Hop> hops_;
  IdVector<NodeId, std::vector<HopId>> out_, in_;
};

}  // namespace stellwerk
