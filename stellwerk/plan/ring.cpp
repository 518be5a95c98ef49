// Rings, a baseline: the default of collective libraries for large messages.
//
// Problem: AllGather, ReduceScatter, AllReduce (one after the other), Broadcast and Reduce (a
// chain). Libraries do not use
//   rings for the others, so this planner declines them.
// Idea: the ranks form a ring (ring_order.hpp). A chunk travels from its origin along the ring
// until all have it; a sum
//   starts at the rank after its owner and collects the parts on the way round. Ranks that are not
//   neighbours in the network are joined by their best path. With several equally good rings, block
//   b's k-th chunk takes ring b + k. Order: by step, so that a rank sends its own chunks first and
//   then passes on what arrived one step ago, ...
// Guarantee: a plan whenever the ranks reach each other; (n-1)/n of the size crosses each ring step
// (2(n-1)/n for AllReduce),
//   which is optimal if the ring's slowest step is what bounds the problem. Latency grows with n.
// Complexity: O(sends log sends) besides the order.
// Paper: Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
// JPDC 2009. Held to its word by ring_test.cpp (the exact time on a ring of GPUs, valid elsewhere).
#include "stellwerk/plan/ring.hpp"

#include <algorithm>
#include <tuple>

#include "stellwerk/plan/asap.hpp"
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

/// One step of one chunk from a rank to the next.
struct Item {
  std::size_t step = 0;
  ChunkId chunk;
  NodeId from;
  NodeId to;
  bool reduces = false;

  auto order() const { return std::tuple(step, chunk); }
};

void add_steps(std::vector<Item>& items, const Chunk& chunk, ChunkId id, const RingOrder& ring) {
  const std::size_t n = ring.size();
  const std::size_t owner =
      static_cast<std::size_t>(std::find(ring.begin(), ring.end(), chunk.owner) - ring.begin());
  std::size_t step = 0;
  if (chunk.is_reduction()) {
    for (; step + 1 < n; ++step) {
      items.push_back({step, id, ring[(owner + 1 + step) % n], ring[(owner + 2 + step) % n], true});
    }
  }
  const bool others_want =
      chunk.destinations.size() > 1 || chunk.destinations.front() != chunk.owner;
  if (!others_want) return;
  for (std::size_t i = 0; i + 1 < n; ++i) {
    items.push_back({step + i, id, ring[(owner + i) % n], ring[(owner + i + 1) % n], false});
  }
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
    rings.push_back(ring_orders(problem, id, chunk->bytes, paths));
  }

  std::vector<Item> items;
  std::vector<std::size_t> seen(problem.jobs.size(), 0);
  for (const ChunkId id : problem.chunk_ids()) {
    const Chunk& chunk = problem.chunks[id];
    const Job& job = problem.jobs[chunk.job.index()];
    const std::size_t k = seen[chunk.job.index()]++;
    const std::size_t parts = static_cast<std::size_t>(job.chunks);
    const auto& choice = rings[chunk.job.index()];
    add_steps(items, chunk, id, choice[(k / parts + k % parts) % choice.size()]);
  }
  std::stable_sort(items.begin(), items.end(),
                   [](const Item& a, const Item& b) { return a.order() < b.order(); });

  AsapBuilder builder(problem, routes);
  for (const Item& item : items) {
    const Chunk& chunk = problem.chunks[item.chunk];
    if (!item.reduces && chunk.is_reduction() && item.from == chunk.owner) {
      builder.finish_sum(item.chunk, chunk.owner);
    }
    const PathTree& tree = paths.tree(item.from, chunk.bytes, chunk.job, Direction::outward);
    const std::vector<HopId> hops = paths.path(tree, item.to);
    if (!item.reduces) {
      builder.copy_along(item.chunk, hops);
      continue;
    }
    for (const HopId hop : hops) builder.reduce(item.chunk, hop);
  }
  outcome.sends = builder.take();
  outcome.termination.reason = Termination::Reason::feasible;
  return outcome;
}

}  // namespace stellwerk
