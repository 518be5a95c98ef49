// Direct exchange, a baseline: point-to-point sends for any collective.
//
// Problem: serve every demand without any thought about sharing links well.
// Idea: each chunk takes the best path (latency plus transmission time, store-and-forward at GPUs)
// from its nearest origin to
//   each destination. The order is that of the pairwise exchange: at step i rank r sends to rank r
//   + i mod n, so that on a full crossbar no port is used twice in a step. A sum is formed at its
//   owner: every contributor sends its part straight there (where paths meet, the parts merge and
//   go on as one); if others want the sum too, the owner then sends it out like any chunk.
//   AllReduce is thus a direct ReduceScatter followed by a direct AllGather. A node that holds a
//   chunk already (because a path led through it) does not get it again.
// Guarantee: a plan whenever every demand has a path; on a full crossbar with equal ports AllToAll,
// AllGather and
//   ReduceScatter meet the bandwidth bound. None elsewhere.
// Complexity: one Dijkstra per (end, size), and O(sends log sends).
// Held to its word by baselines_test.cpp (optimal on the crossbar, valid on every collective).
#include "stellwerk/plan/direct.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "stellwerk/plan/asap.hpp"
#include "stellwerk/plan/passing.hpp"

namespace stellwerk {
namespace {

/// One thing to do, with its place in the order.
struct Item {
  int phase = 0;  ///< 0: sums are formed; 1: data is copied
  int depth = 0;  ///< sums: minus the hops still to go, so that parts meet before they go on
  std::size_t step = 0;
  ChunkId chunk;
  NodeId from;
  NodeId to;

  auto order() const { return std::tuple(phase, depth, step, chunk, from, to); }
};

/// Positions of nodes in the rank lists, for the steps of the exchange.
class Steps {
 public:
  explicit Steps(const Problem& problem) {
    for (const Job& job : problem.jobs) {
      IdVector<NodeId, std::size_t> position(problem.topology.nodes().size(), 0);
      for (std::size_t i = 0; i < job.ranks.size(); ++i) position[job.ranks[i]] = i;
      positions_.push_back(std::move(position));
      ranks_.push_back(job.ranks.size());
    }
  }

  /// The step in which `from` serves `to`: the distance between their ranks, modulo n.
  std::size_t step(JobId job, NodeId from, NodeId to) const {
    const auto& position = positions_[job.index()];
    const std::size_t n = ranks_[job.index()];
    return (position[to] + n - position[from]) % n;
  }

 private:
  std::vector<IdVector<NodeId, std::size_t>> positions_;
  std::vector<std::size_t> ranks_;
};

NodeId nearest_origin(const Chunk& chunk, const PathTree& to_destination) {
  return *std::min_element(chunk.origins.begin(), chunk.origins.end(), [&](NodeId a, NodeId b) {
    return to_destination.distance[a] < to_destination.distance[b];
  });
}

/// Where a sum is formed: the owner if it wants the sum, else the first destination.
NodeId meeting_point(const Chunk& chunk) {
  const auto& wanting = chunk.destinations;
  const bool owner_wants = std::find(wanting.begin(), wanting.end(), chunk.owner) != wanting.end();
  return owner_wants ? chunk.owner : wanting.front();
}

/// The nodes that send a part of the sum: contributors and whoever lies on their paths.
std::vector<NodeId> senders_of_parts(const Chunk& chunk, const PathTree& tree,
                                     const PathFinder& paths, const Routes& routes) {
  std::vector<NodeId> nodes;
  for (const NodeId contributor : chunk.contributors) {
    for (const HopId hop : paths.path(tree, contributor)) nodes.push_back(routes.hop(hop).from);
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

std::vector<Item> list_items(const Problem& problem, const Routes& routes, PathFinder& paths) {
  const Steps steps(problem);
  std::vector<Item> items;
  for (const ChunkId id : problem.chunk_ids()) {
    const Chunk& chunk = problem.chunks[id];
    NodeId source;
    if (chunk.is_reduction()) {
      source = meeting_point(chunk);
      const PathTree& tree = paths.tree(source, chunk.bytes, chunk.job, Direction::inward);
      for (const NodeId node : senders_of_parts(chunk, tree, paths, routes)) {
        items.push_back(
            {0, -tree.depth[node], steps.step(chunk.job, node, source), id, node, source});
      }
    }
    for (const NodeId destination : chunk.destinations) {
      NodeId from = source;
      if (!chunk.is_reduction()) {
        from = chunk.origins.size() == 1
                   ? chunk.origins.front()
                   : nearest_origin(
                         chunk, paths.tree(destination, chunk.bytes, chunk.job, Direction::inward));
      }
      if (from == destination) continue;
      items.push_back({1, 0, steps.step(chunk.job, from, destination), id, from, destination});
    }
  }
  std::sort(items.begin(), items.end(),
            [](const Item& a, const Item& b) { return a.order() < b.order(); });
  return items;
}

}  // namespace

PlannerOutcome plan_direct(const Problem& problem, const PlanOptions& /*options*/,
                           PlannerContext& context) {
  context.report("direct");
  PlannerOutcome outcome;
  const Routes routes(problem.topology);
  PathFinder paths(problem, routes);
  if (const auto complaint = unreachable_demand(problem, paths)) {
    outcome.termination.reason = Termination::Reason::no_solution;
    outcome.message = *complaint;
    return outcome;
  }
  AsapBuilder builder(problem, routes);
  bool copying = false;
  for (const Item& item : list_items(problem, routes, paths)) {
    const Chunk& chunk = problem.chunks[item.chunk];
    if (item.phase == 0) {
      builder.reduce(item.chunk,
                     paths.tree(item.to, chunk.bytes, chunk.job, Direction::inward).hop[item.from]);
      continue;
    }
    if (!copying) {
      copying = true;
      for (const ChunkId id : problem.chunk_ids()) {
        if (problem.chunks[id].is_reduction())
          builder.finish_sum(id, meeting_point(problem.chunks[id]));
      }
    }
    const PathTree& tree = paths.tree(item.from, chunk.bytes, chunk.job, Direction::outward);
    if (!tree.reaches(item.to)) {  // a sum formed where no way leads on
      outcome.message = "no path leads from " + problem.topology.node(item.from).name + " to " +
                        problem.topology.node(item.to).name;
      return outcome;
    }
    builder.copy_along(item.chunk, paths.path(tree, item.to));
  }
  outcome.sends = builder.take();
  if (!keeps_buffers(problem, outcome.sends)) {
    outcome.sends.clear();
    outcome.termination.reason = Termination::Reason::unsupported;
    outcome.message = "direct exchange does not plan for transit buffers, and they would overflow";
    return outcome;
  }
  outcome.termination.reason = Termination::Reason::feasible;
  return outcome;
}

}  // namespace stellwerk
