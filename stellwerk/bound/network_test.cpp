#include "stellwerk/bound/network.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/brute_force.hpp"

namespace stellwerk::bound {
namespace {

/// Least time of one whole chunk from `at`, by trying all ways: `rate` is the slowest link of the
/// hop under way (0: none), and a storing node is passed at most once.
class AllWays {
 public:
  AllWays(const Topology& topology, Bytes bytes) : topology_(topology), bytes_(bytes) {}

  std::vector<std::int64_t> from(NodeId start) {
    best_.assign(topology_.nodes().size(), graph::kUnreachable);
    passed_.assign(topology_.nodes().size(), false);
    visit(start, 0, 0);
    return best_;
  }

 private:
  void visit(NodeId node, std::int64_t time, std::int64_t rate) {
    if (topology_.stores(node)) {
      if (rate > 0) time += transmission_time(bytes_, Bandwidth{rate}).ps;
      best_[node.index()] = std::min(best_[node.index()], time);
      rate = 0;
    }
    passed_[node.index()] = true;
    for (const LinkId id : topology_.out(node)) {
      const Link& link = topology_.link(id);
      if (passed_[link.to.index()]) continue;
      const std::int64_t slowest = rate == 0 ? link.bandwidth.bytes_per_second
                                             : std::min(rate, link.bandwidth.bytes_per_second);
      visit(link.to, time + link.latency.ps, slowest);
    }
    passed_[node.index()] = false;
  }

  const Topology& topology_;
  Bytes bytes_;
  std::vector<std::int64_t> best_;
  std::vector<bool> passed_;
};

Topology random_network(Rng& rng) {
  const std::int64_t n = rng.between(2, 6);
  IdVector<NodeId, Node> nodes;
  for (std::int64_t v = 0; v < n; ++v) {
    Node node;
    node.name = "n" + std::to_string(v);
    if (v > 0 && rng.below(2) == 0) node.kind = NodeKind::switch_;
    nodes.push_back(node);
  }
  IdVector<LinkId, Link> links;
  for (std::int64_t i = rng.between(1, 14); i > 0; --i) {
    const NodeId from(static_cast<std::size_t>(rng.below(static_cast<std::uint64_t>(n))));
    const NodeId to(static_cast<std::size_t>(rng.below(static_cast<std::uint64_t>(n))));
    if (from == to) continue;
    links.push_back({from, to, Time{rng.between(0, 5) * 100'000},
                     Bandwidth{rng.between(1, 4) * 7'000'000'000}, ""});
  }
  return Topology("random", "", std::move(nodes), std::move(links));
}

TEST(WholeChunkTimes, EqualTheBestOfAllWays) {
  Rng rng(21);
  for (int round = 0; round < 2000; ++round) {
    const Topology topology = random_network(rng);
    const Network network(topology);
    const Bytes bytes{rng.between(1, 20'000)};
    const WholeChunkTimes times(network, bytes);
    AllWays all(topology, bytes);
    for (const NodeId source : topology.node_ids()) {
      if (!topology.stores(source)) continue;
      const std::vector<std::int64_t> expected = all.from(source);
      const std::vector<std::int64_t>& first = times.first(source);
      for (const NodeId target : topology.node_ids()) {
        if (!topology.stores(target)) continue;
        ASSERT_EQ(first[target.index()], expected[target.index()]);
        ASSERT_EQ(times.last(target)[source.index()], expected[target.index()]);
      }
    }
  }
}

TEST(WholeChunkTimes, GoOverSwitchesAtTheSpeedOfTheSlowestLink) {
  // gpu 0 -(10 GB/s)-> switch 1 -(40 GB/s)-> gpu 2, and a slower direct link.
  IdVector<NodeId, Node> nodes(3);
  for (std::size_t v = 0; v < 3; ++v) nodes[NodeId(v)].name = "n" + std::to_string(v);
  nodes[NodeId(1)].kind = NodeKind::switch_;
  IdVector<LinkId, Link> links;
  links.push_back({NodeId(0), NodeId(1), Time{100}, Bandwidth{10'000'000'000}, ""});
  links.push_back({NodeId(1), NodeId(2), Time{50}, Bandwidth{40'000'000'000}, ""});
  links.push_back({NodeId(0), NodeId(2), Time{10}, Bandwidth{5'000'000'000}, ""});
  const Topology topology("star", "", std::move(nodes), std::move(links));
  const Network network(topology);
  const WholeChunkTimes times(network, Bytes{1000});
  ASSERT_EQ(network.bandwidths(),
            (std::vector<std::int64_t>{5'000'000'000, 10'000'000'000, 40'000'000'000}));
  EXPECT_EQ(times.first(NodeId(0))[2], 100'000 + 150);
  EXPECT_EQ(times.first(NodeId(0))[0 * 3 + 1], 100);  // the first byte at the switch
  EXPECT_EQ(times.first(NodeId(0))[2 * 3 + 1], graph::kUnreachable);  // not at 40 GB/s
  EXPECT_EQ(times.last(NodeId(2))[2 * 3 + 1], 50);
  EXPECT_EQ(network.to(NodeId(2))[0], 10);  // by latency alone
}

}  // namespace
}  // namespace stellwerk::bound
