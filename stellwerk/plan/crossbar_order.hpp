// An order of moves in which the ports of busy switches never wait for each other.
#pragma once

#include <vector>

#include "stellwerk/plan/parcel_hops.hpp"

namespace stellwerk {

/// A key for every move: taken by ascending key, moves of a parcel come in order, and those over a
/// busy switch in rounds without two at one port. Keys are fractions of the time that the fullest
/// link is busy. Empty if no switch is busy for at least half of that time.
std::vector<float> crossbar_order(const ParcelHops& hops, double fullest_seconds);

}  // namespace stellwerk
