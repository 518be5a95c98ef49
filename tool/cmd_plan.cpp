// stellwerk plan: states a problem, has it planned, verifies the plan, prints and writes it.
#include <fmt/core.h>

#include <memory>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/core/expansion.hpp"
#include "stellwerk/io/plan_file.hpp"
#include "stellwerk/plan/portfolio.hpp"
#include "stellwerk/plan/robust_choice.hpp"
#include "tool/commands.hpp"
#include "tool/noise_options.hpp"
#include "tool/output_file.hpp"
#include "tool/plan_cache_use.hpp"
#include "tool/plan_options.hpp"
#include "tool/problem_options.hpp"
#include "tool/progress_line.hpp"
#include "tool/report.hpp"
#include "tool/robust_report.hpp"

namespace stellwerk::tool {
namespace {

struct Options {
  ProblemOptions problem;
  PlannerOptions planner;
  LimitOptions limits;
  NoiseOptions noise;
  std::optional<std::string> choose;
  std::optional<std::string> cache;
  std::optional<std::string> output;
  bool expand = false;
  bool json = false;
};

/// Throws Error(usage) unless --noise and --choose come together and leave the planner open.
std::optional<Quantile> parse_choice(const Options& options) {
  if (!options.choose && !options.noise.given()) return std::nullopt;
  if (!options.choose || !options.noise.given()) {
    throw Error(ErrorCode::usage,
                "--choose and --noise go together, as in --choose p99 --noise send:30%");
  }
  if (options.planner.planner) {
    throw Error(ErrorCode::usage, "--choose compares planners: leave --planner out");
  }
  return parse_quantile(*options.choose);
}

int run(const Options& options, const Arguments& arguments) {
  const PlanOptions planning = plan_options(options.planner);
  const std::optional<Quantile> choice = parse_choice(options);
  const NoiseStudy study = noise_study(options.noise, options.planner.seed);
  const StopCondition stop = stop_condition(options.limits);
  if (options.output) check_writable(*options.output);
  StatedProblem stated = state_problem(options.problem);

  std::optional<CachedPlanning> cache;
  if (options.cache) cache.emplace(cache_path(*options.cache), stated, arguments.given());
  std::optional<Plan> known = cache ? cache->find(judge) : std::nullopt;
  const bool cached = known.has_value();

  ProgressLine progress;
  PortfolioRequest request{std::move(stated.topology), std::move(stated.jobs), stated.relays,
                           options.planner.planner.value_or(""), planning};
  // What comes back has passed the judge.
  std::string trials;
  Plan plan = [&] {
    if (known) return std::move(*known);
    if (!choice) return make_plan(std::move(request), stop, &progress, judge);
    RobustChoice chosen = choose_plan(request, study, *choice, stop, &progress, judge);
    trials = trials_table(chosen);
    return std::move(chosen.plan);
  }();
  progress.erase();
  if (cache && !cached) cache->store(plan);

  if (options.expand) expand(plan);
  if (options.output) write_plan(plan, *options.output);
  if (options.json) {
    fmt::print("{}", format_result(plan));
    return 0;
  }
  fmt::print("{}", plan_report(plan, cached ? "yes, again: a plan from the cache"
                                            : "yes: sends, finish times and bounds"));
  if (choice && !cached) fmt::print("\n{}", trials);
  if (options.output) fmt::print("written to {}\n", *options.output);
  return 0;
}

}  // namespace

RunCommand declare_plan(Arguments& arguments) {
  const auto options = std::make_shared<Options>();
  declare(arguments, options->problem);
  declare(arguments, options->planner);
  declare(arguments, options->limits);
  arguments.value({"--choose", "Q",
                   "with --noise: of different planners' plans the one with the least p50, p99 or "
                   "worst finish",
                   "--choose p99 --noise send:30%"},
                  options->choose);
  declare(arguments, options->noise, false);
  arguments.value({"-o,--output", "FILE", "write the plan (.zst: compressed)", "-o plan.json"},
                  options->output);
  arguments.flag(
      {"--expand", "",
       "write every chunk and send, not representatives and their symmetry (large fabrics)",
       "-o plan.json --expand"},
      options->expand);
  arguments.flag({"--json", "", "print the plan's result object instead of the table", "--json"},
                 options->json);
  arguments.optional_value(
      {"--cache", "FILE",
       "take the plan from the cache if it is there, and put it there if not (FILE: "
       "$STELLWERK_CACHE, or plans.sqlite in the user's cache folder)",
       "--cache=plans.sqlite"},
      options->cache);
  return [options, &arguments] { return run(*options, arguments); };
}

}  // namespace stellwerk::tool
