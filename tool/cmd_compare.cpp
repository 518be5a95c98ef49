// stellwerk compare: planners and baselines side by side.
#include <algorithm>
#include <memory>

#include "stellwerk/base/error.hpp"
#include "stellwerk/bench/compare.hpp"
#include "stellwerk/io/load.hpp"
#include "stellwerk/plan/planner.hpp"
#include "tool/commands.hpp"
#include "tool/parse.hpp"
#include "tool/table_run.hpp"

namespace stellwerk::tool {
namespace {

struct Options {
  std::optional<std::string> topology, collective, sizes, planners, chunks;
  TableOptions table;
};

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::usage, message); }

/// "auto,ring", "auto,baselines": names in order, each once.
std::vector<std::string> parse_planners(const std::string& text) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    begin = end + 1;
    if (name.empty()) refuse("--planners: there is nothing between two commas or at an end");
    if (name == "auto") {
      add(name);
    } else if (name == "baselines") {
      for (const PlannerRow& row : planners()) {
        if (row.kind == PlannerKind::baseline) add(std::string(row.name));
      }
    } else {
      try {
        add(std::string(find_planner(name).name));
      } catch (const Error& error) {
        throw Error(error.code(),
                    std::string("--planners: ") + error.what() + ", or auto, or baselines");
      }
    }
  }
  return names;
}

int run(const Options& options) {
  if (!options.topology)
    refuse("--topology is missing: name one, as in --topology ndv2:2 (see 'stellwerk topo list')");
  if (!options.collective)
    refuse("--collective is missing: name one, as in --collective allgather");
  if (!options.sizes) refuse("--sizes is missing: give sizes or a range, as in --sizes 1KB..1GB");
  Case common = common_case(options.table, 0.01, 10);
  common.topology = *options.topology;
  common.collective = parse_collective(*options.collective);
  if (common.collective == Collective::alltoallv || common.collective == Collective::custom) {
    refuse("--collective " + std::string(to_string(common.collective)) +
           " needs more than a size, so there is nothing to compare over sizes");
  }
  if (options.chunks && *options.chunks != "auto") {
    common.chunks = static_cast<int>(parse_integer("--chunks", *options.chunks, 1, 1 << 20));
  }
  const std::vector<Bytes> sizes = parse_sizes("--sizes", *options.sizes);
  const std::vector<std::string> names =
      parse_planners(options.planners.value_or("auto,baselines"));
  RunnerOptions runner;
  runner.parallel = parallel_cases(options.table, 1);
  TableSpec<MeasuredCase> table;
  table.title =
      load_topology(common.topology).name() + ", " + std::string(to_string(common.collective));
  table.rows = compare_cases(common, sizes, names);
  table.measured = [](MeasuredCase& row) -> MeasuredCase& { return row; };
  table.columns = compare_columns();
  return run_table(std::move(table), options.table, runner);
}

}  // namespace

RunCommand declare_compare(Arguments& arguments) {
  const auto options = std::make_shared<Options>();
  arguments.value({"-t,--topology", "T", "a built-in topology (see 'topo list') or a file",
                   "--topology rail:4x8"},
                  options->topology);
  arguments.value({"-c,--collective", "C", "a collective over all GPUs, as for 'plan'",
                   "--collective allreduce"},
                  options->collective);
  arguments.value({"-s,--sizes", "SIZES",
                   "sizes and ranges A..B, which step by 4, or by K as in A..B*K, and end with B",
                   "--sizes 1KB..1GB,4GB"},
                  options->sizes);
  arguments.value({"-p,--planners", "LIST",
                   "planners (see 'planners'), auto for the portfolio, baselines for all of them "
                   "(default auto,baselines)",
                   "--planners auto,ring,direct"},
                  options->planners);
  arguments.value(
      {"--chunks", "N", "cut every block into N chunks, or 'auto' (default)", "--chunks 4"},
      options->chunks);
  declare(arguments, options->table, "1%", "10s", "1");
  return [options] { return run(*options); };
}

}  // namespace stellwerk::tool
