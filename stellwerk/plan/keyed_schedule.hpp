// List scheduling of several jobs' sends: whole links, one send at a time, by fixed priorities.
#pragma once

#include <cstdint>
#include <vector>

#include "stellwerk/base/stop.hpp"
#include "stellwerk/plan/send_graph.hpp"

namespace stellwerk {

/// How a keyed schedule chooses.
struct KeyedRules {
  /// Per task its place, 0 the most urgent; empty: who is eligible first comes first (ties by
  /// number), and nobody is interrupted.
  std::vector<std::int32_t> rank;
  bool interrupt = false;   ///< a more urgent send interrupts those that hold its links
  bool job_queues = false;  ///< a job's sends pass each link in the order of the job's own plan
};

/// Places by ascending key; ties by number.
std::vector<std::int32_t> ranks_of(const std::vector<std::int64_t>& keys);

/// Each task takes all its links at once, at full rate. Stopped, the result is not complete.
GraphSchedule keyed_schedule(const SendGraph& graph, const KeyedRules& rules,
                             const StopCondition& stop = {});

}  // namespace stellwerk
