#include "stellwerk/plan/greedy.hpp"

#include <gtest/gtest.h>

#include "stellwerk/bound/bound.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/plan/greedy_run.hpp"
#include "stellwerk/plan/reversal.hpp"
#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

using testing::data;
using testing::kChunk;
using testing::kGb;
using testing::kUs;
using testing::Network;
using testing::sum;

struct Found {
  Schedule sends;
  Time time;
};

/// A valid plan, or the test fails.
Found greedy(const Problem& problem, PlanOptions options = {}) {
  PlannerContext context;
  context.rng = Rng(options.seed);
  context.bound = lower_bound(problem, context.stop);
  const PlannerOutcome outcome = plan_greedy(problem, options, context);
  EXPECT_TRUE(outcome.has_plan()) << outcome.message;
  const Verdict verdict = verify_sends(problem, outcome.sends);
  EXPECT_TRUE(verdict.valid()) << verdict.message;
  return {outcome.sends, verdict.transfer_time};
}

double gap(const Problem& problem, Time time) {
  return static_cast<double>(time.ps) /
             static_cast<double>(lower_bound(problem, StopCondition()).value.ps) -
         1;
}

/// Boxes of `gpus` on a fast switch; GPU k of every box on slow switch k. Every link's speed is
/// multiplied by what `factor` says.
template <class Factor>
Network rails(int boxes, int gpus, const Factor& factor) {
  Network network;
  for (int i = 0; i < boxes * gpus; ++i) network.gpu();
  std::vector<NodeId> box, rail;
  for (int b = 0; b < boxes; ++b) box.push_back(network.switch_node());
  for (int k = 0; k < gpus; ++k) rail.push_back(network.switch_node());
  for (int b = 0; b < boxes; ++b) {
    for (int k = 0; k < gpus; ++k) {
      const NodeId gpu(b * gpus + k);
      network.link(gpu, box[static_cast<std::size_t>(b)], 9 * factor(), Time{35 * kUs / 100});
      network.link(box[static_cast<std::size_t>(b)], gpu, 9 * factor(), Time{35 * kUs / 100});
      network.link(gpu, rail[static_cast<std::size_t>(k)], 1 * factor(), Time{13 * kUs / 10});
      network.link(rail[static_cast<std::size_t>(k)], gpu, 1 * factor(), Time{13 * kUs / 10});
    }
  }
  return network;
}

/// Four leaves of three GPUs under two spines.
Network leaf_spine() {
  Network network;
  for (int i = 0; i < 12; ++i) network.gpu();
  std::vector<NodeId> leaf, spine;
  for (int i = 0; i < 4; ++i) leaf.push_back(network.switch_node());
  for (int i = 0; i < 2; ++i) spine.push_back(network.switch_node());
  for (int i = 0; i < 12; ++i)
    network.both(NodeId(i), leaf[static_cast<std::size_t>(i / 3)], 1, Time{kUs / 10});
  for (const NodeId l : leaf) {
    for (const NodeId s : spine) network.both(l, s, 1, Time{kUs / 5});
  }
  return network;
}

class GreedyServes : public ::testing::TestWithParam<Collective> {};

TEST_P(GreedyServes, EveryCollectiveEverywhere) {
  for (const Network& network : {testing::ring(5), testing::star(5, true, true), testing::star(5),
                                 leaf_spine(), rails(2, 3, [] { return 1.0; })}) {
    greedy(testing::problem(network, GetParam(), 2));
    greedy(testing::problem(network, GetParam(), 1, {3, 1, 0}));
    greedy(testing::problem(network, GetParam(), 1, {3, 1, 0, 2}, Relays::members));
  }
}

INSTANTIATE_TEST_SUITE_P(AllCollectives, GreedyServes,
                         ::testing::Values(Collective::allgather, Collective::reducescatter,
                                           Collective::allreduce, Collective::alltoall,
                                           Collective::alltoallv, Collective::broadcast,
                                           Collective::reduce, Collective::gather,
                                           Collective::scatter),
                         [](const auto& test) { return std::string(to_string(test.param)); });

TEST(Greedy, ServesMixedChunksAndSeveralJobs) {
  greedy(testing::problem(testing::ring(4), Collective::sendrecv));
  greedy(testing::problem(
      testing::ring(5), {data({0}, {1, 3}), sum({0, 1, 2}, {4}), sum({3, 4}, {0, 3}, Time{2 * kUs}),
                         data({2, 4}, {0, 3}, Time{kUs}, Bytes{1700})}));
  const Topology topology = leaf_spine().topology();
  Job gather = testing::collective_job(topology, Collective::allgather, 2, {0, 3, 6, 9});
  Job broadcast = testing::collective_job(topology, Collective::broadcast, 3, {1, 2, 4, 5, 11});
  broadcast.start = Time{5 * kUs};
  greedy(make_problem(topology, {gather, broadcast}));
}

TEST(Greedy, WaitsForWhatIsNotReady) {
  const Problem problem = testing::problem(
      testing::line(3), {data({0}, {2}, Time{4 * kUs}), data({1}, {2}, Time{kUs})});
  EXPECT_EQ(greedy(problem).time, Time{6 * kUs});
}

TEST(Greedy, MeetsTheOptimumOfSmallNetworks) {
  EXPECT_EQ(greedy(testing::problem(testing::ring(4), Collective::allgather)).time, Time{2 * kUs});
  EXPECT_EQ(greedy(testing::problem(testing::ring(4), Collective::reducescatter)).time,
            Time{2 * kUs});
  EXPECT_EQ(greedy(testing::problem(testing::star(8), Collective::broadcast)).time, Time{3 * kUs});
  EXPECT_EQ(greedy(testing::problem(testing::star(8), Collective::allgather)).time, Time{7 * kUs});
}

TEST(Greedy, ACopyingSwitchIsUsedOnceForAllReceivers) {
  const Found found = greedy(testing::problem(testing::star(6, true), Collective::broadcast));
  EXPECT_EQ(found.time, Time{kUs});
  EXPECT_EQ(found.sends.size(), 1U);
  Network limited = testing::star(6, true);
  limited.nodes[NodeId(6)].max_groups = 1;
  greedy(testing::problem(limited, Collective::allgather, 2));
}

TEST(Greedy, KeepsInjectionAndEjection) {
  Network network = testing::full_mesh(4);
  network.nodes[NodeId(0)].injection = Bandwidth{kGb};
  network.nodes[NodeId(1)].ejection = Bandwidth{kGb / 2};
  network.nodes[NodeId(2)].injection = Bandwidth{3 * kGb / 2};
  // GPU 1 takes three chunks at half the speed of a link.
  EXPECT_EQ(greedy(testing::problem(network, Collective::allgather)).time, Time{6 * kUs});
  Network star = testing::star(5);
  star.nodes[NodeId(0)].injection = Bandwidth{kGb / 3};
  star.nodes[NodeId(4)].ejection = Bandwidth{kGb / 3};
  greedy(testing::problem(star, Collective::allgather, 2));
}

TEST(Greedy, DelaysOfDifferentLengthBehindASwitch) {
  Rng rng(3);
  for (int round = 0; round < 10; ++round) {
    Network network;
    for (int i = 0; i < 6; ++i) network.gpu();
    const NodeId hub[2] = {network.switch_node(true), network.switch_node()};
    network.both(hub[0], hub[1], 2, Time{static_cast<std::int64_t>(rng.below(3)) * kUs});
    for (int i = 0; i < 6; ++i) {
      const auto latency = [&] { return Time{static_cast<std::int64_t>(rng.below(5)) * kUs / 2}; };
      network.link(NodeId(i), hub[i % 2], 1, latency());
      network.link(hub[i % 2], NodeId(i), 1, latency());
    }
    network.nodes[NodeId(2)].ejection = Bandwidth{kGb / 2};
    greedy(testing::problem(network, Collective::allgather, 2));
  }
}

TEST(Greedy, DeclinesWhatNeedsMoreTransitBufferThanThereIs) {
  Network network = testing::line(3);
  network.nodes[NodeId(1)].buffer = Bytes{1500};
  PlannerContext context;
  const PlannerOutcome outcome = plan_greedy(
      testing::problem(network, {data({0}, {2}), data({0}, {2})}), PlanOptions{}, context);
  EXPECT_EQ(outcome.termination.reason, Termination::Reason::unsupported);
  EXPECT_FALSE(outcome.message.empty());
}

// A link at 0.2 to 0.45 of the fastest inside a cluster must carry what the cluster already has.
TEST(Greedy, SlowLinksInsideAClusterDoNotStopIt) {
  Rng rng(1);
  for (int round = 0; round < 12; ++round) {
    const Network network =
        rails(3, 4, [&] { return rng.below(3) == 0 ? 0.2 + 0.25 * rng.uniform() : 1.0; });
    const Problem problem = testing::problem(network, Collective::allgather, 2);
    const Forwarders forwarders = find_forwarders(problem);
    const GreedyInput input(problem, forwarders);
    for (std::size_t k = 0; k < input.clusterings.size(); ++k) {
      for (const bool share : {false, true}) {
        GreedyStyle style;
        style.rule = GreedyStyle::Rule::strict;
        style.clustering = k;
        style.share = style.wait = share;
        GreedyRun run(input, style, Rng(1), StopCondition());
        ASSERT_TRUE(run.run(Time::max()));
        const Verdict verdict = verify_sends(problem, run.schedule());
        EXPECT_TRUE(verdict.valid()) << verdict.message;
        EXPECT_EQ(verdict.transfer_time, run.finish());
      }
    }
  }
}

TEST(Greedy, IsNearTheBoundOnDegradedRails) {
  Rng rng(7);
  const Network network = rails(8, 8, [&] { return rng.below(12) == 0 ? 0.5 : 1.0; });
  const Topology topology = network.topology();
  Job job = testing::collective_job(topology, Collective::allgather, 8);
  job.size = Bytes{1'000'000'000};
  const Problem problem = make_problem(topology, {job});
  EXPECT_LE(gap(problem, greedy(problem).time), 0.01);
}

TEST(Greedy, ManyNodesOnOneSwitch) {
  const Network network = testing::star(200);
  const Problem problem = testing::problem(network, Collective::allgather);
  EXPECT_LE(gap(problem, greedy(problem).time), 0.02);
}

TEST(Greedy, TheSameSeedGivesTheSamePlan) {
  Rng rng(2);
  const Network network = rails(3, 3, [&] { return rng.below(4) == 0 ? 0.5 : 1.0; });
  const Problem problem = testing::problem(network, Collective::allgather, 2);
  PlanOptions options;
  options.seed = 7;
  const Found first = greedy(problem, options);
  EXPECT_EQ(first.sends, greedy(problem, options).sends);
}

TEST(Greedy, StopsWhenItsTimeIsUp) {
  const Problem problem = testing::problem(testing::star(100), Collective::allgather, 4);
  PlannerContext context;
  context.stop = StopCondition(0.0);
  const PlannerOutcome outcome = plan_greedy(problem, PlanOptions{}, context);
  EXPECT_FALSE(outcome.has_plan());
  EXPECT_EQ(outcome.termination.limit, Limit::time);
}

}  // namespace
}  // namespace stellwerk
