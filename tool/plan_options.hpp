// The options that say how to plan: planner, limits, epochs.
#pragma once

#include <optional>
#include <string>

#include "stellwerk/base/stop.hpp"
#include "stellwerk/plan/planner.hpp"
#include "tool/arguments.hpp"

namespace stellwerk::tool {

/// Seconds, unless --time-limit says otherwise.
inline constexpr double kDefaultTimeLimit = 10;

struct LimitOptions {
  std::optional<std::string> time_limit, memory_limit;
};

void declare(Arguments& arguments, LimitOptions& options);
/// The clock starts now.
StopCondition stop_condition(const LimitOptions& options);

struct PlannerOptions {
  std::optional<std::string> planner, gap, seed, threads, epoch, objective, write_model,
      read_solution;
  bool no_copy = false;
  bool no_store = false;
};

void declare(Arguments& arguments, PlannerOptions& options);
/// Throws Error(usage), also for an unknown planner.
PlanOptions plan_options(const PlannerOptions& options);

}  // namespace stellwerk::tool
