// List scheduling of tasks on the resources of a quotient, forwards and backwards in time.
#pragma once

#include <cstdint>
#include <vector>

#include "stellwerk/base/stop.hpp"
#include "stellwerk/plan/symmetric_network.hpp"
#include "stellwerk/plan/symmetric_tasks.hpp"
#include "stellwerk/plan/symmetric_timeline.hpp"

namespace stellwerk::symmetric {

/// Starts of all tasks, and when the last one arrives.
struct Timing {
  std::vector<std::int64_t> starts;  ///< ps, by task
  std::int64_t finish = 0;           ///< ps
};

/// Places tasks one after the other at the first instant that their predecessors and resources
/// allow, gaps included. Refers to quotient and graph, which must outlive it.
class ListScheduler {
 public:
  ListScheduler(const Quotient& quotient, const TaskGraph& graph);

  /// Tasks are taken by ascending priority (ties by number) among those whose predecessors are
  /// placed.
  Timing forwards(const std::vector<std::int64_t>& priority) const;

  /// By tasks: the longest chain from its start to the end of the last task after it, ps.
  const std::vector<std::int64_t>& tails() const { return tails_; }

  /// Forward-backward justification from a schedule: at most `rounds` times backwards, then
  /// forwards; the best schedule met. Ends at `good_enough` (ps) or when stopped.
  Timing justify(Timing timing, int rounds, std::int64_t good_enough,
                 const StopCondition& stop) const;

 private:
  struct Neighbours {
    std::vector<int> first, all;
  };
  struct View;
  Timing place(const View& view, const std::vector<std::int64_t>& priority) const;

  const TaskGraph& graph_;
  Neighbours before_, after_;
  std::vector<std::int64_t> releases_, no_releases_;
  std::vector<Shape> mirrored_;
  std::vector<ClaimTimeline> empty_;
  std::vector<std::int64_t> tails_;
};

}  // namespace stellwerk::symmetric
