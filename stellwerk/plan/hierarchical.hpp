// The planner `hierarchical`: one algorithm inside hosts, one between them.
#pragma once

#include "stellwerk/plan/planner.hpp"

namespace stellwerk {

/// AllGather, ReduceScatter, AllReduce and AllToAll over hosts of equally many ranks, at least two
/// of each; everything else is declined.
PlannerOutcome plan_hierarchical(const Problem& problem, const PlanOptions& options,
                                 PlannerContext& context);

}  // namespace stellwerk
