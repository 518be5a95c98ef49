// Improves a schedule by moving sends into gaps.
#pragma once

#include "stellwerk/core/problem.hpp"
#include "stellwerk/core/send.hpp"

namespace stellwerk {

/// Takes the sends in order of their starts (and dependencies) and puts each at the first instant
/// at which its data are there and all its links and limits have a free window, gaps included;
/// rates, ranges and data dependencies stay. Then re-times. Returns the better of that and plain
/// re-timing: never later than simulate(problem, sends). With transit buffers, only re-timing.
/// Precondition as for simulate.
Schedule compact(const Problem& problem, const Schedule& sends);

}  // namespace stellwerk
