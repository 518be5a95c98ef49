// Runs the cases of a table, several at once and on several machines.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "stellwerk/bench/measurement.hpp"
#include "stellwerk/exec/process_group.hpp"

namespace stellwerk {

struct RunnerOptions {
  int parallel = 1;      ///< cases at once, in each process of the group
  double total_s = 0;    ///< the whole table may take this long; 0: each case has its own limit
  double least_s = 0.5;  ///< with total_s: no case gets less
  double most_s = 10;    ///< with total_s: nor more
};

/// What the caller learns while cases run.
struct RunnerStatus {
  std::size_t done = 0, count = 0;
  std::vector<std::size_t> running;  ///< in this process
};

class RunnerListener {
 public:
  virtual ~RunnerListener() = default;
  /// In process 0, by one thread at a time, as measurements come in (in any order).
  virtual void finished(std::size_t which, const Measurement& measurement) = 0;
  /// In every process, now and then.
  virtual void status(const RunnerStatus& /*status*/) {}
};

/// Measures every case in a process of its own. False if Ctrl-C came first: then cases that had not
/// begun are left out. With total_s, time that early cases leave goes to later ones.
bool run_cases(const std::vector<Case>& cases, const RunnerOptions& options,
               const ProcessGroup& group, RunnerListener& listener);

}  // namespace stellwerk
