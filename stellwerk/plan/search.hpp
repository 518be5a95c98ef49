// The insertion planner with local search: small and middle clusters, any demand.
#pragma once

#include "stellwerk/plan/planner.hpp"

namespace stellwerk {

/// Inserts chunks' trees one by one in several orders and styles, then takes groups of chunks out and inserts them anew.
/// Ends at the gap target, at a limit, or when nothing has improved for long. Handles every demand.
PlannerOutcome plan_search(const Problem& problem, const PlanOptions& options,
                           PlannerContext& context);

}  // namespace stellwerk
