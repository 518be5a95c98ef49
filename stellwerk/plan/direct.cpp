// Direct exchange, a baseline: point-to-point sends for any collective.
//
// Problem: serve every demand without any thought about sharing links well.
// Idea: each chunk takes the best way (latency plus transmission time, store-and-forward at GPUs)
// from its nearest origin to each destination. The order is that of the pairwise exchange: at step i
// rank r sends to rank r + i mod n, so that on a full crossbar no port is used twice in a step. A
// sum is formed at its owner: every contributor sends its part straight there (where ways meet, the
// parts merge and go on as one); if others want the sum too, the owner then sends it out like any
// chunk. AllReduce is thus a direct ReduceScatter followed by a direct AllGather. A node that holds a
// chunk already (because a way led through it) does not get it again. Equally good ways are either
// chosen alike for all ranks or spread at random; the better of the two counts.
// Guarantee: a plan whenever every demand has a way; on a full crossbar with equal ports AllToAll,
// AllGather and ReduceScatter meet the bandwidth bound. None elsewhere.
// Complexity: one search of ways per (source, size), and O(sends log sends).
// Held to its word by baselines_test.cpp (optimal on the crossbar, valid on every collective).
#include "stellwerk/plan/direct.hpp"

#include <algorithm>

#include "stellwerk/plan/textbook_schedule.hpp"

namespace stellwerk {
namespace {

/// Above so many sends the first routing must do.
constexpr std::size_t kMostToTryTwice = 200'000;

Time last_arrival(const Topology& topology, const Schedule& sends) {
  Time last;
  for (const Send& send : sends) {
    for (const Time arrival : timing(topology, send).arrival) {
      last = std::max(last, send.start + arrival);
    }
  }
  return last;
}

/// Where a sum is formed: the owner if it wants the sum, else the first destination.
NodeId meeting_point(const Chunk& chunk) {
  const auto& wanting = chunk.destinations;
  const bool owner_wants = std::find(wanting.begin(), wanting.end(), chunk.owner) != wanting.end();
  return owner_wants ? chunk.owner : wanting.front();
}

}  // namespace

PlannerOutcome plan_direct(const Problem& problem, const PlanOptions& /*options*/,
                           PlannerContext& context) {
  context.report("direct");
  if (auto declined = decline(problem, "direct exchanges", {})) return *declined;
  const Ranks ranks(problem);
  const auto star = [&](Routers& routers, const Chunk& chunk, ChunkTrees& trees) {
    // The step in which two ranks meet: their distance, modulo n.
    const std::size_t n = problem.jobs[chunk.job.index()].ranks.size();
    const auto step = [&](NodeId from, NodeId to) {
      return static_cast<int>(
          (ranks.position(chunk.job, to) + n - ranks.position(chunk.job, from)) % n);
    };
    if (chunk.is_reduction()) {
      trees.root = meeting_point(chunk);
      for (const NodeId contributor : chunk.contributors) {
        if (contributor != trees.root) {
          trees.gather.push_back({trees.root, contributor, step(contributor, trees.root)});
        }
      }
    } else {
      trees.root = chunk.origins.front();
    }
    Router& router = routers.of(chunk);
    for (const NodeId destination : chunk.destinations) {
      NodeId from = trees.root;
      for (const NodeId origin : chunk.origins) {
        if (router.distance(origin, destination) < router.distance(from, destination))
          from = origin;
      }
      if (from != destination) {
        trees.spread.push_back({from, destination, step(from, destination)});
      }
    }
  };
  const auto schedule = [&](Ties ties) {
    Routers routers(problem, ties);
    return schedule_trees(problem, context, routers,
                          [&](const Chunk& chunk, std::size_t /*k*/, ChunkTrees& trees) {
                            star(routers, chunk, trees);
                          });
  };
  PlannerOutcome outcome = schedule(Ties::one_tree);
  if (!outcome.has_plan() || outcome.sends.size() > kMostToTryTwice) return outcome;
  PlannerOutcome other = schedule(Ties::spread);
  const bool better = other.has_plan() && last_arrival(problem.topology, other.sends) <
                                              last_arrival(problem.topology, outcome.sends);
  return better ? other : outcome;
}

}  // namespace stellwerk
