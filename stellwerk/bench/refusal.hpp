// Is it true that there can be no plan? Shares no code with re-planning.
#pragma once

#include "stellwerk/core/event.hpp"
#include "stellwerk/plan/replan.hpp"

namespace stellwerk {

/// Proves, in the most generous reading of the old plan, that some destination cannot get its chunk
/// any more: whatever has ever been sent towards a node that is left counts as being there unless a
/// link on the way failed before it was past. Of a sum it is one of the addends that cannot come there.
bool is_refusal_proven(const EventfulPlan& before, const Disturbance& what);

}  // namespace stellwerk
