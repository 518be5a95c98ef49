// Gap filling: list scheduling in the schedule's own order (serial_schedule.cpp), compared with
// re-timing, which keeps the order on every link. Worth it where a plan was made on a grid or by
// rounds. Test: compact_test.cpp.
#include "stellwerk/plan/compact.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "stellwerk/check/simulate.hpp"
#include "stellwerk/plan/serial_schedule.hpp"

namespace stellwerk {

Schedule compact(const Problem& problem, const Schedule& sends) {
  Simulation timed = simulate(problem, sends);
  const auto& nodes = problem.topology.nodes();
  if (std::any_of(nodes.begin(), nodes.end(),
                  [](const Node& node) { return node.buffer.has_value(); })) {
    return std::move(timed.sends);
  }
  std::vector<std::int64_t> starts;
  starts.reserve(sends.size());
  for (const Send& send : timed.sends) starts.push_back(send.start.ps);
  const std::optional<std::vector<std::int64_t>> denser =
      SerialSchedule(problem, timed.sends).forwards(starts);
  if (!denser) return std::move(timed.sends);
  Schedule moved = timed.sends;
  for (std::size_t i = 0; i < moved.size(); ++i) moved[i].start = Time{(*denser)[i]};
  Simulation again = simulate(problem, moved);
  return again.transfer_time < timed.transfer_time ? std::move(again.sends)
                                                   : std::move(timed.sends);
}

}  // namespace stellwerk
