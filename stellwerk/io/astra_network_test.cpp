#include "stellwerk/io/astra_network.hpp"

#include <gtest/gtest.h>

#include <string>

#include "stellwerk/base/error.hpp"

namespace stellwerk {
namespace {

const std::string kThree =
    "# three dimensions\ntopology: [ Ring, FullyConnected, Switch ]  # kinds\nnpus_count: [ 2, 3, "
    "4 ]\n\n"
    "bandwidth: [ 200.0, 100.0, 50.0 ]  # GB/s\nlatency: [ 50.0, 500.0, 2000.0 ]  # ns\n";

TEST(AstraNetwork, EveryDimensionJoinsThoseThatDifferInItOnly) {
  EXPECT_TRUE(looks_like_astra_network(kThree));
  const Topology topology = read_astra_network(kThree, "n.yml");
  EXPECT_EQ(topology.gpus().size(), 24u);
  EXPECT_EQ(topology.nodes().size(), 24u + 6u);  // a switch for every 2 x 3
  // Both ways: 12 pairs; 8 triangles; 24 up-links.
  EXPECT_EQ(topology.links().size(), 2u * (12 + 8 * 3 + 24));
  const Link& ring = topology.link(LinkId(0));
  EXPECT_EQ(ring.bandwidth, Bandwidth{200'000'000'000});
  EXPECT_EQ(ring.latency, Time{50'000});
  EXPECT_EQ(ring.to, NodeId(1));
}

TEST(AstraNetwork, DamageIsRefused) {
  const auto refused = [](const std::string& from, const std::string& to, const std::string& part) {
    std::string text = kThree;
    text.replace(text.find(from), from.size(), to);
    try {
      read_astra_network(text, "n.yml");
      FAIL() << "accepted; wanted: " << part;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  refused("Ring,", "Rung,", "'Rung' is none of Ring");
  refused("[ 2, 3, 4 ]", "[ 2, 3 ]", "npus_count has 2 entries, topology has 3");
  refused("[ 2, 3, 4 ]", "[ 2, 3, x ]", "'x' is not a number");
  refused("[ 2, 3, 4 ]", "[ 2000, 3000, 4 ]", "more than 65536 NPUs");
  refused("npus_count:", "npus:", "there is no npus_count");
  refused("[ 50.0, 500.0, 2000.0 ]", "50", "line 6: '50' is not a list");
}

}  // namespace
}  // namespace stellwerk
