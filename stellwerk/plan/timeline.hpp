// How much of one resource is in use, over time: the residual network that insertion works in.
#pragma once

#include <cstdint>
#include <vector>

#include "stellwerk/base/units.hpp"

namespace stellwerk {

/// A step function of time with integer values, 0 outside what was added. Queries are a binary search plus a scan of the
/// steps that the window touches; changes move the tail of a vector, which is fast for the sizes met here.
class Timeline {
 public:
  explicit Timeline(std::int64_t capacity = 0) : capacity_(capacity) {}

  /// The earliest s >= from such that `amount` more fits during the whole of [s, s + duration);
  /// Time::max() when it never does.
  Time earliest(Time from, Time duration, std::int64_t amount) const;
  bool fits(Time start, Time duration, std::int64_t amount) const {
    return earliest(start, duration, amount) == start;
  }
  /// Adds `amount` (negative: gives back) during [start, start + duration).
  void add(Time start, Time duration, std::int64_t amount);

  void clear() { steps_.clear(); }

 private:
  struct Step {
    Time at;            ///< from here to the next step ...
    std::int64_t used;  ///< ... this much is in use
  };
  std::size_t split(Time at);

  std::int64_t capacity_;
  std::vector<Step> steps_;  ///< ascending; neighbours differ; the last one is 0
};

}  // namespace stellwerk
