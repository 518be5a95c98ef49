#include "stellwerk/plan/polish.hpp"

#include "stellwerk/check/prune.hpp"
#include "stellwerk/check/simulate.hpp"
#include "stellwerk/plan/compact.hpp"
#include "stellwerk/plan/justify.hpp"

namespace stellwerk {
namespace {
constexpr std::size_t kManySends = 200'000;
constexpr int kJustifyRounds = 2;
}  // namespace

Schedule polish(const Problem& problem, const Schedule& sends, const StopCondition& stop) {
  // Nothing here polls: what would take too long is left out.
  const auto time_for = [&](double passes) {
    const double seconds = passes * kSecondsToRetime * static_cast<double>(sends.size());
    return !stop.should_stop() && seconds < stop.seconds_left();
  };
  if (!time_for(2)) return sends;
  const Schedule needed = prune(problem, sends);
  if (needed.size() > kManySends || !time_for(3)) return simulate(problem, needed).sends;
  Schedule compacted = compact(problem, needed);
  if (!time_for(2 * kJustifyRounds)) return compacted;
  return justify(problem, compacted, kJustifyRounds);
}

}  // namespace stellwerk
