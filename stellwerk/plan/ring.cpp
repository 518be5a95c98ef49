// Rings, a baseline: the default of collective libraries for large messages.
//
// Problem: AllGather, ReduceScatter, AllReduce (one after the other), Broadcast and Reduce (a
// chain). Libraries do not use
//   rings for the others, so this planner declines them.
// Idea: the ranks form a ring (ring_order.hpp). A chunk travels from its origin along the ring
// until all have it; a sum
//   starts at the rank after its owner and collects the parts on the way round. Ranks that are not
//   neighbours in the network are joined by their best path. With several rings, block
//   b's k-th chunk takes ring b + k. Order: by step, so that a rank sends its own chunks first and
//   then passes on what arrived one step ago, ...
// Guarantee: a plan whenever the ranks reach each other; (n-1)/n of the size crosses each ring step
// (2(n-1)/n for AllReduce),
//   which is optimal if the ring's slowest step is what bounds the problem. Latency grows with n.
// Complexity: O(sends log sends) besides the order.
// Paper: Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
// JPDC 2009. Held to its word by baselines_test.cpp (the exact time on a ring of GPUs, valid
// elsewhere).
#include "stellwerk/plan/ring.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

#include "stellwerk/plan/asap.hpp"
#include "stellwerk/plan/passing.hpp"
#include "stellwerk/plan/ring_order.hpp"

namespace stellwerk {
namespace {

bool rides_rings(Collective collective) {
  switch (collective) {
    case Collective::allgather:
    case Collective::reducescatter:
    case Collective::allreduce:
    case Collective::broadcast:
    case Collective::reduce:
      return true;
    default:
      return false;
  }
}

/// The hops of one chunk, one after the other.
struct Journey {
  std::vector<HopId> hops;
  std::size_t reducing = 0;  ///< the first so many carry partial sums
};

Journey journey_of(const Chunk& chunk, const RingOrder& ring, PathFinder& paths) {
  const std::size_t n = ring.size();
  const std::size_t owner =
      static_cast<std::size_t>(std::find(ring.begin(), ring.end(), chunk.owner) - ring.begin());
  Journey journey;
  const auto travel = [&](std::size_t first) {
    for (std::size_t i = first; i + 1 < first + n; ++i) {
      const PathTree& tree = paths.tree(ring[i % n], chunk.bytes, chunk.job, Direction::outward);
      const std::vector<HopId> path = paths.path(tree, ring[(i + 1) % n]);
      journey.hops.insert(journey.hops.end(), path.begin(), path.end());
    }
  };
  if (chunk.is_reduction()) travel(owner + 1);
  journey.reducing = journey.hops.size();
  const bool others_want =
      chunk.destinations.size() > 1 || chunk.destinations.front() != chunk.owner;
  if (others_want) travel(owner);
  return journey;
}

}  // namespace

PlannerOutcome plan_ring(const Problem& problem, const PlanOptions& /*options*/,
                         PlannerContext& context) {
  context.report("ring");
  PlannerOutcome outcome;
  for (const Job& job : problem.jobs) {
    if (rides_rings(job.collective)) continue;
    outcome.termination.reason = Termination::Reason::unsupported;
    outcome.message = "rings do not serve " + std::string(to_string(job.collective)) + " (job '" +
                      job.name + "')";
    return outcome;
  }
  const Routes routes(problem.topology);
  PathFinder paths(problem, routes);
  std::vector<std::vector<RingOrder>> rings;
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    const JobId id(j);
    const std::vector<NodeId>& ranks = problem.jobs[j].ranks;
    const auto chunk = std::find_if(problem.chunks.begin(), problem.chunks.end(),
                                    [&](const Chunk& candidate) { return candidate.job == id; });
    for (const NodeId from : ranks) {
      const PathTree& tree = paths.tree(from, chunk->bytes, id, Direction::outward);
      for (const NodeId to : ranks) {
        if (tree.reaches(to)) continue;
        outcome.message = "job '" + problem.jobs[j].name + "': no path leads from " +
                          problem.topology.node(from).name + " to " +
                          problem.topology.node(to).name;
        return outcome;
      }
    }
    rings.push_back(ring_orders(problem, id, chunk->bytes, paths, routes));
  }

  IdVector<ChunkId, Journey> journeys;
  std::vector<std::size_t> seen(problem.jobs.size(), 0);
  for (const Chunk& chunk : problem.chunks) {
    const std::size_t k = seen[chunk.job.index()]++;
    const std::size_t parts = static_cast<std::size_t>(problem.jobs[chunk.job.index()].chunks);
    const auto& choice = rings[chunk.job.index()];
    journeys.push_back(journey_of(chunk, choice[(k / parts + k % parts) % choice.size()], paths));
  }

  // Whatever is there first goes first; of equals the one that has come less far.
  using Waiting = std::tuple<Time, std::size_t, ChunkId>;
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> queue;
  for (const ChunkId id : problem.chunk_ids()) queue.emplace(problem.chunks[id].ready, 0, id);
  AsapBuilder builder(problem, routes);
  while (!queue.empty()) {
    const auto [time, step, id] = queue.top();
    queue.pop();
    const Journey& journey = journeys[id];
    if (problem.chunks[id].is_reduction() && step == journey.reducing) {
      builder.finish_sum(id, problem.chunks[id].owner);
    }
    if (step == journey.hops.size()) continue;
    const HopId hop = journey.hops[step];
    queue.emplace(step < journey.reducing ? builder.reduce(id, hop) : builder.copy(id, hop),
                  step + 1, id);
  }
  outcome.sends = builder.take();
  if (!keeps_buffers(problem, outcome.sends)) {
    outcome.sends.clear();
    outcome.termination.reason = Termination::Reason::unsupported;
    outcome.message = "a ring does not plan for transit buffers, and they would overflow";
    return outcome;
  }
  outcome.termination.reason = Termination::Reason::feasible;
  return outcome;
}

}  // namespace stellwerk
