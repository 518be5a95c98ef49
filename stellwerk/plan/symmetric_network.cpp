#include "stellwerk/plan/symmetric_network.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <tuple>

#include "stellwerk/base/wide.hpp"

namespace stellwerk::symmetric {
namespace {

/// The share of each image: |orbit| things of size `whole` serve |group| images.
std::int64_t share(std::int64_t whole, std::int64_t orbit, std::int64_t order) {
  return static_cast<std::int64_t>(Int128{whole} * orbit / order);
}

}  // namespace

void mirror(Shape& shape) {
  for (Use& use : shape.uses) use.offset = shape.span - use.offset - shape.duration;
}

Quotient::Quotient(const Topology& topology, const Orbits& orbits, bool turned)
    : topology_(topology),
      orbits_(orbits),
      capacity_(orbits.link_size.size(), 0),
      latency_(orbits.link_size.size(), 0),
      counts_groups_(orbits.link_size.size(), 0),
      injection_(orbits.node_size.size(), -1),
      ejection_(orbits.node_size.size(), -1),
      groups_(orbits.node_size.size(), -1),
      by_port_(topology.links().size()),
      port_of_(topology.links().size()) {
  for (const LinkId id : topology.link_ids()) {
    const std::uint32_t o = orbit(id);
    latency_[o] = topology.link(id).latency.ps;
    capacity_[o] =
        share(topology.link(id).bandwidth.bytes_per_second, orbits.link_size[o], orbits.order);
  }
  std::vector<NodeId> examples(orbits.node_size.size());
  for (const NodeId id : topology.node_ids()) {
    if (!examples[orbit(id)].valid()) examples[orbit(id)] = id;
  }
  const auto limit = [&](std::vector<int>& number, std::size_t o, std::int64_t amount) {
    number[o] = static_cast<int>(capacity_.size());
    capacity_.push_back(share(amount, orbits.node_size[o], orbits.order));
    latency_.push_back(0);
    counts_groups_.push_back(0);
  };
  for (std::size_t o = 0; o < examples.size(); ++o) {
    const Node& node = topology.node(examples[o]);
    for (const bool in : {turned, !turned}) {
      const auto& cap = in ? node.ejection : node.injection;
      if (cap) limit(in ? ejection_ : injection_, o, cap->bytes_per_second);
    }
  }
  // No network has both these and a reverse with these (core/topology.hpp).
  for (std::size_t o = 0; o < examples.size(); ++o) {
    const Node& node = topology.node(examples[o]);
    if (!node.max_groups) continue;
    limit(groups_, o, *node.max_groups);
    counts_groups_.back() = 1;
  }

  for (std::size_t i = 0; i < by_port_.size(); ++i) by_port_[i] = LinkId(i);
  const auto key = [&](LinkId id) { return std::tuple(orbit(id), topology.link(id).from, id); };
  std::sort(by_port_.begin(), by_port_.end(), [&](LinkId a, LinkId b) { return key(a) < key(b); });
  first_port_.assign(orbits.link_size.size() + 1, 0);
  std::vector<std::size_t> degree(topology.nodes().size() + 1, 0);
  std::vector<NodeId> tail;
  for (std::size_t i = 0; i < by_port_.size(); ++i) {
    const NodeId from = topology.link(by_port_[i]).from;
    const bool same_orbit = i > 0 && orbit(by_port_[i]) == orbit(by_port_[i - 1]);
    if (!same_orbit) first_port_[orbit(by_port_[i])] = tail.size();
    if (!same_orbit || tail.back() != from) {
      port_begin_.push_back(i);
      tail.push_back(from);
      ++degree[from.index() + 1];
    }
    port_of_[by_port_[i]] = tail.size() - 1;
  }
  port_begin_.push_back(by_port_.size());
  first_port_.back() = tail.size();
  std::partial_sum(degree.begin(), degree.end(), degree.begin());
  node_ports_begin_ = degree;
  node_ports_.resize(tail.size());
  std::vector<std::size_t> next = degree;
  for (std::size_t port = 0; port < tail.size(); ++port)
    node_ports_[next[tail[port].index()]++] = port;
}

std::span<const std::size_t> Quotient::ports_out(NodeId node) const {
  const std::size_t begin = node_ports_begin_[node.index()];
  return std::span(node_ports_).subspan(begin, node_ports_begin_[node.index() + 1] - begin);
}

std::size_t Quotient::port(NodeId node, std::uint32_t link_orbit) const {
  const auto all = ports_out(node);
  const auto found = std::lower_bound(all.begin(), all.end(), first_port_[link_orbit]);
  assert(found != all.end() && *found < first_port_[link_orbit + 1]);
  return *found;
}

Shape Quotient::shape(std::span<const LinkId> links, Bytes bytes) const {
  Shape result;
  std::vector<std::pair<NodeId, std::int64_t>> reached;  // heads, with the latency to them
  std::vector<std::pair<NodeId, int>> copies;            // switches, with links out of them
  const auto claim = [&](int resource, std::int64_t offset) {
    for (Use& use : result.uses) {
      if (use.resource == resource && use.offset == offset) {
        ++use.amount;
        return;
      }
    }
    result.uses.push_back({resource, offset, 1, 0});
  };
  for (const LinkId id : links) {
    const Link& link = topology_.link(id);
    std::int64_t entry = 0;
    for (auto at = reached.rbegin(); at != reached.rend(); ++at) {
      if (at->first == link.from) {
        entry = at->second;
        break;
      }
    }
    const std::int64_t arrival = entry + link.latency.ps;
    claim(static_cast<int>(orbit(id)), entry);
    if (topology_.stores(link.from) && injection_[orbit(link.from)] >= 0)
      claim(injection_[orbit(link.from)], entry);
    if (topology_.stores(link.to)) {
      if (ejection_[orbit(link.to)] >= 0) claim(ejection_[orbit(link.to)], arrival);
      result.span = std::max(result.span, arrival);
    } else {
      reached.emplace_back(link.to, arrival);
    }
    if (groups_[orbit(link.from)] >= 0) {
      const auto known = std::find_if(copies.begin(), copies.end(),
                                      [&](const auto& c) { return c.first == link.from; });
      if (known == copies.end()) {
        copies.emplace_back(link.from, 1);
      } else if (++known->second == 2) {
        claim(groups_[orbit(link.from)], entry);
      }
    }
  }
  // Where windows of one resource may overlap, all of them must fit at once.
  std::int64_t rate = INT64_MAX;
  for (Use& use : result.uses) {
    for (const Use& other : result.uses) {
      if (other.resource == use.resource) use.room += other.amount;
    }
    if (!groups_only(use.resource)) rate = std::min(rate, capacity(use.resource) / use.room);
  }
  for (Use& use : result.uses) {
    if (groups_only(use.resource)) continue;
    use.amount *= rate;
    use.room *= rate;
  }
  result.rate = rate;
  if (rate > 0) result.duration = transmission_time(bytes, Bandwidth{rate}).ps;
  result.span += result.duration;
  return result;
}

bool Quotient::possible(const Shape& shape) const {
  return shape.rate > 0 && std::all_of(shape.uses.begin(), shape.uses.end(), [&](const Use& use) {
           return use.room <= capacity(use.resource);
         });
}

}  // namespace stellwerk::symmetric
