// The order of ranks on a ring, and the variants of it that share the load between network cards.
#pragma once

#include <vector>

#include "stellwerk/plan/router.hpp"

namespace stellwerk {

/// Ranks in ring order: each sends to the next, the last to the first.
using RingOrder = std::vector<NodeId>;

/// The rings that data is dealt out to in equal shares, one or more. `bytes` is the size of the
/// chunks that will travel. Precondition: every rank reaches every other.
std::vector<RingOrder> ring_orders(const Topology& topology, const std::vector<NodeId>& ranks,
                                   Bytes bytes, Router& router);

/// The first of them.
RingOrder ring_order(const Topology& topology, const std::vector<NodeId>& ranks, Bytes bytes,
                     Router& router);

}  // namespace stellwerk
