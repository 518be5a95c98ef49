// Known optima on an epoch grid, feature by feature: every plan is judged on the grid and,
// re-timed, by the verifier.
#include "stellwerk/plan/milp.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/simulate.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/plan/epoch_model.hpp"
#include "stellwerk/plan/no_copy.hpp"
#include "stellwerk/plan/search.hpp"
#include "tests/support/grid_check.hpp"
#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

using testing::data;
using testing::kChunk;
using testing::kEpoch;
using testing::kGb;
using testing::kUs;
using testing::Network;

/// Solves to optimality and returns the length; -1 when there is no plan.
int optimum(const Problem& problem, const PlanOptions& options = {}) {
  const EpochGrid grid(problem, kEpoch);
  PlannerContext context;
  const GridSolution solution = solve_on_grid(problem, grid, {}, options, context);
  if (solution.epochs >= kNever) return -1;
  EXPECT_EQ(solution.epochs, solution.proven);
  const EpochState state = initial_state(problem, grid);
  testing::GridCheck check(problem, grid, state, solution.entries);
  EXPECT_EQ(check.objection(), "");
  EXPECT_EQ(check.length(), solution.epochs);
  const Schedule sends =
      simulate(problem, entries_to_sends(problem, grid, state, solution.entries)).sends;
  const Verdict verdict = verify_sends(problem, sends);
  EXPECT_TRUE(verdict.valid()) << verdict.message;
  EXPECT_LE(verdict.transfer_time, solution.epochs * kEpoch);
  return solution.epochs;
}

PlannerOutcome plan(const Problem& problem, const PlanOptions& options = {}) {
  PlannerContext context;
  PlannerOutcome outcome = plan_milp(problem, options, context);
  if (outcome.has_plan()) {
    const Verdict verdict = verify_sends(problem, outcome.sends);
    EXPECT_TRUE(verdict.valid()) << verdict.message;
  }
  return outcome;
}

// --- Topologies --------------------------------------------------------------------------------

TEST(Milp, AllgatherOnRings) {
  EXPECT_EQ(optimum(testing::problem(testing::ring(4), Collective::allgather)), 2);
  EXPECT_EQ(optimum(testing::problem(testing::ring(4, false), Collective::allgather)), 3);
  EXPECT_EQ(optimum(testing::problem(testing::ring(5), Collective::allgather, 2)), 4);
}

TEST(Milp, AllgatherOnAFullMesh) {
  EXPECT_EQ(optimum(testing::problem(testing::full_mesh(4), Collective::allgather)), 1);
  EXPECT_EQ(optimum(testing::problem(testing::full_mesh(4), Collective::allgather, 3)), 3);
}

TEST(Milp, BroadcastThroughASwitchWithAndWithoutMulticast) {
  EXPECT_EQ(optimum(testing::problem(testing::star(4, true), Collective::broadcast)), 1);
  EXPECT_EQ(optimum(testing::problem(testing::star(4, false), Collective::broadcast)), 2);
}

TEST(Milp, AForwardingGpuUsesItsWayUpToAPlainSwitchAsOftenAsItHelps) {
  // One holder, two, four, eight: the second holder sends the chunk up twice.
  EXPECT_EQ(optimum(testing::problem(testing::star(8), Collective::broadcast)), 3);
}

TEST(Milp, AFastWayUpToAPlainSwitchCarriesAChunkTwiceInAnEpoch) {
  Network network = testing::star(3);
  network.links[LinkId(0)].bandwidth = Bandwidth{2 * kGb};
  EXPECT_EQ(optimum(testing::problem(network, {data({0}, {1, 2})})), 1);
}

TEST(Milp, AllToAllThroughASwitch) {
  EXPECT_EQ(optimum(testing::problem(testing::star(4), Collective::alltoall)), 3);
}

TEST(Milp, ChainsOfSwitchesTakeTheLatencyOfEach) {
  Network network;  // two leaves and a spine; a hop is gpu - leaf - spine - leaf - gpu
  for (int i = 0; i < 4; ++i) network.gpu();
  const NodeId left = network.switch_node(true), right = network.switch_node(true);
  const NodeId spine = network.switch_node(true);
  for (const int i : {0, 1}) network.both(NodeId(i), left);
  for (const int i : {2, 3}) network.both(NodeId(i), right);
  network.both(left, spine), network.both(right, spine);
  EXPECT_EQ(optimum(testing::problem(network, {data({0}, {1, 2, 3})})), 3);
}

TEST(Milp, CopiesThatMeetAgainAtASwitchStayPlans) {
  // s copies to t at once and by way of u; t's port to g1 is busy when the first copy passes.
  Network network;
  const NodeId a = network.gpu(), b = network.gpu(), c = network.gpu(), d = network.gpu();
  const NodeId s = network.switch_node(true), t = network.switch_node(true);
  const NodeId u = network.switch_node(true);
  network.link(a, s), network.link(s, t), network.link(s, u), network.link(u, t);
  network.link(t, b), network.link(t, c), network.link(d, t);
  const Problem problem = testing::problem(
      network, {data({a.value}, {b.value, c.value}), data({d.value}, {b.value}, Time{kUs})});
  EXPECT_LE(optimum(problem), 3);
}

TEST(Milp, SlowLinksAndLatencies) {
  Network network;  // 0 -> 1 takes 3 epochs, by 2 it takes 2 and a latency
  for (int i = 0; i < 3; ++i) network.gpu();
  network.link(NodeId(0), NodeId(1), 0.34);
  network.link(NodeId(0), NodeId(2));
  network.link(NodeId(2), NodeId(1), 1, Time{kUs});
  EXPECT_EQ(optimum(testing::problem(network, {data({0}, {1})})), 3);
  EXPECT_EQ(optimum(testing::problem(network, {data({0}, {1}), data({0}, {1})})), 3);
  EXPECT_EQ(optimum(testing::problem(network, {data({0}, {1}), data({0}, {1}), data({0}, {1})})),
            4);
}

// --- Limits ------------------------------------------------------------------------------------

/// g0 -> relay -> g1 with a buffer of `chunks`.
Network through_relay(double chunks) {
  Network network;
  const NodeId a = network.gpu(), b = network.gpu(), relay = network.relay();
  network.link(a, relay), network.link(relay, b);
  network.nodes[relay].buffer =
      Bytes{static_cast<std::int64_t>(chunks * static_cast<double>(kChunk.value))};
  return network;
}

TEST(Milp, ABufferOfOneChunkIsFreeAgainOnceTheChunkHasLeft) {
  const std::vector<CustomChunk> two = {data({0}, {1}), data({0}, {1})};
  EXPECT_EQ(optimum(testing::problem(through_relay(2), two)), 3);
  EXPECT_EQ(optimum(testing::problem(through_relay(1), two)), 4);
}

TEST(Milp, ABufferThatIsTooSmallIsNoWay) {
  EXPECT_EQ(optimum(testing::problem(through_relay(0.5), {data({0}, {1})})), -1);
  const PlannerOutcome outcome = plan(testing::problem(through_relay(0.5), {data({0}, {1})}));
  EXPECT_EQ(outcome.termination.reason, Termination::Reason::no_solution);
  EXPECT_FALSE(outcome.message.empty());
}

TEST(Milp, WhatANodeWantsNeedsNoBuffer) {
  Network network = testing::line(3);
  network.nodes[NodeId(1)].buffer = Bytes{0};
  EXPECT_EQ(optimum(testing::problem(network, {data({0}, {1, 2})})), 2);
  EXPECT_EQ(optimum(testing::problem(network, {data({0}, {2})})), -1);
}

TEST(Milp, InjectionAndEjectionCaps) {
  const std::vector<CustomChunk> out = {data({0}, {1}), data({0}, {2})};
  const std::vector<CustomChunk> in = {data({1}, {0}), data({2}, {0})};
  Network network = testing::full_mesh(3);
  EXPECT_EQ(optimum(testing::problem(network, out)), 1);
  EXPECT_EQ(optimum(testing::problem(network, in)), 1);
  network.nodes[NodeId(0)].injection = Bandwidth{kGb};
  network.nodes[NodeId(0)].ejection = Bandwidth{kGb};
  EXPECT_EQ(optimum(testing::problem(network, out)), 2);
  EXPECT_EQ(optimum(testing::problem(network, in)), 2);
}

TEST(Milp, ACapBelowTheLinkSlowsEverySendDown) {
  Network network = testing::line(2);
  network.nodes[NodeId(0)].injection = Bandwidth{kGb / 2};
  EXPECT_EQ(optimum(testing::problem(network, {data({0}, {1})})), 2);
  network.nodes[NodeId(1)].ejection = Bandwidth{kGb * 34 / 100};
  EXPECT_EQ(optimum(testing::problem(network, {data({0}, {1})})), 3);
}

TEST(Milp, AKnownPlanThatBreaksACapIsNoUpperBound) {
  Network network = testing::full_mesh(3);
  network.nodes[NodeId(0)].injection = Bandwidth{kGb};
  const Problem problem = testing::problem(network, {data({0}, {1}), data({0}, {2})});
  const PlannerOutcome outcome = plan(problem);  // starts from a plan by insertion
  ASSERT_TRUE(outcome.epoch.has_value());
  EXPECT_EQ(outcome.epoch->epochs, 2);
}

TEST(Milp, MulticastGroups) {
  Network network = testing::star(10, true);
  const auto groups = [&](std::optional<int> most) {
    network.nodes[NodeId(10)].max_groups = most;
    return optimum(testing::problem(network, {data({0}, {2, 3, 4, 5}), data({1}, {6, 7, 8, 9})}));
  };
  EXPECT_EQ(groups({}), 1);
  EXPECT_EQ(groups(2), 1);
  EXPECT_EQ(groups(1), 2);
  EXPECT_EQ(groups(0), 3);
}

TEST(Milp, NonMembersForwardOnlyWhereAllowed) {
  Network network;  // 0 -> 1 is slow, by 2 it is fast
  for (int i = 0; i < 3; ++i) network.gpu();
  network.link(NodeId(0), NodeId(1), 0.25);
  network.link(NodeId(0), NodeId(2)), network.link(NodeId(2), NodeId(1));
  const std::vector<CustomChunk> chunks = {data({0}, {1})};
  EXPECT_EQ(optimum(testing::problem(network, chunks, {0, 1}, Relays::all)), 2);
  EXPECT_EQ(optimum(testing::problem(network, chunks, {0, 1}, Relays::members)), 4);
  network.nodes[NodeId(2)].kind = NodeKind::relay;
  EXPECT_EQ(optimum(testing::problem(network, chunks, {0, 1}, Relays::members)), 2);
}

// --- Variants of the model ---------------------------------------------------------------------

TEST(Milp, WithoutStoringAChunkGoesOnAtOnceOrNever) {
  // x must pass 1 while 1 -> 2 is busy with y, or leave 0 while 0 -> 1 is busy with z.
  const Problem problem =
      testing::problem(testing::line(4), {data({0}, {2}), data({1}, {3}, Time{kUs}),
                                          data({0}, {1}, Time{kUs}), data({0}, {1}, Time{kUs})});
  EXPECT_EQ(optimum(problem), 3);
  PlanOptions options;
  options.store = false;
  EXPECT_EQ(optimum(problem, options), 4);
}

TEST(Milp, WithoutCopiesTheSourceServesEveryDestination) {
  const Problem problem = testing::problem(testing::star(4), Collective::broadcast);
  EXPECT_EQ(optimum(problem), 2);
  EXPECT_EQ(optimum(without_copies(problem).problem), 3);
  PlanOptions options;
  options.copy = false;
  options.epoch = {EpochChoice::Kind::explicit_time, 1, kEpoch};
  const PlannerOutcome outcome = plan(problem, options);
  ASSERT_TRUE(outcome.has_plan());
  EXPECT_EQ(outcome.epoch->epochs, 3);
  for (const Send& send : outcome.sends) {
    EXPECT_EQ(problem.topology.link(send.links.front()).from, NodeId(0));
  }
}

TEST(Milp, ReleaseTimesCount) {
  const Network network = testing::line(3);
  EXPECT_EQ(optimum(testing::problem(network, {data({0}, {2}, Time{5 * kUs})})), 7);
  EXPECT_EQ(optimum(testing::problem(network, {data({0}, {2}, Time{5 * kUs - 1}), data({0}, {1})})),
            7);
}

TEST(Milp, TheNearestOfSeveralOriginsServes) {
  EXPECT_EQ(optimum(testing::problem(testing::line(4), {data({0, 3}, {1, 2})})), 1);
  EXPECT_EQ(optimum(testing::problem(testing::line(4), {data({0}, {1, 2})})), 2);
}

TEST(Milp, JobsShareTheLinks) {
  Topology topology = testing::line(2).topology();
  Job first = testing::collective_job(topology, Collective::broadcast);
  Job second = testing::collective_job(topology, Collective::sendrecv);
  second.start = Time{3 * kUs};
  const Problem later = make_problem(topology, {first, second});
  EXPECT_EQ(optimum(later), 4);
  second.start = Time{0};
  EXPECT_EQ(optimum(make_problem(topology, {first, second})), 2);
}

TEST(Milp, ChunksOfDifferentSizesShareALink) {
  const Problem problem = testing::problem(
      testing::line(2), {data({0}, {1}, Time{0}, Bytes{600}), data({0}, {1}, Time{0}, Bytes{400}),
                         data({0}, {1}, Time{0}, Bytes{400})});
  EXPECT_EQ(optimum(problem), 2);
}

TEST(Milp, TheWeightedObjectiveServesHeavyJobsFirst) {
  Topology topology = testing::line(2).topology();
  Job light = testing::collective_job(topology, Collective::broadcast, 2);
  Job heavy = light;
  heavy.name = "heavy";
  heavy.weight = 10;
  const Problem problem = make_problem(topology, {light, heavy});
  const EpochGrid grid(problem, kEpoch);
  PlannerContext context;
  PlanOptions options;
  options.weighted_objective = true;
  options.gap = 0;
  const GridSolution solution = solve_on_grid(problem, grid, {}, options, context);
  ASSERT_EQ(solution.epochs, 4);
  for (const EpochEntry& entry : solution.entries) {
    const bool is_heavy = problem.chunks[entry.chunk].job == JobId(1);
    EXPECT_EQ(entry.epoch < 2, is_heavy) << "chunk " << entry.chunk.value;
  }
}

TEST(Milp, ReductionsGoThroughTimeReversal) {
  PlanOptions options;
  options.epoch = {EpochChoice::Kind::explicit_time, 1, kEpoch};
  const PlannerOutcome scatter =
      plan(testing::problem(testing::ring(4), Collective::reducescatter), options);
  ASSERT_TRUE(scatter.has_plan());
  EXPECT_EQ(scatter.epoch->epochs, 2);
  EXPECT_EQ(scatter.epoch->proven_epochs, 2);
  const PlannerOutcome all =
      plan(testing::problem(testing::ring(4), Collective::allreduce), options);
  ASSERT_TRUE(all.has_plan());
  EXPECT_FALSE(all.epoch.has_value());  // two halves: nothing is proven of the whole
  options.copy = false;
  const PlannerOutcome declined =
      plan(testing::problem(testing::ring(4), Collective::reducescatter), options);
  EXPECT_EQ(declined.termination.reason, Termination::Reason::unsupported);
  EXPECT_FALSE(declined.message.empty());
}

// --- Ends --------------------------------------------------------------------------------------

TEST(Milp, SaysWhenADestinationCannotBeReached) {
  Network network;
  network.gpu(), network.gpu();
  network.link(NodeId(0), NodeId(1));
  const Problem problem = testing::problem(network, {data({1}, {0})});
  EXPECT_EQ(optimum(problem), -1);
  EXPECT_EQ(plan(problem).termination.reason, Termination::Reason::no_solution);
}

TEST(Milp, EndsWhenNothingIsWantedOrAllOfItIsThere) {
  const Network network = testing::line(2);
  EXPECT_EQ(optimum(testing::problem(network, {data({0}, {0})})), 0);
  EXPECT_TRUE(plan(testing::problem(network, {data({0}, {0})})).has_plan());
  // What is there already counts from its ready time on.
  EXPECT_EQ(optimum(testing::problem(network, {data({0}, {0}, Time{9 * kUs}), data({0}, {1})})), 9);
}

TEST(Milp, ALimitLeavesTheBestPlanSoFar) {
  const Problem problem = testing::problem(testing::ring(6), Collective::allgather, 4);
  PlannerContext context;
  context.stop = StopCondition(0.0);
  const PlannerOutcome outcome = plan_milp(problem, {}, context);
  EXPECT_EQ(outcome.termination.limit, Limit::time);
  EXPECT_EQ(outcome.has_plan(), !outcome.sends.empty());
}

TEST(Milp, AModelThatIsTooLargeIsNotBegunWhereAPlanIsKnown) {
  const Problem problem = testing::problem(testing::ring(16), Collective::alltoall, 2);
  PlanOptions options;
  options.quick = true;
  options.epoch = {EpochChoice::Kind::explicit_time, 1, Time{kUs / 16}};
  PlannerContext context;
  const PlannerOutcome known = plan_search(problem, options, context);
  ASSERT_TRUE(known.has_plan());
  context.incumbent = &known.sends;
  context.stop = StopCondition(60);
  const PlannerOutcome outcome = plan_milp(problem, options, context);
  EXPECT_EQ(outcome.termination, (Termination{Termination::Reason::feasible, Limit::none}));
  EXPECT_NE(outcome.message.find("too large"), std::string::npos) << outcome.message;
  EXPECT_TRUE(verify_sends(problem, outcome.sends).valid());
}

class MilpFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("stellwerk_milp_test_" +
               std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  std::filesystem::path folder_;
};

TEST_F(MilpFiles, ExportsAModelAndStartsFromItsSolution) {
  const Problem problem = testing::problem(testing::ring(4), Collective::allgather);
  PlanOptions options;
  options.epoch = {EpochChoice::Kind::explicit_time, 1, kEpoch};
  options.write_model = file("model.lp");  // even where a known plan meets the bound
  ASSERT_TRUE(plan(problem, options).has_plan());
  const lp::Model model = lp::read_model(file("model.lp"));
  const lp::Solution solution = lp::solve(model);
  ASSERT_TRUE(solution.has_values());
  {
    std::ofstream out(file("model.sol"));
    for (std::size_t i = 0; i < model.variables(); ++i) {
      out << model.variable_names()[i] << ' ' << solution.values[i] << '\n';
    }
  }
  options.write_model.clear();
  options.read_solution = file("model.sol");
  const PlannerOutcome outcome = plan(problem, options);
  ASSERT_TRUE(outcome.has_plan());
  EXPECT_EQ(outcome.epoch->epochs, 2);
}

TEST_F(MilpFiles, RefusesASolutionThatSolvesNothing) {
  const Problem problem = testing::problem(testing::ring(4), Collective::allgather);
  PlanOptions options;
  options.epoch = {EpochChoice::Kind::explicit_time, 1, kEpoch};
  options.read_solution = file("empty.sol");
  std::ofstream(options.read_solution) << "F_0_0_0 1\n";
  PlannerContext context;
  try {
    plan_milp(problem, options, context);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unreadable_input);
    EXPECT_NE(std::string(error.what()).find("empty.sol"), std::string::npos);
  }
}

}  // namespace
}  // namespace stellwerk
