// stellwerk stream: byte matrices of AllToAllV on standard input, one a line; plans one after the other.
#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/version.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/io/load.hpp"
#include "stellwerk/io/matrix_file.hpp"
#include "stellwerk/io/plan_file.hpp"
#include "stellwerk/plan/finish_times.hpp"
#include "stellwerk/plan/portfolio.hpp"
#include "stellwerk/plan/rails.hpp"
#include "tool/commands.hpp"
#include "tool/parse.hpp"
#include "tool/problem_options.hpp"

namespace stellwerk::tool {
namespace {

struct Options {
  std::optional<std::string> topology, ranks, chunks, output, time_limit;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class Stream {
 public:
  explicit Stream(const Options& options)
      : output_(options.output.value_or("")),
        seconds_(options.time_limit
                     ? parse_time_option("--time-limit", *options.time_limit).seconds()
                     : 1.0) {
    if (!options.topology) {
      throw Error(ErrorCode::usage, "--topology is missing: name one, as in --topology rail:8x8");
    }
    topology_ = load_topology(*options.topology);
    job_.name = "alltoallv";
    job_.collective = Collective::alltoallv;
    job_.ranks = options.ranks ? parse_ranks(topology_, *options.ranks) : topology_.gpus();
    if (options.chunks) {
      job_.chunks = static_cast<int>(parse_integer("--chunks", *options.chunks, 1, 1 << 10));
    }
  }

  /// Plans the matrix of line `number`, says so in one line of JSON.
  void take(const std::string& line, std::size_t number) {
    Job job = job_;
    const std::string label = "standard input, line " + std::to_string(number);
    job.matrix = parse_matrix(line, label);
    if (job.matrix.size() != job.ranks.size()) {
      throw Error(ErrorCode::unreadable_input,
                  label + ": the matrix has " + std::to_string(job.matrix.size()) +
                      " rows, and there are " + std::to_string(job.ranks.size()) +
                      " ranks: give a row for each");
    }
    const auto start = std::chrono::steady_clock::now();
    Plan plan = planned(std::move(job));
    const double planning = seconds_since(start);
    const auto judging = std::chrono::steady_clock::now();
    const Verdict verdict = verify_sends(plan.problem, plan.sends);
    if (!verdict.valid()) throw Error(ErrorCode::internal, label + ": " + verdict.message);
    std::string file;
    if (!output_.empty()) {
      file = fmt::format("{}/{:06}.json.zst", output_, number);
      write_plan(plan, file);
    }
    fmt::print(
        "{{\"line\": {}, \"transfer_time_ps\": {}, \"planner\": \"{}\", \"sends\": {}, "
        "\"planning_s\": {:.6f}, \"verifying_s\": {:.6f}{}}}\n",
        number, verdict.transfer_time.ps, plan.result.planner, plan.sends.size(), planning,
        seconds_since(judging), file.empty() ? "" : fmt::format(", \"plan\": \"{}\"", file));
    std::fflush(stdout);
  }

 private:
  /// By `rails` where the fabric and the demand are for it, else by the portfolio.
  Plan planned(Job job) {
    Plan plan;
    plan.problem = make_problem(topology_, {job});
    PlannerContext context;
    context.stop = StopCondition(seconds_);
    PlannerOutcome outcome = plan_rails(plan.problem, {}, context);
    if (!outcome.has_plan()) {
      return make_plan({topology_, {std::move(job)}, Relays::all, "", {}}, StopCondition(seconds_),
                       nullptr, judge);
    }
    plan.sends = std::move(outcome.sends);
    sort_sends(topology_, plan.sends);
    plan.result.job_finish = finish_times(plan.problem, plan.sends);
    plan.result.transfer_time = plan.result.job_finish.front();
    plan.result.planner = "rails";
    plan.result.version = kVersion;
    plan.result.termination = outcome.termination;
    return plan;
  }

  std::string output_;
  double seconds_;
  Topology topology_;
  Job job_;
};

int run(const Options& options) {
  Stream stream(options);
  std::string line;
  for (std::size_t number = 1; std::getline(std::cin, line); ++number) {
    if (StopCondition::interrupted()) break;
    if (line.find_first_not_of(" \t\r") != std::string::npos) stream.take(line, number);
  }
  return 0;
}

}  // namespace

RunCommand declare_stream(Arguments& arguments) {
  const auto options = std::make_shared<Options>();
  arguments.value({"-t,--topology", "T", "a built-in topology (see 'topo list') or a file",
                   "--topology rail:8x8"},
                  options->topology);
  arguments.value(
      {"--ranks", "LIST", "the GPUs that take part, in order (default: all)", "--ranks 0-63"},
      options->ranks);
  arguments.value({"--chunks", "N", "chunks a pair (default 1)", "--chunks 2"}, options->chunks);
  arguments.value(
      {"-o,--output", "FOLDER", "write every plan there, by its line's number", "--output plans"},
      options->output);
  arguments.value({"--time-limit", "TIME", "for each matrix (default 1s)", "--time-limit 100ms"},
                  options->time_limit);
  return [options] { return run(*options); };
}

}  // namespace stellwerk::tool
