// The planner `flow`: routing and list scheduling for demands without useful copies.
#pragma once

#include "stellwerk/plan/planner.hpp"

namespace stellwerk {

/// AllToAll(V), Scatter, Gather, SendRecv and other chunks with one destination each, from a few to
/// a million of them. Declines sums, copies, and limits of nodes (buffers, injection, ejection).
PlannerOutcome plan_flow(const Problem& problem, const PlanOptions& options,
                         PlannerContext& context);

}  // namespace stellwerk
