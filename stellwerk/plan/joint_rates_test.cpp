#include "stellwerk/plan/joint_rates.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/bound/bound.hpp"
#include "stellwerk/graph/max_flow.hpp"
#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

using testing::kUs;
using testing::Network;

constexpr Bytes kTotal{1'000'000};  // 1 ms on a link of 1 GB/s

std::optional<JointRates> rates_of(const Topology& topology) {
  return joint_rates(topology, topology.gpus(), IdVector<NodeId, char>(topology.nodes().size(), 0),
                     kTotal, StopCondition());
}

/// All rows, at every GPU, up to 0.2%.
void expect_feasible(const Topology& topology, const JointRates& rates) {
  double roots = 0;
  for (const double root : rates.root) roots += root;
  EXPECT_NEAR(roots, 1, 1e-6);
  for (const LinkId id : topology.link_ids()) {
    const double busy =
        static_cast<double>(transmission_time(kTotal, topology.link(id).bandwidth).ps) *
        (rates.spread[id] + rates.gather[id]);
    EXPECT_LE(busy, static_cast<double>(rates.length.ps) * 1.001);
  }
  constexpr double kScale = 1e6;
  const int source = static_cast<int>(topology.nodes().size());
  for (const bool spread : {true, false}) {
    graph::MaxFlow flow(source + 1);
    for (const LinkId id : topology.link_ids()) {
      const Link& link = topology.link(id);
      flow.add_arc((spread ? link.from : link.to).value, (spread ? link.to : link.from).value,
                   std::llround(kScale * (spread ? rates.spread : rates.gather)[id]));
    }
    const std::vector<NodeId> gpus = topology.gpus();
    for (std::size_t g = 0; g < gpus.size(); ++g)
      flow.add_arc(source, gpus[g].value, std::llround(kScale * rates.root[g]));
    for (const NodeId gpu : gpus)
      EXPECT_GE(static_cast<double>(flow.run(source, gpu.value)), kScale * 0.998);
  }
}

double ms(const JointRates& rates) { return static_cast<double>(rates.length.ps) / 1e9; }

TEST(JointRates, OfARingAreThoseOfReduceScatterAndAllGather) {
  const Topology topology = testing::ring(4).topology();
  const auto rates = rates_of(topology);
  ASSERT_TRUE(rates);
  expect_feasible(topology, *rates);
  EXPECT_NEAR(ms(*rates), 0.75, 0.002);  // 2 * 3 / 4, over two links into every GPU
}

TEST(JointRates, OverlapSumsAndResults) {
  // A hub with four leaves: every leaf sends and receives all data once, whoever the roots are.
  Network network;
  for (int i = 0; i < 5; ++i) network.gpu();
  for (int i = 1; i < 5; ++i) network.both(NodeId(0), NodeId(i), 1);
  const Topology topology = network.topology();
  const auto rates = rates_of(topology);
  ASSERT_TRUE(rates);
  expect_feasible(topology, *rates);
  EXPECT_NEAR(ms(*rates), 1, 0.002);
}

TEST(JointRates, SwitchesNeitherCopyNorSum) {
  const Topology topology = testing::star(4).topology();
  const auto rates = rates_of(topology);
  ASSERT_TRUE(rates);
  expect_feasible(topology, *rates);
  EXPECT_NEAR(ms(*rates), 1.5, 0.003);  // 2 * 3 / 4 through one link
}

TEST(JointRates, KeepCaps) {
  Network network = testing::full_mesh(3);
  network.nodes[NodeId(1)].injection = Bandwidth{testing::kGb / 2};
  const Topology topology = network.topology();
  const auto rates = rates_of(topology);
  ASSERT_TRUE(rates);
  expect_feasible(topology, *rates);
  EXPECT_NEAR(ms(*rates), 2, 0.004);  // GPU 1 has to send all of its data
}

TEST(JointRates, AreNotBelowTheBoundOfRandomNetworks) {
  Rng rng(5);
  for (int round = 0; round < 5; ++round) {
    Network network;
    constexpr int kGpus = 8;
    for (int i = 0; i < kGpus; ++i) network.gpu();
    for (int i = 0; i < kGpus; ++i) {
      for (const int step : {1, 3}) {
        network.link(NodeId(i), NodeId((i + step) % kGpus), static_cast<double>(1 << rng.below(3)));
      }
    }
    const Topology topology = network.topology();
    const auto rates = rates_of(topology);
    ASSERT_TRUE(rates);
    expect_feasible(topology, *rates);
    const Problem problem = testing::problem(network, Collective::allreduce);
    Bytes bytes{0};
    for (const Chunk& chunk : problem.chunks) bytes = bytes + chunk.bytes;
    const Time bound = lower_bound(problem, StopCondition()).value;
    EXPECT_GE(static_cast<double>(rates->length.ps) * static_cast<double>(bytes.value),
              static_cast<double>(bound.ps) * static_cast<double>(kTotal.value) * 0.997);
  }
}

TEST(JointRates, NeedEverybodyConnected) {
  Network network = testing::line(3);
  network.gpu();
  EXPECT_FALSE(rates_of(network.topology()));
}

}  // namespace
}  // namespace stellwerk
