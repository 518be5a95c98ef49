// Removes deliveries that nobody needs.
#pragma once

#include "stellwerk/core/problem.hpp"
#include "stellwerk/core/send.hpp"

namespace stellwerk {

/// The sends, in their order, without copies that bring what the receiver already has by then, or
/// that it neither wants nor sends on; leaves of multicast trees are cut off one by one. Reduce and
/// share sends all stay. Starts and rates do not change, and a valid schedule stays valid with the
/// same finish times (simulate may then make it earlier). Precondition as for simulate.
Schedule prune(const Problem& problem, const Schedule& sends);

}  // namespace stellwerk
