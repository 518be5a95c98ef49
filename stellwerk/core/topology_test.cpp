#include "stellwerk/core/topology.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "stellwerk/base/error.hpp"

namespace stellwerk {
namespace {

Node node(const std::string& name, NodeKind kind = NodeKind::gpu) {
  Node result;
  result.name = name;
  result.kind = kind;
  return result;
}

Link link(int from, int to, std::int64_t latency = 1, std::int64_t bandwidth = 1) {
  return {NodeId(from), NodeId(to), Time{latency}, Bandwidth{bandwidth}, ""};
}

struct Parts {
  IdVector<NodeId, Node> nodes = {node("a"), node("b"), node("s", NodeKind::switch_)};
  IdVector<LinkId, Link> links = {link(0, 2), link(2, 1), link(0, 1), link(0, 1, 5)};
};

Topology build(const Parts& parts) { return Topology("t", "", parts.nodes, parts.links); }

std::vector<int> values(std::span<const LinkId> ids) {
  std::vector<int> result;
  for (const LinkId id : ids) result.push_back(id.value);
  return result;
}

TEST(Topology, IndexesLinksByTheirEnds) {
  const Topology topology = build({});
  EXPECT_EQ(values(topology.out(NodeId(0))), (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(values(topology.out(NodeId(1))), (std::vector<int>{}));
  EXPECT_EQ(values(topology.out(NodeId(2))), (std::vector<int>{1}));
  EXPECT_EQ(values(topology.in(NodeId(0))), (std::vector<int>{}));
  EXPECT_EQ(values(topology.in(NodeId(1))), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(topology.gpus(), (std::vector<NodeId>{NodeId(0), NodeId(1)}));
  EXPECT_TRUE(topology.stores(NodeId(0)));
  EXPECT_FALSE(topology.stores(NodeId(2)));
}

TEST(Topology, FindsAndNames) {
  const Topology topology = build({});
  EXPECT_EQ(topology.find("b"), NodeId(1));
  EXPECT_EQ(topology.find("c"), std::nullopt);
  EXPECT_EQ(topology.link_name(LinkId(0)), "a->s");
  EXPECT_EQ(topology.link_name(LinkId(2)), "a->b");
  EXPECT_EQ(topology.link_name(LinkId(3)), "a->b#2");
}

TEST(Topology, RefusesWhatMakesNoSense) {
  const std::int64_t huge = INT64_MAX;
  const std::vector<std::pair<std::function<void(Parts&)>, std::string>> cases = {
      {[](Parts& p) { p.nodes[NodeId(1)].name = ""; },
       "node 1 (''): the node has no name: give it one"},
      {[](Parts& p) { p.nodes[NodeId(1)].name = "a"; },
       "node 1 and node 0 are both named 'a': names must be unique"},
      {[](Parts& p) { p.nodes[NodeId(0)].reduce = true; },
       "node 0 ('a'): multicast, reduce and max_groups are for switches: remove them or make it a "
       "switch"},
      {[](Parts& p) { p.nodes[NodeId(2)].buffer = Bytes{1}; },
       "node 2 ('s'): a switch stores nothing: remove its buffer"},
      {[](Parts& p) { p.nodes[NodeId(2)].ejection = Bandwidth{1}; },
       "node 2 ('s'): injection and ejection are for GPUs and relays: remove them"},
      {[](Parts& p) { p.nodes[NodeId(2)].max_groups = -1; },
       "node 2 ('s'): max_groups is negative"},
      {[](Parts& p) { p.nodes[NodeId(0)].buffer = Bytes{-1}; }, "node 0 ('a'): buffer is negative"},
      {[](Parts& p) { p.nodes[NodeId(0)].injection = Bandwidth{0}; },
       "node 0 ('a'): injection must be positive"},
      {[](Parts& p) { p.nodes[NodeId(0)].ejection = Bandwidth{-1}; },
       "node 0 ('a'): ejection must be positive"},
      {[](Parts& p) { p.nodes[NodeId(0)].kind = p.nodes[NodeId(1)].kind = NodeKind::relay; },
       "the topology 't' has no GPU: add nodes of kind \"gpu\""},
      {[](Parts& p) { p.links[LinkId(1)].to = NodeId(3); },
       "link 1 ends at a node that does not exist"},
      {[](Parts& p) { p.links[LinkId(1)].from = NodeId(); },
       "link 1 ends at a node that does not exist"},
      {[](Parts& p) { p.links[LinkId(1)].to = NodeId(2); },
       "link 1 (from 's'): the link leads from a node to itself: remove it"},
      {[](Parts& p) { p.links[LinkId(0)].bandwidth = Bandwidth{0}; },
       "link 0 (from 'a'): bandwidth must be positive"},
      {[](Parts& p) { p.links[LinkId(0)].latency = Time{-1}; },
       "link 0 (from 'a'): latency is negative"},
      {[](Parts& p) { p.links[LinkId(0)].latency = Time{1'000'000'000'000'001}; },
       "link 0 (from 'a'): a latency of more than 1000 s is surely a wrong unit"},
      {[&](Parts& p) { p.links[LinkId(0)].bandwidth = Bandwidth{huge}; },
       "the bandwidths of all links together are more than 2 EB/s"},
      {[](Parts& p) { p.links.assign(2400, link(0, 1, 1'000'000'000'000'000)); },
       "the latencies of all links together are more than 26 days"},
  };
  EXPECT_NO_THROW(build({}));
  for (const auto& [damage, expected] : cases) {
    Parts parts;
    damage(parts);
    try {
      build(parts);
      ADD_FAILURE() << "accepted; expected: " << expected;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unreadable_input);
      EXPECT_EQ(error.what(), expected);
    }
  }
}

TEST(Topology, ReversedTwiceIsTheSameButForGroups) {
  Parts parts;
  parts.nodes[NodeId(0)].injection = Bandwidth{7};
  parts.nodes[NodeId(2)].multicast = true;
  parts.nodes[NodeId(2)].max_groups = 3;
  const Topology topology = build(parts);
  const Topology back = reversed(topology);
  EXPECT_EQ(back.link(LinkId(0)).from, NodeId(2));
  EXPECT_EQ(back.link(LinkId(0)).to, NodeId(0));
  EXPECT_EQ(back.node(NodeId(0)).ejection, Bandwidth{7});
  EXPECT_EQ(back.node(NodeId(0)).injection, std::nullopt);
  EXPECT_TRUE(back.node(NodeId(2)).reduce);
  EXPECT_FALSE(back.node(NodeId(2)).multicast);
  parts.nodes[NodeId(2)].max_groups.reset();
  EXPECT_EQ(reversed(back), build(parts));
}

}  // namespace
}  // namespace stellwerk
