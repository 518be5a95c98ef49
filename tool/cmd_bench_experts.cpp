// stellwerk bench experts: AllToAllV of a mixture of experts on boxes and rails.
#include <fmt/core.h>

#include <memory>

#include "stellwerk/bench/experts.hpp"
#include "stellwerk/check/verify.hpp"
#include "tool/commands.hpp"
#include "tool/parse.hpp"
#include "tool/table.hpp"

namespace stellwerk::tool {
namespace {

struct Options {
  std::optional<std::string> seeds, topology, chunks;
};

int run(const Options& options) {
  ExpertsOptions study;
  if (options.seeds)
    study.seeds = static_cast<std::uint64_t>(parse_integer("--seeds", *options.seeds, 1, 1000));
  if (options.chunks)
    study.chunks = static_cast<int>(parse_integer("--chunks", *options.chunks, 1, 64));
  study.topology = options.topology.value_or("");
  const auto judge = [](const Plan& plan) -> std::optional<std::string> {
    const Verdict verdict = verify_sends(plan.problem, plan.sends);
    if (!verdict.valid()) return verdict.message;
    if (verdict.transfer_time == plan.result.transfer_time) return std::nullopt;
    return "finishes at another time than it says";
  };
  Table table;
  table.add({"fabric", "total", "skew", "seed", "chunks", "transfer time", "bound", "gap",
             "plan CPU", "make CPU", "sends"});
  run_experts(study, judge, [&](const ExpertsRow& row) {
    table.add({row.topology, to_string(row.demand.total),
               fmt::format("{:.1f}", row.demand.skew_thousandths / 1000.0),
               std::to_string(row.demand.seed), std::to_string(row.chunks),
               to_string(row.transfer_time), to_string(row.bound),
               fmt::format("{:.2f}%", 100 * row.gap()),
               fmt::format("{:.1f} ms", 1e3 * row.plan_seconds),
               fmt::format("{:.1f} ms", 1e3 * row.make_seconds), std::to_string(row.sends)});
  });
  fmt::print("{}", table.text());
  return 0;
}

}  // namespace

RunCommand declare_bench_experts(Arguments& arguments) {
  const auto options = std::make_shared<Options>();
  arguments.value({"-t,--topology", "T", "only rail:8x8 or rail:64x8", "--topology rail:8x8"},
                  options->topology);
  arguments.value({"--seeds", "N", "matrices for each case (default 3)", "--seeds 6"},
                  options->seeds);
  arguments.value({"--chunks", "N", "chunks a pair (default: the best of 1, 2, 4; 1 on 512 GPUs)",
                   "--chunks 1"},
                  options->chunks);
  return [options] { return run(*options); };
}

}  // namespace stellwerk::tool
