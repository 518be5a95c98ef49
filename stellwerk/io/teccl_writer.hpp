// Plans for tools that read TE-CCL's schedules.
#pragma once

#include <string>

#include "stellwerk/core/plan.hpp"

namespace stellwerk {

/// TE-CCL's output JSON: nodes by their numbers in the topology, chunks numbered for every origin, starts as epochs (a
/// millionth of the transfer time each, so that their order is kept). Precondition: not compressed. Throws Error(unsolved)
/// for what the format cannot say: sums, byte ranges, chunks with several origins.
std::string format_teccl(const Plan& plan);

}  // namespace stellwerk
