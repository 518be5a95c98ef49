#include "stellwerk/plan/list_schedule.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "stellwerk/check/prune.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/plan/greedy.hpp"
#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

using testing::data;
using testing::kChunk;
using testing::kGb;
using testing::kUs;
using testing::Network;

Send over(const Problem& problem, int chunk, const std::vector<int>& links, Op op = Op::copy) {
  std::vector<LinkId> ids;
  for (const int link : links) ids.emplace_back(link);
  return whole_chunk_send(problem.topology, problem.chunks[ChunkId(chunk)], ChunkId(chunk), op,
                          Time{0}, ids);
}

ListSchedule::Result forwards(const Problem& problem, const Schedule& sends,
                              std::vector<std::int64_t> key = {}) {
  if (key.empty()) {
    key.resize(sends.size());
    std::iota(key.begin(), key.end(), 0);
  }
  return ListSchedule(problem.topology, sends, find_waits(problem, sends)).forwards(key);
}

TEST(ListSchedule, TheMostUrgentGoesFirst) {
  const Problem problem = testing::problem(testing::line(2), {data({0}, {1}), data({0}, {1})});
  const Schedule sends{over(problem, 0, {0}), over(problem, 1, {0})};
  const auto result = forwards(problem, sends, {2, 1});
  EXPECT_EQ(result.starts, (std::vector<Time>{Time{kUs}, Time{0}}));
  EXPECT_EQ(result.finish, Time{2 * kUs});
}

TEST(ListSchedule, WaitsForData) {
  const Problem problem = testing::problem(testing::line(3, 1, Time{kUs}), {data({0}, {1, 2})});
  const Schedule sends{over(problem, 0, {2}), over(problem, 0, {0})};
  const auto result = forwards(problem, sends);
  EXPECT_EQ(result.starts, (std::vector<Time>{Time{2 * kUs}, Time{0}}));
  EXPECT_EQ(result.finish, Time{4 * kUs});
}

// Two slow ways down behind one fast way up: both go at once, at half the fast link's rate.
TEST(ListSchedule, SendsShareAFastLink) {
  Network network;
  for (int i = 0; i < 3; ++i) network.gpu();
  const NodeId hub = network.switch_node();
  network.link(NodeId(0), hub, 2);
  network.link(hub, NodeId(1), 1);
  network.link(hub, NodeId(2), 1);
  const Problem problem = testing::problem(network, {data({0}, {1, 2})});
  const Schedule sends{over(problem, 0, {0, 1}), over(problem, 0, {0, 2})};
  EXPECT_EQ(forwards(problem, sends).finish, Time{kUs});
}

// What wants the whole of a half-used link starts with the rest of it rather than later.
TEST(ListSchedule, SendsStartAtHalfRate) {
  Network network;
  for (int i = 0; i < 3; ++i) network.gpu();
  const NodeId hub = network.switch_node();
  network.link(NodeId(0), hub, 2);
  network.link(hub, NodeId(1), 1);
  network.link(hub, NodeId(2), 2);
  const Problem problem =
      testing::problem(network, {data({0}, {1}), data({0}, {2}, Time{0}, Bytes{2000})});
  const Schedule sends{over(problem, 0, {0, 1}), over(problem, 1, {0, 2})};
  const auto result = forwards(problem, sends);
  EXPECT_EQ(result.starts[1], Time{0});
  EXPECT_EQ(result.rates[1], Bandwidth{kGb});
  EXPECT_EQ(result.finish, Time{2 * kUs});
}

TEST(ListSchedule, ReversedTimeMirrorsForwardTime) {
  // A chain of three: backwards it is the same chain.
  const Problem problem = testing::problem(testing::line(4, 1, Time{kUs / 2}), {data({0}, {3})});
  const Schedule sends{over(problem, 0, {0}), over(problem, 0, {2}), over(problem, 0, {4})};
  const ListSchedule list(problem.topology, sends, find_waits(problem, sends));
  const auto back = list.backwards({0, 0, 0});
  EXPECT_EQ(back.finish, Time{9 * kUs / 2});
  EXPECT_EQ(back.starts, (std::vector<Time>{Time{3 * kUs}, Time{3 * kUs / 2}, Time{0}}));
  EXPECT_EQ(list.tails(), (std::vector<Time>{Time{9 * kUs / 2}, Time{3 * kUs}, Time{3 * kUs / 2}}));
}

/// A random network with a switch, caps, and different latencies and speeds.
Network random_network(Rng& rng) {
  Network network;
  const int gpus = 3 + static_cast<int>(rng.below(5));
  for (int i = 0; i < gpus; ++i) network.gpu();
  const bool multicast = rng.below(2) == 0;
  const NodeId hub = network.switch_node(multicast, rng.below(2) == 0);
  if (multicast && rng.below(2) == 0) network.nodes[hub].max_groups = 1;
  const auto speed = [&] { return 0.5 * static_cast<double>(1 + rng.below(4)); };
  const auto latency = [&] { return Time{static_cast<std::int64_t>(rng.below(4)) * kUs / 3}; };
  for (int i = 0; i < gpus; ++i) {
    network.link(NodeId(i), hub, speed(), latency());
    network.link(hub, NodeId(i), speed(), latency());
    network.link(NodeId(i), NodeId((i + 1) % gpus), speed(), latency());
    if (rng.below(4) == 0) network.nodes[NodeId(i)].injection = Bandwidth{kGb / 2};
    if (rng.below(4) == 0) network.nodes[NodeId(i)].ejection = Bandwidth{2 * kGb / 3};
  }
  return network;
}

TEST(ListSchedule, RandomPlansStayValid) {
  Rng rng(5);
  constexpr Collective kCollectives[] = {Collective::allgather, Collective::reducescatter,
                                         Collective::allreduce, Collective::broadcast,
                                         Collective::alltoall};
  for (int round = 0; round < 60; ++round) {
    const Problem problem =
        testing::problem(random_network(rng), kCollectives[round % 5], 1 + round % 3);
    PlannerContext context;
    PlanOptions options;
    options.quick = true;
    const Schedule plan = prune(problem, plan_greedy(problem, options, context).sends);
    const ListSchedule list(problem.topology, plan, find_waits(problem, plan));
    std::vector<std::int64_t> key;
    for (std::size_t i = 0; i < plan.size(); ++i)
      key.push_back(static_cast<std::int64_t>(rng.below(1000)));
    const auto first = list.forwards(key);
    const auto best = list.improve(first, 5, Time{0}, StopCondition());
    EXPECT_LE(best.finish, first.finish);
    for (const auto& result : {first, best}) {
      const Verdict verdict = verify_sends(problem, with_times(plan, result));
      EXPECT_TRUE(verdict.valid()) << "round " << round << ": " << verdict.message;
      EXPECT_EQ(verdict.transfer_time, result.finish);
    }
  }
}

TEST(ListSchedule, PassesImproveABadOrder) {
  // A long chain and single hops that share its first link: last, the chain is late.
  Network network = testing::line(6);
  const Problem problem =
      testing::problem(network, {data({0}, {1}), data({0}, {1}), data({0}, {1}), data({0}, {5})});
  Schedule sends{over(problem, 0, {0}), over(problem, 1, {0}), over(problem, 2, {0})};
  for (int i = 0; i < 5; ++i) sends.push_back(over(problem, 3, {2 * i}));
  const ListSchedule list(problem.topology, sends, find_waits(problem, sends));
  std::vector<std::int64_t> key(sends.size());
  std::iota(key.begin(), key.end(), 0);
  EXPECT_EQ(list.forwards(key).finish, Time{8 * kUs});
  EXPECT_EQ(list.improve(list.forwards(key), 3, Time{0}, StopCondition()).finish, Time{5 * kUs});
}

}  // namespace
}  // namespace stellwerk
