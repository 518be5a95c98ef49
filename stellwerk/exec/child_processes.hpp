// Tasks in processes of their own: what one uses or breaks does not touch the others.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace stellwerk {

/// Runs tasks in children of this process, several at once. Start them while this process has no
/// other threads that hold locks.
class ChildProcesses {
 public:
  /// The exit of a task.
  struct Result {
    std::size_t id = 0;
    bool finished = false;  ///< else it died, and `text` says how
    std::string text;       ///< what the task returned
  };

  ChildProcesses() = default;
  /// Kills what still runs.
  ~ChildProcesses();
  ChildProcesses(const ChildProcesses&) = delete;
  ChildProcesses& operator=(const ChildProcesses&) = delete;

  /// Runs `task` in a copy of this process; what it returns comes back. After `most_seconds` the
  /// child is killed. Throws Error(internal) where the system refuses.
  void start(std::size_t id, const std::function<std::string()>& task, double most_seconds);

  std::size_t running() const { return children_.size(); }

  /// The next task that ends; nothing if none does within `seconds`.
  std::optional<Result> wait(double seconds);

  /// Sends SIGINT to all that run: they come to an end by themselves. A Ctrl-C in the terminal does
  /// not reach them otherwise.
  void interrupt() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Child {
    std::size_t id;
    pid_t process;
    int pipe;
    std::string text;
    Clock::time_point killed_at;
    bool killed = false;
  };
  /// Reads what there is; true at the end.
  static bool drain(Child& child);
  Result reap(std::size_t child);

  std::vector<Child> children_;
};

}  // namespace stellwerk
