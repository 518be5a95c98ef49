// The planner `ring`: what collective libraries do with large messages today.
#pragma once

#include "stellwerk/plan/planner.hpp"

namespace stellwerk {

/// AllGather, ReduceScatter, AllReduce, Broadcast and Reduce; other collectives are declined.
PlannerOutcome plan_ring(const Problem& problem, const PlanOptions& options,
                         PlannerContext& context);

}  // namespace stellwerk
