#include "stellwerk/check/load.hpp"

#include <utility>

namespace stellwerk::check {

std::optional<Overload> first_overload(std::span<Load> loads, std::int64_t limit) {
  const auto earlier = [](const Load& a, const Load& b) { return a.begin < b.begin; };
  // Schedules are mostly written in order of time.
  if (!std::is_sorted(loads.begin(), loads.end(), earlier)) {
    std::sort(loads.begin(), loads.end(), earlier);
  }
  // The usual case: one window after the other.
  bool apart = true;
  for (std::size_t i = 0; i < loads.size() && apart; ++i) {
    apart = loads[i].amount <= limit && (i == 0 || loads[i - 1].end <= loads[i].begin);
  }
  if (apart) return std::nullopt;

  std::vector<std::pair<std::int64_t, std::int64_t>> ends;  // (end, amount)
  ends.reserve(loads.size());
  for (const Load& load : loads) ends.emplace_back(load.end, load.amount);
  std::sort(ends.begin(), ends.end());
  Int128 sum = 0;
  std::size_t ended = 0;
  for (const Load& load : loads) {
    for (; ended < ends.size() && ends[ended].first <= load.begin; ++ended) {
      sum -= ends[ended].second;
    }
    sum += load.amount;
    if (sum > limit) return Overload{0, load.begin, sum};
  }
  return std::nullopt;
}

}  // namespace stellwerk::check
