// The planner `rabenseifner`: AllReduce by halving and doubling.
#pragma once

#include "stellwerk/plan/planner.hpp"

namespace stellwerk {

/// AllReduce and Reduce over any number of ranks; other collectives are declined.
PlannerOutcome plan_rabenseifner(const Problem& problem, const PlanOptions& options,
                                 PlannerContext& context);

}  // namespace stellwerk
