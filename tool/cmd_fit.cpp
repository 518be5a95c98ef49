// stellwerk topo fit: latency and bandwidth of links from measured collectives.
#include <fmt/core.h>
#include <fmt/format.h>

#include <memory>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/file.hpp"
#include "stellwerk/io/formats.hpp"
#include "stellwerk/io/link_fit.hpp"
#include "stellwerk/io/load.hpp"
#include "stellwerk/io/topology_file.hpp"
#include "tool/commands.hpp"
#include "tool/problem_options.hpp"
#include "tool/table.hpp"

namespace stellwerk::tool {
namespace {

struct FitOptions {
  std::vector<std::string> logs;
  std::optional<std::string> topology, collective, output;
  MachineHints hints;
  bool in_place = false;
};

std::string percent(double ratio) { return fmt::format("{:.1f}%", 100 * ratio); }

LinkFit fit_of(const std::string& path, const FitOptions& options, Table& table, Table& notes) {
  const std::string text = read_file(path, kMaxForeignBytes);
  if (!looks_like_nccl_tests(text)) {
    throw Error(ErrorCode::unreadable_input,
                path + ": not the output of nccl-tests or rccl-tests (text or JSON)");
  }
  const NcclTestsLog log = read_nccl_tests(text, path);
  std::optional<Collective> collective;
  if (options.collective && (log.collectives.size() != 1 || options.logs.size() == 1))
    collective = parse_collective(*options.collective);
  LinkFit fit = fit_links(log, collective, options.in_place);
  table.add({path, std::string(to_string(fit.collective)),
             fmt::format("{} on {}", log.ranks, log.hosts),
             fit.between_hosts ? "between hosts" : "within a host",
             fmt::format("{:.4g} us", fit.line.alpha_us), to_string(fit.rate),
             fmt::format("{} / {}", to_string(fit.step), fit.steps),
             std::to_string(fit.line.points), percent(fit.line.median_error),
             fmt::format("{} at {}", percent(fit.line.largest_error),
                         to_string(Bytes{fit.line.largest_at}))});
  for (const std::string& model : log.models) notes.add({path, "GPU: " + model});
  for (const std::string& note : log.notes) notes.add({path, note});
  return fit;
}

int run(const FitOptions& options) {
  if (options.output && !options.topology) {
    throw Error(ErrorCode::usage,
                "--output needs --topology: a log does not say how GPUs are joined");
  }
  Table table, notes;
  table.add({"log", "collective", "ranks", "links", "alpha", "rate each way", "a step / steps",
             "points", "error, median", "largest"});
  std::vector<LinkFit> fits;
  for (const std::string& log : options.logs) fits.push_back(fit_of(log, options, table, notes));
  fmt::print("{}", table.text());
  if (const std::string text = notes.text(); !text.empty()) fmt::print("\n{}", text);
  fmt::print(
      "\nFitted: time = alpha + size / slope. The rate is what a GPU (within a host) or all NICs "
      "of "
      "a host together (between\nhosts) send if the collective is done by a ring: at least so much "
      "goes through the links, unless switches reduce or\nmulticast. A step is alpha over the "
      "messages of a ring, launch included: at most so late are the links.\n");
  if (!options.topology) return 0;
  Topology topology = load_topology(*options.topology, options.hints);
  for (const LinkFit& fit : tightest(fits)) topology = with_fit(topology, fit);
  if (options.output) {
    write_topology(topology, *options.output);
    fmt::print(stderr, "stellwerk: {} with the fitted links: {}\n", topology.name(),
               *options.output);
  }
  return 0;
}

}  // namespace

RunCommand declare_topo_fit(Arguments& arguments) {
  const auto options = std::make_shared<FitOptions>();
  arguments.value(
      {"-t,--topology", "T", "whose links get the fitted figures", "--topology dgx-a100:1"},
      options->topology);
  declare(arguments, options->hints);
  arguments.value(
      {"--collective", "C", "which the logs measure, where they do not tell (old layouts)",
       "--collective allgather"},
      options->collective);
  arguments.flag(
      {"--in-place", "", "fit the in-place columns (default: out of place)", "--in-place"},
      options->in_place);
  arguments.value(
      {"-o,--output", "FILE", "write the topology with the fitted links", "-o fitted.json"},
      options->output);
  arguments.operands({"LOG", "", "output of nccl-tests or rccl-tests, text or JSON",
                      "stellwerk topo fit all_reduce.log -t dgx-a100:1 -o fitted.json"},
                     options->logs);
  return [options] { return run(*options); };
}

}  // namespace stellwerk::tool
