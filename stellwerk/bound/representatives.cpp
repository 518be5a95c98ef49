// Problem: a flow or a shortest-path search for each of a thousand GPUs costs a second; on most
// fabrics they are all the same but for the surroundings of what is broken. Idea: a few rounds of
// colour refinement (Weisfeiler and Leman 1968): nodes get the colour of their kind and demand,
// then, round by round, of the colours that their links lead to and come from; one node of each
// colour stands for all. Guarantee: none is needed, since representatives only say where to look
// for bounds. Cost: links * rounds. Held to its word by main_cuts_test.cpp.
#include "stellwerk/bound/representatives.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace stellwerk::bound {
namespace {

constexpr int kRounds = 4;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = a * 0x9e3779b97f4a7c15ULL + b + 0x632be59bd9b4e019ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

std::uint64_t number(std::int64_t value) { return static_cast<std::uint64_t>(value); }

/// What a node wants and holds in all.
struct Share {
  std::int64_t wanted = 0, held = 0, pieces = 0;
};

Share share_of(NodeId node, const Images& images) {
  Share share;
  const Demand& demand = images.demand();
  images.for_each_wanted(node, [&](std::size_t i, const Element&, std::int64_t count) {
    share.wanted += demand.block(i).bytes * count;
    ++share.pieces;
  });
  images.for_each_held(node, [&](std::size_t i, const Element&, std::int64_t count) {
    share.held += demand.block(i).bytes * count;
    ++share.pieces;
  });
  return share;
}

std::vector<std::uint64_t> refined_colours(const Topology& topology,
                                           const IdVector<NodeId, Share>& shares) {
  std::vector<std::uint64_t> colour(topology.nodes().size());
  for (const NodeId node : topology.node_ids()) {
    const Share& share = shares[node];
    colour[node.index()] =
        mix(mix(number(share.wanted), number(share.held)),
            mix(number(share.pieces), static_cast<std::uint64_t>(topology.node(node).kind)));
  }
  std::vector<std::uint64_t> next(colour.size());
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t v = 0; v < next.size(); ++v) next[v] = mix(1, colour[v]);
    for (const Link& link : topology.links()) {
      const std::uint64_t wire =
          mix(number(link.latency.ps), number(link.bandwidth.bytes_per_second));
      // Sums do not depend on the order of links.
      next[link.from.index()] += mix(mix(2, wire), colour[link.to.index()]);
      next[link.to.index()] += mix(mix(3, wire), colour[link.from.index()]);
    }
    colour.swap(next);
  }
  return colour;
}

}  // namespace

std::vector<NodeId> representatives(const Network& network, const Images& images) {
  const Topology& topology = network.topology();
  IdVector<NodeId, Share> shares(topology.nodes().size());
  for (const NodeId node : images.bases()) shares[node] = share_of(node, images);
  struct Class {
    NodeId first;
    std::int64_t size = 0;
  };
  std::vector<Class> classes;
  if (images.compressed()) {
    for (const NodeId base : images.bases()) classes.push_back({base, images.order()});
  } else {
    const std::vector<std::uint64_t> colour = refined_colours(topology, shares);
    std::map<std::uint64_t, std::size_t> known;
    for (const NodeId node : images.bases()) {
      const auto [place, fresh] = known.try_emplace(colour[node.index()], classes.size());
      if (fresh) classes.push_back({node, 0});
      ++classes[place->second].size;
    }
  }
  const auto seconds = [&](NodeId node) {
    double in = 0, out = 0;
    for (const LinkId id : topology.in(node)) {
      in += static_cast<double>(topology.link(id).bandwidth.bytes_per_second);
    }
    for (const LinkId id : topology.out(node)) {
      out += static_cast<double>(topology.link(id).bandwidth.bytes_per_second);
    }
    const Share& share = shares[node];
    return std::max(in > 0 ? static_cast<double>(share.wanted) / in : 0,
                    out > 0 ? static_cast<double>(share.held) / out : 0);
  };
  std::vector<std::tuple<double, std::int64_t, NodeId>> order;
  for (const Class& c : classes) order.emplace_back(-seconds(c.first), c.size, c.first);
  std::sort(order.begin(), order.end());
  std::vector<NodeId> result;
  for (const auto& [key, size, node] : order) result.push_back(node);
  return result;
}

}  // namespace stellwerk::bound
