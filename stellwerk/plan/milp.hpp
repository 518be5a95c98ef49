// The exact planner: a MILP on an epoch grid, solved as a sequence of feasibility problems.
#pragma once

#include "stellwerk/plan/epoch_state.hpp"
#include "stellwerk/plan/planner.hpp"

namespace stellwerk {

/// Any demand (reductions through time reversal; allreduce as two halves, each solved on its own). Honours copy, store,
/// epoch, gap, weighted_objective, write_model and read_solution. The epoch record tells what is proven on the grid.
PlannerOutcome plan_milp(const Problem& problem, const PlanOptions& options,
                         PlannerContext& context);

/// What the search on one grid found, for tests and for the planner itself.
struct GridSolution {
  std::vector<EpochEntry> entries;  ///< empty when nothing was found, or nothing is wanted
  int epochs = kNever;              ///< its length; kNever when nothing was found
  int proven = 0;                   ///< no plan on the grid is shorter
  Limit limit = Limit::none;
  bool too_large = false;  ///< the model was not tried, or not at every length
};

/// The shortest plan on the grid. `start` (may be empty) is a known plan. Precondition: no reductions.
GridSolution solve_on_grid(const Problem& problem, const EpochGrid& grid,
                           std::vector<EpochEntry> start, const PlanOptions& options,
                           PlannerContext& context);

}  // namespace stellwerk
