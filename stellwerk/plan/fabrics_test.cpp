#include "stellwerk/plan/fabrics.hpp"

#include <gtest/gtest.h>

#include <set>

#include "stellwerk/plan/clusters.hpp"
#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

using testing::kUs;
using testing::Network;

/// Two leaves with two GPUs each, below two spines; GPU links 2us, leaf links 3us.
Network leaf_spine() {
  Network network;
  for (int i = 0; i < 4; ++i) network.gpu();
  const NodeId leaf[2] = {network.switch_node(), network.switch_node()};
  const NodeId spine[2] = {network.switch_node(), network.switch_node()};
  for (int i = 0; i < 4; ++i) network.both(NodeId(i), leaf[i / 2], 1, Time{2 * kUs});
  for (const NodeId l : leaf) {
    for (const NodeId s : spine) network.both(l, s, 1, Time{3 * kUs});
  }
  return network;
}

TEST(Fabrics, AreTheComponentsOfTheSwitches) {
  Network network = leaf_spine();
  network.both(NodeId(0), NodeId(1));
  const NodeId alone = network.switch_node();
  const LinkId up = network.link(NodeId(2), alone);
  network.link(alone, NodeId(3));
  const Topology topology = network.topology();
  const Fabrics fabrics(topology);
  ASSERT_EQ(fabrics.all().size(), 2U);
  EXPECT_EQ(fabrics.all()[0].switches.size(), 4U);
  EXPECT_EQ(fabrics.all()[0].up.size(), 4U);
  EXPECT_EQ(fabrics.all()[0].down.size(), 4U);
  EXPECT_EQ(fabrics.all()[0].inner.size(), 8U);
  EXPECT_EQ(fabrics.direct().size(), 2U);
  EXPECT_EQ(fabrics.of(up), 1);
  EXPECT_EQ(fabrics.of(alone), 1);
  EXPECT_EQ(fabrics.of(NodeId(0)), -1);
  EXPECT_EQ(fabrics.of(fabrics.direct().front()), -1);
}

TEST(Fabrics, KnowHowLateALinkIsEntered) {
  const Topology topology = leaf_spine().topology();
  const Fabrics fabrics(topology);
  for (const LinkId id : topology.link_ids()) {
    const Link& link = topology.link(id);
    const bool up = topology.stores(link.from);
    const bool down = topology.stores(link.to);
    const bool to_spine = !up && !down && link.to > NodeId(5);
    EXPECT_EQ(fabrics.least_before(id), Time{up         ? 0
                                             : down     ? 2 * kUs
                                             : to_spine ? 2 * kUs
                                                        : 5 * kUs});
  }
  EXPECT_EQ(fabrics.least_into(NodeId(0)), Time{4 * kUs});
}

TEST(Fabrics, FindWaysBetweenSwitches) {
  const Topology topology = leaf_spine().topology();
  const Fabrics fabrics(topology);
  const auto& ways = fabrics.inner_paths(NodeId(4), NodeId(5));
  ASSERT_EQ(ways.size(), 2U);
  std::set<NodeId> spines;
  for (const auto& way : ways) {
    ASSERT_EQ(way.size(), 2U);
    EXPECT_EQ(topology.link(way[0]).from, NodeId(4));
    EXPECT_EQ(topology.link(way[0]).to, topology.link(way[1]).from);
    EXPECT_EQ(topology.link(way[1]).to, NodeId(5));
    spines.insert(topology.link(way[0]).to);
  }
  EXPECT_EQ(spines.size(), 2U);
  EXPECT_EQ(fabrics.inner_paths(NodeId(4), NodeId(4)).size(), 1U);
  EXPECT_TRUE(fabrics.inner_paths(NodeId(4), NodeId(4)).front().empty());
}

TEST(Clusters, AreBoxesOfFastLinks) {
  // Two boxes of three on a fast switch each, joined by a slow switch.
  Network network;
  for (int i = 0; i < 6; ++i) network.gpu();
  const NodeId box[2] = {network.switch_node(), network.switch_node()};
  const NodeId nic = network.switch_node();
  for (int i = 0; i < 6; ++i) {
    network.both(NodeId(i), box[i / 3], i == 1 ? 3 : 10);  // a slow way into a fast box is inside
    network.both(NodeId(i), nic, 1);
  }
  const Topology topology = network.topology();
  const std::vector<Clustering> found = find_clusterings(topology, Fabrics(topology));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].count, 2);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(found[0].of[NodeId(i)], i / 3);
  EXPECT_EQ(found[0].of[nic], -1);
  EXPECT_EQ(found[0].inner[box[0]], 1);
  EXPECT_EQ(found[0].inner[nic], 0);
}

TEST(Clusters, OfALeafSpineAreItsLeaves) {
  const Topology topology = leaf_spine().topology();
  const std::vector<Clustering> found = find_clusterings(topology, Fabrics(topology));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].count, 2);
  EXPECT_EQ(found[0].of[NodeId(0)], found[0].of[NodeId(1)]);
  EXPECT_NE(found[0].of[NodeId(0)], found[0].of[NodeId(2)]);
}

TEST(Clusters, AreStronglyConnected) {
  // A fast one-way chain is no cluster; a fast one-way ring is.
  Network chain;
  Network ring;
  for (Network* network : {&chain, &ring}) {
    for (int i = 0; i < 4; ++i) network->gpu();
    for (int i = 0; i < 4; ++i) network->both(NodeId(i), NodeId((i + 1) % 4), 1);
    network->link(NodeId(0), NodeId(1), 10);
    network->link(NodeId(1), NodeId(2), 10);
  }
  ring.link(NodeId(2), NodeId(0), 10);
  const Topology without = chain.topology();
  EXPECT_TRUE(find_clusterings(without, Fabrics(without)).empty());
  const Topology with = ring.topology();
  const std::vector<Clustering> found = find_clusterings(with, Fabrics(with));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].count, 2);
  EXPECT_NE(found[0].of[NodeId(3)], found[0].of[NodeId(0)]);
}

TEST(Clusters, OfEqualLinksDoNotExist) {
  for (const Network& network : {testing::ring(5), testing::star(4), testing::full_mesh(3)}) {
    const Topology topology = network.topology();
    EXPECT_TRUE(find_clusterings(topology, Fabrics(topology)).empty());
  }
}

}  // namespace
}  // namespace stellwerk
