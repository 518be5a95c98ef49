// stellwerk place: which free GPUs a job gets, and in which order, by planned time.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <thread>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/io/fabric.hpp"
#include "stellwerk/io/file.hpp"
#include "stellwerk/io/load.hpp"
#include "stellwerk/io/rank_order_writer.hpp"
#include "stellwerk/io/text.hpp"
#include "stellwerk/plan/placement.hpp"
#include "tool/commands.hpp"
#include "tool/output_file.hpp"
#include "tool/parse.hpp"
#include "tool/problem_options.hpp"
#include "tool/progress_line.hpp"
#include "tool/table.hpp"

namespace stellwerk::tool {
namespace {

struct Options {
  std::optional<std::string> topology, collective, size, ranks, free, relays, planner, output,
      format, time_limit;
};

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::usage, message); }

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The GPUs of the hosts that Slurm gave to this job, in its order; of each host as many as
/// SLURM_GPUS_ON_NODE says, if it does.
std::vector<NodeId> allocated_by_slurm(const Topology& topology, const std::string& list) {
  std::size_t most = topology.gpus().size();
  if (const std::string gpus = variable("SLURM_GPUS_ON_NODE"); !gpus.empty()) {
    most = static_cast<std::size_t>(parse_integer("SLURM_GPUS_ON_NODE", gpus, 1));
  }
  std::vector<NodeId> result;
  const std::optional<std::vector<std::string>> hosts = expand_hostlist(list);
  if (!hosts) {
    throw Error(ErrorCode::unreadable_input,
                "SLURM_JOB_NODELIST: " + in_quotes(list) + " is not a list of hosts like n[1-4,7]");
  }
  for (const std::string& host : *hosts) {
    std::size_t count = 0;
    for (const NodeId gpu : topology.gpus()) {
      if (topology.node(gpu).host == host && count < most) {
        result.push_back(gpu);
        ++count;
      }
    }
    if (count == 0) {
      throw Error(ErrorCode::unreadable_input, "SLURM_JOB_NODELIST: topology '" + topology.name() +
                                                   "' has no GPU on host '" + host +
                                                   "': its hosts must have Slurm's names");
    }
  }
  return result;
}

PlacementRequest stated(const Options& options) {
  if (!options.topology) refuse("--topology is missing: name the cluster");
  if (!options.collective || !options.size) {
    refuse("--collective and --size are missing: say what the job mostly does");
  }
  PlacementRequest request;
  request.topology = load_topology(*options.topology);
  const std::string slurm = variable("SLURM_JOB_NODELIST");
  if (options.free) {
    request.free = parse_ranks(request.topology, *options.free);
  } else if (!slurm.empty()) {
    request.free = allocated_by_slurm(request.topology, slurm);
  } else {
    request.free = request.topology.gpus();
  }
  const std::string tasks = variable("SLURM_NTASKS");
  if (options.ranks) {
    request.ranks = static_cast<std::size_t>(parse_integer("--ranks", *options.ranks, 2));
  } else if (!options.free && !slurm.empty() && !tasks.empty()) {
    request.ranks = static_cast<std::size_t>(parse_integer("SLURM_NTASKS", tasks, 2));
  } else {
    request.ranks = request.free.size();
  }
  request.collective = parse_collective(*options.collective);
  if (request.collective == Collective::alltoallv || request.collective == Collective::custom) {
    refuse("--collective: candidates are scored by a collective that has a size");
  }
  request.size = parse_size_option("--size", *options.size);
  if (options.relays) {
    if (*options.relays != "all" && *options.relays != "members") {
      refuse("--relays: '" + *options.relays + "' is neither 'all' nor 'members'");
    }
    request.relays = *options.relays == "all" ? Relays::all : Relays::members;
  }
  if (options.planner) {
    find_planner(*options.planner);
    request.planner = *options.planner;
  } else {
    request.options.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  }
  if (options.time_limit)
    request.seconds_each = parse_time_option("--time-limit", *options.time_limit).seconds();
  return request;
}

int run(const Options& options) {
  const std::string format = options.format.value_or("names");
  if (format != "names" && format != "hostfile" && format != "rank-gpus" && format != "rankfile")
    refuse("--format: '" + format + "' is none of names, hostfile, rank-gpus, rankfile");
  if (options.output) check_writable(*options.output);
  const PlacementRequest request = stated(options);
  ProgressLine progress;
  const std::vector<Placement> placements = place(request, StopCondition(), &progress, judge);
  progress.erase();
  Table table;
  table.add({"", "candidate", "hosts", "planned", "bound", "first ranks"});
  for (std::size_t k = 0; k < placements.size(); ++k) {
    const Placement& placement = placements[k];
    std::vector<std::string> hosts;
    std::string first;
    for (std::size_t i = 0; i < placement.ranks.size(); ++i) {
      const Node& node = request.topology.node(placement.ranks[i]);
      if (std::find(hosts.begin(), hosts.end(), node.host) == hosts.end())
        hosts.push_back(node.host);
      if (i < 3) first += (i == 0 ? "" : ", ") + node.name;
    }
    if (placement.ranks.size() > 3) first += ", ...";
    table.add({std::to_string(k + 1), placement.rule, std::to_string(hosts.size()),
               placement.planned ? to_string(*placement.planned) : "no plan",
               placement.bound ? to_string(*placement.bound) : "", first});
  }
  fmt::print("{}", table.text());
  if (!placements.front().planned) {
    throw Error(ErrorCode::unsolved,
                "no candidate has a plan: free more GPUs, or try --relays all");
  }
  if (options.output) {
    write_file(*options.output,
               format_rank_order(request.topology, placements.front().ranks, format));
    fmt::print("written to {}\n", *options.output);
  }
  return 0;
}

}  // namespace

RunCommand declare_place(Arguments& arguments) {
  const auto options = std::make_shared<Options>();
  arguments.value({"-t,--topology", "T", "the cluster", "--topology cluster.json"},
                  options->topology);
  arguments.value({"-c,--collective", "C", "what the job mostly does", "--collective allreduce"},
                  options->collective);
  arguments.value({"-s,--size", "SIZE", "of that collective", "--size 64M"}, options->size);
  arguments.value(
      {"--ranks", "N", "how many GPUs the job needs (default: SLURM_NTASKS, or all)", "--ranks 16"},
      options->ranks);
  arguments.value({"--free", "LIST",
                   "GPUs that it may get: names or numbers, ranges (default: those of the hosts in "
                   "SLURM_JOB_NODELIST, or all)",
                   "--free 0-7,16-23"},
                  options->free);
  arguments.value({"--relays", "WHO",
                   "may other GPUs forward data: 'members' (default: no) or 'all'", "--relays all"},
                  options->relays);
  arguments.value({"-p,--planner", "P", "score by one planner's plans instead of the portfolio's",
                   "--planner ring"},
                  options->planner);
  arguments.value({"--time-limit", "TIME", "for each candidate (default 1s)", "--time-limit 5s"},
                  options->time_limit);
  arguments.value({"-o,--output", "FILE", "write the best order of ranks", "-o ranks.txt"},
                  options->output);
  arguments.value({"--format", "F",
                   "of that file: 'names' of GPUs (default), 'hostfile' (for srun "
                   "--distribution=arbitrary), 'rank-gpus' (hosts and the GPUs' numbers in them), "
                   "'rankfile' (Open MPI)",
                   "--format hostfile"},
                  options->format);
  return [options] { return run(*options); };
}

}  // namespace stellwerk::tool
