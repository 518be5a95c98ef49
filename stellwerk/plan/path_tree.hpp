// Best paths over hops, from one node to all or from all to one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "stellwerk/core/problem.hpp"
#include "stellwerk/plan/routes.hpp"

namespace stellwerk {

enum class Direction : std::uint8_t { outward, inward };

/// Every node's best path from (outward) or to (inward) the root: least sum of latency and
/// transmission time, each hop store-and-forward.
struct PathTree {
  NodeId root;
  Direction direction = Direction::outward;
  IdVector<NodeId, Time> distance;  ///< Time::max(): no path
  IdVector<NodeId, HopId>
      hop;  ///< outward: the hop into the node; inward: the hop out of it; none at the root
  IdVector<NodeId, int> depth;  ///< hops between the node and the root

  bool reaches(NodeId node) const { return distance[node] != Time::max(); }
};

/// Finds and remembers path trees of one problem.
class PathFinder {
 public:
  PathFinder(const Problem& problem, const Routes& routes);

  /// Dijkstra, ties by node number. Nodes that may not forward chunks of `job` are ends of paths
  /// only.
  const PathTree& tree(NodeId root, Bytes bytes, JobId job, Direction direction);

  /// The hops between the root and `node`, in the order in which data takes them. Precondition:
  /// tree.reaches(node).
  std::vector<HopId> path(const PathTree& tree, NodeId node) const;

 private:
  PathTree find(NodeId root, Bytes bytes, JobId job, Direction direction);
  Time cheapest_hop(Bytes bytes);

  const Problem& problem_;
  const Routes& routes_;
  std::vector<IdVector<NodeId, char>> forwards_;  // per job
  std::map<std::tuple<NodeId, Bytes, JobId, Direction>, PathTree> trees_;
  std::map<Bytes, Time> cheapest_;
};

/// The first demand that no path serves, in words; nothing if all can be met.
std::optional<std::string> unreachable_demand(const Problem& problem, PathFinder& paths);

}  // namespace stellwerk
