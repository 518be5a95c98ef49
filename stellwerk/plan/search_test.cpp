#include "stellwerk/plan/search.hpp"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "stellwerk/check/verify.hpp"
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
Found search(const Problem& problem, const PlanOptions& options = {}) {
  PlannerContext context;
  context.rng = Rng(options.seed);
  const PlannerOutcome outcome = plan_search(problem, options, context);
  EXPECT_TRUE(outcome.has_plan()) << outcome.message;
  const Verdict verdict = verify_sends(problem, outcome.sends);
  EXPECT_TRUE(verdict.valid()) << verdict.message;
  return {outcome.sends, verdict.transfer_time};
}

PlanOptions quick() {
  PlanOptions options;
  options.quick = true;
  return options;
}

/// Two boxes of a full mesh of `gpus` each, joined by slow links between GPUs of one number.
Network two_boxes(int gpus) {
  Network network;
  for (int i = 0; i < 2 * gpus; ++i) network.gpu();
  for (int box = 0; box < 2; ++box) {
    for (int i = 0; i < gpus; ++i) {
      for (int j = 0; j < gpus; ++j) {
        if (i != j) network.link(NodeId(box * gpus + i), NodeId(box * gpus + j), 2);
      }
    }
  }
  for (int i = 0; i < gpus; ++i) network.both(NodeId(i), NodeId(gpus + i), 0.5, Time{kUs / 2});
  return network;
}

class SearchServes : public ::testing::TestWithParam<Collective> {};

TEST_P(SearchServes, EveryCollectiveEverywhere) {
  for (const Network& network :
       {testing::ring(5), testing::star(5, true, true), testing::star(5), two_boxes(2)}) {
    search(testing::problem(network, GetParam(), 2), quick());
    search(testing::problem(network, GetParam(), 1, {3, 1, 0}), quick());
    search(testing::problem(network, GetParam(), 1, {3, 1, 0, 2}, Relays::members), quick());
  }
}

INSTANTIATE_TEST_SUITE_P(AllCollectives, SearchServes,
                         ::testing::Values(Collective::allgather, Collective::reducescatter,
                                           Collective::allreduce, Collective::alltoall,
                                           Collective::alltoallv, Collective::broadcast,
                                           Collective::reduce, Collective::gather,
                                           Collective::scatter),
                         [](const auto& test) { return std::string(to_string(test.param)); });

TEST(Search, ServesSendRecvAndMixedChunks) {
  search(testing::problem(testing::ring(4), Collective::sendrecv), quick());
  search(testing::problem(
      testing::ring(5), {data({0}, {1, 3}), sum({0, 1, 2}, {4}), sum({3, 4}, {0, 3}, Time{2 * kUs}),
                         data({2, 4}, {0, 3}, Time{kUs}, Bytes{1700})}));
}

TEST(Search, MeetsTheOptimumOfSmallNetworks) {
  EXPECT_EQ(search(testing::problem(testing::ring(4), Collective::allgather)).time, Time{2 * kUs});
  EXPECT_EQ(search(testing::problem(testing::ring(4), Collective::reducescatter)).time,
            Time{2 * kUs});
  EXPECT_EQ(search(testing::problem(testing::star(4), Collective::alltoall)).time, Time{3 * kUs});
  EXPECT_EQ(search(testing::problem(testing::star(8), Collective::broadcast)).time, Time{3 * kUs});
}

TEST(Search, ACopyingSwitchIsUsedOnceForAllReceivers) {
  const Found found = search(testing::problem(testing::star(6, true), Collective::broadcast));
  EXPECT_EQ(found.time, Time{kUs});
  ASSERT_EQ(found.sends.size(), 1U);
  EXPECT_EQ(found.sends.front().links.size(), 6U);
  // Five chunks go down to everybody.
  EXPECT_EQ(search(testing::problem(testing::star(6, true), Collective::allgather)).time,
            Time{5 * kUs});
}

TEST(Search, AReducingSwitchMergesAllParts) {
  const Problem problem = testing::problem(testing::star(6, false, true), Collective::reduce);
  const Found found = search(problem);
  EXPECT_EQ(found.time, Time{kUs});
  EXPECT_EQ(found.sends.size(), 1U);
}

TEST(Search, TheSameSeedGivesTheSamePlan) {
  const Problem problem = testing::problem(two_boxes(3), Collective::allgather, 2);
  PlanOptions options;
  options.seed = 7;
  const Found first = search(problem, options);
  EXPECT_EQ(first.sends, search(problem, options).sends);
}

TEST(Search, SendsAreNoFasterThanTheirEnds) {
  Network network = testing::full_mesh(3);
  network.nodes[NodeId(0)].injection = Bandwidth{kGb / 2};
  network.nodes[NodeId(2)].ejection = Bandwidth{kGb / 4};
  EXPECT_EQ(search(testing::problem(network, {data({0}, {1})})).time, Time{2 * kUs});
  EXPECT_EQ(search(testing::problem(network, {data({1}, {2})})).time, Time{4 * kUs});
  EXPECT_EQ(search(testing::problem(network, {data({0}, {1, 2})})).time, Time{6 * kUs});
}

TEST(Search, AMulticastLeavesOutWhoIsTooSlow) {
  Network network = testing::star(4, true);
  network.nodes[NodeId(3)].ejection = Bandwidth{kGb / 2};
  const Found found = search(testing::problem(network, {data({0}, {1, 2, 3})}));
  EXPECT_LE(found.time, Time{2 * kUs + kUs});
}

TEST(Search, ASwitchWithoutGroupsDoesNotCopy) {
  Network network = testing::star(4, true);
  network.nodes[NodeId(4)].max_groups = 0;
  EXPECT_EQ(search(testing::problem(network, Collective::broadcast)).time, Time{2 * kUs});
}

TEST(Search, TransitBuffersAreKept) {
  // Three relays, room for one chunk each; eight chunks to bring across.
  Network network;
  network.gpu(), network.gpu();
  for (int i = 0; i < 3; ++i) {
    const NodeId relay = network.relay();
    network.nodes[relay].buffer = kChunk;
    network.both(NodeId(0), relay), network.both(relay, NodeId(1), 0.5);
  }
  std::vector<CustomChunk> chunks;
  for (int i = 0; i < 8; ++i) chunks.push_back(data({i % 2}, {1 - i % 2}));
  const Found found = search(testing::problem(network, chunks));
  // A relay is full for 3 us a chunk: 8 chunks over 3 relays take three turns.
  EXPECT_GE(found.time, Time{9 * kUs});
  search(testing::problem(network, {sum({0, 1}, {0, 1}), data({0}, {1}), sum({1}, {0})}));
}

TEST(Search, ARingOfTightBuffersDoesNotLock) {
  Network network = testing::ring(6);
  for (Node& node : network.nodes) node.buffer = kChunk;
  std::vector<CustomChunk> chunks;
  for (int i = 0; i < 6; ++i) chunks.push_back(data({i}, {(i + 3) % 6}));
  search(testing::problem(network, chunks));
  search(testing::problem(network, Collective::alltoall));
}

TEST(Search, ASumIsFormedWhereItCanBePassedOn) {
  Network network;  // 0 and 1 to 2, and 2 to 3; but the first destination, 3, leads nowhere
  for (int i = 0; i < 4; ++i) network.gpu();
  network.link(NodeId(0), NodeId(2)), network.link(NodeId(1), NodeId(2));
  network.link(NodeId(2), NodeId(3));
  search(testing::problem(network, {sum({0, 1}, {3, 2})}));
}

TEST(Search, StopsAtALimit) {
  PlannerContext context;
  context.stop = StopCondition(0.0);
  const PlannerOutcome outcome =
      plan_search(testing::problem(testing::ring(8), Collective::alltoall), {}, context);
  EXPECT_EQ(outcome.termination.reason, Termination::Reason::no_solution);
  EXPECT_EQ(outcome.termination.limit, Limit::time);
  EXPECT_FALSE(outcome.message.empty());
}

TEST(Search, ForwardsAtTheInstantOfArrivalWhenNotToStore) {
  PlanOptions options = quick();
  options.store = false;
  const Problem problem = testing::problem(two_boxes(3), Collective::allgather, 2);
  const Found found = search(problem, options);
  std::set<std::tuple<ChunkId, NodeId, Time>> arrivals;
  for (const Send& send : found.sends) {
    const SendTiming times = timing(problem.topology, send);
    for (std::size_t i = 0; i < times.leaves.size(); ++i) {
      arrivals.emplace(send.chunk, times.leaves[i], send.start + times.arrival[i]);
    }
  }
  int forwarded = 0;
  for (const Send& send : found.sends) {
    const NodeId from = problem.topology.link(send.links.front()).from;
    if (problem.chunks[send.chunk].origins.front() == from) continue;
    EXPECT_TRUE(arrivals.contains({send.chunk, from, send.start}));
    ++forwarded;
  }
  EXPECT_GT(forwarded, 0);
}

}  // namespace
}  // namespace stellwerk
