// Multicast trees of representative chunks, grown one after the other into what is left of the
// link orbits.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/base/stop.hpp"
#include "stellwerk/core/problem.hpp"
#include "stellwerk/plan/symmetric_frontier.hpp"
#include "stellwerk/plan/symmetric_lanes.hpp"
#include "stellwerk/plan/symmetric_tasks.hpp"
#include "stellwerk/plan/symmetric_timeline.hpp"

namespace stellwerk::symmetric {

/// How trees grow.
struct GrowthRules {
  /// The next send is the one with the least start + patience * time to its arrival + penalty *
  /// time that it claims of resources. With little patience far nodes come first.
  double penalty = 0;
  double patience = 1;
  /// What a send claims is the sum over its resources, or the most of one.
  bool bottleneck = false;
  /// False: trees see neither each other nor themselves, so that all nodes are reached as early as
  /// they can be; among equally early sends the one on the least loaded resources is taken.
  bool contended = true;
  /// Most leaves of one send; 1: switches do not copy.
  std::size_t most_leaves = 1;
  /// A node that is offered for less than this part of a lane's claims is left to that offer:
  /// always if `strict`, else while there are others.
  double cheap = 0.75;
  bool strict = false;
  /// Nodes are found, and equally good lanes tried, in random order.
  bool random = false;
};

/// Tasks with the starts that the growth gave them: a schedule, when contended.
struct Grown {
  TaskGraph graph;
  std::vector<std::int64_t> starts;  ///< ps, by task
  std::int64_t finish = 0;           ///< ps
};

class TreeGrower {
 public:
  /// All of them must outlive it. Precondition: every chunk has origins.
  TreeGrower(const Problem& problem, const Quotient& quotient, const Lanes& lanes);

  /// Trees of all chunks in this order; nothing if some destination cannot be reached, or when
  /// stopped.
  std::optional<Grown> grow(const std::vector<ChunkId>& order, const GrowthRules& rules, Rng& rng,
                            const StopCondition& stop);

 private:
  struct Holder {
    std::int64_t ready;
    std::uint64_t tie;
    NodeId node;
    int task;  ///< that brings the chunk; -1: an origin
  };
  /// When a lane's first holder could send, and how good that is.
  struct Candidate {
    double key;
    double load;
    std::uint64_t tie;
    std::size_t lane;
    std::uint64_t stamp;  ///< that of the lane, unless out of date
    std::int64_t start;
  };
  static bool later(const Holder& a, const Holder& b);
  static bool worse(const Candidate& a, const Candidate& b);

  const Shape& shape(std::size_t lane) const { return shapes_[size_ * lanes_.size() + lane]; }
  double claim(std::size_t lane) const {
    return (rules_.bottleneck ? most_ : claims_)[size_ * lanes_.size() + lane];
  }
  bool grow_one(ChunkId id, const StopCondition& stop);
  bool open_nodes(const Chunk& chunk);
  void settle(NodeId node, std::int64_t ready, int task);
  Candidate candidate(std::size_t lane);
  void push(const Candidate& c);
  void send(const Candidate& c);
  void place(int shape, std::int64_t start, const Holder& holder, std::vector<LinkId> links);
  void prune(const Chunk& chunk, std::size_t first_task, std::size_t first_arc);

  const Problem& problem_;
  const Quotient& quotient_;
  const Lanes& lanes_;
  Frontier frontier_;
  std::vector<Bytes> sizes_;    // the different sizes of chunks, ascending
  std::vector<Shape> shapes_;   // sizes * lanes
  std::vector<double> claims_;  // of those: time of all resources, ps
  std::vector<double> most_;    // of those: time of the one that is claimed longest, ps

  GrowthRules rules_;
  Rng* rng_ = nullptr;
  Grown grown_;
  std::vector<ClaimTimeline> timelines_;
  std::vector<double> load_;                  // by resource: claimed time, ps
  std::vector<std::vector<Holder>> holders_;  // by lane: heaps
  std::vector<std::uint64_t> stamps_;         // by lane
  std::vector<Candidate> candidates_;         // a heap
  std::vector<char> wanted_;                  // by node: destinations
  ChunkId chunk_;
  std::size_t size_ = 0;
  std::size_t missing_ = 0;  // destinations that do not have the chunk
  bool detours_ = false;     // the chunk may pass nodes that do not want it
  std::uint64_t ties_ = 0;
  std::uint64_t steps_ = 0;
  std::vector<LinkId> links_;
};

}  // namespace stellwerk::symmetric
