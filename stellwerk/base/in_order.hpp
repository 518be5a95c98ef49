// Independent tasks on several threads, their results taken in order: parallel and deterministic.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "stellwerk/base/stop.hpp"

namespace stellwerk {

/// Calls `work(i, stop)` for i in [0, count) on up to `threads` threads and hands each result to
/// `take(i, result)` in ascending order, on the calling thread, until `take` returns false. Work
/// begun beyond that is cancelled through its stop condition and its result dropped, so what is
/// taken does not depend on the number of threads. An exception of `work` is rethrown when its turn
/// comes. At most 2 * threads results wait to be taken.
template <class Work, class Take>
void in_order(std::size_t count, int threads, const StopCondition& stop, const Work& work,
              const Take& take) {
  using Value = std::invoke_result_t<Work, std::size_t, const StopCondition&>;
  if (threads <= 1 || count <= 1) {
    for (std::size_t i = 0; i < count; ++i) {
      if (!take(i, work(i, stop))) return;
    }
    return;
  }

  std::atomic<bool> cancelled{false};
  const StopCondition cancellable = stop.cancelled_by(cancelled);
  std::vector<std::optional<Value>> results(count);
  std::vector<std::exception_ptr> errors(count);
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t next = 0;   // to be begun
  std::size_t taken = 0;  // by the caller

  const auto run = [&] {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] {
        return cancelled || next == count || next < taken + 2 * static_cast<std::size_t>(threads);
      });
      if (cancelled || next == count) return;
      const std::size_t i = next++;
      lock.unlock();
      std::optional<Value> result;
      std::exception_ptr error;
      try {
        result.emplace(work(i, cancellable));
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      results[i] = std::move(result);
      errors[i] = error;
      changed.notify_all();
    }
  };
  std::vector<std::thread> workers;
  const std::size_t many = std::min(count, static_cast<std::size_t>(threads));
  for (std::size_t k = 0; k < many; ++k) workers.emplace_back(run);
  const auto finish = [&] {
    {
      const std::lock_guard lock(mutex);
      cancelled = true;
    }
    changed.notify_all();
    for (std::thread& worker : workers) worker.join();
  };

  try {
    for (; taken < count;) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return results[taken] || errors[taken]; });
      if (errors[taken]) std::rethrow_exception(errors[taken]);
      Value result = std::move(*results[taken]);
      results[taken].reset();
      const std::size_t i = taken;
      lock.unlock();
      const bool go_on = take(i, std::move(result));
      lock.lock();
      ++taken;
      lock.unlock();
      changed.notify_all();
      if (!go_on) break;
    }
  } catch (...) {
    finish();
    throw;
  }
  finish();
}

}  // namespace stellwerk
