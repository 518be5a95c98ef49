// Breadth first from one node of every orbit, over sequences of link orbits. A switch or
// destination is kept at the end of a sequence only if no shorter sequence reaches it with as much
// capacity; so no path passes a node twice. Linear in the sequences kept times the links that leave
// their ends. Test: symmetric_test.cpp.
#include "stellwerk/plan/symmetric_lanes.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace stellwerk::symmetric {
namespace {

/// The end of one path over a sequence.
struct Head {
  NodeId node;
  LinkId by;
  std::size_t before;  ///< in the heads of the sequence without its last orbit
};

/// A sequence of orbits that ends at switches.
struct Prefix {
  std::vector<std::uint32_t> orbits;
  std::int64_t width = std::numeric_limits<std::int64_t>::max();
  std::size_t before = 0;  ///< the sequence without its last orbit
  std::vector<Head> heads;
};

/// The widest paths to a node with fewer links than the sequences at hand, and with as many.
struct Reached {
  std::size_t length = 0;
  std::int64_t shorter = 0;
  std::int64_t widest = 0;
};

}  // namespace

Lanes::Lanes(const Quotient& quotient, std::size_t max_links, std::size_t max_lanes)
    : quotient_(quotient), from_(quotient.node_orbits()), last_(quotient.link_orbits(), -1) {
  const Topology& topology = quotient.topology();
  std::vector<char> seen(quotient.node_orbits(), 0);
  for (const NodeId id : topology.node_ids()) {
    if (!topology.stores(id) || seen[quotient.orbit(id)] != 0) continue;
    seen[quotient.orbit(id)] = 1;
    enumerate(id, max_links, max_lanes);
  }
}

void Lanes::enumerate(NodeId tail, std::size_t max_links, std::size_t max_lanes) {
  const Topology& topology = quotient_.topology();
  std::vector<std::size_t>& mine = from_[quotient_.orbit(tail)];
  std::vector<Reached> reached(topology.nodes().size());
  // Is a path of this length and width worth having? Notes it.
  const auto useful = [&](NodeId node, std::size_t length, std::int64_t width) {
    if (node == tail) return false;
    Reached& r = reached[node.index()];
    if (r.length < length) {
      r.shorter = r.widest;
      r.length = length;
    }
    if (width <= r.shorter) return false;
    r.widest = std::max(r.widest, width);
    return true;
  };
  std::vector<Prefix> prefixes(1);
  prefixes[0].heads.push_back({tail, LinkId(), 0});
  std::size_t begin = 0;
  for (std::size_t length = 1; length <= max_links && begin < prefixes.size(); ++length) {
    const std::size_t end = prefixes.size();
    for (std::size_t p = begin; p < end && mine.size() < max_lanes; ++p) {
      std::map<std::uint32_t, std::pair<Prefix, Head>> longer;  // by orbit; with one destination
      for (std::size_t h = 0; h < prefixes[p].heads.size(); ++h) {
        for (const std::size_t port : quotient_.ports_out(prefixes[p].heads[h].node)) {
          for (const LinkId id : quotient_.links(port)) {
            const std::uint32_t orbit = quotient_.orbit(id);
            const std::int64_t width =
                std::min(prefixes[p].width, quotient_.capacity(static_cast<int>(orbit)));
            const NodeId head = topology.link(id).to;
            if (!useful(head, length, width)) continue;
            auto& [next, destination] = longer[orbit];
            next.width = width;
            if (topology.stores(head)) {
              if (!destination.node.valid()) destination = {head, id, h};
              continue;
            }
            next.heads.push_back({head, id, h});
          }
        }
      }
      for (auto& [orbit, found] : longer) {
        auto& [next, destination] = found;
        next.orbits = prefixes[p].orbits;
        next.orbits.push_back(orbit);
        next.before = p;
        if (destination.node.valid()) {
          Lane lane{quotient_.orbit(tail), next.orbits, {}, intern(next.orbits), false};
          std::size_t prefix = p;
          for (Head at = destination; at.by.valid(); prefix = prefixes[prefix].before) {
            lane.example.push_back(at.by);
            at = prefixes[prefix].heads[at.before];
            lane.multicast = lane.multicast || topology.node(at.node).multicast;
          }
          std::reverse(lane.example.begin(), lane.example.end());
          mine.push_back(lanes_.size());
          lanes_.push_back(std::move(lane));
        }
        if (next.heads.empty()) continue;
        const auto by_node = [](const Head& a, const Head& b) { return a.node < b.node; };
        const auto same_node = [](const Head& a, const Head& b) { return a.node == b.node; };
        std::stable_sort(next.heads.begin(), next.heads.end(), by_node);
        next.heads.erase(std::unique(next.heads.begin(), next.heads.end(), same_node),
                         next.heads.end());
        prefixes.push_back(std::move(next));
      }
    }
    begin = end;
  }
}

int Lanes::intern(std::span<const std::uint32_t> orbits) {
  int id = -1;
  for (std::size_t i = orbits.size(); i > 0; --i) {
    const std::uint32_t orbit = orbits[i - 1];
    const auto found = [&]() -> int {
      if (id < 0) return last_[orbit];
      for (const int longer : longer_[static_cast<std::size_t>(id)]) {
        if (suffix(longer).orbit == orbit) return longer;
      }
      return -1;
    }();
    if (found >= 0) {
      id = found;
      continue;
    }
    const int fresh = static_cast<int>(suffixes_.size());
    suffixes_.push_back({orbit, id, states_});
    longer_.emplace_back();
    states_ += quotient_.first_port(orbit + 1) - quotient_.first_port(orbit);
    if (id < 0) {
      last_[orbit] = fresh;
    } else {
      longer_[static_cast<std::size_t>(id)].push_back(fresh);
    }
    id = fresh;
  }
  return id;
}

}  // namespace stellwerk::symmetric
