// From trees over ranks to sends: what the textbook algorithms (baselines) have in common.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "stellwerk/plan/planner.hpp"
#include "stellwerk/plan/router.hpp"

namespace stellwerk {

/// A tree's edge between two nodes that need not be neighbours in the network.
struct TreeEdge {
  NodeId parent;
  NodeId child;
  int step = 0;  ///< when the algorithm takes it; of sends that could go now the lowest goes first
};

/// How one chunk travels. Edges come parents first: each one's parent is the root or the child of an
/// edge before it.
struct ChunkTrees {
  NodeId root;                   ///< where the chunk starts, or its sum is formed
  std::vector<TreeEdge> gather;  ///< partial sums move from child to parent
  std::vector<TreeEdge> spread;  ///< then copies from parent to child
};

/// Fills in the trees of a chunk, the `k`-th of its job.
using TreeMaker = std::function<void(const Chunk& chunk, std::size_t k, ChunkTrees& trees)>;

/// Routes every edge over the network and starts every send as soon as its data is there and its
/// links are free. Spreading also starts from a chunk's other origins.
PlannerOutcome schedule_trees(const Problem& problem, PlannerContext& context, Routers& routers,
                              const TreeMaker& make_trees);

/// The outcome of a baseline that does not serve a problem: another collective than those in
/// `served` (none: all are served), or more sends than a baseline is worth (kMostBaselineSends), of
/// which it makes `copies` a delivery. `what` is the algorithm, in the plural.
std::optional<PlannerOutcome> decline(const Problem& problem, std::string_view what,
                                      std::initializer_list<Collective> served,
                                      std::int64_t copies = 1);
inline constexpr std::int64_t kMostBaselineSends = 2'500'000;

/// Does anybody besides the owner want the chunk?
bool spreads(const Chunk& chunk);

/// Declines with a reason.
PlannerOutcome unsupported(std::string message);

/// Positions of nodes in the rank lists.
class Ranks {
 public:
  explicit Ranks(const Problem& problem);
  /// Precondition: `node` is a rank of `job`.
  std::size_t position(JobId job, NodeId node) const { return positions_[job.index()][node]; }

 private:
  std::vector<IdVector<NodeId, std::size_t>> positions_;
};

/// Ranks by host, hosts in order of first appearance; ranks without host are hosts of their own.
std::vector<std::vector<NodeId>> ranks_by_host(const Topology& topology,
                                               const std::vector<NodeId>& ranks);

}  // namespace stellwerk
