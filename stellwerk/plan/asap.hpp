// Sends in a given order, each as early as its data and its links allow: how baselines turn an
// order into a schedule.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "stellwerk/core/problem.hpp"
#include "stellwerk/core/send.hpp"
#include "stellwerk/plan/routes.hpp"

namespace stellwerk {

/// A time for each of some pairs of chunk and node. Small problems have room for all pairs.
class ChunkNodeTimes {
 public:
  explicit ChunkNodeTimes(const Problem& problem);

  /// Time::max(): none is known.
  Time get(ChunkId chunk, NodeId node) const;
  void set(ChunkId chunk, NodeId node, Time time);

 private:
  std::size_t key(ChunkId chunk, NodeId node) const {
    return chunk.index() * nodes_ + node.index();
  }

  std::size_t nodes_;
  std::vector<Time> all_;  // by key; empty: there are too many pairs
  std::unordered_map<std::uint64_t, Time> some_;
};

/// When a link is free for whole sends.
class LinkTimes {
 public:
  /// The first instant >= `from` from which the link is free for `duration`.
  Time earliest(Time from, Time duration) const;
  /// Takes that time. Free time shorter than `least`, than which no send is, is forgotten.
  void take(Time begin, Time duration, Time least);

 private:
  struct Gap {
    Time begin, end;
  };
  std::vector<Gap> gaps_;  // in order
  Time free_;              // after this there is nothing yet
};

/// Adds whole-chunk sends over hops, in the order of the calls, each at the first instant at which
/// its data is there and its links are free long enough. Starts are causal and respect link
/// capacities, but neither node caps nor buffers: the re-timer, which must follow, does.
class AsapBuilder {
 public:
  explicit AsapBuilder(const Problem& problem);

  /// Does `node` hold the chunk (whole, or the full sum) at some time?
  bool holds(ChunkId chunk, NodeId node) const { return complete_.get(chunk, node) != Time::max(); }

  /// Copies over one hop, unless its end holds the chunk already; returns from when it does.
  Time copy(ChunkId chunk, const Hop& hop);

  /// Moves the sender's partial sum over one hop; returns its arrival. Everything that the sender is
  /// to merge must have been sent before.
  Time reduce(ChunkId chunk, const Hop& hop);

  /// The ends of two hops in opposite directions tell each other what they have of a sum, and keep
  /// it; returns when both know both. Everything that they are to tell must have been sent before.
  Time exchange(ChunkId chunk, const Hop& there, const Hop& back);

  /// Declares the sum complete at `node`: from now on it is copied.
  void finish_sum(ChunkId chunk, NodeId node);

  /// From when the node has all parts of a sum that were sent to it.
  Time partial_ready(ChunkId chunk, NodeId node) const;

  /// The sends, re-timed where nodes have limits.
  Schedule take();

 private:
  /// When a send over `hop` can start at the earliest.
  Time earliest(ChunkId chunk, const Hop& hop, Time held) const;
  Time append(ChunkId chunk, Op op, const Hop& hop, Time start);
  void merge(ChunkId chunk, NodeId node, Time arrival);

  const Problem& problem_;
  Schedule sends_;
  Bytes least_;  // of all chunks
  IdVector<LinkId, LinkTimes> links_;
  ChunkNodeTimes complete_;  // from when the node holds the whole
  ChunkNodeTimes partial_;   // last arrival of a part
};

}  // namespace stellwerk
