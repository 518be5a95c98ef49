// Recursive doubling and halving, a baseline: log2 n exchanges.
//
// Problem: AllGather, ReduceScatter and AllReduce of small buffers, where every step costs a latency.
// Idea: in step k ranks whose numbers differ in binary digit k exchange all they have. AllGather:
// what they have doubles with every step. ReduceScatter is that backwards, the largest distance
// first: what they are still in charge of halves. AllReduce: they exchange the whole buffer every
// time, and keep what they told (the op `share`). For AllReduce, ranks beyond a power of two first
// give their parts to a neighbour, which tells them the sum at the end.
// Guarantee: log2 n steps where every pair is one hop; AllReduce moves log2 n times the buffer, so it
// is for the small ones. Sums can be shared over a hop only: a GPU in between would merge them
// with its own, so such networks are declined for AllReduce. Complexity: O(sends log sends).
// Paper: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in
// MPICH", IJHPCA 2005. Held to its word by textbook_test.cpp.
#include "stellwerk/plan/recursive_doubling.hpp"

#include <algorithm>
#include <bit>
#include <queue>
#include <tuple>

#include "stellwerk/check/simulate.hpp"
#include "stellwerk/plan/asap.hpp"
#include "stellwerk/plan/passing.hpp"
#include "stellwerk/plan/power_of_two.hpp"

namespace stellwerk {
namespace {

/// AllReduce jobs only.
class Exchanges {
 public:
  Exchanges(const Problem& problem, PlannerContext& context)
      : problem_(problem), context_(context), routers_(problem), builder_(problem) {
    for (const Job& job : problem.jobs) members_.emplace_back(job.ranks);
  }

  PlannerOutcome run() {
    PlannerOutcome outcome;
    std::size_t count = 0;
    // Step by step, so that what is to be told has arrived; a step's exchanges as they are ready.
    for (int step = 0; step <= last_step(); ++step) {
      for (const ChunkId id : problem_.chunk_ids()) {
        if (count++ % 64 == 0 && context_.stop.should_stop()) {
          outcome.termination = {Termination::Reason::no_solution, context_.stop.reached()};
          return outcome;
        }
        if (const auto complaint = take_step(id, step)) return unsupported(*complaint);
      }
    }
    // Exchanges are taken step by step, so one may have been put behind another of a later step.
    Schedule nominal = builder_.take();
    if (kSecondsToRetime * static_cast<double>(nominal.size()) > context_.stop.seconds_left()) {
      outcome.termination = {Termination::Reason::no_solution, Limit::time};
      return outcome;
    }
    outcome.sends = simulate(problem_, nominal).sends;
    if (!keeps_buffers(problem_, outcome.sends)) {
      return unsupported("no plan for transit buffers, and they would overflow");
    }
    outcome.termination.reason = Termination::Reason::feasible;
    return outcome;
  }

 private:
  int last_step() const {
    int last = 0;
    for (const PowerOfTwo& power : members_) last = std::max(last, power.steps() + 1);
    return last;
  }

  /// The only hop from one rank to another; none if the best way has several, or there is none.
  const Hop* hop(const Chunk& chunk, NodeId from, NodeId to) {
    Router& router = routers_.of(chunk);
    if (!router.reaches(from, to)) return nullptr;
    const auto way = router.way(from, to, static_cast<std::uint32_t>(chunk.slot));
    return way.size() == 1 ? &router.hop(way.front()) : nullptr;
  }

  std::string complaint(NodeId from, NodeId to) const {
    return problem_.topology.node(from).name + " reaches " + problem_.topology.node(to).name +
           " through other GPUs at best, which would merge sums that are only passing";
  }

  /// Step 0: the doubles give their parts; then the exchanges; last the doubles are told.
  std::optional<std::string> take_step(ChunkId id, int step) {
    const Chunk& chunk = problem_.chunks[id];
    const PowerOfTwo& power = members_[chunk.job.index()];
    if (step == 0 || step == power.steps() + 1) {
      for (const PowerOfTwo::Double& pair : power.doubles()) {
        const NodeId from = step == 0 ? pair.rank : pair.member;
        const NodeId to = step == 0 ? pair.member : pair.rank;
        const Hop* way = hop(chunk, from, to);
        if (way == nullptr) return complaint(from, to);
        if (step == 0) {
          builder_.reduce(id, *way);
        } else {
          builder_.finish_sum(id, from);
          builder_.copy(id, *way);
        }
      }
      return std::nullopt;
    }
    if (step > power.steps()) return std::nullopt;
    const std::size_t digit = std::size_t{1} << (step - 1);
    for (std::size_t i = 0; i < power.size(); ++i) {
      if ((i & digit) != 0) continue;
      const NodeId a = power.member(i), b = power.member(i | digit);
      const Hop* there = hop(chunk, a, b);
      const Hop* back = hop(chunk, b, a);
      if (there == nullptr) return complaint(a, b);
      if (back == nullptr) return complaint(b, a);
      for (const LinkId link : there->links) {
        if (std::find(back->links.begin(), back->links.end(), link) != back->links.end()) {
          return "the two ways between " + problem_.topology.node(a).name + " and " +
                 problem_.topology.node(b).name + " share a link, so they cannot exchange";
        }
      }
      builder_.exchange(id, *there, *back);
    }
    return std::nullopt;
  }

  const Problem& problem_;
  PlannerContext& context_;
  Routers routers_;
  AsapBuilder builder_;
  std::vector<PowerOfTwo> members_;  // by job
};

}  // namespace

PlannerOutcome plan_recursive_doubling(const Problem& problem, const PlanOptions& /*options*/,
                                       PlannerContext& context) {
  context.report("recursive-doubling");
  if (auto declined =
          decline(problem, "recursive doubling and halving",
                  {Collective::allgather, Collective::reducescatter, Collective::allreduce})) {
    return *declined;
  }
  // Every exchange is a send each way: in AllReduce, log2 n of them for a contributor.
  std::int64_t exchanges = 1;
  for (const Job& job : problem.jobs) {
    if (job.collective == Collective::allreduce) {
      exchanges = std::max<std::int64_t>(exchanges, std::bit_width(job.ranks.size()) / 2);
    }
  }
  if (auto declined = decline(problem, "recursive doubling and halving", {}, exchanges)) {
    return *declined;
  }
  const auto sums = std::count_if(problem.jobs.begin(), problem.jobs.end(), [](const Job& job) {
    return job.collective == Collective::allreduce;
  });
  if (sums > 0) {
    if (static_cast<std::size_t>(sums) < problem.jobs.size()) {
      return unsupported("recursive doubling does not mix allreduce with other collectives");
    }
    return Exchanges(problem, context).run();
  }
  std::vector<PowerOfTwo> members;
  for (const Job& job : problem.jobs) {
    members.emplace_back(job.ranks);
    if (!members.back().doubles().empty()) {
      return unsupported("job '" + job.name + "' has " + std::to_string(job.ranks.size()) +
                         " ranks, which is no power of two");
    }
  }
  const Ranks ranks(problem);
  const TreeMaker digits = [&](const Chunk& chunk, std::size_t /*k*/, ChunkTrees& trees) {
    const PowerOfTwo& power = members[chunk.job.index()];
    const std::size_t owner = ranks.position(chunk.job, chunk.owner);
    if (chunk.is_reduction()) {
      power.add_halving(owner, 0, trees.gather);
    } else {
      power.add_doubling(owner, 0, trees.spread);
    }
  };
  Routers routers(problem);
  return schedule_trees(problem, context, routers, digits);
}

}  // namespace stellwerk
