// Bidirectional rings, a baseline.
//
// Problem: as for ring.cpp; but a ring's links work both ways, and one direction lies idle.
// Idea: every chunk goes both ways round from its owner, until the two copies meet half way round;
// sums come in from both sides. Where an even number of ranks leaves one half longer, chunks take
// turns.
// Guarantee: a plan whenever the ranks reach each other. On a ring of n GPUs half of ring's latency,
// and half of the bytes on every link. Complexity: as for ring.cpp.
// Paper: Chan, Heimlich, Purkayastha, van de Geijn, "Collective communication: theory, practice, and
// experience", CCPE 2007. Held to its word by textbook_test.cpp.
#include "stellwerk/plan/bidirectional_ring.hpp"

#include "stellwerk/plan/rings.hpp"
#include "stellwerk/plan/textbook_schedule.hpp"

namespace stellwerk {

PlannerOutcome plan_bidirectional_ring(const Problem& problem, const PlanOptions& /*options*/,
                                       PlannerContext& context) {
  context.report("bidirectional-ring");
  if (auto declined = decline(problem, "bidirectional rings",
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
  const TreeMaker both_ways = [&](const Chunk& chunk, std::size_t k, ChunkTrees& trees) {
    const JobRings::Seat seat = rings.seat(chunk, k);
    const std::size_t n = seat.ring->size();
    const auto at = [&](std::size_t i) { return (*seat.ring)[(seat.owner + i) % n]; };
    // So many ranks ahead of the owner are served forwards, the others backwards.
    const std::size_t ahead = n % 2 == 1 || k % 2 == 0 ? n / 2 : n / 2 - 1;
    const std::size_t behind = n - 1 - ahead;
    const auto both = [&](auto visit) {
      for (std::size_t i = 0; i < ahead; ++i) visit(at(i), at(i + 1), i, ahead);
      for (std::size_t i = 0; i < behind; ++i) visit(at(n - i), at(n - i - 1), i, behind);
    };
    if (chunk.is_reduction()) {
      both([&](NodeId parent, NodeId child, std::size_t i, std::size_t length) {
        trees.gather.push_back({parent, child, static_cast<int>(length - 1 - i)});
      });
    }
    if (!spreads(chunk)) return;
    both([&](NodeId parent, NodeId child, std::size_t i, std::size_t /*length*/) {
      trees.spread.push_back({parent, child, static_cast<int>(i)});
    });
  };
  return schedule_trees(problem, context, routers, both_ways);
}

}  // namespace stellwerk
