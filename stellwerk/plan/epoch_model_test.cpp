#include "stellwerk/plan/epoch_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/grid_check.hpp"
#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

using testing::data;
using testing::kEpoch;
using testing::kUs;
using testing::Network;

lp::Status status(const EpochModel& model, bool relax = false) {
  if (!model.reachable()) return lp::Status::infeasible;
  lp::SolveOptions options;
  options.relax = relax;
  return lp::solve(model.model(), options).status;
}

bool feasible(const Problem& problem, int horizon, bool relax = false) {
  const EpochGrid grid(problem, kEpoch);
  const EpochState state = initial_state(problem, grid);
  return status(EpochModel(problem, grid, state, horizon, {}), relax) == lp::Status::optimal;
}

/// Two full meshes of three fast GPUs, joined by one slow link each way.
Network two_boxes() {
  Network network;
  for (int i = 0; i < 6; ++i) network.gpu();
  for (int box = 0; box < 2; ++box) {
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) {
        if (i != j) network.link(NodeId(3 * box + i), NodeId(3 * box + j), 4);
      }
    }
  }
  network.both(NodeId(0), NodeId(3), 1);
  return network;
}

TEST(EpochModel, IsFeasibleFromTheOptimumOn) {
  const Problem problem = testing::problem(testing::ring(5, false), Collective::allgather);
  EXPECT_FALSE(feasible(problem, 3));
  EXPECT_TRUE(feasible(problem, 4));
  EXPECT_TRUE(feasible(problem, 6));
}

TEST(EpochModel, KnowsWhatIsTooFar) {
  const Problem problem = testing::problem(testing::line(4), {data({0}, {3})});
  const EpochGrid grid(problem, kEpoch);
  const EpochState state = initial_state(problem, grid);
  EXPECT_FALSE(EpochModel(problem, grid, state, 2, {}).reachable());
  EXPECT_TRUE(EpochModel(problem, grid, state, 3, {}).reachable());
}

TEST(EpochModel, HasVariablesOnlyWhereAChunkCanBeAndGoOn) {
  const Problem problem = testing::problem(testing::line(4), {data({0}, {2})});
  const EpochGrid grid(problem, kEpoch);
  const EpochState state = initial_state(problem, grid);
  EXPECT_EQ(count_entries(problem, grid, state, 1), 0);
  EXPECT_EQ(count_entries(problem, grid, state, 2), 2);  // 0 -> 1 in 0, 1 -> 2 in 1
  EXPECT_EQ(EpochModel(problem, grid, state, 2, {}).model().integers(), 2U);
}

TEST(EpochModel, SolutionsAreEntriesAndBack) {
  for (const Network& network : {testing::ring(4), testing::star(4), testing::star(4, true)}) {
    for (const Collective collective : {Collective::allgather, Collective::alltoall}) {
      const Problem problem = testing::problem(network, collective);
      const EpochGrid grid(problem, kEpoch);
      const EpochState state = initial_state(problem, grid);
      const EpochModel model(problem, grid, state, 8, {});
      const lp::Solution solution = lp::solve(model.model());
      ASSERT_TRUE(solution.has_values());
      const std::vector<EpochEntry> entries = model.entries(solution.values);
      testing::GridCheck check(problem, grid, state, entries);
      EXPECT_EQ(check.objection(), "");
      EXPECT_LE(check.length(), 8);
      // As a hint, with all its integers fixed, the model has a solution.
      const std::vector<double> hint = model.values(entries);
      ASSERT_EQ(hint.size(), model.model().variables());
      lp::Model fixed = model.model();
      for (std::size_t i = 0; i < hint.size(); ++i) {
        fixed.set_bounds(static_cast<lp::Variable>(i), hint[i], hint[i]);
      }
      EXPECT_EQ(lp::solve(fixed).status, lp::Status::optimal);
    }
  }
}

TEST(EpochModel, HintsThatDoNotFitTheHorizonAreNone) {
  const Problem problem = testing::problem(testing::line(3), {data({0}, {2})});
  const EpochGrid grid(problem, kEpoch);
  const EpochState state = initial_state(problem, grid);
  const std::vector<EpochEntry> late = {{ChunkId(0), LinkId(0), 4}, {ChunkId(0), LinkId(2), 5}};
  EXPECT_TRUE(EpochModel(problem, grid, state, 5, {}).values(late).empty());
  EXPECT_FALSE(EpochModel(problem, grid, state, 6, {}).values(late).empty());
}

TEST(EpochModel, FastClustersAreTheComponentsOfFastLinks) {
  const auto clusters = fast_clusters(two_boxes().topology());
  EXPECT_EQ(clusters, (std::vector{testing::nodes({0, 1, 2}), testing::nodes({3, 4, 5})}));
  EXPECT_TRUE(fast_clusters(testing::ring(4).topology()).empty());
}

TEST(EpochModel, ClusterCutsMakeTheRelaxationProve) {
  // Three chunks must cross the slow link, one an epoch, and be passed on: four epochs.
  const Problem problem = testing::problem(two_boxes(), Collective::allgather);
  const EpochGrid grid(problem, kEpoch);
  EXPECT_EQ(least_horizon(problem, grid, initial_state(problem, grid)), 4);
  EXPECT_FALSE(feasible(problem, 3, true));
}

TEST(EpochModel, AChunkForOneNodeIsAFlow) {
  // Six chunks leave g0 through one link; halves of them, copied at the switch, must not count.
  const Problem problem =
      testing::problem(testing::star(4, true), {data({0}, {1}), data({0}, {1}), data({0}, {2}),
                                                data({0}, {2}), data({0}, {3}), data({0}, {3})});
  EXPECT_FALSE(feasible(problem, 5, true));
  EXPECT_TRUE(feasible(problem, 6));
}

TEST(EpochModel, LeastHorizonCountsSlotsLatenciesAndReleases) {
  const auto least = [](const Problem& problem) {
    const EpochGrid grid(problem, kEpoch);
    return least_horizon(problem, grid, initial_state(problem, grid));
  };
  EXPECT_EQ(least(testing::problem(testing::ring(6), Collective::alltoall)), 3);
  EXPECT_EQ(least(testing::problem(testing::star(5), Collective::allgather)), 4);
  EXPECT_EQ(least(testing::problem(testing::line(3, 1, Time{kUs}), {data({0}, {2})})), 4);
  EXPECT_EQ(least(testing::problem(testing::line(3), {data({0}, {2}, Time{7 * kUs})})), 9);
  EXPECT_EQ(least(testing::problem(testing::line(3), {data({0}, {0}, Time{7 * kUs})})), 7);
  // Out of the root, and into the other box for all of it: nine chunks over one link, passed on.
  EXPECT_EQ(least(testing::problem(testing::star(5, true), Collective::scatter)), 4);
  EXPECT_EQ(least(testing::problem(two_boxes(), Collective::alltoall)), 9);
  Network network;
  network.gpu(), network.gpu();
  network.link(NodeId(0), NodeId(1));
  EXPECT_EQ(least(testing::problem(network, {data({1}, {0})})), kNever);
}

TEST(EpochModel, ChunksWithDifferentHoldersKeepNoOrder) {
  // Alike at the beginning; but the second has come to g1 already, and can be at g2 first.
  const Problem problem = testing::problem(testing::line(3), {data({0}, {2}), data({0}, {2})});
  const EpochGrid grid(problem, kEpoch);
  const EpochState state =
      advance(problem, grid, initial_state(problem, grid), {{ChunkId(1), LinkId(0), 0}}, 1);
  EXPECT_EQ(status(EpochModel(problem, grid, state, 2, {})), lp::Status::optimal);
}

TEST(EpochModel, WhatIsUnderWayTakesItsRoom) {
  const Problem problem =
      testing::problem(testing::line(2, 0.25), {data({0}, {1}), data({0}, {1})});
  const EpochGrid grid(problem, kEpoch);
  const EpochState state =
      advance(problem, grid, initial_state(problem, grid), {{ChunkId(0), LinkId(0), 0}}, 1);
  EXPECT_NE(status(EpochModel(problem, grid, state, 6, {})), lp::Status::optimal);
  EXPECT_EQ(status(EpochModel(problem, grid, state, 7, {})), lp::Status::optimal);
}

TEST(EpochModel, NamesTellChunkPlaceAndEpoch) {
  const Problem problem = testing::problem(testing::line(2), {data({0}, {1})});
  const EpochGrid grid(problem, kEpoch);
  const EpochState state = initial_state(problem, grid);
  EpochModelOptions options;
  options.names = true;
  const EpochModel model(problem, grid, state, 1, options);
  const auto names = model.model().variable_names();
  EXPECT_NE(std::find(names.begin(), names.end(), "F_0_0_0"), names.end());
  EXPECT_NE(std::find(names.begin(), names.end(), "B_0_1_1"), names.end());
}

}  // namespace
}  // namespace stellwerk
