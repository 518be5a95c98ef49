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

namespace stellwerk {
namespace {

TEST(Catalogue, EqualsTheReferenceTopologies) {
  const std::filesystem::path folder =
      std::filesystem::path(STELLWERK_SOURCE_DIR) / "../shared/reference/topologies";
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "SKIPPED: no ../shared here";
  for (const std::string name : {"dgx1", "ndv2-1", "ndv2-2", "ndv2-4", "dgx2-2"}) {
    std::string spec = name;
    std::replace(spec.begin(), spec.end(), '-', ':');
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
  const std::vector<std::pair<std::string, Facts>> cases = {{"dgx1", {8, 8, 32}},
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
                                                            {"rail:3x8,multicast", {24, 35, 96}}};
  std::set<std::string> families;
  for (const auto& [name, facts] : cases) {
    const Topology topology = catalogue_topology(name);
    EXPECT_EQ(topology.gpus().size(), facts.gpus) << name;
    EXPECT_EQ(topology.nodes().size(), facts.nodes) << name;
    EXPECT_EQ(topology.links().size(), facts.links) << name;
    families.insert(name.substr(0, name.find_first_of(":,")));
    // No direct network has parallel links; all links have their provenance.
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

TEST(Catalogue, BadNamesAreRefused) {
  const std::string known =
      "dgx1, ndv2:N, dgx2:N, mesh:AxB[xC], torus:AxB[xC], ring:N, hypercube:D, full:N, "
      "rail:BOXESxGPUS";
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
       "fail degrade-seed what"},
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
