// From a request to a finished plan: bounds, planners in turn, choice of the chunk count, and the
// record of how.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "stellwerk/base/progress.hpp"
#include "stellwerk/base/stop.hpp"
#include "stellwerk/plan/planner.hpp"

namespace stellwerk {

/// What to plan, and how.
struct PortfolioRequest {
  Topology topology;
  std::vector<Job> jobs;
  Relays relays = Relays::all;
  std::string planner;  ///< a name from planners(); empty: the portfolio chooses
  PlanOptions options;
};

/// Why a plan is invalid, in one line; nothing for a valid one. Planners do not know the verifier:
/// the caller hands it in.
using Judge = std::function<std::optional<std::string>(const Plan&)>;

/// The best plan found before `stop`, complete with its result (bounds, chunk count, termination,
/// solver time). With a limit reached it is the best plan so far. Throws Error(unsolved) without
/// any plan: unsupported demand, a destination that cannot be reached (named), or a limit that came
/// before the first plan; Error(unreadable_input) for jobs that do not fit the topology.
Plan make_plan(PortfolioRequest request, const StopCondition& stop, Progress* progress,
               const Judge& judge);

}  // namespace stellwerk
