// The planner `pat`: parallel aggregated trees.
#pragma once

#include "stellwerk/plan/planner.hpp"

namespace stellwerk {

/// AllGather and ReduceScatter over any number of ranks; other collectives are declined.
PlannerOutcome plan_pat(const Problem& problem, const PlanOptions& options,
                        PlannerContext& context);

}  // namespace stellwerk
