#include "stellwerk/plan/routes.hpp"

#include <gtest/gtest.h>

#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

using testing::kGb;
using testing::kNs;
using testing::Network;

std::vector<Hop> hops(const Routes& routes, NodeId from, NodeId to) {
  std::vector<Hop> result;
  for (const HopId id : routes.out(from)) {
    if (routes.hop(id).to == to) result.push_back(routes.hop(id));
  }
  return result;
}

TEST(Routes, AHopPassesSwitchesButNoGpu) {
  Network network;
  const NodeId a = network.gpu(), b = network.gpu(), c = network.gpu();
  const NodeId s = network.switch_node(), t = network.switch_node();
  network.link(a, s, 4, Time{100 * kNs});
  network.link(s, t, 2, Time{200 * kNs});
  network.link(t, b, 3, Time{300 * kNs});
  network.link(b, c);
  const Topology topology = network.topology();
  const Routes routes(topology);
  EXPECT_EQ(routes.size(), 2U);
  ASSERT_EQ(hops(routes, a, b).size(), 1U);
  const Hop hop = hops(routes, a, b).front();
  EXPECT_EQ(hop.links, (std::vector{LinkId(0), LinkId(1), LinkId(2)}));
  EXPECT_EQ(hop.latency, Time{600 * kNs});
  EXPECT_EQ(hop.bandwidth, Bandwidth{2 * kGb});
  EXPECT_TRUE(hops(routes, a, c).empty());
  EXPECT_EQ(routes.in(b).size(), 1U);
}

TEST(Routes, AlternativesAreSortedByLinksThenBandwidthThenLatency) {
  Network network;
  const NodeId a = network.gpu(), b = network.gpu();
  const NodeId s = network.switch_node(), t = network.switch_node(), u = network.switch_node();
  network.link(a, s, 1), network.link(s, b, 1);                 // 0, 1: narrow
  network.link(a, t, 2), network.link(t, b, 2, Time{5 * kNs});  // 2, 3: wide, some latency
  network.link(a, u, 2), network.link(u, b, 2);                 // 4, 5: wide
  network.link(a, b, 1);                                        // 6: one link
  const Topology topology = network.topology();
  const std::vector<Hop> found = hops(Routes(topology), a, b);
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].links, (std::vector{LinkId(6)}));
  EXPECT_EQ(found[1].links, (std::vector{LinkId(4), LinkId(5)}));
  EXPECT_EQ(found[2].links, (std::vector{LinkId(2), LinkId(3)}));
  EXPECT_EQ(found[3].links, (std::vector{LinkId(0), LinkId(1)}));
  EXPECT_EQ(hops(Routes(topology, 8, 2), a, b).size(), 2U);
  EXPECT_EQ(hops(Routes(topology, 1, 16), a, b).size(), 1U);
}

TEST(Routes, AHopIsNoFasterThanWhatItsEndsPutInAndTakeOut) {
  Network network = testing::star(3);
  network.nodes[NodeId(0)].injection = Bandwidth{kGb / 2};
  network.nodes[NodeId(1)].ejection = Bandwidth{kGb / 4};
  const Topology topology = network.topology();
  const Routes routes(topology);
  EXPECT_EQ(hops(routes, NodeId(0), NodeId(2)).front().bandwidth, Bandwidth{kGb / 2});
  EXPECT_EQ(hops(routes, NodeId(0), NodeId(1)).front().bandwidth, Bandwidth{kGb / 4});
  EXPECT_EQ(hops(routes, NodeId(1), NodeId(0)).front().bandwidth, Bandwidth{kGb});
}

class RoutesPath : public ::testing::Test {
 protected:
  // a to d: by b, slow but near; by c, wide but far.
  RoutesPath() {
    const NodeId a = network.gpu(), b = network.gpu(), c = network.gpu(), d = network.gpu();
    network.link(a, b, 1, Time{kNs}), network.link(b, d, 1, Time{kNs});
    network.link(a, c, 10, Time{500 * kNs}), network.link(c, d, 10, Time{500 * kNs});
  }
  std::vector<NodeId> stops(const std::vector<NodeId>& sources, Bytes bytes,
                            const std::vector<int>& forbidden = {}) const {
    const Topology topology = network.topology();
    const Routes routes(topology);
    IdVector<NodeId, char> allowed(topology.nodes().size(), 1);
    for (const int node : forbidden) allowed[NodeId(node)] = 0;
    std::vector<NodeId> result;
    for (const HopId hop : routes.path(sources, NodeId(3), bytes, allowed)) {
      result.push_back(routes.hop(hop).to);
    }
    return result;
  }
  Network network;
};

TEST_F(RoutesPath, DependsOnTheSize) {
  EXPECT_EQ(stops({NodeId(0)}, Bytes{8}), testing::nodes({1, 3}));
  EXPECT_EQ(stops({NodeId(0)}, Bytes{100000}), testing::nodes({2, 3}));
}
TEST_F(RoutesPath, PassesAllowedNodesOnly) {
  EXPECT_EQ(stops({NodeId(0)}, Bytes{8}, {1}), testing::nodes({2, 3}));
  EXPECT_TRUE(stops({NodeId(0)}, Bytes{8}, {1, 2}).empty());
  EXPECT_EQ(stops({NodeId(0)}, Bytes{8}, {0, 3}), testing::nodes({1, 3}));  // ends excepted
}
TEST_F(RoutesPath, StartsAtTheNearestSource) {
  EXPECT_EQ(stops({NodeId(0), NodeId(2)}, Bytes{100000}), testing::nodes({3}));
  EXPECT_TRUE(stops({NodeId(3)}, Bytes{8}).empty());  // there already
}

}  // namespace
}  // namespace stellwerk
