// When a long computation must end: a deadline, Ctrl-C, or a memory limit. Planners poll; nobody is killed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace stellwerk {

enum class Limit { none, time, memory, interrupt };

const char* to_string(Limit limit);

/// Polled by planners at least every few milliseconds.
class StopCondition {
 public:
  using Clock = std::chrono::steady_clock;

  /// No limits: only `interrupt_now` stops it.
  StopCondition() = default;
  explicit StopCondition(double time_limit_s, std::int64_t memory_limit_bytes = 0);

  /// Which limit has been reached; `none` while work may go on.
  Limit reached() const;
  bool should_stop() const { return reached() != Limit::none; }

  /// Seconds until the deadline (never negative; a large number without one).
  double seconds_left() const;
  /// Bytes of memory until the limit (never negative; a large number without one).
  double bytes_left() const;

  /// A condition that also ends after `seconds` from now: for one planner's share of the time.
  StopCondition within(double seconds) const;
  /// A condition that also ends once `flag` is true (it must outlive the condition): for work that
  /// may turn out to be useless. It then counts as interrupted.
  StopCondition cancelled_by(const std::atomic<bool>& flag) const;

  /// Async-signal-safe: what a SIGINT handler calls. Process-wide.
  static void interrupt_now();
  static bool interrupted();

 private:
  std::optional<Clock::time_point> deadline_;
  std::int64_t memory_limit_bytes_ = 0;
  const std::atomic<bool>* cancelled_ = nullptr;
};

}  // namespace stellwerk
