#include "stellwerk/plan/timeline.hpp"

#include <algorithm>

namespace stellwerk {

Time Timeline::earliest(Time from, Time duration, std::int64_t amount) const {
  if (amount > capacity_) return Time::max();
  if (steps_.empty() || from >= steps_.back().at || duration.ps == 0) return from;
  const std::int64_t room = capacity_ - amount;
  const auto after = std::upper_bound(steps_.begin(), steps_.end(), from,
                                      [](Time time, const Step& step) { return time < step.at; });
  Time start = from;
  Time end = start + duration;
  // Step i - 1 holds at `from`; before the first step nothing is in use.
  for (auto step = after == steps_.begin() ? after : after - 1;
       step != steps_.end() && step->at < end; ++step) {
    if (step->used > room) {
      start = (step + 1)->at;  // the last step is 0, so a full one has a successor
      end = start + duration;
    }
  }
  return start;
}

std::size_t Timeline::split(Time at) {
  const auto after = std::upper_bound(steps_.begin(), steps_.end(), at,
                                      [](Time time, const Step& step) { return time < step.at; });
  const auto position = static_cast<std::size_t>(after - steps_.begin());
  if (position > 0 && steps_[position - 1].at == at) return position - 1;
  const std::int64_t used = position > 0 ? steps_[position - 1].used : 0;
  steps_.insert(after, Step{at, used});
  return position;
}

void Timeline::add(Time start, Time duration, std::int64_t amount) {
  if (duration.ps == 0 || amount == 0) return;
  const std::size_t first = split(start);
  const std::size_t last = split(start + duration);
  for (std::size_t i = first; i < last; ++i) steps_[i].used += amount;
  // Only the two ends can have become equal to their neighbours.
  const auto redundant = [&](std::size_t i) {
    return steps_[i].used == (i == 0 ? 0 : steps_[i - 1].used);
  };
  if (redundant(last)) steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(last));
  if (redundant(first)) steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(first));
}

}  // namespace stellwerk
