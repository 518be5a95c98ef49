// The rings that a plan sends along.
#pragma once

#include <vector>

#include "stellwerk/core/plan.hpp"

namespace stellwerk {

/// A round of all ranks from rank 0 on, and for each step, from order[i] to the next one, a send of the plan that takes it (null
/// where none does: Broadcast does not close its ring).
struct PlanRing {
  std::vector<NodeId> order;
  std::vector<const Send*> steps;
};

struct PlanRings {
  std::vector<PlanRing> rings;       ///< each once, by order
  std::vector<std::size_t> ring_of;  ///< by chunk
};

/// Precondition: not compressed; the result points into the plan. Throws Error(unsolved) with the reason for plans that are no rings: of several jobs, with sums
/// or multicast, or whose chunks do not all go round all ranks.
PlanRings plan_rings(const Plan& plan);

}  // namespace stellwerk
