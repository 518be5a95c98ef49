#include "stellwerk/plan/trees.hpp"

#include <gtest/gtest.h>

#include "stellwerk/bound/bound.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/plan/tree_packing.hpp"
#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

using testing::kGb;
using testing::kUs;
using testing::Network;

/// The transfer time of a valid plan, or the test fails.
Time trees(const Problem& problem) {
  PlannerContext context;
  context.bound = lower_bound(problem, context.stop);
  const PlannerOutcome outcome = plan_trees(problem, PlanOptions{}, context);
  EXPECT_TRUE(outcome.has_plan()) << outcome.message;
  const Verdict verdict = verify_sends(problem, outcome.sends);
  EXPECT_TRUE(verdict.valid()) << verdict.message;
  return verdict.transfer_time;
}

double gap(const Problem& problem, Time time) {
  return static_cast<double>(time.ps) /
             static_cast<double>(lower_bound(problem, StopCondition()).value.ps) -
         1;
}

/// Two leaves of three GPUs under two spines, links of two speeds.
Network leaf_spine() {
  Network network;
  for (int i = 0; i < 6; ++i) network.gpu();
  const NodeId leaf[2] = {network.switch_node(), network.switch_node()};
  const NodeId spine[2] = {network.switch_node(), network.switch_node()};
  for (int i = 0; i < 6; ++i) network.both(NodeId(i), leaf[i / 3], i == 4 ? 1 : 2, Time{kUs / 10});
  for (const NodeId l : leaf) {
    for (const NodeId s : spine) network.both(l, s, 2, Time{kUs / 5});
  }
  return network;
}

class TreesServe : public ::testing::TestWithParam<Collective> {};

TEST_P(TreesServe, UniformDemandsEverywhere) {
  for (const Network& network : {testing::ring(5), testing::star(5, true, true), leaf_spine()}) {
    trees(testing::problem(network, GetParam(), 8));
    trees(testing::problem(network, GetParam(), 8, {3, 1, 0}));
  }
}

INSTANTIATE_TEST_SUITE_P(Collectives, TreesServe,
                         ::testing::Values(Collective::allgather, Collective::reducescatter,
                                           Collective::allreduce, Collective::broadcast,
                                           Collective::reduce),
                         [](const auto& test) { return std::string(to_string(test.param)); });

TEST(Trees, PassOverRelaysAndKeepCaps) {
  Network network;
  for (int i = 0; i < 4; ++i) network.gpu();
  const NodeId relay[2] = {network.relay(), network.relay()};
  for (int i = 0; i < 4; ++i) network.both(NodeId(i), relay[i / 2], 2);
  network.both(relay[0], relay[1], 1);
  network.nodes[NodeId(0)].injection = Bandwidth{kGb};
  network.nodes[relay[1]].ejection = Bandwidth{3 * kGb};
  trees(testing::problem(network, Collective::allgather, 8));
  trees(testing::problem(network, Collective::reducescatter, 8));
}

TEST(Trees, DeclineOtherDemands) {
  PlannerContext context;
  const PlannerOutcome outcome =
      plan_trees(testing::problem(testing::ring(4), Collective::alltoall), PlanOptions{}, context);
  EXPECT_EQ(outcome.termination.reason, Termination::Reason::unsupported);
  EXPECT_FALSE(outcome.message.empty());
}

TEST(Trees, AreNearTheBoundOnMixedSpeeds) {
  Rng rng(3);
  for (int round = 0; round < 3; ++round) {
    Network network;
    constexpr int kGpus = 12;
    for (int i = 0; i < kGpus; ++i) network.gpu();
    for (int i = 0; i < kGpus; ++i) {
      for (const int step : {1, 5}) {
        network.link(NodeId(i), NodeId((i + step) % kGpus), static_cast<double>(1 << rng.below(3)));
      }
    }
    const Problem problem = testing::problem(network, Collective::allgather, 32);
    EXPECT_LE(gap(problem, trees(problem)), 0.05);
  }
}

TEST(FluidTimes, AreTheWorstCutAndItsSlack) {
  // Two pairs joined by one slow link each way: that is full for the longest time.
  Network network = testing::line(4, 4);
  network.links[LinkId(2)].bandwidth = network.links[LinkId(3)].bandwidth = Bandwidth{kGb};
  const Topology topology = network.topology();
  TreeDemand demand{topology.gpus(),
                    {1, 1, 1, 1},
                    Bytes{1'000'000},
                    IdVector<NodeId, char>(topology.nodes().size(), 0)};
  const FluidTimes times = fluid_times(topology, demand);
  EXPECT_NEAR(static_cast<double>(times.longest.ps), 2e9, 1e5);
  EXPECT_EQ(times.link[LinkId(2)], times.longest);
  EXPECT_LT(times.link[LinkId(0)], times.longest);
}

}  // namespace
}  // namespace stellwerk
