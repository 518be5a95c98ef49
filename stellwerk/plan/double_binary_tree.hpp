// The planner `double-binary-tree`: two trees that share the work evenly.
#pragma once

#include "stellwerk/plan/planner.hpp"

namespace stellwerk {

/// AllReduce, Broadcast and Reduce over any number of ranks; other collectives are declined.
PlannerOutcome plan_double_binary_tree(const Problem& problem, const PlanOptions& options,
                                       PlannerContext& context);

}  // namespace stellwerk
