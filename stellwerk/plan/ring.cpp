// Rings, a baseline: the default of collective libraries for large messages.
//
// Problem: AllGather, ReduceScatter, AllReduce (one after the other), Broadcast and Reduce (a
// chain). Libraries do not use rings for the others, so this planner declines them.
// Idea: the ranks form a ring (ring_order.hpp). A chunk travels from its origin along the ring
// until all have it; a sum starts at the rank after its owner and collects the parts on the way
// round. Ranks that are not neighbours in the network are joined by their best way. With several
// rings, block b's k-th chunk takes ring b + k.
// Guarantee: a plan whenever the ranks reach each other; (n-1)/n of the size crosses each ring step
// (2(n-1)/n for AllReduce), which is optimal if the ring's slowest step is what bounds the problem.
// Latency grows with n. Complexity: O(sends log sends) besides the order.
// Paper: Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
// JPDC 2009. Held to its word by baselines_test.cpp (the exact time on a ring of GPUs, valid
// elsewhere).
#include "stellwerk/plan/ring.hpp"

#include "stellwerk/plan/rings.hpp"
#include "stellwerk/plan/textbook_schedule.hpp"

namespace stellwerk {

PlannerOutcome plan_ring(const Problem& problem, const PlanOptions& /*options*/,
                         PlannerContext& context) {
  context.report("ring");
  if (auto declined = decline(problem, "rings",
                              {Collective::allgather, Collective::reducescatter,
                               Collective::allreduce, Collective::broadcast, Collective::reduce})) {
    return *declined;
  }
  Routers routers(problem);
  const JobRings rings(problem, routers);
  if (rings.unreachable()) {
    PlannerOutcome outcome;
    outcome.message = *rings.unreachable();
    return outcome;
  }
  const TreeMaker along_the_ring = [&](const Chunk& chunk, std::size_t k, ChunkTrees& trees) {
    const JobRings::Seat seat = rings.seat(chunk, k);
    const std::size_t n = seat.ring->size();
    const auto ahead = [&](std::size_t i) { return (*seat.ring)[(seat.owner + i) % n]; };
    if (chunk.is_reduction()) {  // from the rank after the owner round to the owner
      for (std::size_t i = n; i > 1; --i) {
        trees.gather.push_back({ahead(i), ahead(i - 1), static_cast<int>(i - 2)});
      }
    }
    if (!spreads(chunk)) return;
    for (std::size_t i = 0; i + 1 < n; ++i) {
      trees.spread.push_back({ahead(i), ahead(i + 1), static_cast<int>(i)});
    }
  };
  return schedule_trees(problem, context, routers, along_the_ring);
}

}  // namespace stellwerk
