#include "tool/problem_options.hpp"

#include <algorithm>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/formats.hpp"
#include "stellwerk/io/jobs_file.hpp"
#include "stellwerk/io/load.hpp"
#include "stellwerk/io/matrix_file.hpp"
#include "stellwerk/io/text.hpp"
#include "tool/parse.hpp"

namespace stellwerk::tool {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::usage, message); }

void add_numbers(const Topology& topology, std::size_t first, std::size_t last,
                 std::string_view text, std::vector<NodeId>& ranks) {
  if (first > last) refuse("--ranks: the range '" + std::string(text) + "' runs backwards");
  if (last >= topology.nodes().size()) {
    refuse("--ranks: there is no node " + std::to_string(last) + ": topology '" + topology.name() +
           "' has " + std::to_string(topology.nodes().size()) + " nodes, numbered from 0");
  }
  for (std::size_t i = first; i <= last; ++i) ranks.emplace_back(i);
}

void add_ranks(const Topology& topology, std::string_view text, std::vector<NodeId>& ranks) {
  if (text.empty())
    refuse(
        "--ranks: an entry is empty: write names or numbers of GPUs, as in 0-7 or h0.gpu0,h0.gpu1");
  if (const auto named = topology.find(text)) {
    ranks.push_back(*named);
    return;
  }
  if (const auto single = whole_number<std::size_t>(text))
    return add_numbers(topology, *single, *single, text, ranks);
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    const auto first = whole_number<std::size_t>(text.substr(0, dash));
    const auto last = whole_number<std::size_t>(text.substr(dash + 1));
    if (first && last) return add_numbers(topology, *first, *last, text, ranks);
  }
  std::vector<std::string_view> names;
  for (const NodeId gpu : topology.gpus()) names.push_back(topology.node(gpu).name);
  refuse("--ranks: topology '" + topology.name() + "' has no node '" + std::string(text) + "'" +
         did_you_mean(text, names));
}

Relays parse_relays(const std::string& text) {
  if (text == "all") return Relays::all;
  if (text == "members") return Relays::members;
  refuse("--relays: '" + text + "' is neither 'all' nor 'members'");
}

Job stated_job(const ProblemOptions& options, const Topology& topology) {
  if (!options.collective)
    refuse("--collective is missing: name one, as in --collective allgather, or give --jobs");
  Job job;
  job.collective = parse_collective(*options.collective);
  job.name = to_string(job.collective);
  const bool by_matrix = job.collective == Collective::alltoallv;
  if (job.collective == Collective::custom || (by_matrix && !options.matrix)) {
    refuse("--collective " + job.name +
           " needs more than a size: describe it in a jobs file and give --jobs" +
           (by_matrix ? ", or give --matrix" : ""));
  }
  if (by_matrix) {
    if (options.size) refuse("--size contradicts --matrix: leave it out");
    job.matrix = read_matrix(*options.matrix);
  } else {
    if (options.matrix) refuse("--matrix is for --collective alltoallv");
    if (!options.size)
      refuse("--size is missing: give the larger side of the collective, as in --size 64M");
    job.size = parse_size_option("--size", *options.size);
    if (job.size.value <= 0) refuse("--size must be positive");
  }
  job.ranks = options.ranks ? parse_ranks(topology, *options.ranks) : topology.gpus();
  if (options.root) {
    if (!row(job.collective).rooted) {
      refuse("--root has no meaning for " + job.name + ": leave it out");
    }
    job.root = static_cast<int>(
        parse_integer("--root", *options.root, 0, static_cast<std::int64_t>(job.ranks.size()) - 1));
  }
  if (!options.chunks || *options.chunks == "auto") {
    job.auto_chunks = true;
  } else {
    job.chunks = static_cast<int>(parse_integer("--chunks", *options.chunks, 1, 1 << 20));
  }
  return job;
}

}  // namespace

std::vector<NodeId> parse_ranks(const Topology& topology, std::string_view text) {
  std::vector<NodeId> ranks;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    add_ranks(topology, text.substr(begin, end - begin), ranks);
    begin = end + 1;
  }
  return ranks;
}

void declare(Arguments& arguments, MachineHints& hints) {
  arguments.value({"--gpu", "MODEL",
                   "the model of the GPUs, where the file of a machine does not say it (h100, ...)",
                   "--gpu h100"},
                  hints.gpu);
  std::string names;
  for (const FormatRow& row : formats()) {
    if (row.read_machine || row.read_topology)
      names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  arguments.value(
      {"--format", "NAME", "what the file of a machine is, where it is not recognised: " + names,
       "--format nvidia-smi"},
      hints.format);
}

void declare(Arguments& arguments, ProblemOptions& options) {
  arguments.value({"-t,--topology", "T", "a built-in topology (see 'topo list') or a file",
                   "--topology ndv2:2"},
                  options.topology);
  declare(arguments, options.machine);
  std::string names;
  for (const CollectiveRow& row : collectives())
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  arguments.value({"-c,--collective", "C", names, "--collective allgather"}, options.collective);
  arguments.value({"-s,--size", "SIZE",
                   "the larger side of the collective, as in nccl-tests: bytes, K/M/G (binary), "
                   "KB/MB/GB, KiB/MiB/GiB",
                   "--size 64M"},
                  options.size);
  arguments.value(
      {"--matrix", "FILE", "alltoallv: bytes from every rank (row) to every rank, as CSV or JSON",
       "--matrix tokens.csv"},
      options.matrix);
  arguments.value({"--ranks", "LIST",
                   "the GPUs that take part, in order: names or numbers, ranges (default: all)",
                   "--ranks 0-3,8-11"},
                  options.ranks);
  arguments.value(
      {"--root", "RANK",
       "position in the rank list, for broadcast, reduce, gather, scatter (default 0)", "--root 3"},
      options.root);
  arguments.value(
      {"--chunks", "N", "cut every block into N chunks, or 'auto' (default)", "--chunks 4"},
      options.chunks);
  arguments.value(
      {"--jobs", "FILE",
       "a jobs file instead of the four options above (several jobs, alltoallv, custom)",
       "--jobs jobs.json"},
      options.jobs);
  arguments.value(
      {"--relays", "WHO", "may GPUs outside a job forward its data: 'all' (default) or 'members'",
       "--relays members"},
      options.relays);
}

StatedProblem state_problem(const ProblemOptions& options) {
  if (!options.topology)
    refuse("--topology is missing: name one, as in --topology ndv2:2 (see 'stellwerk topo list')");
  const std::vector<std::pair<const char*, const std::optional<std::string>*>> of_one_job = {
      {"--collective", &options.collective}, {"--size", &options.size},
      {"--ranks", &options.ranks},           {"--root", &options.root},
      {"--chunks", &options.chunks},         {"--matrix", &options.matrix},
  };
  for (const auto& [name, value] : of_one_job) {
    if (options.jobs && *value)
      refuse(std::string(name) + " contradicts --jobs: write it in the jobs file");
  }
  StatedProblem problem;
  if (options.relays) problem.relays = parse_relays(*options.relays);
  problem.topology = load_topology(*options.topology, options.machine);
  if (options.jobs) {
    problem.jobs = read_jobs(*options.jobs, problem.topology);
  } else {
    problem.jobs = {stated_job(options, problem.topology)};
  }
  return problem;
}

}  // namespace stellwerk::tool
