// Least solutions of difference constraints.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace stellwerk {

/// x[to] >= x[from] + lag.
struct DifferenceArc {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int64_t lag = 0;
};

/// Stands for "no lower bound".
inline constexpr std::int64_t kNoLowerBound = INT64_MIN / 4;

/// The least x with x >= lower and all arcs; every variable without a lower bound needs an arc from
/// one that has one, or it keeps kNoLowerBound. `known`, if it is not empty and satisfies
/// everything, is an upper bound of the solution and makes the search exact in O(E log V); it is
/// ignored if it does not. Nothing when the arcs contradict each other (or, without `known`, when
/// one variable rises so often that they probably do).
std::optional<std::vector<std::int64_t>> least_solution(
    const std::vector<std::int64_t>& lower, const std::vector<DifferenceArc>& arcs,
    const std::vector<std::int64_t>& known = {});

}  // namespace stellwerk
