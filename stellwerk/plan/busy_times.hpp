// When one link is busy with whole sends, and where another one fits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace stellwerk {

/// Disjoint intervals in order; touching ones are merged. Most additions are at the end, where they
/// cost nothing; others move the tail.
class BusyTimes {
 public:
  /// The first instant >= `from` from which nothing is on the link for `duration`.
  std::int64_t earliest(std::int64_t from, std::int64_t duration) const {
    auto next = std::upper_bound(busy_.begin(), busy_.end(), from,
                                 [](std::int64_t t, const Interval& i) { return t < i.second; });
    for (; next != busy_.end() && next->first < from + duration; ++next) from = next->second;
    return from;
  }

  /// Precondition: free then.
  void take(std::int64_t begin, std::int64_t duration) {
    const auto next =
        std::lower_bound(busy_.begin(), busy_.end(), begin,
                         [](const Interval& i, std::int64_t t) { return i.first < t; });
    const std::int64_t end = begin + duration;
    const bool joins_before = next != busy_.begin() && (next - 1)->second == begin;
    const bool joins_after = next != busy_.end() && next->first == end;
    if (joins_before && joins_after) {
      (next - 1)->second = next->second;
      busy_.erase(next);
    } else if (joins_before) {
      (next - 1)->second = end;
    } else if (joins_after) {
      next->first = begin;
    } else {
      busy_.insert(next, {begin, end});
    }
  }

 private:
  using Interval = std::pair<std::int64_t, std::int64_t>;
  std::vector<Interval> busy_;
};

/// The first instant >= `from` at which a send over both links can start; it reaches the second one
/// `shift` later.
inline std::int64_t earliest_on_both(const BusyTimes& first, const BusyTimes& second,
                                     std::int64_t shift, std::int64_t from, std::int64_t duration) {
  for (;;) {
    const std::int64_t a = first.earliest(from, duration);
    const std::int64_t b = second.earliest(a + shift, duration) - shift;
    if (b == a) return a;
    from = b;
  }
}

}  // namespace stellwerk
