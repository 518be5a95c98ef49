#include "stellwerk/core/objective.hpp"

#include <algorithm>
#include <limits>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/wide.hpp"

namespace stellwerk {

const char* to_string(Objective objective) {
  switch (objective) {
    case Objective::makespan:
      return "makespan";
    case Objective::weighted:
      return "weighted";
    case Objective::slowdown:
      return "slowdown";
  }
  return "makespan";
}

std::optional<Objective> objective_named(std::string_view name) {
  for (const Objective objective :
       {Objective::makespan, Objective::weighted, Objective::slowdown}) {
    if (name == to_string(objective)) return objective;
  }
  return std::nullopt;
}

std::int64_t slowdown_of(const Job& job, Time completion, Time alone, bool up) {
  const Int128 flow = Int128{(completion - job.start).ps} * kSlowdownUnit;
  const Int128 result = flow / alone.ps + (up && flow % alone.ps != 0 ? 1 : 0);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return result > kMost ? kMost : static_cast<std::int64_t>(result);
}

std::int64_t objective_value(Objective objective, const std::vector<Job>& jobs,
                             const std::vector<Time>& completion, const std::vector<Time>& alone) {
  std::int64_t largest = 0;
  Int128 sum = 0;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    switch (objective) {
      case Objective::makespan:
        largest = std::max(largest, completion[j].ps);
        break;
      case Objective::weighted:
        sum += Int128{jobs[j].weight} * completion[j].ps;
        break;
      case Objective::slowdown:
        largest = std::max(largest, slowdown_of(jobs[j], completion[j], alone[j], true));
        break;
    }
  }
  if (objective != Objective::weighted) return largest;
  if (sum > std::numeric_limits<std::int64_t>::max()) {
    throw Error(ErrorCode::unreadable_input,
                "the sum of weight * completion is too large to count: lower the weights");
  }
  return static_cast<std::int64_t>(sum);
}

}  // namespace stellwerk
