// Clusters: nodes that can pass data around among themselves over links faster than those between
// them.
#pragma once

#include <vector>

#include "stellwerk/core/topology.hpp"
#include "stellwerk/plan/fabrics.hpp"

namespace stellwerk {

/// A partition of the storing nodes. Inside a cluster every node reaches every other over links and
/// switches that are *inner*.
struct Clustering {
  int count = 0;
  IdVector<NodeId, int> of;      ///< cluster of a storing node; -1 for switches
  IdVector<NodeId, char> inner;  ///< switches: joins nodes of one cluster
};

/// The partitions that differ: for a threshold of speed, the strong components over direct links and
/// single switches at least that fast (a switch is as fast as its fastest way in and out). Those
/// with one cluster, or only clusters of one node, are left out; the ones with the largest
/// steps of speed below the threshold come first, at most `most`.
std::vector<Clustering> find_clusterings(const Topology& topology, const Fabrics& fabrics,
                                         std::size_t most = 3);

}  // namespace stellwerk
