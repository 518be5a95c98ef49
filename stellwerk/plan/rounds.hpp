// Time partitioning: the on-line planner, one short MILP a round.
#pragma once

#include <vector>

#include "stellwerk/plan/epoch_state.hpp"
#include "stellwerk/plan/planner.hpp"

namespace stellwerk {

/// Any demand (reductions through time reversal). Rounds of `round_epochs` epochs (0: chosen by
/// model size) until all demands are met; chunks in flight at the end of a round are carried into
/// the next.
PlannerOutcome plan_rounds(const Problem& problem, const PlanOptions& options,
                           PlannerContext& context);

/// What the rounds find on one grid, for tests and for the planner itself: entries in epochs from
/// the beginning. They meet all demands unless some cannot be reached. Precondition: no reductions,
/// no transit buffers.
std::vector<EpochEntry> rounds_on_grid(const Problem& problem, const EpochGrid& grid,
                                       const PlanOptions& options, PlannerContext& context);

}  // namespace stellwerk
