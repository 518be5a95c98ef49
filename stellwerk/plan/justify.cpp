// Forward-backward justification (Li and Willis, EJOR 56, 1992; Valls, Ballestin and Quintanilla,
// EJOR 165, 2005).
//
// Idea. A send's latest start in a schedule that is packed against the finish says how urgent it
// is. So: pack backwards, taking sends by descending end; then forwards, taking them by ascending
// latest start; repeat. Both passes are list scheduling with gaps (serial_schedule.cpp). In exact
// arithmetic each pass is no longer than the one before when windows are rigid in one resource;
// with several links a send and latencies it may be, so the best is kept.
//
// Complexity: two list schedules a round. Test: justify_test.cpp.
#include "stellwerk/plan/justify.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "stellwerk/check/simulate.hpp"
#include "stellwerk/plan/serial_schedule.hpp"

namespace stellwerk {

Schedule justify(const Problem& problem, const Schedule& sends, int rounds) {
  Simulation best = simulate(problem, sends);
  const auto& nodes = problem.topology.nodes();
  if (std::any_of(nodes.begin(), nodes.end(),
                  [](const Node& node) { return node.buffer.has_value(); })) {
    return std::move(best.sends);
  }
  const Schedule timed = best.sends;
  const SerialSchedule list(problem, timed);
  std::vector<std::int64_t> starts;
  starts.reserve(timed.size());
  for (const Send& send : timed) starts.push_back(send.start.ps);
  Time finish = best.transfer_time;
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::int64_t> ends(starts);
    std::int64_t horizon = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      ends[i] += list.last_arrival(i);
      horizon = std::max(horizon, ends[i]);
    }
    const std::optional<std::vector<std::int64_t>> latest = list.backwards(ends, horizon);
    if (!latest) break;
    std::optional<std::vector<std::int64_t>> earliest = list.forwards(*latest);
    if (!earliest || *earliest == starts) break;
    starts = std::move(*earliest);
    const Time now = list.finish(starts);
    if (now >= finish) continue;
    finish = now;
    Schedule moved = timed;
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i].start = Time{starts[i]};
    Simulation again = simulate(problem, moved);
    if (again.transfer_time < best.transfer_time) best = std::move(again);
    finish = std::min(finish, best.transfer_time);
  }
  return std::move(best.sends);
}

}  // namespace stellwerk
