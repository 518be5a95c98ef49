// The rings that a plan sends along.
#pragma once

#include <optional>
#include <vector>

#include "stellwerk/core/plan.hpp"

namespace stellwerk {

/// A round of all ranks from rank 0 on, and the links of each step, from order[i] to the next one (none where the plan does not
/// close the ring: Broadcast).
struct PlanRing {
  std::vector<NodeId> order;
  std::vector<std::vector<LinkId>> steps;
};

/// Each once, by order. A chunk that sets out both ways rides a ring and its reverse. Precondition: not compressed. Throws
/// Error(unsolved) with the reason for plans that are no rings: of several jobs, with sums or multicast, or whose chunks do
/// not all go round all ranks, as when the way from a rank to the next passes over a third that passes the chunk on.
std::vector<PlanRing> plan_rings(const Plan& plan);

/// The ring the other way round; nothing if a link has no opposite.
std::optional<PlanRing> turned(const Topology& topology, const PlanRing& ring);

}  // namespace stellwerk
