// The planner `direct`: everything straight to where it is wanted, in pairwise-exchange order.
#pragma once

#include "stellwerk/plan/planner.hpp"

namespace stellwerk {

PlannerOutcome plan_direct(const Problem& problem, const PlanOptions& options,
                           PlannerContext& context);

}  // namespace stellwerk
