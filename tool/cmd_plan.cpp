// stellwerk plan: states a problem, has it planned, verifies the plan, prints and writes it.
#include <fmt/core.h>

#include <memory>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/core/expansion.hpp"
#include "stellwerk/io/plan_file.hpp"
#include "stellwerk/plan/portfolio.hpp"
#include "tool/commands.hpp"
#include "tool/output_file.hpp"
#include "tool/plan_options.hpp"
#include "tool/problem_options.hpp"
#include "tool/progress_line.hpp"
#include "tool/report.hpp"

namespace stellwerk::tool {
namespace {

struct Options {
  ProblemOptions problem;
  PlannerOptions planner;
  LimitOptions limits;
  std::optional<std::string> output;
  bool expand = false;
  bool json = false;
};

std::optional<std::string> judge(const Plan& plan) {
  const Verdict verdict = verify(plan);
  if (verdict.valid()) return std::nullopt;
  return std::string(to_string(*verdict.violation)) + ": " + verdict.message;
}

int run(const Options& options) {
  const PlanOptions planning = plan_options(options.planner);
  const StopCondition stop = stop_condition(options.limits);
  if (options.output) check_writable(*options.output);
  StatedProblem stated = state_problem(options.problem);

  ProgressLine progress;
  PortfolioRequest request{std::move(stated.topology), std::move(stated.jobs), stated.relays,
                           options.planner.planner.value_or(""), planning};
  // What comes back has passed the judge.
  Plan plan = make_plan(std::move(request), stop, &progress, judge);
  progress.erase();

  if (options.expand) expand(plan);
  if (options.output) write_plan(plan, *options.output);
  if (options.json) {
    fmt::print("{}", format_result(plan));
    return 0;
  }
  fmt::print("{}", plan_report(plan, "yes: sends, finish times and bounds"));
  if (options.output) fmt::print("written to {}\n", *options.output);
  return 0;
}

}  // namespace

RunCommand declare_plan(Arguments& arguments) {
  const auto options = std::make_shared<Options>();
  declare(arguments, options->problem);
  declare(arguments, options->planner);
  declare(arguments, options->limits);
  arguments.value({"-o,--output", "FILE", "write the plan (.zst: compressed)", "-o plan.json"},
                  options->output);
  arguments.flag(
      {"--expand", "",
       "write every chunk and send, not representatives and their symmetry (large fabrics)",
       "-o plan.json --expand"},
      options->expand);
  arguments.flag({"--json", "", "print the plan's result object instead of the table", "--json"},
                 options->json);
  return [options] { return run(*options); };
}

}  // namespace stellwerk::tool
