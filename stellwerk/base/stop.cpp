#include "stellwerk/base/stop.hpp"

#include <algorithm>

#include "stellwerk/base/resources.hpp"

namespace stellwerk {
namespace {
std::atomic<bool> interrupt_flag{false};
constexpr double kForever = 1e9;
constexpr double kBoundless = 1e18;
}  // namespace

const char* to_string(Limit limit) {
  switch (limit) {
    case Limit::none:
      return "none";
    case Limit::time:
      return "time";
    case Limit::memory:
      return "memory";
    case Limit::interrupt:
      return "interrupt";
  }
  return "none";
}

StopCondition::StopCondition(double time_limit_s, std::int64_t memory_limit_bytes)
    : memory_limit_bytes_(memory_limit_bytes) {
  if (time_limit_s < kForever) {
    deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(std::max(0.0, time_limit_s)));
  }
}

Limit StopCondition::reached() const {
  if (interrupt_flag.load(std::memory_order_relaxed)) return Limit::interrupt;
  if (cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed)) return Limit::interrupt;
  if (deadline_ && Clock::now() >= *deadline_) return Limit::time;
  if (memory_limit_bytes_ > 0 && resident_bytes() > memory_limit_bytes_) return Limit::memory;
  return Limit::none;
}

double StopCondition::seconds_left() const {
  if (!deadline_) return kForever;
  return std::max(0.0, std::chrono::duration<double>(*deadline_ - Clock::now()).count());
}

double StopCondition::bytes_left() const {
  if (memory_limit_bytes_ == 0) return kBoundless;
  return std::max(0.0, static_cast<double>(memory_limit_bytes_ - resident_bytes()));
}

StopCondition StopCondition::within(double seconds) const {
  StopCondition result(std::min(seconds, seconds_left()), memory_limit_bytes_);
  result.cancelled_ = cancelled_;
  return result;
}

StopCondition StopCondition::cancelled_by(const std::atomic<bool>& flag) const {
  StopCondition result = *this;
  result.cancelled_ = &flag;
  return result;
}

void StopCondition::interrupt_now() { interrupt_flag.store(true, std::memory_order_relaxed); }
bool StopCondition::interrupted() { return interrupt_flag.load(std::memory_order_relaxed); }

}  // namespace stellwerk
