// List scheduling of tasks on the resources of a quotient, forwards and backwards in time.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "stellwerk/base/stop.hpp"
#include "stellwerk/plan/symmetric_network.hpp"
#include "stellwerk/plan/symmetric_tasks.hpp"
#include "stellwerk/plan/symmetric_timeline.hpp"

namespace stellwerk::symmetric {

/// The finish of what is not scheduled.
inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// Starts of all tasks, and when the last one arrives.
struct Timing {
  std::vector<std::int64_t> starts;  ///< ps, by task
  std::int64_t finish = 0;           ///< ps
};

/// How list scheduling goes on.
enum class Generation : std::uint8_t {
  serial,    ///< by priority; each task at the first instant at which it fits, gaps included
  dispatch,  ///< by time; whatever can start does, the most urgent first
};

/// List scheduling by priorities. Refers to quotient and graph, which must outlive it.
class ListScheduler {
 public:
  ListScheduler(const Quotient& quotient, const TaskGraph& graph);

  /// Ascending priority (ties by number), among tasks whose predecessors are placed. When stopped,
  /// `finish` is kNever.
  Timing forwards(const std::vector<std::int64_t>& priority, Generation generation,
                  const StopCondition& stop) const;

  /// By tasks: the longest chain from its start to the end of the last task after it, ps.
  const std::vector<std::int64_t>& tails() const { return tails_; }

  /// Forward-backward justification from a schedule: at most `rounds` times backwards, then
  /// forwards; the best schedule met. Ends at `good_enough` (ps) or when stopped.
  Timing justify(Timing timing, int rounds, Generation generation, std::int64_t good_enough,
                 const StopCondition& stop) const;

 private:
  struct Neighbours {
    std::vector<int> first, all;
  };
  struct View;
  Timing place(const View& view, const std::vector<std::int64_t>& priority, Generation generation,
               const StopCondition& stop) const;
  Timing place_serially(const View& view, const std::vector<std::int64_t>& priority,
                        const StopCondition& stop) const;
  Timing dispatch(const View& view, const std::vector<std::int64_t>& priority,
                  const StopCondition& stop) const;

  const TaskGraph& graph_;
  Neighbours before_, after_;
  std::vector<std::int64_t> releases_, no_releases_;
  std::vector<Shape> mirrored_;
  std::vector<ClaimTimeline> empty_;
  std::vector<std::int64_t> tails_;
  std::vector<std::size_t> class_;  // by task: a shape
};

}  // namespace stellwerk::symmetric
