// stellwerk overlay: several jobs, each by its own plan: what happens without joint planning.
#include <fmt/core.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/io/plan_file.hpp"
#include "stellwerk/plan/job_portfolio.hpp"
#include "tool/commands.hpp"
#include "tool/output_file.hpp"
#include "tool/parse.hpp"
#include "tool/plan_options.hpp"
#include "tool/problem_options.hpp"
#include "tool/progress_line.hpp"
#include "tool/report.hpp"

namespace stellwerk::tool {
namespace {

struct Options {
  ProblemOptions problem;
  LimitOptions limits;
  std::optional<std::string> mode, seed, output;
  bool json = false;
};

Overlay parse_mode(const std::optional<std::string>& text) {
  if (!text || *text == "fair") return Overlay::fair;
  if (*text == "fifo") return Overlay::fifo;
  throw Error(ErrorCode::usage, "--mode: '" + *text + "' is neither 'fair' nor 'fifo'");
}

int run(const Options& options) {
  const Overlay mode = parse_mode(options.mode);
  PlanOptions planning;
  if (options.seed) {
    planning.seed = static_cast<std::uint64_t>(parse_integer("--seed", *options.seed, 0));
  }
  const StopCondition stop = stop_condition(options.limits);
  if (options.output) check_writable(*options.output);
  StatedProblem stated = state_problem(options.problem);
  ProgressLine progress;
  const PortfolioRequest request{std::move(stated.topology), std::move(stated.jobs), stated.relays,
                                 "", planning};
  const Plan plan = make_overlay(request, mode, stop, &progress, judge);
  progress.erase();
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

RunCommand declare_overlay(Arguments& arguments) {
  const auto options = std::make_shared<Options>();
  declare(arguments, options->problem);
  arguments.value({"--mode", "M",
                   "who gets a link that several jobs want: all at once, at max-min fair rates "
                   "('fair', default), or whole sends, first come first served ('fifo')",
                   "--mode fifo"},
                  options->mode);
  arguments.value({"--seed", "N", "start of the random sequence (default 1)", "--seed 7"},
                  options->seed);
  declare(arguments, options->limits);
  arguments.value({"-o,--output", "FILE", "write the plan (.zst: compressed)", "-o plan.json"},
                  options->output);
  arguments.flag({"--json", "", "print the plan's result object instead of the table", "--json"},
                 options->json);
  return [options] { return run(*options); };
}

}  // namespace stellwerk::tool
