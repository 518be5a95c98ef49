// The order of ranks on a ring, and the variants of it that share the load between network cards.
#pragma once

#include <vector>

#include "stellwerk/plan/path_tree.hpp"

namespace stellwerk {

/// Ranks in ring order: each sends to the next, the last to the first.
using RingOrder = std::vector<NodeId>;

/// Orders the job's ranks into rings; all of them cost the same, the first is the one that was
/// searched for. `bytes` is the size of the chunks that will travel. Precondition: every rank
/// reaches every other.
std::vector<RingOrder> ring_orders(const Problem& problem, JobId job, Bytes bytes,
                                   PathFinder& paths);

}  // namespace stellwerk
