// The processes that `mpirun` started together, and a queue of numbered tasks that they share.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace stellwerk {

/// One object for the life of the process. Without MPI, or started without mpirun, the process is
/// alone.
class ProcessGroup {
 public:
  /// Joins the others.
  ProcessGroup();
  /// Waits for the others.
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  /// Was the library built with MPI?
  static bool has_mpi();

  int rank() const { return rank_; }
  int size() const { return size_; }

 private:
  int rank_ = 0;
  int size_ = 1;
};

/// Tasks 0 to count - 1, each taken by one process of the group, and their results, which all go to
/// process 0. Every process makes the queue, takes until nothing is left, and closes it.
class SharedQueue {
 public:
  using Sink = std::function<void(std::size_t task, const std::string& result)>;

  /// `sink` is called in process 0 only, by one thread at a time.
  SharedQueue(const ProcessGroup& group, std::size_t count, Sink sink);
  ~SharedQueue();
  SharedQueue(const SharedQueue&) = delete;
  SharedQueue& operator=(const SharedQueue&) = delete;

  /// The next task, nothing after the last.
  std::optional<std::size_t> take();
  void deliver(std::size_t task, const std::string& result);
  /// No more tasks are given out.
  void stop();
  /// Process 0: waits until all others have closed it, too; calls `idle` now and then.
  void close(const std::function<void()>& idle);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stellwerk
