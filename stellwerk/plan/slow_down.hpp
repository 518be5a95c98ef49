// Sends in flight on links that have become slower.
#pragma once

#include "stellwerk/core/problem.hpp"
#include "stellwerk/core/send.hpp"
#include "stellwerk/plan/landing.hpp"
#include "stellwerk/plan/network_state.hpp"

namespace stellwerk {

/// `sends`, which have all started before `at` (or belong to a move that has), when the bandwidths
/// `before` fall to those of `now` at that instant: sends that no longer fit are cut in two pieces.
/// What has passed the slow link stays as it was; the rest follows at the least bandwidth of its
/// links, as soon as there is room. Sends that do not use such a link stay as they are. Of what has
/// to pass a dead link as well only the first piece is left.
Schedule slow_down(const Problem& problem, const Schedule& sends, Time at,
                   const NetworkState& before, const NetworkState& now);

}  // namespace stellwerk
