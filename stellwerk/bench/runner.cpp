#include "stellwerk/bench/runner.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/stop.hpp"
#include "stellwerk/exec/child_processes.hpp"

namespace stellwerk {
namespace {

/// A case that goes on for so long after its limit is hopeless: reading, bounds and verification
/// are not under the planner's clock.
double patience(double limit_s) { return 3 * limit_s + 120; }

Measurement failure(const std::string& why) {
  Measurement measurement;
  measurement.note = why;
  return measurement;
}

}  // namespace

bool run_cases(const std::vector<Case>& cases, const RunnerOptions& options,
               const ProcessGroup& group, RunnerListener& listener) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  std::atomic<std::size_t> done{0};
  SharedQueue queue(group, cases.size(), [&](std::size_t which, const std::string& line) {
    Measurement measurement;
    try {
      measurement = measurement_from_line(line);
    } catch (const Error& error) {
      measurement = failure(error.what());
    }
    listener.finished(which, measurement);
    ++done;
  });
  const auto limit_of = [&](std::size_t which) {
    if (options.total_s <= 0) return cases[which].limit_s;
    const double spent = std::chrono::duration<double>(Clock::now() - begin).count();
    const double workers = static_cast<double>(options.parallel) * group.size();
    const double share =
        (options.total_s - spent) * workers / static_cast<double>(cases.size() - which);
    return std::clamp(share, options.least_s, options.most_s);
  };

  ChildProcesses children;
  std::vector<std::size_t> running;
  const auto report = [&] { listener.status({done, cases.size(), running}); };
  bool interrupted = false, nothing_left = false;
  while (true) {
    if (StopCondition::interrupted() && !interrupted) {
      interrupted = true;
      queue.stop();
      children.interrupt();
    }
    while (!interrupted && !nothing_left &&
           running.size() < static_cast<std::size_t>(std::max(1, options.parallel))) {
      const std::optional<std::size_t> which = queue.take();
      if (!which) {
        nothing_left = true;
        break;
      }
      Case what = cases[*which];
      what.limit_s = limit_of(*which);
      children.start(*which, [what] { return to_line(measure(what)); }, patience(what.limit_s));
      running.push_back(*which);
    }
    if (running.empty()) break;
    report();
    const std::optional<ChildProcesses::Result> result = children.wait(0.2);
    if (!result) continue;
    running.erase(std::find(running.begin(), running.end(), result->id));
    queue.deliver(result->id, result->finished ? result->text : to_line(failure(result->text)));
  }
  queue.close(report);
  return !interrupted && !StopCondition::interrupted();
}

}  // namespace stellwerk
