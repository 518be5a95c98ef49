// Sends in a given order, each as early as its data and its links allow: how baselines turn an
// order into a schedule.
#pragma once

#include <unordered_map>

#include "stellwerk/core/send.hpp"
#include "stellwerk/plan/path_tree.hpp"

namespace stellwerk {

/// Appends whole-chunk sends over hops. Every link is first come, first served in the order of the
/// calls. Starts are causal and respect link capacities, but neither node caps nor buffers: the
/// re-timer, which must follow, does.
class AsapBuilder {
 public:
  AsapBuilder(const Problem& problem, const Routes& routes);

  /// Does `node` hold the chunk (whole, or the full sum) at some time?
  bool holds(ChunkId chunk, NodeId node) const { return complete_.contains(key(chunk, node)); }

  /// Copies along the hops, leaving out those into nodes that hold the chunk already.
  void copy_along(ChunkId chunk, const std::vector<HopId>& hops);

  /// Copies over one hop, unless its end holds the chunk already; returns from when it does.
  Time copy(ChunkId chunk, HopId hop);

  /// Moves the sender's partial sum over one hop; returns its arrival. Everything that the sender is
  /// to merge must have been sent before.
  Time reduce(ChunkId chunk, HopId hop);

  /// Declares the sum complete at `node`: from now on it is copied.
  void finish_sum(ChunkId chunk, NodeId node);

  /// The sends, re-timed.
  Schedule take();

 private:
  static std::uint64_t key(ChunkId chunk, NodeId node) {
    return (static_cast<std::uint64_t>(chunk.value) << 32) | static_cast<std::uint32_t>(node.value);
  }
  Time append(ChunkId chunk, Op op, const Hop& hop, Time held);
  Time partial_ready(ChunkId chunk, NodeId node) const;

  const Problem& problem_;
  const Routes& routes_;
  Schedule sends_;
  IdVector<LinkId, Time> free_;                       // when the link's last send has left it
  std::unordered_map<std::uint64_t, Time> complete_;  // (chunk, node): from when it holds the whole
  std::unordered_map<std::uint64_t, Time> partial_;   // (chunk, node): last arrival of a part
};

}  // namespace stellwerk
