#include "stellwerk/plan/rounds.hpp"

#include <gtest/gtest.h>

#include "stellwerk/check/verify.hpp"
#include "stellwerk/plan/milp.hpp"
#include "tests/support/grid_check.hpp"
#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

using testing::data;
using testing::kEpoch;
using testing::kGb;
using testing::kUs;
using testing::Network;
using testing::sum;

/// The length of the plan by rounds on the grid, valid and complete; with rounds of one to four
/// epochs.
std::vector<int> lengths(const Problem& problem) {
  const EpochGrid grid(problem, kEpoch);
  std::vector<int> result;
  for (const int epochs : {1, 2, 3, 4}) {
    PlannerContext context;
    PlanOptions options;
    options.round_epochs = epochs;
    const std::vector<EpochEntry> entries = rounds_on_grid(problem, grid, options, context);
    testing::GridCheck check(problem, grid, initial_state(problem, grid), entries);
    EXPECT_EQ(check.objection(), "");
    EXPECT_GE(check.length(), 0) << "rounds of " << epochs << " leave a demand unmet";
    result.push_back(check.length());
  }
  return result;
}

int optimum(const Problem& problem) {
  const EpochGrid grid(problem, kEpoch);
  PlannerContext context;
  return solve_on_grid(problem, grid, {}, {}, context).epochs;
}

PlannerOutcome plan(const Problem& problem, const PlanOptions& options = {}) {
  PlannerContext context;
  PlannerOutcome outcome = plan_rounds(problem, options, context);
  if (outcome.has_plan()) {
    const Verdict verdict = verify_sends(problem, outcome.sends);
    EXPECT_TRUE(verdict.valid()) << verdict.message;
  }
  return outcome;
}

TEST(Rounds, MeetAllDemandsAndAreNeverShorterThanTheOptimum) {
  Network boxes;  // two pairs, joined by slow links with latency
  for (int i = 0; i < 4; ++i) boxes.gpu();
  boxes.both(NodeId(0), NodeId(1), 2), boxes.both(NodeId(2), NodeId(3), 2);
  boxes.both(NodeId(0), NodeId(2), 0.5, Time{kUs}),
      boxes.both(NodeId(1), NodeId(3), 0.5, Time{kUs});
  for (const Network& network : {testing::ring(4), testing::ring(5, false), testing::star(4),
                                 testing::star(4, true), boxes}) {
    for (const Collective collective :
         {Collective::allgather, Collective::broadcast, Collective::alltoall, Collective::gather}) {
      const Problem problem = testing::problem(network, collective);
      const int best = optimum(problem);
      for (const int length : lengths(problem)) EXPECT_GE(length, best);
    }
  }
}

TEST(Rounds, OneLongRoundIsTheOptimum) {
  const Problem problem = testing::problem(testing::ring(4), Collective::alltoall);
  const EpochGrid grid(problem, kEpoch);
  PlannerContext context;
  PlanOptions options;
  options.round_epochs = 8;
  const auto entries = rounds_on_grid(problem, grid, options, context);
  EXPECT_EQ(completion_epoch(problem, grid, initial_state(problem, grid), entries),
            optimum(problem));
}

TEST(Rounds, WhatIsOnALinkAtTheEndOfARoundBlocksItInTheNext) {
  // Windows of 5 epochs, rounds of 1 to 4.
  const Problem problem =
      testing::problem(testing::line(3, 0.2), {data({0}, {2}), data({0}, {1, 2})});
  for (const int length : lengths(problem)) EXPECT_EQ(length, 15);
}

TEST(Rounds, LatenciesLongerThanARound) {
  const Problem problem =
      testing::problem(testing::line(3, 1, Time{7 * kUs}), {data({0}, {2}), data({2}, {0, 1})});
  for (const int length : lengths(problem)) EXPECT_EQ(length, 16);
}

TEST(Rounds, ChunksThatAreReleasedMuchLater) {
  const Problem problem = testing::problem(
      testing::line(3),
      {data({0}, {2}), data({0}, {2}, Time{30 * kUs}), data({2}, {0}, Time{11 * kUs})});
  for (const int length : lengths(problem)) EXPECT_EQ(length, 32);
}

TEST(Rounds, WaysThroughManySwitchesLongerThanARound) {
  Network network;
  network.gpu(), network.gpu();
  NodeId last(0);
  for (int i = 0; i < 6; ++i) {
    const NodeId next = network.switch_node(i % 2 == 0);
    network.both(last, next, 1, Time{kUs});
    last = next;
  }
  network.both(last, NodeId(1), 1, Time{kUs});
  const Problem problem = testing::problem(network, {data({0}, {1}), data({1}, {0})});
  for (const int length : lengths(problem)) EXPECT_EQ(length, 8);
}

TEST(Rounds, KeepInjectionAcrossRounds) {
  Network network = testing::full_mesh(3);
  network.nodes[NodeId(0)].injection = Bandwidth{kGb / 3};
  const Problem problem = testing::problem(network, {data({0}, {1}), data({0}, {2})});
  for (const int length : lengths(problem)) EXPECT_GE(length, 6);
}

TEST(Rounds, PlanEveryKindOfDemand) {
  const Network network = testing::star(4, true, true);
  for (const Collective collective :
       {Collective::allgather, Collective::reducescatter, Collective::allreduce,
        Collective::alltoall, Collective::reduce}) {
    const PlannerOutcome outcome = plan(testing::problem(network, collective));
    ASSERT_TRUE(outcome.has_plan());
    if (collective == Collective::allreduce) continue;  // two halves, two grids
    ASSERT_TRUE(outcome.epoch.has_value());
    EXPECT_GE(outcome.epoch->epochs, outcome.epoch->proven_epochs);
  }
  EXPECT_TRUE(plan(testing::problem(network, {sum({0, 1}, {2, 3}), data({3}, {0, 1})})).has_plan());
}

TEST(Rounds, EndWhenNothingIsWanted) {
  EXPECT_TRUE(plan(testing::problem(testing::line(2), {data({0}, {0})})).has_plan());
}

TEST(Rounds, AtALimitTheRestIsPlannedGreedily) {
  const Problem problem = testing::problem(testing::ring(6), Collective::alltoall);
  PlannerContext context;
  context.stop = StopCondition(0.0);
  const PlannerOutcome outcome = plan_rounds(problem, {}, context);
  ASSERT_TRUE(outcome.has_plan());
  EXPECT_EQ(outcome.termination.limit, Limit::time);
  EXPECT_TRUE(verify_sends(problem, outcome.sends).valid());
}

TEST(Rounds, DeclineWhatTheyDoNotModel) {
  Network network = testing::ring(4);
  PlanOptions options;
  options.store = false;
  const PlannerOutcome no_store = plan(testing::problem(network, Collective::allgather), options);
  EXPECT_EQ(no_store.termination.reason, Termination::Reason::unsupported);
  EXPECT_NE(no_store.message.find("--no-store"), std::string::npos);
  network.nodes[NodeId(1)].buffer = testing::kChunk;
  const PlannerOutcome buffers = plan(testing::problem(network, Collective::alltoall));
  EXPECT_EQ(buffers.termination.reason, Termination::Reason::unsupported);
  EXPECT_NE(buffers.message.find("buffer"), std::string::npos);
}

}  // namespace
}  // namespace stellwerk
