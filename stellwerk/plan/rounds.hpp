// Time partitioning: the on-line planner, one short MILP a round.
#pragma once

#include "stellwerk/plan/planner.hpp"

namespace stellwerk {

/// Any demand (reductions through time reversal). Rounds of `round_epochs` epochs (0: chosen by model size) until all
/// demands are met; chunks in flight at the end of a round are carried into the next.
PlannerOutcome plan_rounds(const Problem& problem, const PlanOptions& options, PlannerContext& context);

}  // namespace stellwerk
