// Bruck's algorithms, a baseline: few steps for small blocks.
//
// Problem: AllGather and AllToAll in ceil(log2 n) steps for any n.
// Idea: in step k every rank deals with the one 2^k away. AllGather ("concatenation"): it passes
// back, to rank - 2^k, the first blocks of those it has, its own and those of the 2^k - 1 ranks
// after it. So a block reaches the rank d before its owner in the steps of d's binary digits, lowest
// first. AllToAll ("index"): a block for the rank d ahead moves 2^k ahead in each step k in which d
// has a one.
// Guarantee: ceil(log2 n) steps where every pair is one hop; AllGather sends no byte twice to a rank,
// AllToAll sends every byte about log2(n)/2 times. Complexity: O(sends log sends).
// Paper: Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient algorithms for all-to-all communications
// in multiport message-passing systems", TPDS 1997. Held to its word by textbook_test.cpp.
#include "stellwerk/plan/bruck.hpp"

#include <algorithm>
#include <bit>

#include "stellwerk/plan/textbook_schedule.hpp"

namespace stellwerk {
namespace {

/// How often a block of an AllToAll is sent, about: half of the digits are ones.
std::int64_t hops_a_block(const Problem& problem) {
  std::int64_t most = 1;
  for (const Job& job : problem.jobs) {
    if (job.collective != Collective::alltoall) continue;
    most = std::max<std::int64_t>(most, (std::bit_width(job.ranks.size()) + 1) / 2);
  }
  return most;
}

}  // namespace

PlannerOutcome plan_bruck(const Problem& problem, const PlanOptions& /*options*/,
                          PlannerContext& context) {
  context.report("bruck");
  if (auto declined =
          decline(problem, "Bruck's algorithms", {Collective::allgather, Collective::alltoall},
                  hops_a_block(problem))) {
    return *declined;
  }
  const Ranks ranks(problem);
  const TreeMaker digits = [&](const Chunk& chunk, std::size_t /*k*/, ChunkTrees& trees) {
    const Job& job = problem.jobs[chunk.job.index()];
    const std::size_t n = job.ranks.size();
    const std::size_t owner = ranks.position(chunk.job, chunk.owner);
    if (job.collective == Collective::allgather) {
      for (std::size_t d = 1; d < n; ++d) {
        const std::size_t last = std::bit_floor(d);
        trees.spread.push_back({job.ranks[(owner + n - (d - last)) % n],
                                job.ranks[(owner + n - d) % n], std::countr_zero(last)});
      }
      return;
    }
    const std::size_t to = ranks.position(chunk.job, chunk.destinations.front());
    std::size_t at = owner;
    for (std::size_t left = (to + n - owner) % n; left != 0; left &= left - 1) {
      const std::size_t next = (at + (left & (~left + 1))) % n;
      trees.spread.push_back({job.ranks[at], job.ranks[next], std::countr_zero(left)});
      at = next;
    }
  };
  Routers routers(problem);
  return schedule_trees(problem, context, routers, digits);
}

}  // namespace stellwerk
