// Lanes: the ways from one GPU or relay through switches to others, up to symmetry.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stellwerk/plan/symmetric_network.hpp"

namespace stellwerk::symmetric {

/// A sequence of link orbits that leads from the nodes of one orbit through switches to GPUs or
/// relays. Sends over one lane claim the same resources at the same offsets, wherever they start.
struct Lane {
  std::uint32_t tail = 0;            ///< node orbit
  std::vector<std::uint32_t> links;  ///< link orbits
  std::vector<LinkId> example;       ///< one path over it
  int suffix = -1;                   ///< in Lanes
  bool multicast = false;            ///< some switch on it copies
};

/// All lanes worth having: for some destination no lane with fewer links is as wide. Lanes share
/// suffixes; what can be reached from a node over a suffix is a *state*, a node of an acyclic graph
/// whose arcs are links. States are numbered 0 .. states() - 1.
class Lanes {
 public:
  /// `max_links`: of a lane; at most `max_lanes` for each node orbit, those with fewest links.
  explicit Lanes(const Quotient& quotient, std::size_t max_links = 8, std::size_t max_lanes = 2000);

  const Lane& lane(std::size_t id) const { return lanes_[id]; }
  std::size_t size() const { return lanes_.size(); }
  /// Lanes that begin at nodes of an orbit.
  std::span<const std::size_t> from(std::uint32_t node_orbit) const { return from_[node_orbit]; }

  /// A link orbit, and what follows it (-1: the end).
  struct Suffix {
    std::uint32_t orbit;
    int next;
    std::size_t first_state;
  };
  const Suffix& suffix(int id) const { return suffixes_[static_cast<std::size_t>(id)]; }
  std::size_t states() const { return states_; }
  /// The state of a port with a suffix that begins with the port's orbit.
  std::size_t state(std::size_t port, int suffix_id) const {
    const Suffix& s = suffix(suffix_id);
    return s.first_state + port - quotient_.first_port(s.orbit);
  }
  /// The suffix that is one link of this orbit; -1 if no lane ends so.
  int last(std::uint32_t link_orbit) const { return last_[link_orbit]; }

 private:
  void enumerate(NodeId tail, std::size_t max_links, std::size_t max_lanes);
  int intern(std::span<const std::uint32_t> orbits);

  const Quotient& quotient_;
  std::vector<Lane> lanes_;
  std::vector<std::vector<std::size_t>> from_;
  std::vector<Suffix> suffixes_;
  std::vector<std::vector<int>> longer_;  // by suffix: those that continue it to the front
  std::vector<int> last_;
  std::size_t states_ = 0;
};

}  // namespace stellwerk::symmetric
