// stellwerk bound: lower bounds on the transfer time, without planning.
#include "stellwerk/bound/bound.hpp"

#include <fmt/core.h>

#include <chrono>
#include <memory>
#include <utility>

#include "stellwerk/graph/problem_symmetry.hpp"
#include "stellwerk/io/plan_file.hpp"
#include "tool/commands.hpp"
#include "tool/plan_options.hpp"
#include "tool/problem_options.hpp"
#include "tool/report.hpp"
#include "tool/table.hpp"

namespace stellwerk::tool {
namespace {

struct Options {
  ProblemOptions problem;
  LimitOptions limits;
  bool json = false;
};

/// By representatives if that saves much; certificates that are printed name chunks of all.
Problem pose(StatedProblem stated, bool whole, const StopCondition& stop) {
  constexpr std::size_t kSmall = 96;
  if (!whole && stated.topology.nodes().size() > kSmall) {
    check_jobs(stated.topology, stated.jobs);
    Symmetry symmetry = find_symmetry(stated.topology, stated.jobs, stop);
    if (!symmetry.trivial()) {
      return make_compressed_problem(std::move(stated.topology), std::move(stated.jobs),
                                     stated.relays, std::move(symmetry));
    }
  }
  return make_problem(std::move(stated.topology), std::move(stated.jobs), stated.relays);
}

/// Seconds since it was last asked, or made.
class Stopwatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

int run(const Options& options) {
  const StopCondition stop = stop_condition(options.limits);
  StatedProblem stated = state_problem(options.problem);
  Stopwatch watch;
  const Problem problem = pose(std::move(stated), options.json, stop);
  const double posed = watch.lap();
  const Bound any = lower_bound(problem, stop);
  const double for_any = watch.lap();
  const Bound chunked = lower_bound_chunked(problem, any, stop);
  const double for_these = watch.lap();
  if (options.json) {
    fmt::print("{}", format_bounds(any, chunked));
    return 0;
  }
  Table table;
  const bool one = problem.jobs.size() == 1;
  table.add({"problem", problem.topology.name() + ", " +
                            (one ? job_text(problem.jobs.front())
                                 : fmt::format("{} jobs", problem.jobs.size()))});
  table.add({"bound, any chunks", bound_text(any)});
  if (any.certificate.kind != Certificate::Kind::none)
    table.add({"bottleneck", describe(any.certificate, problem)});
  table.add(
      {one ? fmt::format("bound, {} a block", problem.jobs.front().chunks) : "bound, these chunks",
       bound_text(chunked)});
  if (chunked.certificate.kind != Certificate::Kind::none && chunked != any) {
    table.add({"bottleneck", describe(chunked.certificate, problem)});
  }
  table.add(
      {"solver time",
       fmt::format("{:.3f} s to state the problem and find symmetries, {:.3f} s for any chunks, "
                   "{:.3f} s for these",
                   posed, for_any, for_these)});
  if (stop.should_stop())
    table.add({"stopped by", fmt::format("the {} limit: these are the best bounds proven by then",
                                         to_string(stop.reached()))});
  fmt::print("{}", table.text());
  return 0;
}

}  // namespace

RunCommand declare_bound(Arguments& arguments) {
  const auto options = std::make_shared<Options>();
  declare(arguments, options->problem);
  declare(arguments, options->limits);
  arguments.flag({"--json", "", "print bounds and certificates as JSON", "--json"}, options->json);
  return [options] { return run(*options); };
}

}  // namespace stellwerk::tool
