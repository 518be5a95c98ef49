// Events by time, for simulations in which many happen at the same instants.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "stellwerk/base/units.hpp"

namespace stellwerk {

/// A priority queue of events that are taken out instant by instant. Events of one instant share a
/// bucket where that is cheap to find, so that the heap holds instants, not events; within an
/// instant the order is that of the pushes to each bucket (deterministic).
template <class Event>
class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }
  /// Precondition: not empty.
  Time next() const { return heap_.front().first; }

  void push(Time time, Event event) {
    Recent& recent = recent_[slot(time)];
    if (recent.bucket < 0 || recent.time != time) recent = {time, open(time)};
    buckets_[static_cast<std::size_t>(recent.bucket)].push_back(event);
  }

  /// Moves the events of the next instant to the end of `events`; returns the instant.
  Time take(std::vector<Event>& events) {
    const Time time = next();
    while (!heap_.empty() && heap_.front().first == time) {
      const std::int32_t number = heap_.front().second;
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      heap_.pop_back();
      std::vector<Event>& bucket = buckets_[static_cast<std::size_t>(number)];
      events.insert(events.end(), bucket.begin(), bucket.end());
      bucket.clear();
      free_.push_back(number);
    }
    // Its buckets are gone: whoever pushes to this instant again opens a new one.
    Recent& recent = recent_[slot(time)];
    if (recent.time == time) recent.bucket = -1;
    return time;
  }

 private:
  struct Recent {
    Time time;
    std::int32_t bucket = -1;
  };
  static constexpr std::size_t kRecent = 1024;
  static std::size_t slot(Time time) {
    return static_cast<std::size_t>(static_cast<std::uint64_t>(time.ps) * 0x9e3779b97f4a7c15ULL >>
                                    54);
  }

  std::int32_t open(Time time) {
    std::int32_t number;
    if (free_.empty()) {
      number = static_cast<std::int32_t>(buckets_.size());
      buckets_.emplace_back();
    } else {
      number = free_.back();
      free_.pop_back();
    }
    heap_.emplace_back(time, number);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    return number;
  }

  std::vector<std::pair<Time, std::int32_t>> heap_;
  std::vector<std::vector<Event>> buckets_;
  std::vector<std::int32_t> free_;
  std::array<Recent, kRecent> recent_{};
};

}  // namespace stellwerk
