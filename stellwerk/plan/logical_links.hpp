// A network without its switches: ways from GPU to GPU with capacities of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/base/stop.hpp"
#include "stellwerk/core/topology.hpp"

namespace stellwerk {

/// `copies` chunks may take these links from one terminal to another.
struct LogicalLink {
  int from = 0;  ///< positions in Terminals::nodes
  int to = 0;
  std::int64_t copies = 0;
  std::vector<LinkId> links;
};

/// Which ways in and out of a switch are paired.
struct Partners {
  /// few: every way in with the next ways out in a cyclic order, so that they hardly ever have to wait
  /// for each other; else all with all, in proportion.
  bool few = false;
  bool backwards = false;  ///< the order turned round, for the same pairs in the reversed network
  std::uint64_t seed = 0;  ///< of the order
};

/// Who sends how much to everybody. All amounts count copies of one size.
struct Terminals {
  std::vector<NodeId> nodes;         ///< storing nodes that all want everything
  std::vector<std::int64_t> copies;  ///< what each of them sends to all others
  IdVector<NodeId, char> passable;   ///< other storing nodes that may forward
  IdVector<LinkId, std::int64_t> capacity;
  IdVector<NodeId, std::int64_t> injection, ejection;  ///< of all nodes; -1: no cap
  Partners partners;
};

/// Divides the capacity of everything between terminals among ways from terminal to terminal, such
/// that each terminal can still be sent all copies (so that trees can be packed, see
/// graph/arborescences.hpp). Nothing when that fails. Ways that would be better served elsewhere get
/// little.
std::optional<std::vector<LogicalLink>> split_off(const Topology& topology,
                                                  const Terminals& terminals, Rng& rng,
                                                  const StopCondition& stop);

}  // namespace stellwerk
