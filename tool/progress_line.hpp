// One changing line on stderr while a planner runs.
#pragma once

#include <chrono>
#include <mutex>

#include "stellwerk/base/progress.hpp"

namespace stellwerk::tool {

/// Shows stage, incumbent, bound, gap and time; nothing unless stderr is a terminal. Erased at the
/// end.
class ProgressLine : public Progress {
 public:
  ProgressLine();
  ~ProgressLine() override;
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void report(const ProgressReport& report) override;
  void erase();

 private:
  using Clock = std::chrono::steady_clock;
  const bool terminal_;
  const Clock::time_point start_ = Clock::now();
  std::mutex mutex_;
  Clock::time_point last_;
  bool shown_ = false;
};

/// What the line says, without control characters: "greedy  43.753 ms, bound 40.003 ms,
/// gap 9.4%, 1.2 s".
std::string progress_text(const ProgressReport& report, double seconds);

}  // namespace stellwerk::tool
