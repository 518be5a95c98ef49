#include "stellwerk/plan/reversal.hpp"

#include <gtest/gtest.h>

#include "stellwerk/check/simulate.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/plan/search.hpp"
#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

using testing::data;
using testing::kChunk;
using testing::kEpoch;
using testing::kNs;
using testing::kUs;
using testing::Network;
using testing::sum;

/// Broadcast of every chunk of `half` along the line, hop by hop, one chunk after the other.
Schedule along_the_line(const Problem& half) {
  Schedule sends;
  Time now{0};
  for (const ChunkId id : half.chunk_ids()) {
    const NodeId root = half.chunks[id].owner;
    for (const int step : {+1, -1}) {
      Time start = now;
      for (int at = root.value; at + step >= 0 && at + step < 3; at += step, start += kEpoch) {
        for (const LinkId link : half.topology.out(NodeId(at))) {
          if (half.topology.link(link).to != NodeId(at + step)) continue;
          sends.push_back(
              whole_chunk_send(half.topology, half.chunks[id], id, Op::copy, start, {link}));
        }
      }
    }
    now += 2 * kEpoch;
  }
  return sends;
}

TEST(Reversal, ABroadcastBackwardsIsAReduceScatterOfTheSameLength) {
  const Problem problem = testing::problem(testing::line(3), Collective::reducescatter);
  const ReductionSplit split = split_reductions(problem);
  EXPECT_EQ(split.collect.chunks.size(), 3U);
  EXPECT_TRUE(split.spread.chunks.empty());
  const Schedule collect = along_the_line(split.collect);
  const Schedule sends = join_reductions(problem, split, collect, {});
  const Verdict verdict = verify_sends(problem, sends);
  EXPECT_TRUE(verdict.valid()) << verdict.message;
  EXPECT_EQ(verdict.transfer_time, verify_sends(split.collect, collect).transfer_time);
}

TEST(Reversal, AllReduceSpreadsWhatItHasSummed) {
  const Problem problem = testing::problem(testing::line(3), Collective::allreduce);
  const ReductionSplit split = split_reductions(problem);
  EXPECT_EQ(split.collect.chunks.size(), 3U);
  EXPECT_EQ(split.spread.chunks.size(), 3U);
  const Schedule sends =
      join_reductions(problem, split, along_the_line(split.collect), along_the_line(split.spread));
  const Verdict verdict = verify_sends(problem, sends);
  EXPECT_TRUE(verdict.valid()) << verdict.message;
  // Re-timed, a part spreads as soon as it is summed: no barrier between the halves.
  EXPECT_LT(simulate(problem, sends).transfer_time, verdict.transfer_time);
}

TEST(Reversal, ADeliveryThatNobodyNeedsDoesNotBecomeASumThatNobodyHas) {
  testing::Network network = testing::line(3);
  const NodeId relay = network.relay();
  network.both(NodeId(1), relay);
  const Problem problem = testing::problem(network, Collective::reducescatter);
  const ReductionSplit split = split_reductions(problem);
  Schedule collect = along_the_line(split.collect);
  for (const LinkId link : split.collect.topology.in(relay)) {
    const Chunk& chunk = split.collect.chunks[ChunkId(1)];
    collect.push_back(
        whole_chunk_send(split.collect.topology, chunk, ChunkId(1), Op::copy, 10 * kEpoch, {link}));
  }
  const Schedule sends = join_reductions(problem, split, collect, {});
  const Verdict verdict = verify_sends(problem, sends);
  EXPECT_TRUE(verdict.valid()) << verdict.message;
  EXPECT_EQ(sends.size(), collect.size() - 1);
}

Schedule copies(const Problem& half) {
  PlannerContext context;
  PlanOptions options;
  options.quick = true;
  const PlannerOutcome outcome = plan_search(half, options, context);
  EXPECT_TRUE(half.chunks.empty() || outcome.has_plan());
  return outcome.sends;
}

Time finish(const Problem& problem, const Schedule& sends) {
  const Verdict verdict = verify_sends(problem, sends);
  EXPECT_TRUE(verdict.valid()) << verdict.message;
  return verdict.transfer_time;
}

TEST(Reversal, SplitsIntoCollectingAndSpreading) {
  const Problem problem = testing::problem(
      testing::ring(4, false), {data({1}, {2}), sum({0, 1, 2}, {2}), sum({0, 3}, {3, 1})});
  EXPECT_TRUE(has_reductions(problem));
  const ReductionSplit split = split_reductions(problem);
  EXPECT_FALSE(has_reductions(split.collect));
  EXPECT_FALSE(has_reductions(split.spread));
  ASSERT_EQ(split.collected, (std::vector{ChunkId(1), ChunkId(2)}));
  ASSERT_EQ(split.spreading, (std::vector{ChunkId(0), ChunkId(2)}));
  EXPECT_EQ(split.collect.chunks[ChunkId(0)].origins, testing::nodes({2}));
  EXPECT_EQ(split.collect.chunks[ChunkId(0)].destinations, testing::nodes({0, 1}));
  EXPECT_EQ(split.spread.chunks[ChunkId(1)].destinations.size(), 1U);
  EXPECT_EQ(split.collect.topology.link(LinkId(0)).from, NodeId(1));  // turned round
}

TEST(Reversal, ASumTakesAsLongAsABroadcastOnTheReversedNetwork) {
  Network network = testing::line(4, 1, Time{250 * kNs});
  const Problem problem = testing::problem(network, Collective::reduce, 3);
  const ReductionSplit split = split_reductions(problem);
  const Schedule spread = copies(split.collect);
  const Schedule sends = join_reductions(problem, split, spread, {});
  // Nominal starts are already valid: windows move as a whole.
  EXPECT_EQ(finish(problem, sends), finish(split.collect, spread));
  for (const Send& send : sends) EXPECT_EQ(send.op, Op::reduce);
}

TEST(Reversal, MulticastBecomesMerging) {
  const Problem problem = testing::problem(testing::star(5, false, true), Collective::reduce);
  const ReductionSplit split = split_reductions(problem);
  const Schedule sends = join_reductions(problem, split, copies(split.collect), {});
  ASSERT_EQ(sends.size(), 1U);
  EXPECT_EQ(sends[0].links.back(), LinkId(5));  // leaves first
  EXPECT_EQ(finish(problem, sends), Time{kUs});
}

TEST(Reversal, ASumWaitsForItsReadyTime) {
  const Problem problem = testing::problem(testing::line(3), {sum({0, 1, 2}, {2}, Time{3 * kUs})});
  const ReductionSplit split = split_reductions(problem);
  const Schedule sends =
      simulate(problem, join_reductions(problem, split, copies(split.collect), {})).sends;
  EXPECT_EQ(finish(problem, sends), Time{5 * kUs});
}

TEST(Reversal, PhasesOfDifferentChunksOverlapOnceRetimed) {
  // Each chunk spreads as soon as it is summed; data does not wait for sums.
  const Problem problem =
      testing::problem(testing::ring(4), {sum({0, 1, 2, 3}, {0, 1, 2, 3}), data({1}, {2})});
  const ReductionSplit split = split_reductions(problem);
  const Schedule sends =
      join_and_polish(problem, split, copies(split.collect), copies(split.spread), {});
  EXPECT_EQ(finish(problem, sends), Time{4 * kUs});
  const Problem all = testing::problem(testing::ring(4), Collective::allreduce);
  const ReductionSplit halves = split_reductions(all);
  EXPECT_LE(
      finish(all, join_and_polish(all, halves, copies(halves.collect), copies(halves.spread), {})),
      Time{5 * kUs});
}

TEST(Reversal, TheRootIsWhereASumCanBeFormedAndPassedOn) {
  Network network;  // 0, 1 -> 2 -> 3, and 0 -> 3: 3 wants the sum first, but it leads nowhere
  for (int i = 0; i < 4; ++i) network.gpu();
  network.link(NodeId(0), NodeId(2)), network.link(NodeId(1), NodeId(2));
  network.link(NodeId(2), NodeId(3)), network.link(NodeId(0), NodeId(3));
  const Problem problem = testing::problem(network, {sum({0, 1}, {3, 2})});
  const ReductionSplit split = split_reductions(problem);
  EXPECT_EQ(split.collect.chunks[ChunkId(0)].origins, testing::nodes({2}));
  finish(problem, join_and_polish(problem, split, copies(split.collect), copies(split.spread), {}));
}

TEST(Reversal, ABufferThatASumPassesTwiceIsKept) {
  // g1 is in no job's way but on it: both sums pass it there and back, one at a time.
  Network network = testing::line(3);
  network.nodes[NodeId(1)].buffer = kChunk;
  const Problem problem = testing::problem(
      network, {sum({0, 2}, {0, 2}), sum({0, 2}, {2, 0}), sum({2, 0}, {0, 2})}, {0, 2});
  const ReductionSplit split = split_reductions(problem);
  finish(problem, join_and_polish(problem, split, copies(split.collect), copies(split.spread), {}));
}

}  // namespace
}  // namespace stellwerk
