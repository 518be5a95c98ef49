// Inserts one chunk after the other into the residual network: the constructive step of the `search` planner.
#pragma once

#include <map>
#include <vector>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/core/problem.hpp"
#include "stellwerk/core/send.hpp"
#include "stellwerk/plan/reservations.hpp"
#include "stellwerk/plan/routes.hpp"

namespace stellwerk {

/// How one chunk's tree is grown.
struct InsertionStyle {
  int occupancy_quarters =
      0;  ///< penalty per unit of link time used, in quarters: lambda = occupancy_quarters / 4
  int wait_quarters =
      0;  ///< joint multicast: how long (in quarters of one send, per receiver) to wait for all
  Time noise;            ///< keys are disturbed by up to this much
  bool no_wait = false;  ///< a node that is no origin sends on at the instant of arrival or never
};

/// A schedule under construction, for chunks without contributors. Every chunk's sends can be taken out and inserted
/// anew. Invariant: the reservations are exactly those of the sends.
class Insertion {
 public:
  /// Keeps references: both must outlive it. Precondition: no chunk of the problem is a reduction.
  Insertion(const Problem& problem, const Routes& routes, Rng& rng);

  /// Grows the tree of `chunk` (which must have no sends) from its origins to all its destinations, earliest arrival
  /// plus penalty first, and reserves it. Returns when the last destination holds it; Time::max() if one cannot be
  /// reached.
  Time insert(ChunkId chunk, const InsertionStyle& style);
  void remove(ChunkId chunk);

  /// Puts back sends that were taken out before (with their starts).
  void restore(ChunkId chunk, std::vector<Send> sends);

  const std::vector<Send>& sends(ChunkId chunk) const { return sends_[chunk]; }
  Time finish(ChunkId chunk) const { return finish_[chunk]; }
  Time makespan() const;
  Schedule schedule() const;
  void clear();

 private:
  enum class Mark : std::uint8_t { untouched, tentative, held };
  struct Label {
    Mark mark = Mark::untouched;
    Time arrival;            ///< when it holds (or would hold) the chunk
    std::int64_t extra = 0;  ///< penalties on the tentative path so far, ps
    HopId parent;            ///< tentative: the hop that reaches it
    Time first_in;           ///< tentative: when its first byte would come in
    bool origin = false;
  };
  struct Entry {
    std::int64_t key;
    HopId hop;
    Time start;
    bool operator<(const Entry& other) const {  // smallest key on top; ties by hop for determinism
      return key != other.key ? key > other.key : hop > other.hop;
    }
  };
  /// How a hop would be used now: by a send of its own, or as a branch of an earlier multicast.
  struct Placement {
    Time start;  ///< Time::max(): not at all
    Time arrival;
    int shared = -1;  ///< index into the chunk's sends
    bool possible() const { return start != Time::max(); }
  };
  /// From the first byte in to the end of the last send out: how long a chunk fills a transit buffer.
  struct Stay {
    Time begin = Time::max();
    Time end;
  };

  void start_chunk(ChunkId chunk);
  bool grow(Time earliest, const InsertionStyle& style);
  void fix_path(HopId last, const InsertionStyle& style);
  void hop_footprint(HopId hop, Footprint& result);
  Placement place(HopId hop, Time available);
  bool stay_fits(NodeId node, Time until) const;
  void extend_stay(NodeId node, Time begin, Time end);
  /// Nodes with a limited buffer in which the chunk is in transit, and for how long.
  std::map<NodeId, Stay> stays(ChunkId chunk) const;
  bool limits(const Chunk& chunk, NodeId node) const;
  Footprint stay_footprint(NodeId node, const Stay& stay, Bytes bytes) const;
  bool try_branch(HopId hop, const Send& send, Send& extended, Footprint& branch) const;
  void commit(HopId hop, Placement placement);
  bool commit_multicast(HopId hop, Time start, const InsertionStyle& style);
  void hold(NodeId node, Time arrival);
  void push_hops(NodeId node, const InsertionStyle& style);
  std::int64_t penalty(HopId hop, const InsertionStyle& style);

  const Problem& problem_;
  const Topology& topology_;
  const Routes& routes_;
  Rng& rng_;
  Reservations reservations_;
  IdVector<ChunkId, std::vector<Send>> sends_;
  IdVector<ChunkId, Time> finish_;
  std::map<std::int64_t, IdVector<HopId, Time>> durations_;  ///< per chunk size
  bool multicast_ = false;                                   ///< any switch that copies
  bool buffers_ = false;                                     ///< any limited transit buffer
  Time latest_;                                              ///< from then on nothing is reserved

  // State of the insertion in progress.
  bool no_wait_ = false;
  ChunkId chunk_;
  Bytes bytes_;
  const IdVector<HopId, Time>* duration_ = nullptr;
  IdVector<NodeId, Label> labels_;
  IdVector<NodeId, char> wanted_;
  IdVector<NodeId, char> may_forward_;
  JobId forward_job_;
  IdVector<NodeId, char>
      limited_;  ///< the chunk would be in transit there, and the buffer is limited
  IdVector<NodeId, Stay> stays_;
  std::vector<NodeId> fresh_;  ///< nodes that became holders and whose hops are to be pushed
  std::size_t missing_ = 0;    ///< destinations still without the chunk
  std::vector<Entry> queue_;   ///< a heap
  Footprint scratch_;
};

}  // namespace stellwerk
