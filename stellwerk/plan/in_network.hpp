// The planner `in-network`: sums formed in switches and spread by their multicast.
#pragma once

#include "stellwerk/plan/planner.hpp"

namespace stellwerk {

PlannerOutcome plan_in_network(const Problem& problem, const PlanOptions& options,
                               PlannerContext& context);

}  // namespace stellwerk
