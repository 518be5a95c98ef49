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
#include "stellwerk/io/sccl_algorithm.hpp"
#include "stellwerk/io/teccl_schedule.hpp"
#include "tool/commands.hpp"
#include "tool/parse.hpp"
#include "tool/table.hpp"

namespace stellwerk::tool {
namespace {

struct ImportOptions {
  std::string schedule;
  std::optional<std::string> topology, chunk_size, format, output;
};

/// A schedule as a plan, and when it should be done by its own account.
struct Imported {
  Plan plan;
  std::string published;
};

Imported import_teccl(const std::string& text, Bytes chunk, const ImportOptions& options) {
  const TecclSchedule schedule = parse_teccl_schedule(text, options.schedule);
  Topology topology =
      options.topology ? load_topology(*options.topology) : teccl_network(schedule, chunk);
  return {teccl_plan(schedule, std::move(topology), chunk, options.schedule),
          to_string(schedule.finish)};
}

Imported import_sccl(const std::string& text, Bytes chunk, const ImportOptions& options) {
  const ScclAlgorithm algorithm = parse_sccl_algorithm(text, options.schedule);
  if (!options.topology) {
    throw Error(ErrorCode::usage, "--topology is missing: algorithms in this format have no rates");
  }
  return {sccl_plan(algorithm, load_topology(*options.topology), chunk, options.schedule),
          fmt::format("{} steps ({}, {})", algorithm.steps.size(), algorithm.name,
                      algorithm.collective)};
}

int run(const ImportOptions& options) {
  if (!options.chunk_size) {
    throw Error(
        ErrorCode::usage,
        "--chunk-size is missing: schedules do not hold it (TE-CCL: chunk_size of its input)");
  }
  const Bytes chunk = parse_size_option("--chunk-size", *options.chunk_size);
  if (chunk.value <= 0) throw Error(ErrorCode::usage, "--chunk-size must be positive");
  const std::string text = read_file(options.schedule, kMaxForeignBytes);
  const FormatRow* row = options.format ? &find_format(*options.format) : recognise(text);
  const bool sccl = row && row->name == "sccl";
  const bool own = !row && text.substr(0, 4096).find("\"stellwerk.") != std::string::npos;
  if (own || (row && !sccl && row->name != "teccl-schedule")) {
    throw Error(
        ErrorCode::unreadable_input,
        options.schedule + ": recognised as " +
            (own ? "a file of our own" : std::string(row->summary)) +
            ", but a schedule of TE-CCL or an algorithm of SCCL, msccl-tools or TACCL is wanted" +
            (own || row->remedy.empty() ? "" : "; " + std::string(row->remedy)));
  }
  auto [plan, published] =
      sccl ? import_sccl(text, chunk, options) : import_teccl(text, chunk, options);
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
  table.add({"finish, published", published});
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
      {"SCHEDULE", "",
       "a schedule of TE-CCL (its output JSON), or an algorithm of SCCL, msccl-tools or TACCL "
       "(JSON)",
       "stellwerk import schedule.json --chunk-size 62.5MB -t ndv2-2-as-published -o plan.json"},
      options->schedule);
  arguments.value(
      {"-t,--topology", "T",
       "the network, node by node as in the schedule (TE-CCL's default: the links that it "
       "uses, a chunk an epoch); rank k of an algorithm is its k-th GPU",
       "--topology ndv2-2-as-published"},
      options->topology);
  arguments.value({"--chunk-size", "SIZE", "bytes of a chunk", "--chunk-size 62.5MB"},
                  options->chunk_size);
  arguments.value(
      {"--format", "NAME", "teccl-schedule or sccl, where it is not recognised", "--format sccl"},
      options->format);
  arguments.value({"-o,--output", "FILE", "write the plan", "-o plan.json"}, options->output);
  return [options] { return run(*options); };
}

}  // namespace stellwerk::tool
