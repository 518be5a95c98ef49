// Schedules of moves from an order of them, and better ones from schedules.
#pragma once

#include <cstdint>
#include <vector>

#include "stellwerk/base/stop.hpp"
#include "stellwerk/plan/list_moves.hpp"

namespace stellwerk {

/// Moves by ascending key (ties by number), each as early as its parcel and the moves before it on
/// its links allow; a link carries one at a time. Precondition: keys of a parcel's moves do not
/// descend.
MoveTimes append_moves(const ParcelHops& hops, const std::vector<float>& key,
                       const StopCondition& stop);

/// Priorities for a first pass: the time from a move's start to its parcel's arrival at the target
/// if nothing has to wait, in seconds.
std::vector<double> remaining_seconds(const ParcelHops& hops);

/// Passes backwards and forwards from a schedule, each in the order of the last one: the best of
/// all. Stops at `good_enough` (ps).
MoveTimes forward_backward(const ParcelHops& hops, const MoveTimes& start, int rounds,
                           bool slow_start, std::int64_t good_enough, const StopCondition& stop);

}  // namespace stellwerk
