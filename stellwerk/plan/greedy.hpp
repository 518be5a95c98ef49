// The planner `greedy`: event-driven construction, for demands with copies at any size.
#pragma once

#include "stellwerk/plan/planner.hpp"

namespace stellwerk {

/// Lets idle links choose chunks, rarest first, under several rules; keeps the best run. Handles
/// every demand, reductions by time reversal; made for AllGather, Broadcast and ReduceScatter of up
/// to thousands of GPUs without symmetry. Declines what needs more transit buffer than there is, and
/// problems whose bit matrices would not fit into memory.
PlannerOutcome plan_greedy(const Problem& problem, const PlanOptions& options,
                           PlannerContext& context);

}  // namespace stellwerk
