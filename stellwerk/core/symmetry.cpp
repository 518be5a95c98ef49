#include "stellwerk/core/symmetry.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <tuple>

namespace stellwerk {
namespace {

/// Disjoint sets of positions; the root of a set is its smallest member.
class Classes {
 public:
  explicit Classes(std::size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), std::uint32_t{0});
  }
  std::uint32_t find(std::uint32_t x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  void merge(std::size_t a, std::size_t b) {
    const std::uint32_t x = find(static_cast<std::uint32_t>(a));
    const std::uint32_t y = find(static_cast<std::uint32_t>(b));
    parent_[std::max(x, y)] = std::min(x, y);
  }
  /// Numbers the classes; `size` gets their sizes.
  template <class Vector>
  void number(Vector& label, std::vector<std::int64_t>& size) {
    label.resize(parent_.size());
    std::vector<std::uint32_t> of_root(parent_.size());
    auto out = label.begin();
    for (std::uint32_t i = 0; i < parent_.size(); ++i, ++out) {
      const std::uint32_t root = find(i);
      if (root == i) {
        of_root[i] = static_cast<std::uint32_t>(size.size());
        size.push_back(0);
      }
      *out = of_root[root];
      ++size[of_root[root]];
    }
  }

 private:
  std::vector<std::uint32_t> parent_;
};

/// What an automorphism must keep; labels do not matter.
auto traits(const Node& node) {
  return std::tie(node.kind, node.multicast, node.reduce, node.max_groups, node.buffer,
                  node.injection, node.ejection);
}

}  // namespace

LinkImages::LinkImages(const Topology& topology)
    : topology_(topology),
      begin_(topology.nodes().size() + 1, 0),
      place_(topology.links().size(), 0) {
  sorted_.reserve(topology.links().size());
  for (const NodeId node : topology.node_ids()) {
    begin_[node.index()] = sorted_.size();
    const auto out = topology.out(node);
    sorted_.insert(sorted_.end(), out.begin(), out.end());
    const auto first = sorted_.begin() + static_cast<std::ptrdiff_t>(begin_[node.index()]);
    std::sort(first, sorted_.end(), [&](LinkId a, LinkId b) {
      const Link& x = topology.link(a);
      const Link& y = topology.link(b);
      return std::tie(x.to, x.latency, x.bandwidth, a) < std::tie(y.to, y.latency, y.bandwidth, b);
    });
    for (std::size_t i = begin_[node.index()] + 1; i < sorted_.size(); ++i) {
      if (topology.link(sorted_[i]).to == topology.link(sorted_[i - 1]).to) {
        place_[sorted_[i]] = place_[sorted_[i - 1]] + 1;
      }
    }
  }
  begin_.back() = sorted_.size();
}

LinkId LinkImages::image(LinkId id, const Permutation& g) const {
  const Link& link = topology_.link(id);
  const NodeId from = g[link.from.index()];
  const NodeId to = g[link.to.index()];
  const auto first = sorted_.begin() + static_cast<std::ptrdiff_t>(begin_[from.index()]);
  const auto last = sorted_.begin() + static_cast<std::ptrdiff_t>(begin_[from.index() + 1]);
  const auto found = std::partition_point(
      first, last, [&](LinkId other) { return topology_.link(other).to < to; });
  if (static_cast<std::size_t>(last - found) <= place_[id]) return {};
  const LinkId image = found[static_cast<std::ptrdiff_t>(place_[id])];
  return topology_.link(image).to == to ? image : LinkId{};
}

bool LinkImages::automorphism(const Permutation& g) const {
  for (const NodeId id : topology_.node_ids()) {
    const NodeId other = g[id.index()];
    if (traits(topology_.node(id)) != traits(topology_.node(other)) ||
        topology_.out(id).size() != topology_.out(other).size()) {
      return false;
    }
  }
  // As many links leave every node as leave its image, so an injection is enough; and places keep
  // the images of parallel links apart.
  for (const LinkId id : topology_.link_ids()) {
    const LinkId other = image(id, g);
    if (!other.valid()) return false;
    const Link& x = topology_.link(id);
    const Link& y = topology_.link(other);
    if (x.latency != y.latency || x.bandwidth != y.bandwidth) return false;
  }
  return true;
}

Orbits find_orbits(const Topology& topology, const Symmetry& symmetry,
                   const std::vector<NodeId>& ranks) {
  assert(!ranks.empty());
  Classes nodes(topology.nodes().size());
  Classes links(topology.links().size());
  if (!symmetry.trivial()) {
    const LinkImages images(topology);
    for (const Permutation& g : symmetry.generators) {
      for (std::size_t i = 0; i < g.size(); ++i) nodes.merge(i, g[i].index());
      for (const LinkId id : topology.link_ids()) {
        const LinkId image = images.image(id, g);
        assert(image.valid());
        links.merge(id.index(), image.index());
      }
    }
  }
  Orbits result;
  nodes.number(result.node, result.node_size);
  links.number(result.link, result.link_size);
  result.order = result.node_size[result.node[ranks.front()]];
  return result;
}

}  // namespace stellwerk
