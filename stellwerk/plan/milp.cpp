// Makespan by search on the horizon.
//
// Problem: the shortest plan on an epoch grid (the model is in plan/epoch_model.cpp).
// Idea: one model with the makespan as its objective has a useless relaxation. Instead: (1) a lower
// bound on the horizon from slots and distances, in microseconds; (2) raised while the LP
// relaxation of the feasibility problem is infeasible, which is a proof; (3) a known plan, placed
// on the grid, is the upper bound and often meets the lower one; (4) between the two, feasibility
// MILPs, the shortest horizon first with a part of the time, then from above. Guarantee: `proven`
// epochs are a valid lower bound for every plan on this grid; a plan is optimal on the grid when
// its length equals it. Says nothing about other grids: results are marked discretised. Held to its
// word by: plan/milp_test.cpp, tests/conformance (brute force on all small instances).
#include "stellwerk/plan/milp.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/plan/epoch_model.hpp"
#include "stellwerk/plan/no_copy.hpp"
#include "stellwerk/plan/passing.hpp"
#include "stellwerk/plan/reversal.hpp"
#include "stellwerk/plan/search.hpp"

namespace stellwerk {
namespace {

using Objective = EpochModelOptions::Objective;

/// Models beyond this many integer variables do not finish their root relaxation in useful time
/// (docs/planners.md).
constexpr std::int64_t kComfortableColumns = 30000;

/// Nor are models beyond this many begun: building them and presolving them takes minutes and gigabytes, and neither
/// looks at the clock.
constexpr std::int64_t kMostColumns = 250000;
constexpr double kColumnsPerSecond = 25'000;  ///< what is left of a limit must allow
constexpr double kBytesPerColumn = 9'000;
constexpr std::int64_t kMostPlaces = 40'000'000;  ///< chunks times links and nodes
constexpr double kSecondsPerPlace = 1e-6;
constexpr std::int64_t kMostEpochs = 20'000;

EpochModelOptions model_options(const PlanOptions& options, Objective objective) {
  EpochModelOptions result;
  result.store = options.store;
  result.objective = objective;
  result.names = !options.write_model.empty() || !options.read_solution.empty();
  return result;
}

/// Where a chunk can be.
std::int64_t places(const Problem& problem) {
  return static_cast<std::int64_t>(
      problem.chunks.size() * (problem.topology.links().size() + problem.topology.nodes().size()));
}

/// One grid, one horizon at a time.
class HorizonSearch {
 public:
  HorizonSearch(const Problem& problem, const EpochGrid& grid, std::vector<EpochEntry> start,
                const PlanOptions& options, PlannerContext& context)
      : problem_(problem),
        grid_(grid),
        options_(options),
        context_(context),
        state_(initial_state(problem, grid)) {
    accept(std::move(start));
  }

  GridSolution run() {
    result_.proven = least_horizon(problem_, grid_, state_);
    if (result_.proven >= kNever) return result_;
    if (result_.epochs > result_.proven && !too_large(result_.proven)) raise_by_relaxation();
    bool patient = false;  // the shortest horizon has been tried with a part of the time
    while (result_.epochs > result_.proven && !context_.stop.should_stop()) {
      int horizon = result_.proven;
      StopCondition stop = context_.stop;
      if (!patient) {
        stop = context_.stop.within(context_.stop.seconds_left() *
                                    (result_.entries.empty() ? 0.9 : 0.4));
        patient = true;
      } else if (result_.epochs < kNever) {
        horizon = result_.epochs - 1;
      } else {
        // Nothing known yet: longer horizons are easier.
        horizon = std::max(last_horizon_ + 1, last_horizon_ * 5 / 4);
      }
      if (too_large(horizon)) break;
      last_horizon_ = horizon;
      const lp::Status status = solve(horizon, stop);
      if (status == lp::Status::infeasible) {
        result_.proven = std::max(result_.proven, horizon + 1);
        patient = false;
      } else if (status == lp::Status::no_solution && horizon > result_.proven &&
                 result_.epochs < kNever) {
        break;  // the time is up
      }
    }
    if (options_.weighted_objective && result_.epochs < kNever && !context_.stop.should_stop() &&
        !too_large(result_.epochs)) {
      polish_weighted();
    }
    // Where a known plan met the bound no model was solved, but an export was asked for all the
    // same.
    if (!options_.write_model.empty() && !written_) {
      export_model(
          model_of(result_.epochs < kNever ? result_.epochs : result_.proven, Objective::none));
    }
    result_.limit = context_.stop.reached();
    return result_;
  }

 private:
  void accept(std::vector<EpochEntry> entries) {
    const int epochs = completion_epoch(problem_, grid_, state_, entries);
    if (epochs >= result_.epochs) return;
    result_.epochs = epochs;
    result_.entries = std::move(entries);
  }

  std::string stage(int horizon) const {
    return "milp, " + std::to_string(horizon) + " epochs of " + to_string(grid_.duration());
  }

  EpochModel model_of(int horizon, Objective objective) const {
    return EpochModel(problem_, grid_, state_, horizon, model_options(options_, objective));
  }

  void export_model(const EpochModel& model) {
    if (options_.write_model.empty()) return;
    lp::write_model(model.model(), options_.write_model);
    written_ = true;
  }

  bool too_large(int horizon) {
    if (!options_.write_model.empty()) return false;
    const auto affordable = [&](std::int64_t columns) {
      const auto count = static_cast<double>(columns);
      return columns <= kMostColumns && count <= kColumnsPerSecond * context_.stop.seconds_left() &&
             kBytesPerColumn * count <= context_.stop.bytes_left();
    };
    if (places(problem_) <= kMostPlaces &&
        affordable(count_entries(problem_, grid_, state_, horizon))) {
      return false;
    }
    result_.too_large = true;
    return true;
  }

  /// While the relaxation has no solution, neither has the model.
  void raise_by_relaxation() {
    while (result_.proven < result_.epochs && !context_.stop.should_stop()) {
      const EpochModel model = model_of(result_.proven, Objective::none);
      if (model.reachable()) {
        lp::SolveOptions solve_options;
        solve_options.stop = context_.stop.within(context_.stop.seconds_left() / 3);
        solve_options.relax = true;
        solve_options.threads = options_.threads;
        context_.report(stage(result_.proven) + ", relaxation");
        if (lp::solve(model.model(), solve_options).status != lp::Status::infeasible) return;
      }
      ++result_.proven;
    }
  }

  lp::Status solve(int horizon, const StopCondition& stop) {
    const EpochModel model = model_of(horizon, Objective::none);
    if (!model.reachable()) return lp::Status::infeasible;
    export_model(model);
    lp::SolveOptions solve_options;
    solve_options.stop = stop;
    solve_options.threads = options_.threads;
    context_.report(stage(horizon));
    const lp::Solution solution = lp::solve(model.model(), solve_options);
    if (solution.has_values()) {
      accept(model.entries(solution.values));
      assert(result_.epochs <= horizon);
    }
    return solution.status;
  }

  /// The paper's objective at the length that was found: same makespan, earlier deliveries.
  void polish_weighted() {
    const EpochModel model = model_of(result_.epochs, Objective::deliveries);
    if (model.model().variables() == 0) return;  // nothing to deliver
    export_model(model);
    lp::SolveOptions solve_options;
    solve_options.stop = context_.stop;
    solve_options.threads = options_.threads;
    solve_options.relative_gap = options_.gap;
    solve_options.hint = model.values(result_.entries);
    context_.report("milp, weighted deliveries");
    const lp::Solution solution = lp::solve(model.model(), solve_options);
    if (!solution.has_values()) return;
    std::vector<EpochEntry> entries = model.entries(solution.values);
    const int epochs = completion_epoch(problem_, grid_, state_, entries);
    if (epochs <= result_.epochs) {
      result_.epochs = epochs;
      result_.entries = std::move(entries);
    }
  }

  const Problem& problem_;
  const EpochGrid& grid_;
  const PlanOptions& options_;
  PlannerContext& context_;
  EpochState state_;
  GridSolution result_;
  int last_horizon_ = 0;
  bool written_ = false;
};

/// The finest duration whose model is likely to be solved: exact grid, fastest link, slowest link,
/// then doubling.
Time comfortable_duration(const Problem& problem, const PlanOptions& options, Time expected) {
  if (options.epoch.kind != EpochChoice::Kind::automatic)
    return epoch_duration(problem, options.epoch);
  const auto comfortable = [&](Time duration) {
    constexpr std::int64_t kComfortableEpochs = 1000;
    const std::int64_t horizon = expected.ps / duration.ps + 1;
    if (horizon > kComfortableEpochs) return false;
    const EpochGrid grid(problem, duration);
    return count_entries(problem, grid, initial_state(problem, grid), static_cast<int>(horizon)) <=
           kComfortableColumns;
  };
  for (const auto kind : {EpochChoice::Kind::automatic, EpochChoice::Kind::fastest}) {
    const Time duration = epoch_duration(problem, {kind, 1, Time{0}});
    if (comfortable(duration)) return duration;
  }
  Time duration = epoch_duration(problem, {EpochChoice::Kind::slowest, 1, Time{0}});
  while (!comfortable(duration) && duration < expected) duration = 2 * duration;
  return duration;
}

/// The solver on a problem of copies: sends re-timed, at least as good as `incumbent` (may be
/// empty).
struct Part {
  bool solved = false;
  Schedule sends;  ///< may be empty when nothing is wanted
  EpochRecord epoch;
  Limit limit = Limit::none;
  std::string message;  ///< what limits the plan; may be empty
};

Time makespan(const Problem& problem, const Schedule& sends) {
  Time last{0};
  for (const Send& send : sends) {
    const SendTiming times = timing(problem.topology, send);
    for (const Time arrival : times.arrival) last = std::max(last, send.start + arrival);
  }
  return last;
}

/// The entries of a solution file, for a model of `horizon` epochs. Throws when they do not keep
/// the model's rows.
std::vector<EpochEntry> read_entries(const Problem& problem, const EpochGrid& grid, int horizon,
                                     const PlanOptions& options, const StopCondition& stop) {
  const EpochState state = initial_state(problem, grid);
  const EpochModel model(problem, grid, state, horizon, model_options(options, Objective::none));
  const std::vector<double> values = lp::read_solution(model.model(), options.read_solution);
  lp::Model fixed = model.model();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = std::round(values[i]);
    if (fixed.integer()[i]) fixed.set_bounds(static_cast<lp::Variable>(i), value, value);
  }
  lp::SolveOptions solve_options;
  solve_options.stop = stop;
  const lp::Solution solution = lp::solve(fixed, solve_options);
  if (!solution.has_values()) {
    throw Error(ErrorCode::unreadable_input,
                options.read_solution + ": does not solve this problem on a grid of " +
                    to_string(grid.duration()) + " within " + std::to_string(horizon) +
                    " epochs; use the file and the epoch of the exported model");
  }
  return model.entries(solution.values);
}

/// Without a plan: what the slots of a coarse grid say, which only decides how fine the grid may be.
Time expected_length(const Problem& problem) {
  const EpochGrid coarse(problem,
                         epoch_duration(problem, {EpochChoice::Kind::slowest, 1, Time{0}}));
  const std::int64_t epochs = least_horizon(problem, coarse, initial_state(problem, coarse));
  return 2 * std::min(epochs, kMostEpochs) * coarse.duration();
}

Part solve_part(const Problem& problem, const PlanOptions& options, PlannerContext& context,
                Schedule incumbent) {
  Part part;
  if (problem.chunks.empty()) {
    part.solved = true;
    return part;
  }
  // Choosing a grid counts its columns several times, and does not look at the clock.
  if (kSecondsPerPlace * static_cast<double>(places(problem)) > context.stop.seconds_left()) {
    part.limit = Limit::time;
    part.message = "the time that is left does not suffice to state the model";
    return part;
  }
  if (incumbent.empty()) {
    PlannerContext quick = context;
    quick.stop = context.stop.within(context.stop.seconds_left() / 5);
    PlanOptions search_options = options;
    search_options.store = true;  // even then its length tells which grid will do
    incumbent = plan_search(problem, search_options, quick).sends;
  }
  const Time expected =
      !incumbent.empty() ? makespan(problem, incumbent) : expected_length(problem);
  const EpochGrid grid(problem, comfortable_duration(problem, options, expected));
  part.epoch.duration = grid.duration();
  if (expected.ps / grid.duration().ps > kMostEpochs) {
    part.message = "a plan takes about " + std::to_string(expected.ps / grid.duration().ps) +
                   " epochs of " + to_string(grid.duration()) + ": choose longer epochs";
    return part;
  }
  std::vector<EpochEntry> start = epoch_schedule(problem, grid, incumbent);
  // It may store where it must not, or more than there is room for.
  if (!options.store || has_buffer_limits(problem.topology)) start.clear();
  if (!options.read_solution.empty()) {
    const EpochState state = initial_state(problem, grid);
    int horizon = completion_epoch(problem, grid, state, start);
    if (horizon >= kNever) horizon = 4 * least_horizon(problem, grid, state) + 16;
    start = read_entries(problem, grid, horizon, options, context.stop);
  }
  const GridSolution found = solve_on_grid(problem, grid, std::move(start), options, context);
  part.limit = found.limit;
  if (found.too_large) {
    part.message = "on a grid of " + to_string(grid.duration()) +
                   " the model is too large to be solved" +
                   (found.epochs < kNever ? ": this is the plan it would start from"
                                          : ": choose longer epochs, fewer chunks, or rounds");
  }
  part.solved = found.epochs < kNever;
  part.epoch = {grid.duration(), part.solved ? found.epochs : 0, found.proven};
  if (!found.entries.empty()) {
    part.sends =
        entries_to_plan(problem, grid, initial_state(problem, grid), found.entries, context.stop);
  }
  const bool restricted = !options.store;  // the incumbent need not keep the restriction
  if (!incumbent.empty() && !restricted &&
      (!part.solved || makespan(problem, incumbent) < makespan(problem, part.sends))) {
    part.sends = std::move(incumbent);
    part.solved = true;
  }
  return part;
}

}  // namespace

GridSolution solve_on_grid(const Problem& problem, const EpochGrid& grid,
                           std::vector<EpochEntry> start, const PlanOptions& options,
                           PlannerContext& context) {
  return HorizonSearch(problem, grid, std::move(start), options, context).run();
}

PlannerOutcome plan_milp(const Problem& problem, const PlanOptions& options,
                         PlannerContext& context) {
  PlannerOutcome outcome;
  const auto finish = [&](Part part) {
    outcome.sends = std::move(part.sends);
    outcome.epoch = part.epoch;
    outcome.message = part.message;
    outcome.termination = {
        part.solved ? Termination::Reason::feasible : Termination::Reason::no_solution, part.limit};
    if (!part.solved && part.message.empty()) {
      outcome.message =
          "no plan on the grid of " + to_string(part.epoch.duration) + " before the limit";
    }
    return outcome;
  };
  if (!has_reductions(problem)) {
    if (options.copy) {
      return finish(solve_part(problem, options, context,
                               context.incumbent != nullptr ? *context.incumbent : Schedule{}));
    }
    const NoCopyProblem single = without_copies(problem);
    Part part = solve_part(single.problem, options, context, {});
    part.sends = single.translate(std::move(part.sends));
    if (!keeps_buffers(
            problem, part.sends)) {  // copies of one chunk count as one, from the first to the last
      outcome.termination.reason = Termination::Reason::unsupported;
      outcome.message =
          "without copies a chunk passes a transit buffer several times, and it would overflow";
      return outcome;
    }
    return finish(std::move(part));
  }
  if (!options.copy) {
    outcome.termination.reason = Termination::Reason::unsupported;
    outcome.message = "reductions without copies are not modelled: drop --no-copy";
    return outcome;
  }
  const ReductionSplit split = split_reductions(problem);
  const bool both = !split.collect.chunks.empty() && !split.spread.chunks.empty();
  PlannerContext half = context;
  half.incumbent = nullptr;
  half.bound.reset();
  half.bound_chunked.reset();
  if (both) half.stop = context.stop.within(context.stop.seconds_left() / 2);
  Part collect = solve_part(split.collect, options, half, {});
  half.stop = context.stop;
  Part spread = solve_part(split.spread, options, half, {});
  Part whole;
  whole.limit = std::max(collect.limit, spread.limit);
  whole.message = !collect.message.empty() ? collect.message : spread.message;
  whole.epoch.duration = collect.solved ? spread.epoch.duration : collect.epoch.duration;
  if (!collect.solved || !spread.solved) {
    whole.epoch = collect.solved ? spread.epoch : collect.epoch;
    return finish(std::move(whole));
  }
  whole.solved = true;
  // What is proven of a half holds for the whole only when there is one half.
  if (!both) whole.epoch = split.collect.chunks.empty() ? spread.epoch : collect.epoch;
  whole.sends = join_and_polish(problem, split, collect.sends, spread.sends, context.stop);
  finish(std::move(whole));
  if (both) outcome.epoch.reset();
  return outcome;
}

}  // namespace stellwerk
