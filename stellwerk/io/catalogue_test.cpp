#include "stellwerk/io/catalogue.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/load.hpp"
#include "stellwerk/io/topology_file.hpp"
#include "tests/support/paths.hpp"

namespace stellwerk {
namespace {

TEST(Catalogue, EqualsTheReferenceTopologies) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::kSourceDir) / "../shared/reference/topologies";
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "SKIPPED: no ../shared here";
  for (const std::string name :
       {"dgx1", "ndv2-1", "ndv2-2", "ndv2-2-as-published", "ndv2-4", "dgx2-2"}) {
    std::string spec = name;
    if (name.size() < 8) std::replace(spec.begin(), spec.end(), '-', ':');
    const Topology ours = catalogue_topology(spec);
    const Topology reference = read_topology((folder / (name + ".json")).string());
    EXPECT_EQ(ours.name(), reference.name());
    EXPECT_EQ(ours.nodes(), reference.nodes()) << name;
    ASSERT_EQ(ours.links().size(), reference.links().size()) << name;
    for (const LinkId id : ours.link_ids()) {
      Link link = ours.link(id);
      EXPECT_FALSE(link.source.empty());
      link.source = reference.link(id).source;
      EXPECT_EQ(link, reference.link(id)) << name << " link " << id.value;
    }
  }
}

struct Facts {
  std::size_t gpus, nodes, links;
};

TEST(Catalogue, SizesOfEveryFamily) {
  const std::vector<std::pair<std::string, Facts>> cases = {
      {"dgx1", {8, 8, 32}},
      {"mix:dgx-a100:1+dgx-h100:1", {16, 26, 64}},
      {"ndv2:1", {8, 8, 32}},
      {"ndv2:2", {16, 16, 66}},
      {"ndv2:3", {24, 25, 102}},
      {"dgx2:1", {16, 17, 32}},
      {"dgx2:2", {32, 34, 80}},
      {"mesh:2x2", {4, 4, 8}},
      {"mesh:3x4", {12, 12, 34}},
      {"mesh:2x3x4", {24, 24, 92}},
      {"torus:3x4", {12, 12, 48}},
      {"torus:2x2", {4, 4, 8}},
      {"torus:2x5", {10, 10, 30}},
      {"torus:3x3x3", {27, 27, 162}},
      {"torus:1x4", {4, 4, 8}},
      {"ring:2", {2, 2, 2}},
      {"ring:5", {5, 5, 10}},
      {"hypercube:1", {2, 2, 2}},
      {"hypercube:4", {16, 16, 64}},
      {"full:5", {5, 5, 20}},
      {"rail:2x4", {8, 14, 32}},
      {"rail:3x8,multicast", {24, 35, 96}},
      {"rail:3x8,nics=2", {24, 43, 144}},
      {"boxes:3x8", {24, 28, 96}},
      {"boxes:16x1", {16, 17, 32}},
      {"ndv2-2-as-published", {15, 16, 66}},
      {"dgx-a100:1", {8, 9, 16}},
      {"dgx-a100:2", {16, 26, 64}},
      {"dgx-a100:2,fabric=switch", {16, 19, 64}},
      {"dgx-h100:3", {24, 35, 96}},
      {"dgx-b200:2,multicast", {16, 26, 64}},
      {"nvl72:1", {72, 73, 144}},
      {"nvl72:2", {144, 150, 576}},
      {"mi250:1", {16, 16, 56}},
      {"mi250:2", {32, 33, 176}},
      {"mi300x:1", {8, 8, 56}},
      {"mi300x:2", {16, 24, 144}},
      {"switch:9", {9, 10, 18}},
      {"leaf-spine:128x8", {1024, 1344, 6144}},
      {"leaf-spine:6x2,per-leaf=2,spines=3", {12, 30, 84}},
      {"fat-tree:4x4x8", {1024, 1792, 8192}},
      {"fat-tree:2x2x2,gpus=2", {16, 48, 128}},
      {"dragonfly:8x4x4", {1056, 1320, 5016}},
      {"dragonfly:1x1x2", {4, 6, 10}},
      {"random:16", {16, 16, 64}},
      {"random:16,degree=5,mixed", {16, 16, 80}},
      {"random:17,degree=3,directed", {17, 17, 51}},
      {"random:2,degree=1", {2, 2, 2}},
      {"random-boxes:4", {32, 32, 112}},
      {"random-boxes:2,cross=16", {16, 16, 112}},
      {"rail:3x8,relabel=5", {24, 35, 96}}};
  std::set<std::string> families;
  for (const auto& [name, facts] : cases) {
    const Topology topology = catalogue_topology(name);
    EXPECT_EQ(topology.gpus().size(), facts.gpus) << name;
    EXPECT_EQ(topology.nodes().size(), facts.nodes) << name;
    EXPECT_EQ(topology.links().size(), facts.links) << name;
    families.insert(name.substr(0, name.find_first_of(":,")));
    // Nobody asked for parallel links here; all links have their provenance.
    std::set<std::pair<NodeId, NodeId>> ends;
    for (const Link& link : topology.links()) {
      EXPECT_TRUE(ends.emplace(link.from, link.to).second) << name;
      EXPECT_FALSE(link.source.empty());
    }
    EXPECT_EQ(parse_topology(format_topology(topology), name), topology);
  }
  for (const CatalogueRow& row : catalogue())
    EXPECT_TRUE(families.contains(std::string(row.family)));
}

TEST(Catalogue, GridsJoinNeighbours) {
  const Topology mesh = catalogue_topology("mesh:2x3");
  std::set<std::string> names;
  for (const LinkId id : mesh.link_ids()) names.insert(mesh.link_name(id));
  EXPECT_EQ(names, (std::set<std::string>{"gpu0.0->gpu0.1", "gpu0.1->gpu0.0", "gpu0.1->gpu0.2",
                                          "gpu0.2->gpu0.1", "gpu1.0->gpu1.1", "gpu1.1->gpu1.0",
                                          "gpu1.1->gpu1.2", "gpu1.2->gpu1.1", "gpu0.0->gpu1.0",
                                          "gpu1.0->gpu0.0", "gpu0.1->gpu1.1", "gpu1.1->gpu0.1",
                                          "gpu0.2->gpu1.2", "gpu1.2->gpu0.2"}));
  const Topology torus = catalogue_topology("torus:2x3");
  std::set<std::string> more;
  for (const LinkId id : torus.link_ids()) more.insert(torus.link_name(id));
  names.insert({"gpu0.0->gpu0.2", "gpu0.2->gpu0.0", "gpu1.0->gpu1.2", "gpu1.2->gpu1.0"});
  EXPECT_EQ(more, names);
}

TEST(Catalogue, OptionsChangeLinks) {
  const Topology ring = catalogue_topology("ring:4,bandwidth=400Gbps,latency=2us");
  for (const Link& link : ring.links()) {
    EXPECT_EQ(link.bandwidth, Bandwidth{50'000'000'000});
    EXPECT_EQ(link.latency, Time{2'000'000});
  }
  EXPECT_EQ(catalogue_topology("full:3").link(LinkId(0)).latency, Time{700'000});

  const Topology rail = catalogue_topology("rail:2x2,nvlink=100GB/s,nic=10GB/s");
  EXPECT_EQ(rail.link_name(LinkId(0)), "h0.gpu0->h0.nvswitch");
  EXPECT_EQ(rail.link(LinkId(0)).bandwidth, Bandwidth{100'000'000'000});
  EXPECT_EQ(rail.link(LinkId(0)).latency, Time{350'000});
  EXPECT_EQ(rail.link_name(LinkId(8)), "h0.gpu0->rail0");
  EXPECT_EQ(rail.link(LinkId(8)).bandwidth, Bandwidth{10'000'000'000});
  EXPECT_EQ(rail.link(LinkId(8)).latency, Time{1'300'000});
  EXPECT_EQ(rail.node(*rail.find("h1.gpu1")).rail, 1);
  EXPECT_EQ(rail.node(*rail.find("h1.gpu1")).host, "h1");
  EXPECT_FALSE(rail.node(*rail.find("rail1")).multicast);
  EXPECT_TRUE(catalogue_topology("rail:2x2,multicast").node(*rail.find("rail1")).multicast);
  EXPECT_TRUE(catalogue_topology("rail:2x2,multicast").node(*rail.find("h0.nvswitch")).multicast);
}

/// Names of the links that are slower than in, or missing from, the intact network.
std::pair<std::set<std::string>, std::set<std::string>> damage(const std::string& intact,
                                                               const std::string& options) {
  const Topology before = catalogue_topology(intact);
  const Topology after = catalogue_topology(intact + options);
  std::map<std::string, Bandwidth> rates;
  for (const LinkId id : after.link_ids()) rates[after.link_name(id)] = after.link(id).bandwidth;
  std::set<std::string> slow, gone;
  for (const LinkId id : before.link_ids()) {
    const std::string name = before.link_name(id);
    if (!rates.contains(name)) {
      gone.insert(name);
    } else if (rates[name] != before.link(id).bandwidth) {
      EXPECT_EQ(2 * rates[name].bytes_per_second, before.link(id).bandwidth.bytes_per_second);
      slow.insert(name);
    }
  }
  return {slow, gone};
}

TEST(Catalogue, DegradedCablesSlowDownBothWays) {
  const auto [slow, gone] = damage("rail:4x4", ",degrade=3,fail=2");
  EXPECT_EQ(slow.size(), 6U);
  EXPECT_EQ(gone.size(), 4U);
  for (const auto& names : {slow, gone}) {
    for (const std::string& name : names) {
      EXPECT_NE(name.find("rail"), std::string::npos) << name;
      const std::size_t arrow = name.find("->");
      EXPECT_TRUE(names.contains(name.substr(arrow + 2) + "->" + name.substr(0, arrow))) << name;
    }
  }
  EXPECT_EQ(damage("rail:4x4", ",degrade=3,fail=2,degrade-seed=1"), std::pair(slow, gone));
  EXPECT_NE(damage("rail:4x4", ",degrade=3,fail=2,degrade-seed=2"), std::pair(slow, gone));
}

TEST(Catalogue, DegradeDrawsFromNicsOrFromAll) {
  // All 16 links of the rails, or all 32 cables.
  EXPECT_EQ(damage("rail:4x4", ",degrade=16").first.size(), 32U);
  EXPECT_EQ(damage("rail:4x4", ",fail=32,what=any").second.size(), 64U);
  EXPECT_EQ(damage("ring:5", ",degrade=5").first.size(), 10U);
  // The two links between NDv2 chassis are one way each: cables by themselves.
  EXPECT_EQ(damage("ndv2:2", ",fail=1").second.size(), 1U);
  EXPECT_EQ(damage("ndv2:2", ",degrade=2").first,
            (std::set<std::string>{"h0.gpu0->h1.gpu1", "h1.gpu0->h0.gpu1"}));
  EXPECT_EQ(damage("ndv2:4", ",degrade=8").first.size(), 8U);
  EXPECT_EQ(damage("dgx1", ",degrade=16").first.size(), 32U);
}

/// What all nodes are, by the numbers: degree classes of a network in one line, "GPUs: 8x(2 out, 2
/// in)".
std::string shape_of(const Topology& topology) {
  std::map<std::string, std::size_t> classes;
  for (const NodeId id : topology.node_ids()) {
    std::int64_t out = 0, in = 0;
    for (const LinkId link : topology.out(id))
      out += topology.link(link).bandwidth.bytes_per_second;
    for (const LinkId link : topology.in(id)) in += topology.link(link).bandwidth.bytes_per_second;
    ++classes[std::string(to_string(topology.node(id).kind)) + " " +
              std::to_string(topology.out(id).size()) + "/" + std::to_string(out / 1'000'000'000) +
              " " + std::to_string(topology.in(id).size()) + "/" +
              std::to_string(in / 1'000'000'000)];
  }
  std::string text;
  for (const auto& [what, count] : classes) {
    text += (text.empty() ? "" : "; ") + std::to_string(count) + " " + what;
  }
  return text;
}

// Links out / GB per second out, then the same in.
TEST(Catalogue, LevelsOfSwitchesCarryWhatTheyShould) {
  // As much goes up from a leaf as comes from its 8 NICs; so for a spine's 16 leaves.
  EXPECT_EQ(shape_of(catalogue_topology("leaf-spine:128x8")),
            "1024 gpu 2/500 2/500; 192 switch 16/800 16/800; 128 switch 8/3600 8/3600");
  // 16 leaves: 4 NICs below, 100 GB/s up by four cables. 8 spines: 4 leaves, two cables each.
  EXPECT_EQ(shape_of(catalogue_topology(
                "leaf-spine:16x4,per-leaf=4,spines=2,parallel=2,oversubscription=2")),
            "64 gpu 2/500 2/500; 16 switch 4/1800 4/1800; 8 switch 8/200 8/200; "
            "16 switch 8/300 8/300");
  // 8 leaves and 8 aggregation switches: 100 up and 100 down; 8 cores.
  EXPECT_EQ(shape_of(catalogue_topology("fat-tree:2x2x2,gpus=2")),
            "16 gpu 2/500 2/500; 8 switch 2/100 2/100; 8 switch 2/900 2/900; "
            "16 switch 4/200 4/200");
  // Above a leaf half of what comes from below, above a pod a quarter of that.
  EXPECT_EQ(
      shape_of(catalogue_topology(
          "fat-tree:2x4x4,gpus=1,aggs=1,cores=1,oversubscription=2,core-oversubscription=4:1")),
      "32 gpu 1/50 1/50; 1 switch 2/200 2/200; 8 switch 5/300 5/300; 2 switch 5/500 5/500");
}

TEST(Catalogue, RandomGraphsAreRegularAndConnected) {
  for (const std::string name :
       {"random:64", "random:33,degree=4,seed=2", "random:32,degree=3,seed=5", "random:9,degree=2",
        "random:12,degree=11", "random:20,degree=1,directed", "random:21,degree=3,directed"}) {
    const Topology topology = catalogue_topology(name);
    const std::size_t degree = topology.out(NodeId(0)).size();
    std::set<std::pair<NodeId, NodeId>> ends;
    for (const Link& link : topology.links()) EXPECT_TRUE(ends.emplace(link.from, link.to).second);
    std::vector<NodeId> reached = {NodeId(0)};
    std::set<NodeId> seen = {NodeId(0)};
    for (std::size_t i = 0; i < reached.size(); ++i) {
      EXPECT_EQ(topology.out(reached[i]).size(), degree) << name;
      EXPECT_EQ(topology.in(reached[i]).size(), degree) << name;
      for (const LinkId link : topology.out(reached[i])) {
        if (seen.insert(topology.link(link).to).second) reached.push_back(topology.link(link).to);
      }
    }
    EXPECT_EQ(reached.size(), topology.nodes().size()) << name;
    const bool directed = name.ends_with("directed");
    const bool symmetric = std::all_of(ends.begin(), ends.end(), [&](const auto& pair) {
      return ends.contains({pair.second, pair.first});
    });
    EXPECT_EQ(symmetric, !directed) << name;
  }
  EXPECT_EQ(catalogue_topology("random:64,mixed"), catalogue_topology("random:64,seed=1,mixed"));
  EXPECT_NE(catalogue_topology("random:64").links(),
            catalogue_topology("random:64,seed=2").links());
}

TEST(Catalogue, MixedGraphsHaveEverySpeed) {
  std::map<std::int64_t, int> rates;
  std::set<std::int64_t> latencies;
  const Topology topology = catalogue_topology("random:128,mixed,seed=3");
  for (const Link& link : topology.links()) {
    ++rates[link.bandwidth.bytes_per_second];
    latencies.insert(link.latency.ps);
  }
  EXPECT_EQ(latencies, (std::set<std::int64_t>{700'000, 1'300'000, 2'600'000}));
  ASSERT_EQ(rates.size(), 4U);
  for (const auto& [rate, count] : rates) EXPECT_GT(count, 512 / 8) << rate;  // a quarter expected
}

TEST(Catalogue, RelabellingKeepsTheNetworkAndItsNamesSayNothing) {
  for (const std::string name : {"rail:4x8", "leaf-spine:6x2,per-leaf=2", "random:16,mixed",
                                 "leaf-spine:4x1,per-leaf=2,parallel=3"}) {
    const Topology plain = catalogue_topology(name);
    const Topology mixed = catalogue_topology(name + ",relabel=7");
    EXPECT_EQ(shape_of(plain), shape_of(mixed));
    EXPECT_NE(plain.links(), mixed.links());
    std::map<std::tuple<std::string, std::string, std::int64_t, std::int64_t>, int> classes;
    const auto count = [&](const Topology& topology, int by) {
      for (const Link& link : topology.links()) {
        classes[{to_string(topology.node(link.from).kind), to_string(topology.node(link.to).kind),
                 link.bandwidth.bytes_per_second, link.latency.ps}] += by;
      }
    };
    count(plain, 1);
    count(mixed, -1);
    for (const auto& [key, difference] : classes) EXPECT_EQ(difference, 0) << name;
    std::map<NodeKind, std::size_t> seen;
    for (const Node& node : mixed.nodes()) {
      EXPECT_EQ(node.name, to_string(node.kind) + std::to_string(seen[node.kind]++));
      EXPECT_TRUE(node.host.empty() && node.rack.empty() && !node.rail);
    }
    EXPECT_EQ(mixed, catalogue_topology(name + ",relabel=7"));
    EXPECT_NE(mixed.links(), catalogue_topology(name + ",relabel=8").links());
  }
  // What is degraded is chosen first, so that the same network is relabelled in many ways.
  EXPECT_EQ(shape_of(catalogue_topology("rail:4x8,degrade=3")),
            shape_of(catalogue_topology("rail:4x8,degrade=3,relabel=1")));
}

TEST(Catalogue, DragonflyGroupsAreJoinedInPairs) {
  const Topology topology = catalogue_topology("dragonfly:4x2x1");
  std::map<std::pair<std::string, std::string>, int> cables;
  for (const Link& link : topology.links()) {
    const std::string from = topology.node(link.from).rack, to = topology.node(link.to).rack;
    if (from == to) continue;
    ++cables[{from, to}];
    bool back = false;
    for (const LinkId other : topology.out(link.to)) back |= topology.link(other).to == link.from;
    EXPECT_TRUE(back) << topology.node(link.from).name;
  }
  EXPECT_EQ(cables.size(), 9U * 8U);
  for (const auto& [ends, count] : cables) EXPECT_EQ(count, 1);
}

TEST(Catalogue, BadNamesAreRefused) {
  const std::string known =
      "dgx1, ndv2:N, ndv2-2-as-published, dgx2:N, dgx-a100:N, dgx-h100:N, dgx-b200:N, nvl72:N, "
      "mix:KIND:N+KIND:N, mi250:N, mi300x:N, mesh:AxB[xC], torus:AxB[xC], ring:N, hypercube:D, "
      "full:N, switch:N, "
      "rail:BOXESxGPUS, boxes:BOXESxGPUS, leaf-spine:BOXESxGPUS, fat-tree:PODSxLEAVESxBOXES, "
      "dragonfly:AxHxP, random:N, random-boxes:BOXES";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "topology '': there is no such topology (known: " + known + ")"},
      {"rings:4", "topology 'rings:4': there is no such topology; did you mean 'ring'? (known: " +
                      known + ")"},
      {"dgx1:2", "topology 'dgx1:2': dgx1 has one size only: leave out ':2'"},
      {"ndv2", "topology 'ndv2': the size is missing: write it as in ndv2:2"},
      {"ndv2:0",
       "topology 'ndv2:0': the size '0' is not a number from 1 to 1000000: write it as in ndv2:2"},
      {"ndv2:2x2", "topology 'ndv2:2x2': the size has 2 parts: write it as in ndv2:2"},
      {"ndv2:-1",
       "topology 'ndv2:-1': the size '-1' is not a number from 1 to 1000000: write it as in "
       "ndv2:2"},
      {"dgx2:3",
       "topology 'dgx2:3': there are published numbers for one and two DGX-2 only, joined by "
       "direct links that do "
       "not extend to more: use rail:BOXESx16 for a fabric of many"},
      {"ring:4294967297",
       "topology 'ring:4294967297': the size '4294967297' is not a number from 1 to 1000000: write "
       "it as in ring:8"},
      {"ring:1", "topology 'ring:1': a ring needs at least two GPUs"},
      {"mesh:4", "topology 'mesh:4': the size has 1 parts: write it as in mesh:4x4"},
      {"mesh:4x",
       "topology 'mesh:4x': the size '' is not a number from 1 to 1000000: write it as in "
       "mesh:4x4"},
      {"mesh:1x1", "topology 'mesh:1x1': a network of one GPU has nothing to plan: make it larger"},
      {"mesh:2000x2000",
       "topology 'mesh:2000x2000': more than a million nodes is more than the catalogue makes"},
      {"torus:1000000x1000000x1000000",
       "topology 'torus:1000000x1000000x1000000': more than a million nodes is more than the "
       "catalogue makes"},
      {"hypercube:20",
       "topology 'hypercube:20': more than a million nodes is more than the catalogue makes"},
      {"full:100000",
       "topology 'full:100000': more than 20 million links is more than the catalogue makes"},
      {"rail:1000x1000",
       "topology 'rail:1000x1000': more than a million nodes is more than the catalogue makes"},
      {"ring:4,speed=1",
       "topology 'ring:4,speed=1': unknown option 'speed': there are bandwidth latency degrade "
       "fail degrade-seed what sums relabel"},
      {"ring:4,sums", "topology 'ring:4,sums': sums: it has no switches that could add"},
      {"ring:4,latncy=1us",
       "topology 'ring:4,latncy=1us': unknown option 'latncy'; did you mean 'latency'?"},
      {"ring:4,latency=1",
       "topology 'ring:4,latency=1': latency: '1' is not a duration: write a number and a unit, "
       "one of ps, ns, us, ms, s, as in 0.7us"},
      {"ring:4,bandwidth",
       "topology 'ring:4,bandwidth': bandwidth: '' is not a bandwidth: write bytes per second, or "
       "a number and a unit, as in 50GB/s or 400Gbps"},
      {"ring:4,latency=1us,latency=2us",
       "topology 'ring:4,latency=1us,latency=2us': 'latency' is given twice"},
      {"ring:4,", "topology 'ring:4,': there is nothing between two commas or at the end"},
      {"rail:2x2,multicast=1", "topology 'rail:2x2,multicast=1': multicast takes no value"},
      {"ring:4,degrade=5",
       "topology 'ring:4,degrade=5': degrade and fail together take more than the 4 links there "
       "are"},
      {"ring:4,degrade=3,fail=2",
       "topology 'ring:4,degrade=3,fail=2': degrade and fail together take more than the 4 links "
       "there are"},
      {"ring:4,degrade=9000000000000000000",
       "topology 'ring:4,degrade=9000000000000000000': degrade: '9000000000000000000' is not a "
       "whole number"},
      {"ring:4,degrade=x", "topology 'ring:4,degrade=x': degrade: 'x' is not a whole number"},
      {"ring:4,degrade=1,what=nic",
       "topology 'ring:4,degrade=1,what=nic': what: there are no links between hosts here: use "
       "what=any"},
      {"ring:4,degrade=1,what=all",
       "topology 'ring:4,degrade=1,what=all': what: 'all' is neither nic nor any"},
      {"leaf-spine:8x8",
       "topology 'leaf-spine:8x8': one leaf a rail holds all 8 boxes, so spines would carry "
       "nothing: "
       "lower per-leaf (8), or use rail"},
      {"leaf-spine:16x8,per-leaf=0",
       "topology 'leaf-spine:16x8,per-leaf=0': per-leaf: '0' is not a number from 1 to 1000000"},
      {"leaf-spine:16x8,oversubscription=2:0",
       "topology 'leaf-spine:16x8,oversubscription=2:0': oversubscription: '2:0' is not a ratio: "
       "write it as in 2, 1.5 or 3:1"},
      {"leaf-spine:16x8,oversubscription=0.0000",
       "topology 'leaf-spine:16x8,oversubscription=0.0000': oversubscription: '0.0000' is not a "
       "ratio: write it as in 2, 1.5 or 3:1"},
      {"leaf-spine:16x8,nic=1,oversubscription=9",
       "topology 'leaf-spine:16x8,nic=1,oversubscription=9': oversubscription leaves less than 1 "
       "B/s "
       "for an uplink: lower it"},
      {"leaf-spine:1000000x8,per-leaf=1,spines=1000000",
       "topology 'leaf-spine:1000000x8,per-leaf=1,spines=1000000': more than a million nodes is "
       "more "
       "than the catalogue makes"},
      {"fat-tree:1x4x8",
       "topology 'fat-tree:1x4x8': three levels need at least two pods of two leaves: use "
       "leaf-spine"},
      {"fat-tree:4x8",
       "topology 'fat-tree:4x8': the size has 2 parts: write it as in fat-tree:4x4x8 (pods x "
       "leaves "
       "x boxes a leaf)"},
      {"dragonfly:1000x1000x1000",
       "topology 'dragonfly:1000x1000x1000': more than a million nodes is more than the catalogue "
       "makes"},
      {"switch:1", "topology 'switch:1': a network of one GPU has nothing to plan: make it larger"},
      {"dgx-a100:2,fabric=star",
       "topology 'dgx-a100:2,fabric=star': fabric: 'star' is neither rails nor switch"},
      {"dgx-a101:2",
       "topology 'dgx-a101:2': there is no such topology; did you mean 'dgx-a100'? "
       "(known: " +
           known + ")"},
      {"random:8,degree=8",
       "topology 'random:8,degree=8': degree: a GPU has only 7 others to be joined to"},
      {"random:8,degree=1",
       "topology 'random:8,degree=1': degree: with one neighbour each, more than two GPUs are not "
       "connected: use 2 or more"},
      {"random:9,degree=3",
       "topology 'random:9,degree=3': degree: an odd number of GPUs cannot all have an odd number "
       "of "
       "neighbours"},
      {"random:8,mixed,latency=1us",
       "topology 'random:8,mixed,latency=1us': mixed draws bandwidths and latencies: leave out "
       "bandwidth and latency"},
      {"random-boxes:1",
       "topology 'random-boxes:1': one box has nothing to be joined to: make it two or more"},
      {"ring:4,relabel=x", "topology 'ring:4,relabel=x': relabel: 'x' is not a whole number"},
      {"ring:4,degrade-seed=2",
       "topology 'ring:4,degrade-seed=2': degrade-seed goes with degrade=K or fail=K: add one of "
       "them"},
  };
  for (const auto& [name, expected] : cases) {
    try {
      catalogue_topology(name);
      ADD_FAILURE() << "accepted: " << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::usage);
      EXPECT_EQ(error.what(), expected);
    }
  }
}

TEST(Load, FilesFirstThenTheCatalogue) {
  const std::filesystem::path path = std::filesystem::temp_directory_path() /
                                     ("stellwerk-load-" + std::to_string(::getpid()) + ".json.zst");
  const Topology topology = catalogue_topology("ring:3");
  write_topology(topology, path.string());
  EXPECT_EQ(load_topology(path.string()), topology);
  std::filesystem::remove(path);
  EXPECT_EQ(load_topology("ring:3"), topology);
  try {
    load_topology("missing.json");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unreadable_input);
    EXPECT_EQ(
        std::string(error.what())
            .find("'missing.json' is neither a file nor a topology of the catalogue (dgx1, ndv2:N"),
        0U);
  }
  EXPECT_THROW(load_topology("/"), Error);
  EXPECT_THROW(load_topology(""), Error);
}

}  // namespace
}  // namespace stellwerk
