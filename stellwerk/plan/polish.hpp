// What every planner ends with: re-timing, gap filling, justification.
#pragma once

#include "stellwerk/base/stop.hpp"
#include "stellwerk/core/problem.hpp"
#include "stellwerk/core/send.hpp"

namespace stellwerk {

/// The best schedule that re-timing (check/simulate.hpp) and the improvements of plan/compact.hpp make of `sends`,
/// whose starts may be nominal. Never later than plain re-timing; less is done when little time is left, and nothing when
/// there is none even for that.
Schedule polish(const Problem& problem, const Schedule& sends, const StopCondition& stop);

}  // namespace stellwerk
