// Sets of nodes that belong together by nature, as cuts.
#pragma once

#include <vector>

#include "stellwerk/bound/main_sets.hpp"

namespace stellwerk::bound {

/// Hosts, racks, clusters of fast links, neighbourhoods of switches, GPUs, and their complements: the
/// ones that ask for most time, longest first, few of many that are alike.
std::vector<MainSet> natural_sets(const Network& network, const Images& images,
                                  const std::vector<NodeId>& representatives,
                                  const StopCondition& stop);

}  // namespace stellwerk::bound
