// Replays a schedule the way an executor does: the order of sends per link and the data
// dependencies stay, the clock does not. With the plan's own latencies and bandwidths this is the
// re-timing that every planner ends with.
#pragma once

#include <optional>

#include "stellwerk/core/plan.hpp"

namespace stellwerk {

/// What simulate() takes for a send, about: it does not look at the clock, so callers do beforehand.
inline constexpr double kSecondsToRetime = 3e-6;

struct SimulateOptions {
  /// Latencies and bandwidths to use instead of the problem's (same nodes and links). A send's rate
  /// is then scaled down to what its links can carry.
  const Topology* network = nullptr;
};

struct Simulation {
  Schedule sends;  ///< in the order of the input, with new starts (and rates)
  Time transfer_time;
  std::vector<Time> job_finish;  ///< one a job
};

/// Precondition: `sends` is valid for `problem` (verify_sends), except that starts may be nominal
/// as long as the order they imply is causal. With the problem's own network no send of a valid
/// schedule becomes later, and the result is valid. Nominal starts give a valid schedule, too,
/// unless sums or transit buffers are in the way (simulate.cpp); under another network sums and
/// buffers may likewise give way. Throws Error(verification_failed) when some sender never holds
/// what it sends.
Simulation simulate(const Problem& problem, const Schedule& sends,
                    const SimulateOptions& options = {});

}  // namespace stellwerk
