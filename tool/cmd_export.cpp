// stellwerk export: plans in the formats of others.
#include <fmt/core.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/core/expansion.hpp"
#include "stellwerk/io/chakra_writer.hpp"
#include "stellwerk/io/file.hpp"
#include "stellwerk/io/formats.hpp"
#include "stellwerk/io/msccl_writer.hpp"
#include "stellwerk/io/mscclpp_writer.hpp"
#include "stellwerk/io/nccl_graph_writer.hpp"
#include "stellwerk/io/plan_file.hpp"
#include "stellwerk/io/rank_order_writer.hpp"
#include "stellwerk/io/teccl_writer.hpp"
#include "stellwerk/io/text.hpp"
#include "stellwerk/io/trace_writer.hpp"
#include "tool/commands.hpp"
#include "tool/parse.hpp"

namespace stellwerk::tool {
namespace {

struct ExportOptions {
  std::string plan;
  std::optional<std::string> to, target, protocol, min_bytes, max_bytes, output;
  bool in_place = false;
};

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::usage, message); }

/// --min-bytes and --max-bytes.
template <class File>
void read_sizes(const ExportOptions& options, File& file) {
  if (options.min_bytes)
    file.min_bytes = parse_size_option("--min-bytes", *options.min_bytes).value;
  if (options.max_bytes)
    file.max_bytes = parse_size_option("--max-bytes", *options.max_bytes).value;
  if (file.max_bytes > 0 && file.max_bytes < file.min_bytes)
    refuse("--max-bytes is less than --min-bytes");
}

std::string export_msccl(const Plan& plan, const ExportOptions& options) {
  const MscclDialect dialect = parse_msccl_dialect(options.target.value_or("rccl"));
  MscclFile file;
  file.name = std::filesystem::path(options.plan).stem().string();
  std::erase_if(file.name, [](char c) { return c == '"' || c == '<' || c == '&' || c == '>'; });
  if (options.protocol) file.protocol = *options.protocol;
  if (file.protocol != "Simple" && file.protocol != "LL" && file.protocol != "LL128") {
    refuse("--protocol " + in_quotes(file.protocol) + " is none of Simple, LL, LL128");
  }
  read_sizes(options, file);
  return format_msccl_xml(lower::lower_plan(plan, options.in_place, msccl_limits(dialect)), dialect,
                          file);
}

std::string export_mscclpp(const Plan& plan, const ExportOptions& options) {
  if (options.target) refuse("--target is for --to msccl-xml");
  if (options.protocol && *options.protocol != "Simple")
    refuse("--protocol " + in_quotes(*options.protocol) + ": only Simple is written for MSCCL++");
  MscclppFile file;
  file.name = std::filesystem::path(options.plan).stem().string();
  read_sizes(options, file);
  return format_mscclpp(lower::lower_to_puts(plan, options.in_place, mscclpp_limits()), file);
}

/// A file of an export: what follows the name that the user gave, and its contents.
struct Part {
  std::string suffix, contents;
};
using Parts = std::vector<Part>;

/// Options of programs that a runtime loads by the call's size.
void refuse_options_of_calls(const ExportOptions& options, const std::string& formats) {
  const auto refuse_if = [&](bool given, const std::string& option) {
    if (given) refuse(option + " is for programs: " + formats);
  };
  refuse_if(options.target.has_value(), "--target");
  refuse_if(options.protocol.has_value(), "--protocol");
  refuse_if(options.min_bytes.has_value(), "--min-bytes");
  refuse_if(options.max_bytes.has_value(), "--max-bytes");
}

/// What is said about programs to a format that is none.
void refuse_program_options(const ExportOptions& options) {
  const std::string programs = "--to msccl-xml, mscclpp or chakra";
  if (options.in_place) refuse("--in-place is for programs: " + programs);
  refuse_options_of_calls(options, programs);
}

Parts export_chakra(const Plan& plan, const ExportOptions& options) {
  if (!options.output)
    refuse(
        "--output is missing: --to chakra writes a file for every rank, NAME.0.et, NAME.1.et, ...");
  refuse_options_of_calls(options, "--to msccl-xml or mscclpp");
  Parts parts;
  for (std::string& trace : format_chakra(plan, options.in_place)) {
    parts.push_back({"." + std::to_string(parts.size()) + ".et", std::move(trace)});
  }
  return parts;
}

Parts export_nccl_graphs(const Plan& plan, const ExportOptions& options) {
  Parts parts;
  for (NcclGraph& graph : format_nccl_graphs(plan)) {
    if (!graph.host.empty() && !options.output)
      refuse(
          "--output is missing: hosts differ, so --to nccl-graph writes a file for each, "
          "NAME.HOST.xml");
    parts.push_back({graph.host.empty() ? "" : "." + graph.host + ".xml", std::move(graph.text)});
  }
  return parts;
}

/// Reports may show what is wrong with a plan; what others run or plan by must be valid. Only programs know of calls and
/// runtimes.
enum class Kind { report, schedule, program };

struct Exporter {
  std::string_view name, summary;
  Kind kind;
  Parts (*write)(const Plan& plan, const ExportOptions& options);
};
constexpr std::array kExporters = {
    Exporter{"msccl-xml", "an MSCCL algorithm, for --target msccl, azure or rccl", Kind::program,
             [](const Plan& plan, const ExportOptions& options) -> Parts {
               return {{"", export_msccl(plan, options)}};
             }},
    Exporter{"mscclpp", "an execution plan of MSCCL++ (JSON)", Kind::program,
             [](const Plan& plan, const ExportOptions& options) -> Parts {
               return {{"", export_mscclpp(plan, options)}};
             }},
    Exporter{
        "trace", "trace events for Perfetto or chrome://tracing", Kind::report,
        [](const Plan& plan, const ExportOptions&) -> Parts { return {{"", format_trace(plan)}}; }},
    Exporter{"csv", "one line a send", Kind::report,
             [](const Plan& plan, const ExportOptions&) -> Parts {
               return {{"", format_sends_csv(plan)}};
             }},
    Exporter{"chakra", "Chakra traces for ASTRA-sim's custom collectives, a file a rank",
             Kind::program, export_chakra},
    Exporter{
        "teccl", "a schedule as TE-CCL prints it (JSON)", Kind::schedule,
        [](const Plan& plan, const ExportOptions&) -> Parts { return {{"", format_teccl(plan)}}; }},
    Exporter{"nccl-graph", "ring orders for NCCL_GRAPH_FILE (XML), a file a host where they differ",
             Kind::schedule, export_nccl_graphs},
    Exporter{
        "hostfile", "the order of ranks: a host a line, for SLURM_HOSTFILE or mpirun --map-by seq",
        Kind::report,
        [](const Plan& plan, const ExportOptions&) -> Parts {
          return {{"", format_rank_order(plan.problem.topology, rank_order(plan), "hostfile")}};
        }},
    Exporter{"rank-gpus", "the order of ranks: host and number of the GPU in it, a rank a line",
             Kind::report,
             [](const Plan& plan, const ExportOptions&) -> Parts {
               return {
                   {"", format_rank_order(plan.problem.topology, rank_order(plan), "rank-gpus")}};
             }},
    Exporter{"rankfile", "the order of ranks: an Open MPI rank file", Kind::report,
             [](const Plan& plan, const ExportOptions&) -> Parts {
               return {
                   {"", format_rank_order(plan.problem.topology, rank_order(plan), "rankfile")}};
             }},
};

std::string names() {
  std::string list;
  for (const Exporter& row : kExporters) list += (list.empty() ? "" : ", ") + std::string(row.name);
  return list;
}

/// Says what the file is, if it is of somebody else's: "not JSON" would be true, and no help.
void refuse_foreign(const std::string& path) {
  if (path.ends_with(".zst")) return;
  std::string begin(1 << 16, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(file.gcount()));
  if (begin.find("\"stellwerk.") != std::string::npos) return;
  const FormatRow* row = recognise(begin);
  if (row == nullptr) return;
  throw Error(ErrorCode::unreadable_input,
              one_line(path) + ": recognised as " + std::string(row->summary) +
                  ", but a plan is wanted" +
                  (row->remedy.empty() ? "" : "; " + std::string(row->remedy)));
}

int run(const ExportOptions& options) {
  if (!options.to) refuse("--to is missing: name a format (" + names() + ")");
  for (const Exporter& row : kExporters) {
    if (row.name != *options.to) continue;
    if (row.kind != Kind::program) refuse_program_options(options);
    refuse_foreign(options.plan);
    Plan plan = read_plan(options.plan);
    if (const auto objection = row.kind == Kind::report ? std::nullopt : judge(plan)) {
      throw Error(ErrorCode::verification_failed,
                  options.plan + ": not valid, so not for export: " + *objection);
    }
    expand(plan);
    const Parts parts = row.write(plan, options);
    std::vector<FileContents> files;
    for (const Part& part : parts) {
      if (options.output) {
        files.push_back({*options.output + part.suffix, part.contents});
      } else {
        fmt::print("{}", part.contents);
      }
    }
    write_files(files);
    return 0;
  }
  refuse("--to " + in_quotes(*options.to) + " is none of " + names());
}

}  // namespace

RunCommand declare_export(Arguments& arguments) {
  const auto options = std::make_shared<ExportOptions>();
  arguments.operand(
      {"PLAN", "", "a plan file", "stellwerk export plan.json --to msccl-xml -o plan.xml"},
      options->plan);
  std::string formats;
  for (const Exporter& row : kExporters)
    formats +=
        (formats.empty() ? "" : "; ") + std::string(row.name) + ": " + std::string(row.summary);
  arguments.value({"--to", "FORMAT", formats, "--to msccl-xml"}, options->to);
  arguments.value(
      {"--target", "RUNTIME",
       "of msccl-xml: whose dialect and limits: msccl, azure, rccl (default)", "--target azure"},
      options->target);
  arguments.flag(
      {"--in-place", "", "for calls whose input and output are one buffer", "--in-place"},
      options->in_place);
  arguments.value({"--protocol", "NAME", "Simple (default), LL or LL128", "--protocol LL"},
                  options->protocol);
  arguments.value({"--min-bytes", "SIZE",
                   "least size of the call that the program is for (default 0)", "--min-bytes 1M"},
                  options->min_bytes);
  arguments.value(
      {"--max-bytes", "SIZE",
       "largest size of the call that the program is for (default: no limit)", "--max-bytes 64M"},
      options->max_bytes);
  arguments.value(
      {"-o,--output", "FILE", "write to a file instead of standard output", "-o plan.xml"},
      options->output);
  return [options] { return run(*options); };
}

}  // namespace stellwerk::tool
