// The quotient of a network by a symmetry: what a send shares with the images of all others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stellwerk/core/symmetry.hpp"
#include "stellwerk/core/topology.hpp"

namespace stellwerk::symmetric {

/// One claim of a send: `amount` of a resource during [start + offset, start + offset + duration of
/// the send).
struct Use {
  int resource;
  std::int64_t offset;  ///< ps
  std::int64_t amount;  ///< bytes/s, or a number of multicast groups
  std::int64_t room;    ///< what must be free: more than `amount` where the send claims it twice

  friend bool operator==(const Use&, const Use&) = default;
};

/// A send apart from its place: what it claims, for how long, and when it arrives.
struct Shape {
  std::vector<Use> uses;
  std::int64_t rate = 0;      ///< bytes/s
  std::int64_t duration = 0;  ///< ps
  std::int64_t span = 0;      ///< ps from the start to the last arrival
};

/// The same claims with time running backwards.
void mirror(Shape& shape);

/// Link orbits and limited nodes as resources. A send of a representative chunk over a link claims
/// its rate of the link's orbit; the images of one orbit's links together must not exceed
/// bandwidth * |orbit| / |group|, which is the bandwidth over the number of elements that fix a
/// link (symmetric.cpp has the theorem). Refers to topology and orbits, which must outlive it.
class Quotient {
 public:
  /// `turned`: `topology` is the reverse of the one that `orbits` belong to. Resources then have the
  /// numbers that they have in the quotient of that one.
  Quotient(const Topology& topology, const Orbits& orbits, bool turned = false);

  const Topology& topology() const { return topology_; }
  std::uint32_t orbit(NodeId node) const { return orbits_.node[node]; }
  std::uint32_t orbit(LinkId link) const { return orbits_.link[link]; }
  std::size_t node_orbits() const { return orbits_.node_size.size(); }
  std::size_t link_orbits() const { return orbits_.link_size.size(); }

  /// Resources are link orbits (same numbers), then injection, ejection and groups of node orbits.
  std::size_t resources() const { return capacity_.size(); }
  std::int64_t capacity(int resource) const {
    return capacity_[static_cast<std::size_t>(resource)];
  }

  /// Of the links of an orbit; 0 for other resources.
  std::int64_t latency(int resource) const { return latency_[static_cast<std::size_t>(resource)]; }

  /// The claim of a send over `links` (a tree as in core/send.hpp) at the highest rate that all of
  /// it allows by itself. Precondition: all leaves are equally far by latency.
  Shape shape(std::span<const LinkId> links, Bytes bytes) const;

  /// Whether the resources suffice for it at any time.
  bool possible(const Shape& shape) const;

  // A port is what leaves one node over links of one orbit. Ports are numbered by orbit, then node.
  std::size_t ports() const { return port_begin_.size() - 1; }
  std::span<const LinkId> links(std::size_t port) const {
    return std::span(by_port_).subspan(port_begin_[port],
                                       port_begin_[port + 1] - port_begin_[port]);
  }
  std::size_t first_port(std::uint32_t link_orbit) const { return first_port_[link_orbit]; }
  std::size_t port(LinkId link) const { return port_of_[link]; }
  /// Ports of a node, by link orbit.
  std::span<const std::size_t> ports_out(NodeId node) const;
  /// Precondition: some link of that orbit leaves the node.
  std::size_t port(NodeId node, std::uint32_t link_orbit) const;

 private:
  bool groups_only(int resource) const {
    return counts_groups_[static_cast<std::size_t>(resource)] != 0;
  }

  const Topology& topology_;
  const Orbits& orbits_;
  std::vector<std::int64_t> capacity_, latency_;    // by resource
  std::vector<char> counts_groups_;                 // by resource
  std::vector<int> injection_, ejection_, groups_;  // by node orbit; -1: no limit
  std::vector<LinkId> by_port_;
  std::vector<std::size_t> port_begin_, first_port_;
  IdVector<LinkId, std::size_t> port_of_;
  std::vector<std::size_t> node_ports_, node_ports_begin_;
};

}  // namespace stellwerk::symmetric
