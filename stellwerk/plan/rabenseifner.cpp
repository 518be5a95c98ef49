// Rabenseifner's algorithm, a baseline: what MPI libraries do with large sums.
//
// Problem: AllReduce (and Reduce) with few steps and little traffic.
// Idea: a ReduceScatter by recursive halving, then an AllGather by recursive doubling (Reduce: a
// Gather). In step k of the first, ranks whose numbers differ in the k-th binary digit from the top
// exchange halves of what they still have: after log2 n steps each has the sum of one n-th. If n is
// no power of two, some ranks first give all they have to a neighbour, which tells them the result
// at the end.
// Guarantee: 2 log2 n steps where every pair is one hop, 2(n-1)/n of the size in and out of every
// rank, for a power of two. Complexity: O(sends log sends).
// Paper: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in
// MPICH", IJHPCA 2005. Held to its word by textbook_test.cpp.
#include "stellwerk/plan/rabenseifner.hpp"

#include "stellwerk/plan/power_of_two.hpp"

namespace stellwerk {

PlannerOutcome plan_rabenseifner(const Problem& problem, const PlanOptions& /*options*/,
                                 PlannerContext& context) {
  context.report("rabenseifner");
  if (auto declined = decline(problem, "Rabenseifner's algorithms",
                              {Collective::allreduce, Collective::reduce})) {
    return *declined;
  }
  std::vector<PowerOfTwo> members;
  std::vector<std::size_t> chunks;  // by job
  for (const Job& job : problem.jobs) members.emplace_back(job.ranks);
  chunks.resize(problem.jobs.size(), 0);
  for (const Chunk& chunk : problem.chunks) ++chunks[chunk.job.index()];
  const TreeMaker halve_and_double = [&](const Chunk& chunk, std::size_t k, ChunkTrees& trees) {
    const Job& job = problem.jobs[chunk.job.index()];
    const PowerOfTwo& power = members[chunk.job.index()];
    // Each member is in charge of neighbouring chunks.
    const std::size_t charge = k * power.size() / chunks[chunk.job.index()];
    const int steps = power.steps();
    trees.root = power.member(charge);
    power.add_halving(charge, 1, trees.gather);
    power.add_doubles(0, trees.gather);
    if (job.collective == Collective::allreduce) {
      power.add_doubling(charge, 1 + steps, trees.spread);
      power.add_doubles(1 + 2 * steps, trees.spread);
      return;
    }
    // The way that the last step of a Gather has no need to split: the digits in which the two
    // differ, lowest first.
    const NodeId root = job.ranks[static_cast<std::size_t>(job.root)];
    NodeId target = root;
    for (const PowerOfTwo::Double& pair : power.doubles()) {
      if (pair.rank == root) target = pair.member;
    }
    std::size_t to = 0;
    while (power.member(to) != target) ++to;
    std::size_t at = charge;
    for (int step = 0; step < steps; ++step) {
      const std::size_t next = at ^ ((at ^ to) & (std::size_t{1} << step));
      if (next == at) continue;
      trees.spread.push_back({power.member(at), power.member(next), 1 + steps + step});
      at = next;
    }
    if (target != root) trees.spread.push_back({target, root, 1 + 2 * steps});
  };
  Routers routers(problem);
  return schedule_trees(problem, context, routers, halve_and_double);
}

}  // namespace stellwerk
