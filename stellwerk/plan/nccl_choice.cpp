// NCCL's choice between its own algorithms and protocols, by simulation.
//
// Problem. NCCL has rings, double binary trees and PAT, each with protocols that trade rate for latency: LL sends a flag with
// every four bytes, LL128 with every 120, Simple synchronises once for a large piece. Its cost model knows classes of machines;
// on others its choice may be poor, and its tuner plugin takes a table instead.
//
// Idea. A protocol is a network of lower rates and longer latencies (seen_through), an algorithm a baseline planner. All are
// simulated at all sizes with several numbers of pieces, since NCCL cuts its messages as suits it, and the least counts.
// A link's own latency stands for a step with LL, which is little more than the wire; the other protocols add the difference
// of NCCL's constants to it. LL's rate is also limited by how fast GPUs can poll; which generation they are, their total
// rate tells.
//
// Guarantee: none about NCCL itself; the times are those of its algorithms in our model, its constants for calls and steps
// included. Complexity: one simulation for each option, number of pieces and size. Sources: the constants of
// src/graph/tuning.cc, NCCL 2.28 (baseLatencies, hwLatencies, llMaxBws of one node). Test: nccl_choice_test.cpp.
#include "stellwerk/plan/nccl_choice.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "stellwerk/base/error.hpp"
#include "stellwerk/plan/planner.hpp"
#include "stellwerk/plan/size_ranges.hpp"

namespace stellwerk {
namespace {

constexpr std::int64_t kMicrosecond = 1'000'000;

struct Protocol {
  std::string_view name;
  std::int64_t used, of;  // of the bytes on the wire, how many are data
  Time within, between;   // a step, beyond one with LL: on NVLink, across the network
};
constexpr std::array kProtocols = {
    Protocol{"ll", 1, 2, {0}, {0}},
    Protocol{"ll128", 120, 128, {13 * kMicrosecond / 10}, {13 * kMicrosecond / 10}},
    Protocol{"simple", 1, 1, {28 * kMicrosecond / 10}, {113 * kMicrosecond / 10}},
};

struct Algorithm {
  std::string_view name, planner;
  std::array<Time, 3> call;  // beyond its steps, by protocol; zero: there is none
};
constexpr std::array kAlgorithms = {
    Algorithm{
        "ring",
        "ring",
        {Time{66 * kMicrosecond / 10}, Time{14 * kMicrosecond}, Time{84 * kMicrosecond / 10}}},
    Algorithm{
        "tree",
        "double-binary-tree",
        {Time{68 * kMicrosecond / 10}, Time{14 * kMicrosecond}, Time{84 * kMicrosecond / 10}}},
    Algorithm{"pat", "pat", {Time{0}, Time{0}, Time{8 * kMicrosecond}}},
};

constexpr std::array kChosenFor = {Collective::allgather, Collective::allreduce,
                                   Collective::broadcast, Collective::reduce,
                                   Collective::reducescatter};

/// More sends than this are not simulated to try one more number of pieces.
constexpr std::size_t kMostSends = 100'000;
constexpr std::array kPieces = {1, 2, 4, 8, 16, 32};

/// How fast GPUs of a generation poll flags of LL, by what one can send in all inside its host.
std::int64_t polling_rate(std::int64_t total) {
  constexpr std::int64_t kGB = 1'000'000'000;
  if (total <= 150 * kGB) return 39 * kGB;
  if (total <= 300 * kGB) return 87'700'000'000;
  if (total <= 450 * kGB) return 141 * kGB;
  return 282 * kGB;
}

bool offers(std::string_view algorithm, Collective collective, bool one_gpu_a_host) {
  if (algorithm == "tree") return collective == Collective::allreduce;
  if (algorithm == "pat")
    return one_gpu_a_host &&
           (collective == Collective::allgather || collective == Collective::reducescatter);
  return true;
}

Problem problem_of(const Topology& network, Collective collective, int pieces) {
  Job job;
  job.name = to_string(collective);
  job.collective = collective;
  job.ranks = network.gpus();
  job.size = Bytes{1 << 20};  // between the sizes that are asked for
  job.chunks = pieces;
  return make_problem(network, {std::move(job)});
}

/// The least times over numbers of pieces; throws where there is no plan.
std::vector<Time> times_of(const Topology& network, Collective collective, std::string_view planner,
                           const std::vector<Bytes>& sizes, const StopCondition& stop) {
  std::vector<Time> best(sizes.size(), Time::max());
  for (const int pieces : kPieces) {
    Plan plan;
    plan.problem = problem_of(network, collective, pieces);
    PlannerContext context;
    context.stop = stop;
    PlannerOutcome outcome = find_planner(planner).plan(plan.problem, {}, context);
    if (!outcome.has_plan()) {
      throw Error(ErrorCode::unsolved,
                  std::string(planner) + " on '" + network.name() + "': " +
                      (outcome.message.empty() ? "stopped before its end" : outcome.message));
    }
    plan.sends = std::move(outcome.sends);
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      if (stop.should_stop())
        throw Error(ErrorCode::unsolved, "stopped before all sizes were tried");
      best[s] = std::min(best[s], finish_at_size(plan, sizes[s]));
    }
    if (2 * plan.sends.size() > kMostSends) break;
  }
  return best;
}

}  // namespace

std::optional<std::size_t> host_count(const Topology& topology) {
  std::set<std::string> hosts;
  for (const NodeId gpu : topology.gpus()) hosts.insert(topology.node(gpu).host);
  if (hosts.contains("")) return std::nullopt;
  return hosts.size();
}

NcclTimes nccl_times(const Topology& topology, Collective collective,
                     const std::vector<Bytes>& sizes, const StopCondition& stop,
                     Progress* progress) {
  if (std::find(kChosenFor.begin(), kChosenFor.end(), collective) == kChosenFor.end()) {
    throw Error(ErrorCode::usage,
                "NCCL chooses no algorithm for " + std::string(to_string(collective)) +
                    ": name allgather, allreduce, broadcast, reduce or reducescatter");
  }
  const bool one_gpu_a_host = host_count(topology) == topology.gpus().size();
  NcclTimes result;
  for (const Algorithm& algorithm : kAlgorithms) {
    if (!offers(algorithm.name, collective, one_gpu_a_host)) continue;
    for (std::size_t p = 0; p < kProtocols.size(); ++p) {
      if (algorithm.call[p] == Time{0}) continue;
      if (progress != nullptr)
        progress->report({std::string(to_string(collective)) + ", " + std::string(algorithm.name) +
                              " with " + std::string(kProtocols[p].name),
                          {},
                          {}});
      result.options.push_back({algorithm.name, kProtocols[p].name});
      std::vector<Time> times = times_of(seen_through(topology, kProtocols[p].name), collective,
                                         algorithm.planner, sizes, stop);
      for (Time& time : times) time += algorithm.call[p];
      result.times.push_back(std::move(times));
    }
  }
  return result;
}

Topology seen_through(const Topology& topology, std::string_view protocol) {
  const Protocol& row = *std::find_if(kProtocols.begin(), kProtocols.end(),
                                      [&](const Protocol& p) { return p.name == protocol; });
  IdVector<LinkId, Link> links = topology.links();
  for (const NodeId id : topology.node_ids()) {
    const bool gpu = topology.node(id).kind == NodeKind::gpu;
    const auto inside = [&](const Link& link) {
      return topology.node(link.from).host == topology.node(link.to).host;
    };
    std::int64_t total = 0;
    for (const LinkId out : topology.out(id)) {
      if (inside(links[out])) total += links[out].bandwidth.bytes_per_second;
    }
    for (const LinkId out : topology.out(id)) {
      Link& link = links[out];
      const auto whole = static_cast<double>(link.bandwidth.bytes_per_second);
      double rate = whole * static_cast<double>(row.used) / static_cast<double>(row.of);
      if (gpu && protocol == "ll" && inside(link)) {
        rate = std::min(
            rate, whole * static_cast<double>(polling_rate(total)) / static_cast<double>(total));
      }
      link.bandwidth = {std::max<std::int64_t>(1, static_cast<std::int64_t>(rate))};
      // Once a step: where it leaves its GPU, and the rest where it comes into another host.
      const std::string &from = topology.node(link.from).host, &to = topology.node(link.to).host;
      if (gpu) link.latency += row.within;
      if (!to.empty() && from != to) link.latency += row.between - row.within;
    }
  }
  return {topology.name(), topology.note(), topology.nodes(), std::move(links)};
}

}  // namespace stellwerk
