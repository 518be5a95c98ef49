#include "stellwerk/plan/reversal.hpp"

#include <gtest/gtest.h>

#include "stellwerk/check/simulate.hpp"
#include "stellwerk/check/verify.hpp"
#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

using testing::kEpoch;

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

}  // namespace
}  // namespace stellwerk
