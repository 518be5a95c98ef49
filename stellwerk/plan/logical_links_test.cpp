#include "stellwerk/plan/logical_links.hpp"

#include <gtest/gtest.h>

#include "stellwerk/graph/arborescences.hpp"
#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

using testing::Network;

/// All GPUs send `copies` each; a link takes as many as its bandwidth has GB/s.
Terminals everybody(const Topology& topology, std::int64_t copies) {
  Terminals result;
  result.nodes = topology.gpus();
  result.copies.assign(result.nodes.size(), copies);
  result.passable.assign(topology.nodes().size(), 1);
  for (const Link& link : topology.links())
    result.capacity.push_back(link.bandwidth.bytes_per_second / testing::kGb);
  result.injection.assign(topology.nodes().size(), -1);
  result.ejection.assign(topology.nodes().size(), -1);
  return result;
}

std::optional<std::vector<LogicalLink>> split(const Topology& topology,
                                              const Terminals& terminals) {
  Rng rng(1);
  return split_off(topology, terminals, rng, StopCondition());
}

/// Ways lead where they say, no link and no cap carries too much, and trees can be packed.
void expect_sound(const Topology& topology, const Terminals& terminals,
                  const std::vector<LogicalLink>& ways) {
  IdVector<LinkId, std::int64_t> load(topology.links().size(), 0);
  IdVector<NodeId, std::int64_t> injected(topology.nodes().size(), 0), ejected = injected;
  std::vector<graph::Arc> arcs;
  std::vector<std::int64_t> capacity;
  for (const LogicalLink& way : ways) {
    NodeId at = terminals.nodes[static_cast<std::size_t>(way.from)];
    for (const LinkId id : way.links) {
      EXPECT_EQ(topology.link(id).from, at);
      injected[at] += way.copies;
      at = topology.link(id).to;
      ejected[at] += way.copies;
      load[id] += way.copies;
    }
    EXPECT_EQ(at, terminals.nodes[static_cast<std::size_t>(way.to)]);
    arcs.push_back({way.from, way.to});
    capacity.push_back(way.copies);
  }
  for (const LinkId id : topology.link_ids()) EXPECT_LE(load[id], terminals.capacity[id]);
  for (const NodeId id : topology.node_ids()) {
    if (terminals.injection[id] >= 0) {
      EXPECT_LE(injected[id], terminals.injection[id]);
    }
    if (terminals.ejection[id] >= 0) {
      EXPECT_LE(ejected[id], terminals.ejection[id]);
    }
  }
  const graph::Digraph graph(static_cast<int>(terminals.nodes.size()), arcs);
  for (int v = 0; v < graph.vertices(); ++v)
    EXPECT_TRUE(graph::deficient_cut(graph, capacity, terminals.copies, v).empty());
}

TEST(SplitOff, ASwitchBecomesWaysBetweenItsGpus) {
  const Topology topology = testing::star(4).topology();
  Terminals terminals = everybody(topology, 2);
  for (std::int64_t& capacity : terminals.capacity) capacity = 6;  // three others send two each
  const auto ways = split(topology, terminals);
  ASSERT_TRUE(ways);
  expect_sound(topology, terminals, *ways);
  for (std::int64_t& capacity : terminals.capacity) capacity = 5;
  EXPECT_FALSE(split(topology, terminals));
}

TEST(SplitOff, PairsThatLeadAcrossACutAreKeptWhereTheyAreNeeded) {
  // Two boxes of three; both their switches and both ways between the boxes have to be used to the
  // full: nine copies must enter each box.
  Network network;
  for (int i = 0; i < 6; ++i) network.gpu();
  const NodeId box[2] = {network.switch_node(), network.switch_node()};
  const NodeId rail[3] = {network.switch_node(), network.switch_node(), network.switch_node()};
  for (int i = 0; i < 6; ++i) {
    network.both(NodeId(i), box[i / 3], 14);
    network.both(NodeId(i), rail[i % 3], 3);
  }
  const Topology topology = network.topology();
  const Terminals terminals = everybody(topology, 3);
  const auto ways = split(topology, terminals);
  ASSERT_TRUE(ways);
  expect_sound(topology, terminals, *ways);
}

TEST(SplitOff, GoesThroughLayersOfSwitchesOverRelaysAndWithinCaps) {
  Network network;
  for (int i = 0; i < 4; ++i) network.gpu();
  const NodeId leaf[2] = {network.switch_node(), network.switch_node()};
  const NodeId relay[2] = {network.relay(), network.relay()};
  for (int i = 0; i < 4; ++i) network.both(NodeId(i), leaf[i / 2], 9);
  for (const NodeId l : leaf) {
    for (const NodeId r : relay) network.both(l, r, 4);
  }
  const Topology topology = network.topology();
  Terminals terminals = everybody(topology, 2);
  terminals.ejection[NodeId(0)] = 6;
  terminals.injection[relay[0]] = 7;
  const auto ways = split(topology, terminals);
  ASSERT_TRUE(ways);
  expect_sound(topology, terminals, *ways);
  terminals.ejection[NodeId(0)] = 5;
  EXPECT_FALSE(split(topology, terminals));
}

TEST(SplitOff, LeavesOutWhoMayNotForward) {
  Network network = testing::line(3);
  network.both(NodeId(0), NodeId(2), 4);
  for (Link& link : network.links) link.bandwidth = Bandwidth{4 * testing::kGb};
  const Topology topology = network.topology();
  Terminals terminals = everybody(topology, 2);
  terminals.nodes = testing::nodes({0, 2});
  terminals.copies = {2, 2};
  terminals.passable.assign(3, 0);
  const auto ways = split(topology, terminals);
  ASSERT_TRUE(ways);
  for (const LogicalLink& way : *ways) EXPECT_EQ(way.links.size(), 1U);
}

}  // namespace
}  // namespace stellwerk
