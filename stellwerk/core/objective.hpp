// What several jobs on one network are planned for.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "stellwerk/base/units.hpp"
#include "stellwerk/core/job.hpp"

namespace stellwerk {

enum class Objective : std::uint8_t {
  makespan,  ///< when the last job is done
  weighted,  ///< the sum over the jobs of weight * completion
  slowdown,  ///< the largest over the jobs of (completion - start) / time alone
};

const char* to_string(Objective objective);
/// Nothing for another word.
std::optional<Objective> objective_named(std::string_view name);

/// One part in a million: slowdowns are counted in these, so that they are integers.
inline constexpr std::int64_t kSlowdownUnit = 1'000'000;

/// (completion - start) / alone in units of kSlowdownUnit, rounded up (`up`) or down. Precondition:
/// alone > 0.
std::int64_t slowdown_of(const Job& job, Time completion, Time alone, bool up);

/// What is to be small: ps (makespan), the sum of weight * ps (weighted), units of kSlowdownUnit
/// rounded up (slowdown). `alone`: one a job, positive; needed for slowdown only. Throws
/// Error(unreadable_input) if the weighted sum does not fit.
std::int64_t objective_value(Objective objective, const std::vector<Job>& jobs,
                             const std::vector<Time>& completion, const std::vector<Time>& alone);

}  // namespace stellwerk
