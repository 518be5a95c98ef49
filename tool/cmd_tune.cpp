// stellwerk tune: NCCL's own algorithms and protocols, chosen for a network, as a table for its tuner plugin.
#include <fmt/core.h>

#include <memory>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/file.hpp"
#include "stellwerk/io/nccl_tuner_writer.hpp"
#include "tool/commands.hpp"
#include "tool/output_file.hpp"
#include "tool/parse.hpp"
#include "tool/problem_options.hpp"
#include "tool/progress_line.hpp"
#include "tool/table.hpp"

namespace stellwerk::tool {
namespace {

struct TuneOptions {
  std::optional<std::string> topology, collectives, sizes, slack, output;
  MachineHints hints;
};

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::usage, message); }

int run(const TuneOptions& options) {
  if (!options.topology) refuse("--topology is missing: name one, as in --topology dgx1");
  const std::vector<Bytes> sizes = parse_sizes("--sizes", options.sizes.value_or("1K..1G"));
  const std::vector<Collective> collectives =
      parse_collectives(options.collectives.value_or("allreduce,allgather,reducescatter"));
  const double slack = options.slack ? parse_ratio("--slack", *options.slack) : 0.02;
  if (options.output) check_writable(*options.output);
  const Topology topology = load_topology(*options.topology, options.hints);
  ProgressLine progress;
  Table table;
  table.add({"collective", "from", "to", "algorithm", "protocol", "time at the least size",
             "at the largest"});
  std::string text =
      "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,"
      "regBuff\n";
  for (const Collective collective : collectives) {
    const NcclTimes found = nccl_times(topology, collective, sizes, StopCondition(), &progress);
    const std::vector<SizeRange> ranges = fewest_ranges(found.times, slack);
    for (std::size_t r = 0; r < ranges.size(); ++r) {
      const SizeRange& range = ranges[r];
      const NcclOption& option = found.options[range.plan];
      const bool last = r + 1 == ranges.size();
      table.add({std::string(to_string(collective)),
                 to_string(r == 0 ? Bytes{0} : sizes[range.first]),
                 last ? "no limit" : to_string(Bytes{sizes[ranges[r + 1].first].value - 1}),
                 std::string(option.algorithm), std::string(option.protocol),
                 to_string(found.times[range.plan][range.first]),
                 to_string(found.times[range.plan][range.last])});
    }
    text += format_nccl_tuner(topology, collective, sizes, found.options, ranges);
  }
  progress.erase();
  fmt::print("{}", table.text());
  if (options.output) {
    write_file(*options.output, text);
    fmt::print("written to {}: set NCCL_TUNER_CONFIG_FILE to it\n", *options.output);
  }
  return 0;
}

}  // namespace

RunCommand declare_tune(Arguments& arguments) {
  const auto options = std::make_shared<TuneOptions>();
  arguments.value({"-t,--topology", "T", "a built-in topology or a file", "--topology dgx1"},
                  options->topology);
  declare(arguments, options->hints);
  arguments.value({"--collectives", "LIST",
                   "which, separated by commas: allreduce, allgather, reducescatter (the default: "
                   "these three), broadcast, reduce",
                   "--collectives allreduce"},
                  options->collectives);
  arguments.value(
      {"--sizes", "SIZES", "sizes to choose for: a list or a range (default 1K..1G, by fours)",
       "--sizes 1K..1G"},
      options->sizes);
  arguments.value({"--slack", "RATIO",
                   "how much slower than the best choice for a size another one may be that saves "
                   "a line (default 2%)",
                   "--slack 5%"},
                  options->slack);
  arguments.value({"-o,--output", "FILE", "write the table that the tuner reads", "-o tuner.csv"},
                  options->output);
  return [options] { return run(*options); };
}

}  // namespace stellwerk::tool
