// The planner `recursive-doubling`: exchanges at distances 1, 2, 4, ...
#pragma once

#include "stellwerk/plan/planner.hpp"

namespace stellwerk {

/// AllGather (doubling) and ReduceScatter (halving) over a power of two of ranks, AllReduce over any
/// number; everything else is declined.
PlannerOutcome plan_recursive_doubling(const Problem& problem, const PlanOptions& options,
                                       PlannerContext& context);

}  // namespace stellwerk
