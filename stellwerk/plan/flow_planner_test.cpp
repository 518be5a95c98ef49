#include "stellwerk/plan/flow_planner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "stellwerk/bound/bound.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/small_world.hpp"

namespace stellwerk {
namespace {

using ::testing::HasSubstr;
using Reason = Termination::Reason;

Problem alltoall(const std::string& name, std::int64_t size, int chunks) {
  Topology topology = catalogue_topology(name);
  Job job;
  job.name = "job";
  job.collective = Collective::alltoall;
  job.ranks = topology.gpus();
  job.size = Bytes{size};
  job.chunks = chunks;
  return make_problem(std::move(topology), {job});
}

PlannerOutcome plan(const Problem& problem, double gap, bool quick = false) {
  PlannerContext context;
  context.bound = lower_bound(problem);
  PlanOptions options;
  options.gap = gap;
  options.quick = quick;
  return plan_flow(problem, options, context);
}

/// Transfer time over the bound for any chunking.
double ratio(const std::string& name, std::int64_t size, int chunks) {
  const Problem problem = alltoall(name, size, chunks);
  const PlannerOutcome outcome = plan(problem, 0.001);
  EXPECT_TRUE(outcome.has_plan()) << outcome.message;
  const Verdict verdict = verify_sends(problem, outcome.sends);
  EXPECT_TRUE(verdict.valid()) << verdict.message;
  return verdict.transfer_time.seconds() / lower_bound(problem).value.seconds();
}

constexpr std::int64_t kGiga = 1'000'000'000, kMega = 1'000'000;

TEST(Flow, IrregularFabricsNearTheBound) {
  EXPECT_LT(ratio("torus:4x4,fail=3", kGiga, 16), 1.01);
  EXPECT_LT(ratio("random:16,mixed,seed=3", kGiga, 16), 1.01);
  EXPECT_LT(ratio("rail:4x4,degrade=5,what=any", kGiga, 4), 1.01);
  EXPECT_LT(ratio("random-boxes:2", kGiga, 8), 1.01);
}

TEST(Flow, CrossbarsWithoutIdlePorts) {
  EXPECT_LT(ratio("switch:12", kGiga, 1), 1.0001);
  EXPECT_LT(ratio("dgx2:2", kGiga, 1), 1.0005);
  EXPECT_LT(ratio("ndv2:4", kGiga, 1), 1.0001);
}

TEST(Flow, SmallSizesCountLatencies) {
  EXPECT_LT(ratio("dgx1", kMega, 4), 1.03);
  EXPECT_LT(ratio("torus:4x4,fail=3", kMega, 2), 1.06);
}

TEST(Flow, SameSeedSamePlan) {
  const Problem problem = alltoall("rail:4x4,degrade=5,what=any", kGiga, 2);
  EXPECT_EQ(plan(problem, 0.001).sends, plan(problem, 0.001).sends);
}

/// Small custom demands: switches, relays, several origins, ready times.
TEST(Flow, RandomInstancesValidAndAboveTheBound) {
  Rng rng(5);
  int plans = 0, declined = 0;
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    const auto instance = testing::random_instance(rng, {});
    const Problem problem = testing::to_problem(instance, Bytes{60'000}, Time{1'000'000});
    const PlannerOutcome outcome = plan(problem, 0.001, round % 2 == 0);
    if (!outcome.has_plan()) {
      EXPECT_EQ(outcome.termination.reason, Reason::unsupported) << outcome.message;
      EXPECT_FALSE(outcome.message.empty());
      ++declined;
      continue;
    }
    const Verdict verdict = verify_sends(problem, outcome.sends);
    ASSERT_TRUE(verdict.valid()) << verdict.message;
    EXPECT_GE(verdict.transfer_time, lower_bound(problem).value);
    ++plans;
  }
  EXPECT_GT(plans, 40);
  EXPECT_GT(declined, 40);
}

TEST(Flow, WaitsForChunksThatAreReadyLate) {
  test_support::SmallWorld world(3);
  world.link(0, 1).link(1, 2).data(100, {0}, {2}, 700'000).data(100, {1}, {2});
  const Problem problem = world.problem();
  const PlannerOutcome outcome = plan(problem, 0);
  ASSERT_TRUE(outcome.has_plan());
  const Verdict verdict = verify_sends(problem, outcome.sends);
  EXPECT_TRUE(verdict.valid()) << verdict.message;
  EXPECT_EQ(verdict.transfer_time, Time{900'000});
}

TEST(Flow, TakesTheNearestOfSeveralOrigins) {
  test_support::SmallWorld world(4);
  world.link(0, 1).link(1, 3).link(2, 3).data(100, {0, 2}, {3, 0});
  const Problem problem = world.problem();
  const PlannerOutcome outcome = plan(problem, 0);
  ASSERT_TRUE(outcome.has_plan());
  EXPECT_EQ(verify_sends(problem, outcome.sends).transfer_time, Time{100'000});
}

TEST(Flow, SaysWhatItDeclines) {
  test_support::SmallWorld copies(3);
  copies.link(0, 1).link(0, 2).data(100, {0}, {1, 2});
  EXPECT_THAT(plan(copies.problem(), 0).message, HasSubstr("one destination"));
  test_support::SmallWorld sums(3);
  sums.link(0, 2).link(1, 2).sum(100, {0, 1}, {2});
  EXPECT_THAT(plan(sums.problem(), 0).message, HasSubstr("reductions"));
  test_support::SmallWorld caps(2);
  caps.nodes[NodeId(0)].injection = Bandwidth{1'000};
  caps.link(0, 1).data(100, {0}, {1});
  const PlannerOutcome outcome = plan(caps.problem(), 0);
  EXPECT_EQ(outcome.termination.reason, Reason::unsupported);
  EXPECT_THAT(outcome.message, HasSubstr("injection"));
}

TEST(Flow, StopsWithoutAPlanWhenThereIsNoTime) {
  const Problem problem = alltoall("rail:8x8", kGiga, 4);
  PlannerContext context;
  context.stop = StopCondition(0);
  const PlannerOutcome outcome = plan_flow(problem, {}, context);
  EXPECT_EQ(outcome.termination.reason, Reason::no_solution);
}

}  // namespace
}  // namespace stellwerk
