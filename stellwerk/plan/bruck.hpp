// The planner `bruck`: blocks hop by powers of two.
#pragma once

#include "stellwerk/plan/planner.hpp"

namespace stellwerk {

/// AllGather and AllToAll over any number of ranks; other collectives are declined.
PlannerOutcome plan_bruck(const Problem& problem, const PlanOptions& options,
                          PlannerContext& context);

}  // namespace stellwerk
