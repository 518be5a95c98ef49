// Improves a schedule by scheduling it backwards, then forwards again.
#pragma once

#include "stellwerk/core/problem.hpp"
#include "stellwerk/core/send.hpp"

namespace stellwerk {

/// Forward-backward justification: `rounds` times, schedules the sends backwards from the finish,
/// each as late as it goes, then forwards in the order of those latest starts. Returns the best
/// schedule met, re-timed: never later than simulate(problem, sends). Paths, rates and data
/// dependencies stay. With transit buffers, only re-timing. Precondition as for simulate.
Schedule justify(const Problem& problem, const Schedule& sends, int rounds);

}  // namespace stellwerk
