// Bounds for sums that many want: kinds `partition` and `gossip` of docs/certificates.md.
#pragma once

#include <optional>

#include "stellwerk/bound/best.hpp"
#include "stellwerk/bound/images.hpp"
#include "stellwerk/bound/network.hpp"

namespace stellwerk::bound {

/// The bound of a `partition` or a `gossip`; none if it proves nothing, or if images of a chunk would
/// have to be counted one by one. Precondition: its parts are well-formed.
std::optional<Time> partition_value(const Certificate& certificate, const Network& network,
                                    const Images& images);

/// Offers the partitions into single GPUs, hosts, racks and clusters of fast links. Does nothing
/// unless some sum is wanted by several.
void search_partitions(const Network& network, const Images& images, Best& best);

}  // namespace stellwerk::bound
