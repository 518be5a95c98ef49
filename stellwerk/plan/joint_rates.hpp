// AllReduce as a flow of trees: how much of the data is summed, and how much is spread, over every link.
#pragma once

#include <optional>
#include <vector>

#include "stellwerk/base/stop.hpp"
#include "stellwerk/core/topology.hpp"

namespace stellwerk {

/// Every bit of the data is summed along a tree into some root, and spread along another one from
/// there. All shares are parts of the whole data.
struct JointRates {
  Time length;                      ///< for which the fullest links are busy
  IdVector<LinkId, double> gather;  ///< that trees into the roots carry
  IdVector<LinkId, double> spread;  ///< that trees out of the roots carry
  std::vector<double> root;         ///< by terminal; sum 1
};

/// Rates that make `length` least, but for 0.1% that buys short trees. `total`: bytes of the whole
/// data; `passable`: nodes that store, are no terminals, and may forward. They, and all switches,
/// are taken to neither copy nor sum. Nothing when some terminals are not connected, or when stopped.
std::optional<JointRates> joint_rates(const Topology& topology,
                                      const std::vector<NodeId>& terminals,
                                      const IdVector<NodeId, char>& passable, Bytes total,
                                      const StopCondition& stop);

}  // namespace stellwerk
