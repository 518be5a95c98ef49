// stellwerk import: schedules of others as plans.
#include <fmt/core.h>

#include <memory>

#include "stellwerk/base/error.hpp"
#include "stellwerk/bound/bound.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/io/file.hpp"
#include "stellwerk/io/formats.hpp"
#include "stellwerk/io/load.hpp"
#include "stellwerk/io/plan_file.hpp"
#include "stellwerk/io/teccl_schedule.hpp"
#include "tool/commands.hpp"
#include "tool/parse.hpp"
#include "tool/table.hpp"

namespace stellwerk::tool {
namespace {

struct ImportOptions {
  std::string schedule;
  std::optional<std::string> topology, chunk_size, output;
};

int run(const ImportOptions& options) {
  if (!options.chunk_size) {
    throw Error(
        ErrorCode::usage,
        "--chunk-size is missing: schedules do not hold it (TE-CCL: chunk_size of its input)");
  }
  const Bytes chunk = parse_size_option("--chunk-size", *options.chunk_size);
  if (chunk.value <= 0) throw Error(ErrorCode::usage, "--chunk-size must be positive");
  const TecclSchedule schedule =
      parse_teccl_schedule(read_file(options.schedule, kMaxForeignBytes), options.schedule);
  Topology topology =
      options.topology ? load_topology(*options.topology) : teccl_network(schedule, chunk);
  Plan plan = teccl_plan(schedule, std::move(topology), chunk, options.schedule);
  const Bound bound = lower_bound(plan.problem);
  plan.result.bound = bound;
  plan.result.bound_chunked = lower_bound_chunked(plan.problem, bound);
  const Verdict verdict = verify(plan);
  if (!verdict.valid()) {
    throw Error(ErrorCode::verification_failed,
                options.schedule + ": not valid on this topology: " + verdict.message);
  }
  Table table;
  table.add({"schedule", options.schedule});
  table.add({"topology", plan.problem.topology.name()});
  table.add(
      {"collective", fmt::format("{}, {} chunks of {}", to_string(plan.problem.jobs[0].collective),
                                 plan.problem.chunks.size(), to_string(chunk))});
  table.add({"sends", std::to_string(plan.sends.size())});
  table.add({"finish, published", to_string(schedule.finish)});
  table.add({"finish, timed anew", to_string(plan.result.transfer_time)});
  table.add({"bound, any chunks",
             fmt::format("{} ({})", to_string(bound.value), to_string(bound.certificate.kind))});
  fmt::print("{}", table.text());
  if (options.output) write_plan(plan, *options.output);
  return 0;
}

}  // namespace

RunCommand declare_import(Arguments& arguments) {
  const auto options = std::make_shared<ImportOptions>();
  arguments.operand(
      {"SCHEDULE", "", "a schedule of TE-CCL (its output JSON)",
       "stellwerk import schedule.json --chunk-size 62.5MB -t ndv2-2-as-published -o plan.json"},
      options->schedule);
  arguments.value({"-t,--topology", "T",
                   "the network, node by node as in the schedule (default: the links that it uses, "
                   "a chunk an epoch)",
                   "--topology ndv2-2-as-published"},
                  options->topology);
  arguments.value({"--chunk-size", "SIZE", "bytes of a chunk", "--chunk-size 62.5MB"},
                  options->chunk_size);
  arguments.value({"-o,--output", "FILE", "write the plan", "-o plan.json"}, options->output);
  return [options] { return run(*options); };
}

}  // namespace stellwerk::tool
