#include "tool/plan_options.hpp"

#include <unistd.h>

#include <algorithm>
#include <thread>

#include "stellwerk/base/error.hpp"
#include "tool/parse.hpp"

namespace stellwerk::tool {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::usage, message); }

EpochChoice parse_epoch(const std::string& text) {
  EpochChoice choice;
  if (text == "fastest") {
    choice.kind = EpochChoice::Kind::fastest;
  } else if (text == "slowest") {
    choice.kind = EpochChoice::Kind::slowest;
  } else if (text.ends_with("x")) {
    Factor factor;
    try {
      factor = parse_factor("--epoch", "x" + text.substr(0, text.size() - 1));
    } catch (const Error&) {
      refuse("--epoch: '" + text + "' is no multiple: write a positive number and x, as in 2x");
    }
    choice.kind = EpochChoice::Kind::multiple;
    choice.multiple =
        static_cast<double>(factor.numerator) / static_cast<double>(factor.denominator);
  } else {
    choice.kind = EpochChoice::Kind::explicit_time;
    choice.duration = parse_time_option("--epoch", text);
    if (choice.duration.ps <= 0) refuse("--epoch must be positive");
  }
  return choice;
}

}  // namespace

void declare(Arguments& arguments, LimitOptions& options) {
  arguments.value({"--time-limit", "TIME",
                   "stop after this long with the best so far (default 10s)", "--time-limit 60s"},
                  options.time_limit);
  arguments.value(
      {"--memory-limit", "SIZE", "stop when the process holds this much memory (default: none)",
       "--memory-limit 8GiB"},
      options.memory_limit);
}

StopCondition stop_condition(const LimitOptions& options) {
  double seconds = kDefaultTimeLimit;
  if (options.time_limit)
    seconds = parse_time_option("--time-limit", *options.time_limit).seconds();
  Bytes memory;
  if (options.memory_limit) {
    memory = parse_size_option("--memory-limit", *options.memory_limit);
    if (memory.value <= 0) refuse("--memory-limit must be positive");
  }
  return StopCondition(seconds, memory.value);
}

void declare(Arguments& arguments, PlannerOptions& options) {
  arguments.value({"-p,--planner", "P", "one planner instead of the portfolio (see 'planners')",
                   "--planner ring"},
                  options.planner);
  arguments.value(
      {"--gap", "RATIO", "stop when the plan is this near to the bound (default 1%)", "--gap 0.5%"},
      options.gap);
  arguments.value({"--seed", "N", "start of the random sequence (default 1)", "--seed 7"},
                  options.seed);
  arguments.value(
      {"--threads", "N", "threads to use (default: all cores; 1 with --planner)", "--threads 2"},
      options.threads);
  arguments.value(
      {"--epoch", "E",
       "epoch of milp, lp, rounds: fastest, slowest (link), a multiple of the fastest, or a "
       "duration",
       "--epoch 2x"},
      options.epoch);
  arguments.value({"--objective", "O",
                   "of several jobs: makespan (default), weighted (sum of weight * completion) or "
                   "slowdown (the largest, against each job's time alone); with --planner milp "
                   "weighted is a sum over deliveries of weight / epoch",
                   "--jobs jobs.json --objective slowdown"},
                  options.objective);
  arguments.flag({"--no-copy", "", "milp, lp: no node sends a chunk on more than once",
                  "--planner milp --no-copy"},
                 options.no_copy);
  arguments.flag({"--no-store", "", "milp, lp: a node that forwards does so at once",
                  "--planner milp --no-store"},
                 options.no_store);
  arguments.value(
      {"--write-model", "FILE", "milp, lp: write the model for other solvers (.mps or .lp)",
       "--planner milp --write-model model.mps"},
      options.write_model);
  arguments.value(
      {"--read-solution", "FILE", "milp: start from a solution that another solver wrote",
       "--planner milp --read-solution model.sol"},
      options.read_solution);
}

PlanOptions plan_options(const PlannerOptions& options) {
  if (options.planner) find_planner(*options.planner);
  PlanOptions result;
  if (options.gap) result.gap = parse_ratio("--gap", *options.gap);
  if (options.seed)
    result.seed = static_cast<std::uint64_t>(parse_integer("--seed", *options.seed, 0));
  if (!options.planner) {
    result.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  }
  if (options.threads)
    result.threads = static_cast<int>(parse_integer("--threads", *options.threads, 1, 1024));
  if (options.epoch) result.epoch = parse_epoch(*options.epoch);
  if (options.objective) {
    const std::optional<Objective> objective = objective_named(*options.objective);
    if (!objective) {
      refuse("--objective: '" + *options.objective +
             "' is none of 'makespan', 'weighted' and 'slowdown'");
    }
    const bool milp = options.planner && *options.planner == "milp";
    result.weighted_objective = milp && *objective == Objective::weighted;
    if (!result.weighted_objective) result.objective = *objective;
    if (result.objective != Objective::makespan && options.planner &&
        !find_planner(*options.planner).objectives) {
      refuse("--objective " + *options.objective + ": planner '" + *options.planner +
             "' plans for the makespan only: leave --planner out, or say --planner joint");
    }
  }
  result.copy = !options.no_copy;
  result.store = !options.no_store;
  const bool solver = options.planner && (*options.planner == "milp" || *options.planner == "lp");
  for (const auto& [name, value] : {std::pair{"--write-model", &options.write_model},
                                    std::pair{"--read-solution", &options.read_solution}}) {
    if (*value && !solver) refuse(std::string(name) + " needs --planner milp or --planner lp");
  }
  if (options.write_model && !options.write_model->ends_with(".mps") &&
      !options.write_model->ends_with(".lp")) {
    refuse("--write-model: '" + *options.write_model + "' must end in .mps or .lp");
  }
  if (options.read_solution && access(options.read_solution->c_str(), R_OK) != 0) {
    throw Error(ErrorCode::unreadable_input,
                *options.read_solution + ": cannot be read: give a solution file");
  }
  result.write_model = options.write_model.value_or("");
  result.read_solution = options.read_solution.value_or("");
  return result;
}

}  // namespace stellwerk::tool
