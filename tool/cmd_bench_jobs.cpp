// stellwerk bench jobs: joint planning of several jobs beside what happens without it.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stellwerk/base/error.hpp"
#include "stellwerk/bench/job_suite.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/io/file.hpp"
#include "stellwerk/io/text.hpp"
#include "stellwerk/plan/job_portfolio.hpp"
#include "tool/commands.hpp"
#include "tool/output_file.hpp"
#include "tool/parse.hpp"
#include "tool/progress_line.hpp"
#include "tool/table.hpp"

namespace stellwerk::tool {
namespace {

struct Options {
  std::optional<std::string> only, first, count, boxes, chunks, csv;
};

void add_summary(Table& table, std::string_view name, const JobSummary& summary) {
  for (std::size_t k = 0; k < kObjectives.size(); ++k) {
    const bool first = k == 0;
    table.add({first ? std::string(name) : "",
               first ? fmt::format("{}, {} sharing", summary.problems, summary.sharing) : "",
               to_string(kObjectives[k]), fmt::format("{:.3f}", summary.fair[k]),
               fmt::format("{:.3f}", summary.fair_sharing[k]),
               fmt::format("{:.3f}", summary.fifo[k]), fmt::format("{:.3f}", summary.bound[k]),
               std::to_string(summary.worse[k]), std::to_string(summary.losses[k]),
               first ? std::to_string(summary.invalid) : "",
               first ? fmt::format("{:.1f}", summary.seconds) : ""});
  }
}

std::string csv_rows(std::string_view workload, std::uint64_t number,
                     const JobProblemResult& result) {
  std::string text;
  for (std::size_t k = 0; k < kObjectives.size(); ++k) {
    const JobMeasurement& m = result.objectives[k];
    text += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", workload, number,
                        to_string(kObjectives[k]), m.joint, m.without_fair, m.fair, m.fifo, m.bound,
                        m.winner, result.invalid.size());
  }
  return text;
}

/// The mean over jobs of weight * (end - start).
double weighted_flow_us(const Plan& plan) {
  double flow = 0, weights = 0;
  for (std::size_t j = 0; j < plan.problem.jobs.size(); ++j) {
    const Job& job = plan.problem.jobs[j];
    flow += static_cast<double>(job.weight) * (plan.result.job_finish[j] - job.start).seconds();
    weights += static_cast<double>(job.weight);
  }
  return flow / weights * 1e6;
}

double worst_slowdown(const Plan& plan) {
  return static_cast<double>(objective_value(Objective::slowdown, plan.problem.jobs,
                                             plan.result.job_finish, plan.result.job_alone)) /
         static_cast<double>(kSlowdownUnit);
}

void add_groups(Table& table, int boxes, int chunks, const StopCondition& stop) {
  PortfolioRequest request;
  request.topology = catalogue_topology("rail:" + std::to_string(boxes) + "x8");
  request.jobs = training_groups(request.topology, boxes, chunks);
  request.relays = Relays::members;
  request.options.objective = Objective::weighted;
  const auto add = [&](const std::string& name, const Plan& plan) {
    table.add({name, std::to_string(plan.problem.jobs.size()), std::to_string(plan.sends.size()),
               to_string(plan.result.transfer_time), fmt::format("{:.1f}", weighted_flow_us(plan)),
               fmt::format("{:.3f}", worst_slowdown(plan)),
               fmt::format("{:.2f}", plan.result.solver_time_s),
               fmt::format("{:.2f}", plan.result.core_seconds)});
  };
  const std::string where = fmt::format(" on rail:{}x8, {} chunks a block", boxes, chunks);
  add("fifo" + where, make_overlay(request, Overlay::fifo, stop, nullptr, judge));
  add("fair" + where, make_overlay(request, Overlay::fair, stop, nullptr, judge));
  add("joint" + where, make_joint_plan(request, stop, nullptr, judge));
}

int run(const Options& options) {
  const auto number = [](const std::string& option, const std::optional<std::string>& text,
                         std::int64_t least, std::int64_t otherwise) {
    return text ? parse_integer(option, *text, least, 1'000'000) : otherwise;
  };
  const std::int64_t first = number("--first", options.first, 1, 1);
  const std::int64_t boxes = number("--boxes", options.boxes, 8, 128);
  const std::int64_t chunks = number("--chunks", options.chunks, 1, 1);
  if (boxes % 8 != 0) throw Error(ErrorCode::usage, "--boxes must be a multiple of 8");
  if (options.csv) check_writable(*options.csv);
  const StopCondition stop;
  Table table;
  table.add({"workload", "problems", "objective", "fair / joint", "where sharing", "fifo / joint",
             "joint / bound", "worse", "losses", "invalid", "CPU s"});
  std::string csv =
      "workload,problem,objective,joint,without_fair,fair,fifo,bound,winner,invalid\n";
  ProgressLine progress;
  int invalid = 0;
  std::size_t rows = 0;
  for (const JobWorkload& workload : job_workloads()) {
    if (options.only && std::string(workload.name).find(*options.only) == std::string::npos) {
      continue;
    }
    const std::int64_t count = number("--count", options.count, 1, workload.problems);
    std::vector<JobProblemResult> results;
    for (std::int64_t k = first; k < first + count && !stop.should_stop(); ++k) {
      progress.report({std::string(workload.topology) + ", problem " + std::to_string(k), {}, {}});
      const auto id = static_cast<std::uint64_t>(k);
      results.push_back(measure_jobs(workload, id, stop));
      csv += csv_rows(workload.name, id, results.back());
      for (const std::string& why : results.back().invalid) {
        fmt::print(stderr, "{} problem {}: {}\n", workload.topology, k, why);
      }
    }
    const JobSummary summary = summarise(results);
    invalid += summary.invalid;
    add_summary(table, workload.topology, summary);
    ++rows;
  }
  const bool groups = !options.only || std::string("groups").starts_with(*options.only);
  if (rows == 0 && !groups) {
    throw Error(ErrorCode::usage, "--only: there is no workload " + in_quotes(*options.only) +
                                      ": choose ndv2, torus, rail or groups");
  }
  progress.erase();
  if (rows > 0) fmt::print("{}", table.text());
  if (options.csv) write_file(*options.csv, csv);
  if (groups && !stop.should_stop()) {
    Table training;
    training.add({"training run", "jobs", "sends", "makespan", "weighted flow, us",
                  "largest slowdown", "solver s", "CPU s"});
    if (options.chunks) {
      add_groups(training, static_cast<int>(boxes), static_cast<int>(chunks), stop);
    } else {
      for (const int c : {1, 2, 4}) add_groups(training, static_cast<int>(boxes), c, stop);
    }
    fmt::print("{}", training.text());
  }
  return invalid == 0 ? 0 : static_cast<int>(ErrorCode::verification_failed);
}

}  // namespace

RunCommand declare_bench_jobs(Arguments& arguments) {
  const auto options = std::make_shared<Options>();
  arguments.value({"--only", "NAME", "one workload: ndv2, torus, rail or groups", "--only torus"},
                  options->only);
  arguments.value({"--first", "N", "number of the first problem (default 1)", "--first 51"},
                  options->first);
  arguments.value(
      {"--count", "N", "problems of each workload (default: 120, 60 and 30)", "--count 10"},
      options->count);
  arguments.value(
      {"--boxes", "N", "size of the training run: boxes of 8 GPUs (default 128)", "--boxes 16"},
      options->boxes);
  arguments.value(
      {"--chunks", "N", "chunks a block in the training run (default: 1, 2 and 4)", "--chunks 4"},
      options->chunks);
  arguments.value(
      {"--csv", "FILE", "write a line for each problem and objective", "--csv jobs.csv"},
      options->csv);
  return [options] { return run(*options); };
}

}  // namespace stellwerk::tool
