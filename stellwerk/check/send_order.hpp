// Total orders of the sends of a schedule, from its starts and dependencies.
#pragma once

#include "stellwerk/check/capacity.hpp"
#include "stellwerk/check/precedence.hpp"

namespace stellwerk {

/// Do all sends start, by `nominal`, when their dependencies let them?
bool keeps_dependencies(const NominalTimes& nominal, const Precedence& precedence);

/// Ranks by (start, number).
void rank_by_start(NominalTimes& nominal);

/// Ranks by (start, number) among sends whose data come from sends ranked before; lifts the starts
/// of sends that nominally start before those that bring their data.
void rank_by_data(const Precedence& precedence, NominalTimes& nominal);

/// Changes a rank by data as little as needed so that all dependencies lead from lower to higher
/// ranks; sends whose dependencies run in circles (exchanges) get ranks next to each other.
void rank_by_all_dependencies(const Precedence& precedence, NominalTimes& nominal);

}  // namespace stellwerk
