// Parallel aggregated trees, a baseline: Bruck's steps with the long ways first.
//
// Problem: AllGather and ReduceScatter in ceil(log2 n) steps for any n, with little data on the long
// ways, which in a cluster are the slow ones.
// Idea: a binomial tree for every block, all alike but for their roots. With n rounded up to a power
// of two, the root first sends to the rank half way round, then both to the ranks a quarter further
// on, and so on: the rank d ahead gets the block from the one ahead by d without its lowest binary
// one. The long steps carry one block each, the last and shortest one half of all. ReduceScatter
// runs the trees backwards.
// Guarantee: ceil(log2 n) steps where every pair is one hop, no byte twice to a rank. Complexity:
// O(sends log sends). Of NCCL's algorithm only the trees are kept, not the sizes of its buffers: here
// every rank stores what it has.
// Paper: Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", 2025
// (arXiv 2506.20252). Held to its word by textbook_test.cpp.
#include "stellwerk/plan/pat.hpp"

#include <bit>

#include "stellwerk/plan/textbook_schedule.hpp"

namespace stellwerk {

PlannerOutcome plan_pat(const Problem& problem, const PlanOptions& /*options*/,
                        PlannerContext& context) {
  context.report("pat");
  if (auto declined = decline(problem, "parallel aggregated trees",
                              {Collective::allgather, Collective::reducescatter})) {
    return *declined;
  }
  const Ranks ranks(problem);
  const TreeMaker long_ways_first = [&](const Chunk& chunk, std::size_t /*k*/, ChunkTrees& trees) {
    const Job& job = problem.jobs[chunk.job.index()];
    const std::size_t n = job.ranks.size();
    const std::size_t owner = ranks.position(chunk.job, chunk.owner);
    std::vector<TreeEdge>& edges = chunk.is_reduction() ? trees.gather : trees.spread;
    for (std::size_t distance = std::bit_ceil(n) / 2; distance > 0; distance /= 2) {
      for (std::size_t d = distance; d < n; d += 2 * distance) {
        const int from_short = std::countr_zero(distance);
        edges.push_back({job.ranks[(owner + d - distance) % n], job.ranks[(owner + d) % n],
                         chunk.is_reduction()
                             ? from_short
                             : std::countr_zero(std::bit_ceil(n)) - 1 - from_short});
      }
    }
  };
  Routers routers(problem);
  return schedule_trees(problem, context, routers, long_ways_first);
}

}  // namespace stellwerk
