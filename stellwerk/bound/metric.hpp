// Bounds for demands without useful copies: kind `metric` of docs/certificates.md.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stellwerk/base/stop.hpp"
#include "stellwerk/bound/best.hpp"
#include "stellwerk/bound/images.hpp"
#include "stellwerk/bound/network.hpp"

namespace stellwerk::bound {

/// The bound that lengths (one a link, none negative) prove; none if it is nothing. Precondition:
/// the problem's symmetry maps links to links of the same length.
std::optional<Time> metric_value(const std::vector<std::int64_t>& lengths, const Network& network,
                                 const Images& images);

/// Offers lengths from a routing that evens out the load of the links and, where that leaves a gap
/// and the network is small, from the dual of the maximum-concurrent-flow program. Does nothing for
/// demands that consist of copies and sums.
void search_metric(const Network& network, const Images& images, const StopCondition& stop,
                   Best& best);

}  // namespace stellwerk::bound
