// Re-planning in the middle of a transfer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stellwerk/base/stop.hpp"
#include "stellwerk/core/event.hpp"
#include "stellwerk/core/plan.hpp"

namespace stellwerk {

/// What happens, all at one instant.
struct Disturbance {
  Time at;
  /// `at` of each is ignored. Links and nodes are the plan's; jobs too, or, for job_arrives, the k-th
  /// of `arriving`.
  std::vector<Event> events;
  std::vector<Job> arriving;  ///< not yet in the plan; they start at `at` or later
};

struct Replanned {
  EventfulPlan plan;    ///< what has been sent and what will be, with the events; not yet judged
  Time planned_finish;  ///< of the old plan
  Time residual_bound;  ///< no plan from the cut on can end earlier
  Time residual_bound_chunked;  ///< ... that moves these chunks whole; never below the other
  std::string how;              ///< which way of planning the rest was best
  std::size_t kept = 0;         ///< sends that had started
  std::size_t lost = 0;         ///< of them: those that somebody lacks because of the events
  std::size_t fresh = 0;        ///< new sends
  double planning_s = 0;        ///< CPU time from the cut to the new plan, the bound left out
};

struct ReplanOptions {
  std::uint64_t seed = 1;
  bool bound = true;  ///< prove a residual bound
};

/// A new plan for what is left of `plan` when `what` happens. `plan` must be valid; a compressed one
/// is expanded. Throws Error(unsolved), "refused: ..." with the reason, when a chunk that somebody
/// lacks is lost, or no path leads from where it is; Error(unreadable_input) for events that do not
/// fit the plan.
Replanned replan(EventfulPlan plan, const Disturbance& what, const ReplanOptions& options,
                 const StopCondition& stop);

/// When all would be done if nobody re-planned: everything from scratch at `what.at` on what is left
/// of the network; nothing if that is impossible.
std::optional<Time> finish_of_restart(const EventfulPlan& plan, const Disturbance& what,
                                      const StopCondition& stop);

/// When all would be done if the old order were kept and the links that fail came back after
/// `outage`: what was lost is sent again, first of all. Links only; nothing where the plan has byte
/// ranges or shares that are yet to start.
std::optional<Time> finish_of_waiting(const EventfulPlan& plan, const Disturbance& what,
                                      Time outage);

}  // namespace stellwerk
