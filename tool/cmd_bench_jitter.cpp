// stellwerk bench jitter: plans chosen under noise beside the nominal best and beside ring.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "stellwerk/base/error.hpp"
#include "stellwerk/bench/jitter.hpp"
#include "stellwerk/check/verify.hpp"
#include "tool/commands.hpp"
#include "tool/parse.hpp"
#include "tool/progress_line.hpp"
#include "tool/report.hpp"
#include "tool/table.hpp"

namespace stellwerk::tool {
namespace {

struct Options {
  std::optional<std::string> runs, seed, time_limit, topology;
};

std::string plan_text(const JitterPlan& plan) {
  return fmt::format("{} x{}", plan.planner, plan.chunks);
}

int run(const Options& options) {
  JitterOptions study;
  if (options.runs)
    study.runs = static_cast<int>(parse_integer("--runs", *options.runs, 1, 100'000));
  if (options.seed)
    study.seed = static_cast<std::uint64_t>(parse_integer("--seed", *options.seed, 0));
  if (options.time_limit)
    study.seconds = parse_time_option("--time-limit", *options.time_limit).seconds();
  study.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));

  if (options.topology) {
    study.fabric = *options.topology;
    std::string known;
    bool found = false;
    for (const JitterFabric& fabric : jitter_fabrics()) {
      found = found || fabric.topology == study.fabric;
      known += (known.empty() ? "" : ", ") + fabric.topology;
    }
    if (!found) {
      throw Error(ErrorCode::usage, "--topology: '" + study.fabric + "' is none of " + known);
    }
  }

  ProgressLine progress;
  const auto judge = [](const Plan& plan) -> std::optional<std::string> {
    const Verdict verdict = verify(plan);
    if (verdict.valid()) return std::nullopt;
    return std::string(to_string(*verdict.violation)) + ": " + verdict.message;
  };
  Table table;
  table.add({"fabric", "demand", "noise", "executor", "plans", "chosen", "promised", "p99",
             "nominal best", "promised", "p99", "ring's p99", "p99, fresh runs: chosen", "nominal",
             "ring", "holds", "fresh"});
  std::size_t held = 0, held_fresh = 0;
  const auto rows = run_jitter(study, judge, &progress, [&](const JitterRow& row) {
    held += row.holds() ? 1U : 0U;
    held_fresh += row.holds_on_fresh_runs() ? 1U : 0U;
    table.add({row.fabric.topology,
               fmt::format("{} {}", to_string(row.fabric.collective), to_string(row.fabric.size)),
               to_string(row.noise.noise), std::string(to_string(row.noise.discipline)),
               std::to_string(row.candidates), plan_text(row.chosen),
               to_string(row.chosen.promised), to_string(row.chosen.p99), plan_text(row.nominal),
               to_string(row.nominal.promised), to_string(row.nominal.p99), to_string(row.ring.p99),
               to_string(row.chosen.p99_fresh), to_string(row.nominal.p99_fresh),
               to_string(row.ring.p99_fresh), row.holds() ? "yes" : "NO",
               row.holds_on_fresh_runs() ? "yes" : "NO"});
  });
  progress.erase();
  fmt::print("{}\nchosen plan's p99 at most the others': {} of {} rows; on fresh runs: {}\n",
             table.text(), held, rows.size(), held_fresh);
  return 0;
}

}  // namespace

RunCommand declare_bench_jitter(Arguments& arguments) {
  const auto options = std::make_shared<Options>();
  arguments.value({"-t,--topology", "T", "only this fabric of the table", "--topology dgx1"},
                  options->topology);
  arguments.value({"--runs", "K", "runs with noise (default 200)", "--runs 1000"}, options->runs);
  arguments.value({"--seed", "N", "start of the random sequences (default 1)", "--seed 7"},
                  options->seed);
  arguments.value(
      {"--time-limit", "TIME", "for planning, each fabric (default 10s)", "--time-limit 60s"},
      options->time_limit);
  return [options] { return run(*options); };
}

}  // namespace stellwerk::tool
