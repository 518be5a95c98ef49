// The planner `rails`: AllToAll and AllToAllV on boxes and rails, in milliseconds.
#pragma once

#include "stellwerk/plan/planner.hpp"

namespace stellwerk {

/// Chunks with one origin and one destination, on fabrics that find_rail_fabric accepts; declines
/// sums, copies, node limits, and fabrics of other shapes.
PlannerOutcome plan_rails(const Problem& problem, const PlanOptions& options,
                          PlannerContext& context);

}  // namespace stellwerk
