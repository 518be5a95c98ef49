// Schedules in which no chunk waits on its way.
#pragma once

#include <optional>

#include "stellwerk/core/problem.hpp"
#include "stellwerk/core/send.hpp"

namespace stellwerk {

/// The same sends, with starts such that a node that is no origin of a chunk sends it on at the instant of arrival, and
/// each chunk as early as that allows, in the order of the given starts (which may be nominal). Nothing when a chunk
/// would have to leave a node twice at one instant over one link. Precondition: whole chunks, no reductions, and every
/// chunk reaches a node at most once.
std::optional<Schedule> without_waiting(const Problem& problem, const Schedule& sends);

}  // namespace stellwerk
