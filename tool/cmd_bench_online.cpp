// stellwerk bench online: planning on line beside fair sharing, while links fail and slow down.
#include <fmt/core.h>

#include <fstream>
#include <memory>

#include "stellwerk/base/error.hpp"
#include "stellwerk/bench/online_suite.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/io/online_text.hpp"
#include "tool/commands.hpp"
#include "tool/parse.hpp"
#include "tool/table.hpp"

namespace stellwerk::tool {
namespace {

struct Options {
  std::optional<std::string> topology, arrivals, gap, smallest, incidents, seed, write;
};

struct Row {
  const char* name;
  OnlineOptions options;
};

std::string milliseconds(const OnlineMeasurement::Cost& cost) {
  return fmt::format("{:.1f} / {:.1f} / {:.1f}", 1e3 * cost.mean, 1e3 * cost.p99, 1e3 * cost.most);
}

/// The events as `stellwerk online` reads them.
void write_events(const Topology& topology, const std::vector<OnlineInput>& inputs,
                  const std::string& path) {
  std::ofstream file(path);
  for (const OnlineInput& input : inputs) {
    file << format_online_input(input, topology) << '\n';
  }
  if (!file.flush()) throw Error(ErrorCode::unreadable_input, path + ": cannot be written");
}

int run(const Options& options) {
  OnlineWorkload workload;
  if (options.topology) workload.topology = *options.topology;
  if (options.arrivals) {
    workload.arrivals =
        static_cast<int>(parse_integer("--arrivals", *options.arrivals, 1, 100'000));
  }
  if (options.gap) workload.mean_gap = parse_time_option("--gap", *options.gap);
  if (options.smallest) workload.smallest = parse_size_option("--smallest", *options.smallest);
  if (options.incidents) {
    workload.incidents =
        static_cast<int>(parse_integer("--incidents", *options.incidents, 0, 100'000));
  }
  if (options.seed) {
    workload.seed = static_cast<std::uint64_t>(parse_integer("--seed", *options.seed, 0));
  }
  const Topology topology = catalogue_topology(workload.topology);
  const std::vector<OnlineInput> inputs = random_online_inputs(topology, workload);
  if (options.write) {
    write_events(topology, inputs, *options.write);
    fmt::print("{} events written to {}\n", inputs.size(), *options.write);
    return 0;
  }
  Row rows[] = {{"fair sharing", {}}, {"list, smith", {}}, {"list, edf", {}}, {"rounds", {}}};
  rows[0].options.method = OnlineMethod::fair;
  rows[2].options.keys = OnlineKeys::edf;
  rows[3].options.method = OnlineMethod::rounds;
  fmt::print(
      "{}: {} jobs, one every {} in the mean, {} times a link fails or slows down, seed {}\n\n",
      workload.topology, workload.arrivals, to_string(workload.mean_gap), workload.incidents,
      workload.seed);
  Table table;
  table.add({"planner", "weighted flow", "of fair's", "slowdown: mean / most", "load", "jobs",
             "sends", "cuts", "CPU ms: mean / p99 / most", "wall ms", "verified"});
  double fair = 0;
  bool good = true;
  for (const Row& row : rows) {
    const OnlineMeasurement result = measure_online(topology, inputs, row.options);
    const double flow =
        result.weight > 0 ? result.weighted_flow_s / static_cast<double>(result.weight) : 0;
    if (fair == 0) fair = flow;
    good = good && result.invalid.empty();
    table.add({row.name, to_string(Time{static_cast<std::int64_t>(flow * 1e12)}),
               fair > 0 ? fmt::format("{:.3f}", flow / fair) : "",
               fmt::format("{:.2f} / {:.1f}", result.slowdown_mean, result.slowdown_most),
               fmt::format("{:.2f}", result.alone_s / static_cast<double>(workload.arrivals) /
                                         workload.mean_gap.seconds()),
               result.dropped > 0 ? fmt::format("{} and {} dropped", result.jobs, result.dropped)
                                  : std::to_string(result.jobs),
               std::to_string(result.sends), std::to_string(result.cuts), milliseconds(result.cpu),
               milliseconds(result.wall), result.invalid.empty() ? "yes" : result.invalid});
  }
  fmt::print("{}", table.text());
  return good ? 0 : static_cast<int>(ErrorCode::verification_failed);
}

}  // namespace

RunCommand declare_bench_online(Arguments& arguments) {
  const auto options = std::make_shared<Options>();
  arguments.value(
      {"-t,--topology", "T", "a built-in topology (default rail:8x8)", "--topology ndv2:4"},
      options->topology);
  arguments.value({"--arrivals", "N", "jobs that arrive (default 1000)", "--arrivals 200"},
                  options->arrivals);
  arguments.value(
      {"--gap", "TIME", "mean time between two arrivals (default 155us)", "--gap 100us"},
      options->gap);
  arguments.value(
      {"--incidents", "N", "how often a link fails or slows down, for 0.2 to 3 ms (default 100)",
       "--incidents 0"},
      options->incidents);
  arguments.value({"--smallest", "SIZE",
                   "the smallest collective; the largest is 256 times as large (default 512KB)",
                   "--smallest 256KB"},
                  options->smallest);
  arguments.value({"--seed", "N", "of jobs and incidents (default 1)", "--seed 7"}, options->seed);
  arguments.value({"--write", "FILE", "measure nothing: write the events for 'stellwerk online'",
                   "--write events.jsonl"},
                  options->write);
  return [options] { return run(*options); };
}

}  // namespace stellwerk::tool
