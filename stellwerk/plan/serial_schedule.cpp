// List scheduling with gaps (serial schedule generation).
//
// Problem. Given sends and their dependencies, choose starts: each as early as its data and its
// resources allow, where a gap between windows that were placed before may be used.
//
// Idea. Take sends in an order that respects the dependencies (a heap of those whose predecessors
// are placed, keyed by a priority). A send starts at the first instant at which all its resources
// are free together: ask each in turn for its first free window at or after the instant so far,
// until none moves it. Reversed time is the same procedure on reversed dependencies with mirrored
// windows.
//
// The profile of a resource is a step function in a balanced tree. Steps that leave less than any
// claim needs are rounded up to full, and gaps shorter than any claim are filled, so that a busy
// resource is one step and the search for a window does not walk over the past: O(log n) a claim in
// practice, O(n) at worst.
//
// Guarantee. The result keeps all dependencies and capacities (a valid schedule but for transit
// buffers). No promise to beat the input: list scheduling has anomalies (Graham, 1969), so callers
// compare. Kolisch, EJOR 90 (1996), for serial schedule generation. Test: serial_schedule_test.cpp,
// compact_test.cpp.
#include "stellwerk/plan/serial_schedule.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

namespace stellwerk {
namespace {

std::size_t index(std::int32_t number) { return static_cast<std::size_t>(number); }

}  // namespace

std::int64_t CapacityProfile::earliest(std::int64_t from, std::int64_t duration,
                                       std::int64_t amount) const {
  auto step = steps_.upper_bound(from);
  std::int64_t at = from;
  if (step != steps_.begin()) {
    const std::int64_t claimed = std::prev(step)->second;
    if (claimed > capacity_ - amount) {
      if (step == steps_.end()) return at;  // cannot be: the last step is empty
      at = step->first;
    }
  }
  for (; step != steps_.end() && step->first < at + duration; ++step) {
    if (step->second <= capacity_ - amount) continue;
    const auto next = std::next(step);
    if (next == steps_.end()) break;
    at = next->first;
  }
  return at;
}

CapacityProfile::Steps::iterator CapacityProfile::cut(std::int64_t at) {
  auto step = steps_.lower_bound(at);
  if (step != steps_.end() && step->first == at) return step;
  const std::int64_t claimed = step == steps_.begin() ? 0 : std::prev(step)->second;
  return steps_.emplace_hint(step, at, claimed);
}

void CapacityProfile::claim(std::int64_t begin, std::int64_t duration, std::int64_t amount) {
  const auto full = [&](std::int64_t claimed) { return claimed > capacity_ - least_amount_; };
  const auto last = cut(begin + duration);
  auto step = cut(begin);
  const auto first = step;
  for (; step != last; ++step) {
    step->second += amount;
    if (full(step->second)) step->second = capacity_;
  }
  // Fill gaps beside the new window that no claim fits into.
  const auto fill = [&](Steps::iterator gap) {
    if (gap == steps_.begin() || gap == steps_.end() || full(gap->second)) return;
    const auto after = std::next(gap);
    if (after == steps_.end() || !full(after->second) || !full(std::prev(gap)->second)) return;
    if (after->first - gap->first < least_duration_) gap->second = capacity_;
  };
  if (first != steps_.begin()) fill(std::prev(first));
  fill(last);
  // Join equal neighbours around and inside the window.
  auto from = first == steps_.begin() ? first : std::prev(first);
  if (from != steps_.begin()) from = std::prev(from);
  const auto stop = last == steps_.end() ? last : std::next(last);
  const std::int64_t stop_at =
      stop == steps_.end() ? std::numeric_limits<std::int64_t>::max() : stop->first;
  for (auto next = std::next(from); next != steps_.end() && next->first <= stop_at;) {
    if (next->second == from->second) {
      next = steps_.erase(next);
    } else {
      from = next++;
    }
  }
}

/// Forwards or backwards: time is multiplied by `sign`, windows and dependencies turn accordingly.
struct SerialSchedule::Direction {
  bool forwards;
  std::int32_t tail(const Dependency& d) const { return forwards ? d.from : d.to; }
  std::int32_t head(const Dependency& d) const { return forwards ? d.to : d.from; }
};

SerialSchedule::SerialSchedule(const Problem& problem, const Schedule& sends)
    : problem_(problem),
      sends_(sends),
      shapes_(problem.topology, sends),
      uses_(problem.topology, sends, shapes_),
      precedence_(find_precedence(problem, sends, shapes_)) {}

Time SerialSchedule::finish(const std::vector<std::int64_t>& starts) const {
  std::vector<Time> job_finish;
  return finish_times(problem_, sends_, shapes_, precedence_, starts, job_finish);
}

std::optional<std::vector<std::int64_t>> SerialSchedule::forwards(
    const std::vector<std::int64_t>& priority) const {
  return place({true}, priority, precedence_.earliest);
}

std::optional<std::vector<std::int64_t>> SerialSchedule::backwards(
    const std::vector<std::int64_t>& priority, std::int64_t horizon) const {
  std::vector<std::int64_t> mirrored(priority.size());
  std::vector<std::int64_t> earliest(sends_.size());
  for (std::size_t i = 0; i < sends_.size(); ++i) {
    mirrored[i] = -priority[i];
    earliest[i] = shapes_.last_arrival(i) - horizon;
  }
  std::optional<std::vector<std::int64_t>> starts = place({false}, mirrored, std::move(earliest));
  if (starts) {
    for (std::int64_t& start : *starts) start = -start;
  }
  return starts;
}

std::vector<CapacityProfile> SerialSchedule::empty_profiles() const {
  constexpr std::int64_t kMany = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> amount(uses_.resources(), kMany), duration(uses_.resources(), kMany);
  for (const CapacityUse& use : uses_.all()) {
    std::int64_t& least = amount[index(use.resource)];
    least = std::min(least, use.amount);
    std::int64_t& shortest = duration[index(use.resource)];
    shortest = std::min(shortest, shapes_.duration(index(use.send)));
  }
  std::vector<CapacityProfile> profiles;
  profiles.reserve(uses_.resources());
  for (std::size_t r = 0; r < uses_.resources(); ++r) {
    profiles.emplace_back(uses_.capacity(r), std::min(amount[r], uses_.capacity(r)), duration[r]);
  }
  return profiles;
}

std::optional<std::vector<std::int64_t>> SerialSchedule::place(
    const Direction& direction, const std::vector<std::int64_t>& priority,
    std::vector<std::int64_t> at) const {
  const std::size_t activities = index(precedence_.activities);
  at.resize(activities, kNoLowerBound);
  // Dependencies by tail. If those that keep partial sums apart run in circles with the data, they
  // are left to luck.
  std::vector<std::size_t> first(activities + 1, 0);
  for (const Dependency& d : precedence_.dependencies) ++first[index(direction.tail(d)) + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<std::size_t> leaving(first.back());
  std::vector<std::size_t> next(first.begin(), first.end() - 1);
  for (std::size_t d = 0; d < leaving.size(); ++d) {
    leaving[next[index(direction.tail(precedence_.dependencies[d]))]++] = d;
  }

  for (const bool data_only : {false, true}) {
    std::vector<std::int64_t> x(at);
    std::vector<std::int32_t> entering(activities, 0);
    for (const Dependency& d : precedence_.dependencies) {
      if (d.data || !data_only) ++entering[index(direction.head(d))];
    }
    std::vector<CapacityProfile> profiles = empty_profiles();
    using Entry = std::pair<std::int64_t, std::int32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    const auto push = [&](std::size_t activity) {
      ready.emplace(activity < sends_.size() ? priority[activity] : kNoLowerBound,
                    static_cast<std::int32_t>(activity));
    };
    for (std::size_t i = 0; i < activities; ++i) {
      if (entering[i] == 0) push(i);
    }
    std::size_t placed = 0;
    while (!ready.empty()) {
      const std::size_t activity = index(ready.top().second);
      ready.pop();
      ++placed;
      if (activity < sends_.size()) {
        const std::int64_t duration = shapes_.duration(activity);
        const auto begin = [&](const CapacityUse& use) {
          return direction.forwards ? use.begin : -(use.begin + duration);
        };
        for (bool moved = true; moved;) {
          moved = false;
          for (std::size_t u = uses_.first(activity); u < uses_.first(activity + 1); ++u) {
            const CapacityUse& use = uses_.all()[u];
            const std::int64_t free = profiles[index(use.resource)].earliest(
                                          x[activity] + begin(use), duration, use.amount) -
                                      begin(use);
            moved = moved || free > x[activity];
            x[activity] = free;
          }
        }
        for (std::size_t u = uses_.first(activity); u < uses_.first(activity + 1); ++u) {
          const CapacityUse& use = uses_.all()[u];
          profiles[index(use.resource)].claim(x[activity] + begin(use), duration, use.amount);
        }
      }
      for (std::size_t l = first[activity]; l < first[activity + 1]; ++l) {
        const Dependency& d = precedence_.dependencies[leaving[l]];
        if (!d.data && data_only) continue;
        const std::size_t head = index(direction.head(d));
        if (x[activity] != kNoLowerBound) {
          x[head] = std::max(x[head], x[activity] + Precedence::lag(d, shapes_));
        }
        if (--entering[head] == 0) push(head);
      }
    }
    if (placed < activities) continue;
    const bool kept = std::all_of(
        precedence_.dependencies.begin(), precedence_.dependencies.end(), [&](const Dependency& d) {
          return x[index(direction.head(d))] >=
                 x[index(direction.tail(d))] + Precedence::lag(d, shapes_);
        });
    if (!kept) return std::nullopt;
    x.resize(sends_.size());
    return x;
  }
  return std::nullopt;
}

}  // namespace stellwerk
