// Paths of representative chunks that have one destination each, balanced over the link orbits.
#pragma once

#include <optional>
#include <vector>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/base/stop.hpp"
#include "stellwerk/core/problem.hpp"
#include "stellwerk/plan/symmetric_frontier.hpp"
#include "stellwerk/plan/symmetric_lanes.hpp"
#include "stellwerk/plan/symmetric_tasks.hpp"

namespace stellwerk::symmetric {

struct PathRules {
  int sweeps = 8;         ///< how often every path is chosen again
  int batches = 16;       ///< paths from one source that see the same prices: one part in so many
  double latency = 0.01;  ///< what a picosecond on the way costs, in those of claimed resource time
};

class PathRouter {
 public:
  /// All of them must outlive it. Precondition: every chunk has one origin and one destination.
  PathRouter(const Problem& problem, const Quotient& quotient, const Lanes& lanes);

  /// One chain of tasks for each chunk; nothing if some destination cannot be reached, or when
  /// stopped.
  std::optional<TaskGraph> route(const PathRules& rules, Rng& rng, const StopCondition& stop);

 private:
  struct Group {
    NodeId source;
    JobId job;
    std::vector<ChunkId> chunks;
  };
  struct Hop {
    std::size_t lane;
    NodeId from;
    std::vector<LinkId> links;
  };
  struct Reached {
    double distance;
    std::uint64_t tie;
    NodeId node;
  };
  static bool farther(const Reached& a, const Reached& b);

  void price(double beta);
  bool tree(const Group& group, const std::vector<ChunkId>& wanted, Rng& rng);
  void charge(const std::vector<Hop>& path, double bytes);
  double fullest() const;
  TaskGraph tasks() const;

  const Problem& problem_;
  const Quotient& quotient_;
  const Lanes& lanes_;
  Frontier frontier_;
  std::vector<Group> groups_;
  std::vector<Shape> unit_;              // by lane: of the mean chunk
  std::vector<std::vector<Hop>> paths_;  // by chunk
  double mean_ = 0;                      // bytes of a chunk
  double per_latency_ = 0;
  std::vector<double> load_;                 // by resource: claimed time, ps
  std::vector<double> price_;                // by resource
  std::vector<double> length_;               // by lane
  std::vector<std::vector<Reached>> heaps_;  // by lane
  std::vector<Hop> by_;                      // by node: the hop of the tree that reaches it
};

}  // namespace stellwerk::symmetric
