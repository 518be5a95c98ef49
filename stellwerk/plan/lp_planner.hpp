// The flow planner: linear programs for demands that need no copies.
#pragma once

#include "stellwerk/plan/planner.hpp"

namespace stellwerk {

/// AllToAll, AllToAllV, Scatter, Gather, SendRecv and custom jobs in which every chunk is lacked by
/// one destination; with `options.copy` false also other demands without reductions, one way a
/// destination. Anything else is unsupported. Honours epoch, store, copy and write_model. The epoch
/// record tells what is proven of the fluid model on the grid; the plan itself is in continuous
/// time. A demand that cannot be met gives Termination infeasible and names a chunk.
PlannerOutcome plan_lp(const Problem& problem, const PlanOptions& options, PlannerContext& context);

}  // namespace stellwerk
