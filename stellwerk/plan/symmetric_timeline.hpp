// How much of a resource is claimed, over time, for schedules that only grow.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace stellwerk::symmetric {

/// A step function of time. What is too little or too short for any claim to come counts as taken,
/// so that a packed schedule has few steps. Times in ps. Queries are a binary search and a scan of
/// the steps in the window; changes move the tail of a vector.
class ClaimTimeline {
 public:
  /// No claim will be for less than `least_amount` or shorter than `least_duration`.
  ClaimTimeline(std::int64_t capacity, std::int64_t least_amount, std::int64_t least_duration)
      : capacity_(capacity), least_amount_(least_amount), least_duration_(least_duration) {
    clear();
  }

  /// The earliest begin >= from such that `amount` is free during [begin, begin + duration).
  /// Precondition: amount <= capacity.
  std::int64_t earliest(std::int64_t from, std::int64_t duration, std::int64_t amount) const;
  /// Precondition: earliest(begin, duration, amount) == begin.
  void claim(std::int64_t begin, std::int64_t duration, std::int64_t amount);

  void clear() { steps_.assign(1, {std::numeric_limits<std::int64_t>::min(), 0}); }

 private:
  struct Step {
    std::int64_t at;    ///< from here to the next step ...
    std::int64_t used;  ///< ... this much is claimed
  };
  std::size_t step_at(std::int64_t time) const;

  std::int64_t capacity_, least_amount_, least_duration_;
  std::vector<Step> steps_;   // ascending; neighbours differ; the last one is 0
  std::vector<Step> buffer_;  // of claim()
};

}  // namespace stellwerk::symmetric
