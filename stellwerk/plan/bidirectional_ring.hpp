// The planner `bidirectional-ring`: both ways round a ring at once.
#pragma once

#include "stellwerk/plan/planner.hpp"

namespace stellwerk {

/// AllGather, ReduceScatter, AllReduce, Broadcast and Reduce; other collectives are declined.
PlannerOutcome plan_bidirectional_ring(const Problem& problem, const PlanOptions& options,
                                       PlannerContext& context);

}  // namespace stellwerk
