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
  const Schedule needed = prune(problem, sends);
  if (needed.size() > kManySends || stop.should_stop()) return simulate(problem, needed).sends;
  Schedule compacted = compact(problem, needed);
  if (stop.should_stop()) return compacted;
  return justify(problem, compacted, kJustifyRounds);
}

}  // namespace stellwerk
