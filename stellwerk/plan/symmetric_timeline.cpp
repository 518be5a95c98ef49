#include "stellwerk/plan/symmetric_timeline.hpp"

#include <algorithm>
#include <cstddef>

namespace stellwerk::symmetric {

std::size_t ClaimTimeline::step_at(std::int64_t time) const {
  if (time >= steps_.back().at) return steps_.size() - 1;
  const auto after = std::upper_bound(steps_.begin(), steps_.end(), time,
                                      [](std::int64_t t, const Step& step) { return t < step.at; });
  return static_cast<std::size_t>(after - steps_.begin()) - 1;
}

std::int64_t ClaimTimeline::earliest(std::int64_t from, std::int64_t duration,
                                     std::int64_t amount) const {
  const std::int64_t room = capacity_ - amount;
  std::int64_t begin = from;
  for (std::size_t i = step_at(from); i < steps_.size() && steps_[i].at < begin + duration; ++i) {
    if (steps_[i].used > room) begin = steps_[i + 1].at;  // the last step is 0
  }
  return begin;
}

void ClaimTimeline::claim(std::int64_t begin, std::int64_t duration, std::int64_t amount) {
  if (duration == 0) return;
  const std::int64_t end = begin + duration;
  const std::size_t first = step_at(begin);
  std::size_t last = first;  // the last step that begins before `end`
  while (last + 1 < steps_.size() && steps_[last + 1].at < end) ++last;
  // Rewrite the steps from the one before `first` to the two after `last`.
  const std::size_t from = first > 0 ? first - 1 : 0;
  const std::size_t to = std::min(last + 3, steps_.size());
  buffer_.clear();
  if (first > 0) buffer_.push_back(steps_[first - 1]);
  if (steps_[first].at < begin) buffer_.push_back(steps_[first]);
  for (std::size_t i = first; i <= last; ++i) {
    std::int64_t used = steps_[i].used + amount;
    if (capacity_ - used < least_amount_) used = capacity_;
    buffer_.push_back({std::max(steps_[i].at, begin), used});
  }
  if (last + 1 == steps_.size() || steps_[last + 1].at > end)
    buffer_.push_back({end, steps_[last].used});
  for (std::size_t i = last + 1; i < to; ++i) buffer_.push_back(steps_[i]);
  // Short gaps between full steps are lost; then equal neighbours merge.
  std::size_t kept = 0;
  for (std::size_t i = 0; i < buffer_.size(); ++i) {
    Step step = buffer_[i];
    if (kept > 0 && buffer_[kept - 1].used == capacity_ && i + 1 < buffer_.size() &&
        buffer_[i + 1].used == capacity_ && buffer_[i + 1].at - step.at < least_duration_) {
      step.used = capacity_;
    }
    if (kept > 0 && buffer_[kept - 1].used == step.used) continue;
    buffer_[kept++] = step;
  }
  buffer_.resize(kept);
  const std::size_t replaced = to - from;
  const auto at = steps_.begin() + static_cast<std::ptrdiff_t>(from);
  const std::size_t common = std::min(replaced, kept);
  std::copy_n(buffer_.begin(), common, at);
  if (kept > replaced) {
    steps_.insert(at + static_cast<std::ptrdiff_t>(common),
                  buffer_.begin() + static_cast<std::ptrdiff_t>(common), buffer_.end());
  } else if (kept < replaced) {
    steps_.erase(at + static_cast<std::ptrdiff_t>(common),
                 at + static_cast<std::ptrdiff_t>(replaced));
  }
}

}  // namespace stellwerk::symmetric
