// The switch-free network while it is being made: shared by the parts of the splitting-off
// (logical_links.cpp: pairs at one node after the other; logical_rounding.cpp: whole numbers;
// logical_cuts.cpp: cuts as large as they have to be).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/base/stop.hpp"
#include "stellwerk/plan/logical_links.hpp"

namespace stellwerk {

/// From node to node, by way of nodes that have been split off.
struct LogicalEdge {
  int from;
  int to;
  std::int64_t copies;
  std::vector<LinkId> links;
  int pivot = -1;             // the node that was split off to make it,
  int in = -1;                // from this edge into it
  int out = -1;               // and this one out of it
  double share = 0;           // of a pair: what it would be if it needed not be whole
  std::int64_t left = 0;      // of a parent: copies that are in no pair
  bool gone = false;          // its head or tail has been split off
  std::vector<int> via = {};  // nodes that were split off to make it, ascending
};

/// Can the two edges be made one, without coming to any node twice?
bool may_pair(const LogicalEdge& in, const LogicalEdge& out);

struct LogicalNetwork {
  std::vector<int> terminal;  // by node: position in Terminals::nodes; -1: none
  std::vector<LogicalEdge> edges;

  LogicalEdge& edge(int number) { return edges[static_cast<std::size_t>(number)]; }
  const LogicalEdge& edge(int number) const { return edges[static_cast<std::size_t>(number)]; }
  int terminal_of(int node) const { return terminal[static_cast<std::size_t>(node)]; }
};

/// Whole numbers near the shares of the pairs (edge in x edge out, by rows) of one node. What rows and
/// columns have left is subtracted from them.
std::vector<std::int64_t> round_shares(const LogicalNetwork& network, const std::vector<int>& in,
                                       const std::vector<int>& out,
                                       const std::vector<double>& share,
                                       std::vector<std::int64_t>& row_left,
                                       std::vector<std::int64_t>& column_left, Rng& rng);

/// Changes the copies of pairs until every terminal can be sent all copies; false when it cannot, or
/// when stopped. Precondition: only terminals are left.
bool widen_cuts(LogicalNetwork& network, const Terminals& terminals, Rng& rng,
                const StopCondition& stop);

}  // namespace stellwerk
