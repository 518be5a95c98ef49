// Sets of nodes that are worth trying as cuts.
#pragma once

#include <optional>
#include <vector>

#include "stellwerk/base/stop.hpp"
#include "stellwerk/bound/demand.hpp"
#include "stellwerk/bound/network.hpp"

namespace stellwerk::bound {

/// A set and, where it was made for one, its target.
struct CandidateSet {
  NodeSet set;
  std::optional<NodeId> target;
};

/// Hosts, racks, clusters of fast links, single GPUs, the neighbourhoods of targets, and minimum
/// cuts; for most of them the complement, too. No set twice. Ends early when `stop` says so.
std::vector<CandidateSet> candidate_sets(const Network& network, const Demand& demand,
                                         const StopCondition& stop);

}  // namespace stellwerk::bound
