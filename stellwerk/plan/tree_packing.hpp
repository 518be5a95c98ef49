// Trees for bandwidth: the fluid optimum of sending everything to everybody, and trees that reach it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/base/stop.hpp"
#include "stellwerk/core/topology.hpp"
#include "stellwerk/graph/arborescences.hpp"
#include "stellwerk/plan/logical_links.hpp"

namespace stellwerk {

/// Who wants everything, what each has to send, and through whom it may go.
struct TreeDemand {
  std::vector<NodeId> terminals;
  std::vector<std::int64_t> copies;  ///< by terminal: trees rooted there
  Bytes bytes;                       ///< that one copy carries
  IdVector<NodeId, char> passable;   ///< storing nodes besides that may forward
};

/// Trees over ways between terminals.
struct TreePacking {
  std::vector<LogicalLink> links;
  std::vector<graph::Arborescence> trees;  ///< roots: positions in terminals; arcs: in `links`
};

/// For how long links, and nodes' caps, have to be used when bytes are infinitely divisible and there
/// is no latency.
struct FluidTimes {
  Time longest;  ///< max: some terminal cannot be reached
  IdVector<LinkId, Time> link;
  IdVector<NodeId, Time> injection, ejection;
};

/// `longest` is the least time in which all copies can be brought to every terminal: the largest
/// (bytes that must enter a set) / (bandwidth into it). The links into such sets need all of it. With
/// them fixed the others' least time is found in the same way, and so on, down to three quarters of
/// the longest: what need not be full is given slack, which makes trees easy to pipeline. Newton's
/// method on minimum cuts: some max-flows a terminal and level. What is between a link's own time and
/// the longest is then given back by `slack_percent`. `balanced`: links into a switch get as much
/// as the links out of it may need; without that there is more slack, but switches may not be able
/// to serve all cuts at once.
FluidTimes fluid_times(const Topology& topology, const TreeDemand& demand, int slack_percent = 60,
                       bool balanced = true);

/// How many copies every link, and every node's caps, can carry in its time, prolonged by
/// `slack_percent_of_percent` / 10,000.
Terminals terminals_within(const Topology& topology, const TreeDemand& demand,
                           const FluidTimes& times, int slack_percent_of_percent);

/// Trees within the given capacities. `depth_percent`: see graph::PackingOptions. Nothing where
/// splitting the switches off or packing fails, or when stopped.
std::optional<TreePacking> pack_trees(const Topology& topology, const Terminals& terminals,
                                      int depth_percent, Rng& rng, const StopCondition& stop);

/// Trees within the least time at which this works, tried in steps above the fluid times. Steps that
/// leave no hope for a schedule shorter than `most` are not tried.
struct TimedPacking {
  TreePacking packing;
  Time time;
};
std::optional<TimedPacking> pack_trees_in_least_time(
    const Topology& topology, const TreeDemand& demand, const FluidTimes& fluid,
    const Partners& partners, int depth_percent, Time most, Rng& rng, const StopCondition& stop);

}  // namespace stellwerk
