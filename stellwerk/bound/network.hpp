// What bounds ask of a topology: latency distances, and the times that whole chunks need
// (docs/certificates.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "stellwerk/core/topology.hpp"
#include "stellwerk/graph/digraph.hpp"
#include "stellwerk/graph/shortest_paths.hpp"

namespace stellwerk::bound {

/// One flag a node.
using NodeSet = std::vector<bool>;

std::vector<NodeId> members(const NodeSet& set);

/// Indexes a topology; latency distances are found when first asked for. Not safe for concurrent
/// use.
class Network {
 public:
  explicit Network(const Topology& topology);

  const Topology& topology() const { return topology_; }
  std::size_t nodes() const { return topology_.nodes().size(); }
  const graph::Digraph& digraph() const { return digraph_; }
  const std::vector<std::int64_t>& latencies() const { return latency_; }

  /// Latency distances in ps from / to a node; graph::kUnreachable without a path.
  const std::vector<std::int64_t>& from(NodeId node) const;
  const std::vector<std::int64_t>& to(NodeId node) const;

  /// Links that lead into a set.
  std::vector<LinkId> entries(const NodeSet& set) const;

  /// The distinct bandwidths (bytes/s), ascending.
  const std::vector<std::int64_t>& bandwidths() const { return bandwidths_; }

 private:
  const Topology& topology_;
  graph::Digraph digraph_;
  std::vector<std::int64_t> latency_;
  std::vector<std::int64_t> bandwidths_;
  mutable std::vector<std::optional<std::vector<std::int64_t>>> from_, to_;
};

/// Times of whole chunks of a given size: `first` and `last` of docs/certificates.md, found when
/// first asked for.
class WholeChunkTimes {
 public:
  WholeChunkTimes(const Network& network, Bytes bytes);

  /// tx(B): how long a send takes whose slowest link has the k-th bandwidth.
  std::int64_t transmission(std::size_t k) const { return transmission_[k]; }
  /// first_B(v) for a chunk that `source` holds at time 0 and B the k-th bandwidth, at [k * nodes +
  /// v].
  const std::vector<std::int64_t>& first(NodeId source) const;
  /// last_B(v) for a chunk that `target` wants, at [k * nodes + v].
  const std::vector<std::int64_t>& last(NodeId target) const;
  /// The least of last_B(v) over several targets; computed anew.
  std::vector<std::int64_t> last(const std::vector<NodeId>& targets) const;

  /// For a chunk that is held by a storing node at time 0: the least over the bandwidths B with a
  /// finite cost[k] of first_B(tail) + cost[k], at the number of the node. One search serves all
  /// sources.
  std::vector<std::int64_t> through(NodeId tail, const std::vector<std::int64_t>& cost) const;

 private:
  std::vector<std::int64_t> search(const std::vector<NodeId>& starts, bool backwards) const;

  const Network& network_;
  std::vector<std::int64_t> transmission_;
  mutable std::vector<std::optional<std::vector<std::int64_t>>> first_, last_;
};

}  // namespace stellwerk::bound
