// Symmetries: permutations of the nodes under which the topology and the jobs look the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stellwerk/base/ids.hpp"
#include "stellwerk/core/topology.hpp"

namespace stellwerk {

/// A permutation of the nodes: the image of node i is at [i].
using Permutation = std::vector<NodeId>;

/// A group of automorphisms of topology and jobs, by its generators. It acts freely on the jobs'
/// ranks: no element but the identity maps a rank to itself (other nodes may stay).
struct Symmetry {
  std::vector<Permutation> generators;

  bool trivial() const { return generators.empty(); }
  friend bool operator==(const Symmetry&, const Symmetry&) = default;
};

/// Where a permutation of the nodes sends links. Parallel links are told apart by their place among
/// the links with the same ends, ordered by latency, bandwidth and number: the k-th of them goes to
/// the k-th between the images of the ends. Refers to the topology, which must outlive it.
class LinkImages {
 public:
  explicit LinkImages(const Topology& topology);

  /// An invalid id if there is no such link. Time logarithmic in the degree of the tail.
  LinkId image(LinkId id, const Permutation& g) const;

  /// Whether `g` maps every link to one of the same latency and bandwidth, and every node to one of
  /// the same kind, capabilities and limits. Precondition: a permutation of all nodes.
  bool automorphism(const Permutation& g) const;

 private:
  const Topology& topology_;
  std::vector<LinkId> sorted_;  // by tail, head, latency, bandwidth, number
  std::vector<std::size_t> begin_;
  IdVector<LinkId, std::size_t> place_;
};

/// The classes of nodes and of links that a symmetry maps to each other, numbered in the order of
/// their smallest members.
struct Orbits {
  IdVector<NodeId, std::uint32_t> node;
  IdVector<LinkId, std::uint32_t> link;
  std::vector<std::int64_t> node_size;
  std::vector<std::int64_t> link_size;
  std::int64_t order = 1;  ///< of the group: the size of every rank's orbit
};

/// Precondition: the symmetry is one of the topology and acts freely on `ranks` (not empty).
/// Time (generators * (nodes + links) * log(degree)).
Orbits find_orbits(const Topology& topology, const Symmetry& symmetry,
                   const std::vector<NodeId>& ranks);

}  // namespace stellwerk
