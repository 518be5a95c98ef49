// The few sets of nodes whose cuts are most likely to bind, at any size.
#pragma once

#include <optional>
#include <vector>

#include "stellwerk/base/stop.hpp"
#include "stellwerk/bound/images.hpp"

namespace stellwerk::bound {

struct MainSet {
  NodeSet set;
  std::optional<NodeId> target;  ///< where it was made for one
  double seconds = 0;            ///< bytes that must enter over the bandwidth in
};

/// Hosts, racks, clusters of fast links, neighbourhoods of switches, GPUs, their complements, and
/// minimum cuts for some of `representatives`; the ones that ask for most time, longest first, no
/// set twice and few of many that are alike.
std::vector<MainSet> main_sets(const Network& network, const Images& images,
                               const std::vector<NodeId>& representatives,
                               const StopCondition& stop);

}  // namespace stellwerk::bound
