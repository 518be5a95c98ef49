#include "stellwerk/plan/joint_trees.hpp"

#include <gtest/gtest.h>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/check/simulate.hpp"
#include "stellwerk/check/verify.hpp"
#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

using testing::Network;

/// Time of a valid plan over the least length of any trees.
double over_rates(const Problem& problem) {
  PlannerContext context;
  JointDemand demand;
  demand.terminals = problem.topology.gpus();
  demand.passable.assign(problem.topology.nodes().size(), 0);
  Bytes total{0};
  for (const ChunkId id : problem.chunk_ids()) {
    demand.chunks.push_back(id);
    total = total + problem.chunks[id].bytes;
  }
  const std::optional<JointRates> rates =
      joint_rates(problem.topology, demand.terminals, demand.passable, total, context.stop);
  EXPECT_TRUE(rates);
  demand.rates = *rates;
  const JointTreePlan plan = plan_joint_trees(problem, demand, Time{0}, false, context);
  const Schedule sends = simulate(problem, plan.sends).sends;
  const Verdict verdict = verify_sends(problem, sends);
  EXPECT_TRUE(verdict.valid()) << verdict.message;
  EXPECT_LE(verdict.transfer_time, plan.finish);
  return static_cast<double>(verdict.transfer_time.ps) / static_cast<double>(rates->length.ps);
}

TEST(JointTrees, ComeNearTheirRatesOnMixedSpeeds) {
  Rng rng(3);
  for (int round = 0; round < 3; ++round) {
    Network network;
    constexpr int kGpus = 10;
    for (int i = 0; i < kGpus; ++i) network.gpu();
    for (int i = 0; i < kGpus; ++i) {
      for (const int step : {1, 3})
        network.both(NodeId(i), NodeId((i + step) % kGpus), static_cast<double>(1 << rng.below(3)));
    }
    EXPECT_LE(over_rates(testing::problem(network, Collective::allreduce, 32)), 1.15);
  }
}

TEST(JointTrees, GoThroughSwitches) {
  // Two boxes with a rail for every GPU, one of them slow.
  Network network;
  for (int i = 0; i < 6; ++i) network.gpu();
  const NodeId box[2] = {network.switch_node(), network.switch_node()};
  for (int i = 0; i < 6; ++i) network.both(NodeId(i), box[i / 3], 9);
  for (int r = 0; r < 3; ++r) {
    const NodeId rail = network.switch_node();
    for (const int i : {r, r + 3}) network.both(NodeId(i), rail, r == 1 ? 1 : 2);
  }
  EXPECT_LE(over_rates(testing::problem(network, Collective::allreduce, 32)), 1.2);
}

TEST(JointTrees, SumAndSpreadAtTheSameTime) {
  // A hub with four leaves. ReduceScatter is bound by ways out of leaves, AllGather by ways into them:
  // one after the other takes 1.6 times as long.
  Network network;
  for (int i = 0; i < 5; ++i) network.gpu();
  for (int i = 1; i < 5; ++i) network.both(NodeId(0), NodeId(i), 1);
  EXPECT_LE(over_rates(testing::problem(network, Collective::allreduce, 32)), 1.1);
}

}  // namespace
}  // namespace stellwerk
