#include "tool/progress_line.hpp"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace stellwerk::tool {
namespace {

/// Columns of the terminal: a line that wraps cannot be erased.
std::size_t columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

std::string progress_text(const ProgressReport& report, double seconds) {
  std::string text = report.stage;
  if (report.incumbent) text += "  " + to_string(*report.incumbent);
  if (report.bound)
    text += std::string(report.incumbent ? "," : " ") + " bound " + to_string(*report.bound);
  if (report.incumbent && report.bound && report.bound->ps > 0) {
    text += fmt::format(", gap {:.2f}%", 100 * (static_cast<double>(report.incumbent->ps) /
                                                    static_cast<double>(report.bound->ps) -
                                                1));
  }
  return text + fmt::format(", {:.1f} s", seconds);
}

ProgressLine::ProgressLine() : terminal_(isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() { erase(); }

void ProgressLine::report(const ProgressReport& report) {
  if (!terminal_) return;
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  if (shown_ && now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  shown_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const std::string text = progress_text(report, seconds).substr(0, columns() - 1);
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
}

void ProgressLine::erase() {
  const std::lock_guard lock(mutex_);
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

}  // namespace stellwerk::tool
