// stellwerk import: schedules, algorithms and programs of others as plans.
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
#include "tool/import_program.hpp"
#include "tool/parse.hpp"
#include "tool/report.hpp"
#include "tool/table.hpp"

namespace stellwerk::tool {
namespace {

struct ImportOptions {
  std::string schedule;
  std::optional<std::string> topology, chunk_size, size, format, output;
};

/// A schedule as a plan, and when it should be done by its own account.
struct Imported {
  Plan plan;
  std::string published;
  std::vector<std::vector<std::string>> notes;  ///< rows for the table
};

Bytes positive_size(const char* option, const std::optional<std::string>& text,
                    const char* missing) {
  if (!text) throw Error(ErrorCode::usage, std::string(option) + " is missing: " + missing);
  const Bytes size = parse_size_option(option, *text);
  if (size.value <= 0) throw Error(ErrorCode::usage, std::string(option) + " must be positive");
  return size;
}

Bytes chunk_size(const ImportOptions& options) {
  return positive_size("--chunk-size", options.chunk_size,
                       "schedules do not hold it (TE-CCL: chunk_size of its input)");
}

Imported import_teccl(const std::string& text, const ImportOptions& options) {
  const Bytes chunk = chunk_size(options);
  const TecclSchedule schedule = parse_teccl_schedule(text, options.schedule);
  Topology topology =
      options.topology ? load_topology(*options.topology) : teccl_network(schedule, chunk);
  Imported result{teccl_plan(schedule, std::move(topology), chunk, options.schedule),
                  to_string(schedule.finish),
                  {}};
  if (!options.topology) {
    result.notes.push_back(
        {"network", "assumed: the links it uses, each a chunk an epoch; -t names the real one"});
  }
  return result;
}

Imported import_sccl(const std::string& text, const ImportOptions& options) {
  const Bytes chunk = chunk_size(options);
  const ScclAlgorithm algorithm = parse_sccl_algorithm(text, options.schedule);
  if (!options.topology) {
    throw Error(ErrorCode::usage, "--topology is missing: algorithms in this format have no rates");
  }
  return {sccl_plan(algorithm, load_topology(*options.topology), chunk, options.schedule),
          fmt::format("{} steps ({}, {})", algorithm.steps.size(), algorithm.name,
                      algorithm.collective),
          {}};
}

Imported import_program(const std::string& text, bool msccl, const ImportOptions& options) {
  if (!options.topology) {
    throw Error(ErrorCode::usage,
                "--topology is missing: programs name no links; rank k is its k-th GPU");
  }
  const Bytes size =
      positive_size("--size", options.size, "give the larger side of the call, as in --size 64M");
  LiftedProgram program = (msccl ? import_msccl : import_mscclpp)(
      text, load_topology(*options.topology), size, options.schedule);
  Imported result{std::move(program.lifted.plan), "none (" + program.contents + ")", {}};
  const auto note = [&](const char* name, std::size_t count, const char* one, const char* many) {
    if (count > 0)
      result.notes.push_back(
          {name, std::to_string(count) + " transfer" + (count == 1 ? one : many)});
  };
  note("forwarded", program.lifted.forwarded, " goes over other GPUs, as no link joins its ends",
       "s go over other GPUs, as no link joins their ends");
  note("left out", program.lifted.left_out, " that brings nothing anybody needs",
       "s that bring nothing anybody needs");
  return result;
}

/// By the kind of file.
Imported import_file(const ImportOptions& options) {
  const std::string text = read_file(options.schedule, kMaxForeignBytes);
  const FormatRow* row = options.format ? &find_format(*options.format) : recognise(text);
  if (row && row->name == "sccl") return import_sccl(text, options);
  if (row && row->name == "msccl-xml") return import_program(text, true, options);
  if (row && row->name == "mscclpp") return import_program(text, false, options);
  const bool own = !row && text.substr(0, 4096).find("\"stellwerk.") != std::string::npos;
  if (own || (row && row->name != "teccl-schedule")) {
    throw Error(
        ErrorCode::unreadable_input,
        options.schedule + ": recognised as " +
            (own ? "a file of our own" : std::string(row->summary)) +
            ", but a schedule of TE-CCL, an algorithm of SCCL, msccl-tools or TACCL, or a program "
            "of MSCCL or MSCCL++ is wanted" +
            (own || row->remedy.empty() ? "" : "; " + std::string(row->remedy)));
  }
  return import_teccl(text, options);
}

int run(const ImportOptions& options) {
  auto [plan, published, notes] = import_file(options);
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
      {"collective",
       fmt::format("{}, {} chunks of {}", to_string(plan.problem.jobs[0].collective),
                   plan.problem.chunks.size(), to_string(plan.problem.chunks.front().bytes))});
  table.add({"sends", std::to_string(plan.sends.size())});
  table.add({"finish, published", published});
  table.add({"finish, timed anew", to_string(plan.result.transfer_time)});
  table.add({"bound, any chunks",
             fmt::format("{} ({})", to_string(bound.value), to_string(bound.certificate.kind))});
  table.add({"gap", gap_text(plan.result.transfer_time, bound.value)});
  for (const auto& note : notes) table.add(note);
  fmt::print("{}", table.text());
  if (options.output) write_plan(plan, *options.output);
  return 0;
}

}  // namespace

RunCommand declare_import(Arguments& arguments) {
  const auto options = std::make_shared<ImportOptions>();
  arguments.operand(
      {"SCHEDULE", "",
       "a schedule of TE-CCL (its output JSON), an algorithm of SCCL, msccl-tools or TACCL "
       "(JSON), an MSCCL program (XML) or an execution plan of MSCCL++ (JSON)",
       "stellwerk import schedule.json --chunk-size 62.5MB -t ndv2-2-as-published -o plan.json"},
      options->schedule);
  arguments.value(
      {"-t,--topology", "T",
       "the network, node by node as in the schedule (TE-CCL's default: the links that it "
       "uses, a chunk an epoch); rank k of an algorithm or a program is its k-th GPU",
       "--topology ndv2-2-as-published"},
      options->topology);
  arguments.value(
      {"--chunk-size", "SIZE", "schedules and algorithms: bytes of a chunk", "--chunk-size 62.5MB"},
      options->chunk_size);
  arguments.value({"-s,--size", "SIZE",
                   "programs: the call's size, the larger side of the collective", "--size 64M"},
                  options->size);
  arguments.value(
      {"--format", "NAME", "teccl-schedule, sccl, msccl-xml or mscclpp, where it is not recognised",
       "--format sccl"},
      options->format);
  arguments.value({"-o,--output", "FILE", "write the plan", "-o plan.json"}, options->output);
  return [options] { return run(*options); };
}

}  // namespace stellwerk::tool
