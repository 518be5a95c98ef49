// The order of ranks on a ring, and the variants of it that share the load between network cards.
#pragma once

#include <vector>

#include "stellwerk/plan/path_tree.hpp"

namespace stellwerk {

/// Ranks in ring order: each sends to the next, the last to the first.
using RingOrder = std::vector<NodeId>;

/// The rings that a job's data is dealt out to in equal shares, one or more. `bytes` is the size of
/// the chunks that will travel. Precondition: every rank reaches every other.
std::vector<RingOrder> ring_orders(const Problem& problem, JobId job, Bytes bytes,
                                   PathFinder& paths, const Routes& routes);

}  // namespace stellwerk
