#include "stellwerk/plan/epoch_state.hpp"

#include <gtest/gtest.h>

#include "stellwerk/check/simulate.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/plan/search.hpp"
#include "tests/support/grid_check.hpp"
#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

using testing::data;
using testing::kChunk;
using testing::kEpoch;
using testing::kGb;
using testing::kNs;
using testing::kUs;
using testing::Network;

EpochEntry entry(int chunk, int link, int epoch) { return {ChunkId(chunk), LinkId(link), epoch}; }

Schedule searched(const Problem& problem) {
  PlannerContext context;
  PlanOptions options;
  options.quick = true;
  return plan_search(problem, options, context).sends;
}

// --- The state ---------------------------------------------------------------------------------

TEST(EpochState, BeginsWithTheOriginsFromTheirReadyEpochOn) {
  const Problem problem =
      testing::problem(testing::line(4), {data({2, 0}, {1, 2}, Time{2 * kUs - 1})});
  const EpochState state = initial_state(problem, EpochGrid(problem, kEpoch));
  EXPECT_EQ(state.holders[ChunkId(0)], (std::vector<EpochHolder>{{NodeId(0), 2}, {NodeId(2), 2}}));
  EXPECT_EQ(state.wanted[ChunkId(0)], testing::nodes({1}));  // 2 has it
  EXPECT_TRUE(state.in_flight.empty());
}

TEST(EpochState, AdvancesToTheNextRound) {
  Network network = testing::line(3, 0.5);  // windows of 2 epochs
  const Problem problem =
      testing::problem(network, {data({0}, {1, 2}), data({2}, {0}, Time{5 * kUs})});
  const EpochGrid grid(problem, kEpoch);
  // 0 -> 1 in epochs 0 and 1, 1 -> 2 in 2 and 3.
  const EpochState state =
      advance(problem, grid, initial_state(problem, grid), {entry(0, 0, 0), entry(0, 2, 2)}, 3);
  EXPECT_EQ(state.holders[ChunkId(0)],
            (std::vector<EpochHolder>{{NodeId(0), 0}, {NodeId(1), 0}, {NodeId(2), 1}}));
  EXPECT_TRUE(state.wanted[ChunkId(0)].empty());
  EXPECT_EQ(state.in_flight, (std::vector{entry(0, 2, -1)}));
  EXPECT_EQ(state.holders[ChunkId(1)], (std::vector<EpochHolder>{{NodeId(2), 2}}));
  EXPECT_EQ(state.wanted[ChunkId(1)], testing::nodes({0}));
  const EpochState later = advance(problem, grid, state, {}, 1);
  EXPECT_TRUE(later.in_flight.empty());
}

TEST(EpochState, WhatIsInTheAirStillUsesTheEjectionOfItsHead) {
  Network network = testing::line(2, 1, Time{3 * kUs});
  network.nodes[NodeId(1)].ejection = Bandwidth{kGb};
  const Problem problem = testing::problem(network, {data({0}, {1})});
  const EpochGrid grid(problem, kEpoch);
  EpochState state = advance(problem, grid, initial_state(problem, grid), {entry(0, 0, 0)}, 2);
  EXPECT_EQ(state.in_flight.size(), 1U);
  state = advance(problem, grid, state, {}, 2);
  EXPECT_TRUE(state.in_flight.empty());
}

TEST(EpochState, CompletionIsTheLastArrivalThatServes) {
  const Problem problem = testing::problem(testing::line(3), {data({0}, {2}), data({1}, {1})});
  const EpochGrid grid(problem, kEpoch);
  const EpochState state = initial_state(problem, grid);
  EXPECT_EQ(completion_epoch(problem, grid, state, {entry(0, 0, 0)}), kNever);
  EXPECT_EQ(
      completion_epoch(problem, grid, state, {entry(0, 0, 0), entry(0, 2, 4), entry(0, 3, 9)}), 5);
}

TEST(EpochState, DistancesCountEpochsPastWhoMayForward) {
  Network network = testing::line(4);
  network.nodes[NodeId(2)].buffer = Bytes{1};
  const Problem problem = testing::problem(network, {data({0}, {3})});
  const EpochGrid grid(problem, kEpoch);
  const auto earliest = earliest_epochs(problem, grid, initial_state(problem, grid), ChunkId(0));
  EXPECT_EQ(earliest, (std::vector<int>{0, 1, kNever, kNever}));  // no room to pass
  const Problem members =
      testing::problem(testing::line(4), {data({0}, {3})}, {0, 1, 3}, Relays::members);
  const auto distance =
      distance_epochs(members, grid, kChunk, testing::nodes({3}), members.chunks[ChunkId(0)].job);
  EXPECT_EQ(distance[2], 1);  // could hold it, but not send it on
  EXPECT_EQ(distance[1], kNever);
}

// --- Known plans on the grid -------------------------------------------------------------------

TEST(EpochSchedule, KeepsOrderDataAndAllLimits) {
  Network network = testing::star(5, true);
  network.nodes[NodeId(5)].max_groups = 1;
  network.nodes[NodeId(1)].injection = Bandwidth{kGb / 2};
  network.nodes[NodeId(2)].ejection = Bandwidth{kGb / 2};
  for (Link& link : network.links) link.latency = Time{700 * kNs};
  for (const Collective collective : {Collective::allgather, Collective::alltoall}) {
    const Problem problem = testing::problem(network, collective);
    const EpochGrid grid(problem, kEpoch);
    const EpochState state = initial_state(problem, grid);
    const std::vector<EpochEntry> entries = epoch_schedule(problem, grid, searched(problem));
    testing::GridCheck check(problem, grid, state, entries);
    EXPECT_EQ(check.objection(), "");
    EXPECT_EQ(check.length(), completion_epoch(problem, grid, state, entries));
    EXPECT_GT(check.length(), 0);
  }
}

TEST(EpochSchedule, APlanThatFitsTheGridKeepsItsLength) {
  const Problem problem = testing::problem(testing::ring(4), Collective::allgather);
  const EpochGrid grid(problem, kEpoch);
  const Schedule sends = searched(problem);
  ASSERT_EQ(simulate(problem, sends).transfer_time, 2 * kEpoch);
  EXPECT_EQ(completion_epoch(problem, grid, initial_state(problem, grid),
                             epoch_schedule(problem, grid, sends)),
            2);
}

TEST(EpochSchedule, IsEmptyForPiecesOfChunks) {
  const Problem problem = testing::problem(testing::line(2), {data({0}, {1})});
  Schedule sends = searched(problem);
  ASSERT_EQ(sends.size(), 1U);
  sends.push_back(sends[0]);
  sends[0].bytes = Bytes{400};
  sends[1].bytes = Bytes{600}, sends[1].offset = Bytes{400};
  EXPECT_TRUE(epoch_schedule(problem, EpochGrid(problem, kEpoch), sends).empty());
}

TEST(GreedyOnGrid, MeetsEveryDemandAroundWhatIsInUse) {
  Network network = testing::star(5);
  network.nodes[NodeId(0)].injection = Bandwidth{kGb / 2};
  network.nodes[NodeId(3)].ejection = Bandwidth{kGb / 2};
  const Problem problem = testing::problem(network, Collective::alltoall);
  const EpochGrid grid(problem, kEpoch);
  const EpochState state = initial_state(problem, grid);
  std::vector<EpochEntry> entries = greedy_on_grid(problem, grid, state);
  testing::GridCheck check(problem, grid, state, entries);
  EXPECT_EQ(check.objection(), "");
  EXPECT_GE(check.length(), 8);  // four chunks into g3 at half speed
  // Cut in the middle, the rest is planned around what is still on the links.
  std::erase_if(entries, [](const EpochEntry& e) { return e.epoch >= 3; });
  const EpochState rest = advance(problem, grid, state, entries, 3);
  EXPECT_FALSE(rest.in_flight.empty());
  testing::GridCheck again(problem, grid, rest, greedy_on_grid(problem, grid, rest));
  EXPECT_EQ(again.objection(), "");
  EXPECT_GT(again.length(), 0);
}

TEST(GreedyOnGrid, WhatIsUnderWayIsNotSentOnBeforeItIsThere) {
  // The chunk reaches g1 in epoch 6 over the slow link; a second way there would be faster.
  Network network;
  for (int i = 0; i < 4; ++i) network.gpu();
  network.link(NodeId(0), NodeId(1), 1.0 / 8), network.link(NodeId(0), NodeId(2));
  network.link(NodeId(2), NodeId(1)), network.link(NodeId(1), NodeId(3));
  const Problem problem = testing::problem(network, {data({0}, {1, 3})});
  const EpochGrid grid(problem, kEpoch);
  const EpochState state =
      advance(problem, grid, initial_state(problem, grid), {entry(0, 0, 0)}, 2);
  testing::GridCheck check(problem, grid, state, greedy_on_grid(problem, grid, state));
  EXPECT_EQ(check.objection(), "");
  EXPECT_EQ(check.length(), 7);
}

TEST(GreedyOnGrid, IsEmptyWhenADemandCannotBeReached) {
  Network network;
  network.gpu(), network.gpu();
  network.link(NodeId(0), NodeId(1));
  const Problem problem = testing::problem(network, {data({0}, {1}), data({1}, {0})});
  const EpochGrid grid(problem, kEpoch);
  EXPECT_TRUE(greedy_on_grid(problem, grid, initial_state(problem, grid)).empty());
}

// --- From entries to sends ---------------------------------------------------------------------

class EntriesToSends : public ::testing::Test {
 protected:
  Schedule sends(const Network& network, std::vector<CustomChunk> chunks,
                 const std::vector<EpochEntry>& entries) {
    problem = testing::problem(network, std::move(chunks));
    const EpochGrid grid(problem, kEpoch);
    return entries_to_sends(problem, grid, initial_state(problem, grid), entries);
  }
  Problem problem;
};

TEST_F(EntriesToSends, AChainThroughASwitchIsOneSend) {
  const Schedule found =
      sends(testing::star(3), {data({0}, {2})}, {entry(0, 0, 4), entry(0, 5, 4)});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].links, (std::vector{LinkId(0), LinkId(5)}));
  EXPECT_EQ(found[0].start, 4 * kEpoch);
  EXPECT_EQ(found[0].rate, Bandwidth{kGb});
}

TEST_F(EntriesToSends, ACopyingSwitchMakesATree) {
  const Schedule found = sends(testing::star(3, true), {data({0}, {1, 2})},
                               {entry(0, 0, 0), entry(0, 4, 0), entry(0, 5, 0)});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].links.size(), 3U);
}

TEST_F(EntriesToSends, APlainSwitchPassesEachCopyOnOnce) {
  Network network = testing::star(3);
  network.links[LinkId(0)].bandwidth = Bandwidth{2 * kGb};
  const Schedule found = sends(network, {data({0}, {1, 2})},
                               {entry(0, 0, 0), entry(0, 0, 0), entry(0, 4, 0), entry(0, 5, 0)});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].links.size(), 2U);
  EXPECT_EQ(found[1].links.size(), 2U);
}

TEST_F(EntriesToSends, WhatLeadsNowhereOrComesTooEarlyIsDropped) {
  const Schedule found =
      sends(testing::star(3, true), {data({0}, {1, 2})},
            {entry(0, 0, 0), entry(0, 4, 0),  // g0 to g1
             entry(0, 1, 0), entry(0, 5, 0),  // g1 does not have it yet, but a copy goes to g2
             entry(0, 0, 3)});                // ends at the switch
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].links, (std::vector{LinkId(0), LinkId(4), LinkId(5)}));
}

TEST_F(EntriesToSends, RatesKeepTheCapsOfTheEnds) {
  Network network = testing::star(3);
  network.nodes[NodeId(0)].injection = Bandwidth{kGb / 2};
  network.nodes[NodeId(2)].ejection = Bandwidth{kGb / 4};
  const Schedule found = sends(network, {data({0}, {2})}, {entry(0, 0, 0), entry(0, 5, 0)});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rate, Bandwidth{kGb / 4});
}

TEST_F(EntriesToSends, ADeliveryThatNoTreeCanMakeIsMadeAtTheEnd) {
  // Round three switches, back to where it came from, and only then down to g1.
  Network network;
  const NodeId a = network.gpu(), b = network.gpu();
  const NodeId s = network.switch_node(), t = network.switch_node(), u = network.switch_node();
  network.link(a, s), network.link(s, t), network.link(t, u), network.link(u, s);
  network.link(s, b);
  const Schedule found =
      sends(network, {data({0}, {1})},
            {entry(0, 0, 0), entry(0, 1, 0), entry(0, 2, 1), entry(0, 3, 2), entry(0, 4, 3)});
  EXPECT_TRUE(verify_sends(problem, simulate(problem, found).sends).valid());
}

TEST(EntriesToPlan, KeepsThePromiseOfTheGridWhereSpeedsMix) {
  // g1's way up is fast: on the grid a send to the slow g0 and one to g2 share it; at full rate the
  // second one has to wait.
  Network network = testing::star(4);
  network.links[LinkId(1)].bandwidth = Bandwidth{2 * kGb};
  network.links[LinkId(6)].bandwidth = Bandwidth{2 * kGb};
  const Problem problem = testing::problem(network, {data({1}, {0}), data({1}, {2})});
  const EpochGrid grid(problem, kEpoch);
  const EpochState state = initial_state(problem, grid);
  const std::vector<EpochEntry> entries = {entry(0, 1, 0), entry(0, 4, 0), entry(1, 1, 0),
                                           entry(1, 6, 0)};
  ASSERT_EQ(completion_epoch(problem, grid, state, entries), 1);
  const Verdict verdict = verify_sends(problem, entries_to_plan(problem, grid, state, entries, {}));
  ASSERT_TRUE(verdict.valid()) << verdict.message;
  EXPECT_LE(verdict.transfer_time, kEpoch + Time{1});
}

}  // namespace
}  // namespace stellwerk
