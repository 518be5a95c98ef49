#include "stellwerk/plan/no_wait.hpp"

#include <gtest/gtest.h>

#include "stellwerk/check/verify.hpp"
#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

using testing::data;
using testing::kEpoch;

Send over(const Problem& problem, int chunk, Time start, int link) {
  const ChunkId id(chunk);
  return whole_chunk_send(problem.topology, problem.chunks[id], id, Op::copy, start,
                          {LinkId(link)});
}

TEST(NoWait, AChunkStartsLateRatherThanWaitOnItsWay) {
  // Links of the line: 0 is g0->g1, 2 is g1->g2. Chunk 1 has the second one from 1 to 2 epochs.
  const Problem problem =
      testing::problem(testing::line(3), {data({0}, {1, 2}), data({1}, {2}, kEpoch)});
  const Schedule sends = {over(problem, 1, Time{0}, 2), over(problem, 0, kEpoch, 0),
                          over(problem, 0, 2 * kEpoch, 2)};
  const auto placed = without_waiting(problem, sends);
  ASSERT_TRUE(placed);
  const Verdict verdict = verify_sends(problem, *placed);
  EXPECT_TRUE(verdict.valid()) << verdict.message;
  EXPECT_EQ(verdict.transfer_time, 3 * kEpoch);
  for (const Send& send : *placed) {
    if (send.chunk != ChunkId(0)) continue;
    EXPECT_EQ(send.start, send.links.front() == LinkId(0) ? kEpoch : 2 * kEpoch);
  }
}

/// From GPU `from` to GPU `to` of a star.
Send across(const Problem& problem, Time start, int from, int to) {
  for (const LinkId up : problem.topology.out(NodeId(from))) {
    for (const LinkId down : problem.topology.out(problem.topology.link(up).to)) {
      if (problem.topology.link(down).to != NodeId(to)) continue;
      return whole_chunk_send(problem.topology, problem.chunks[ChunkId(0)], ChunkId(0), Op::copy,
                              start, {up, down});
    }
  }
  return {};
}

TEST(NoWait, AnOriginSendsItsCopiesOneAfterTheOther) {
  const Problem problem = testing::problem(testing::star(3), {data({0}, {1, 2})});
  const auto placed =
      without_waiting(problem, {across(problem, Time{0}, 0, 1), across(problem, Time{0}, 0, 2)});
  ASSERT_TRUE(placed);
  const Verdict verdict = verify_sends(problem, *placed);
  EXPECT_TRUE(verdict.valid()) << verdict.message;
  EXPECT_EQ(verdict.transfer_time, 2 * kEpoch);
}

TEST(NoWait, RefusesToForwardTwiceAtOneInstantOverOneLink) {
  const Problem problem = testing::problem(testing::star(4), {data({0}, {1, 2, 3})});
  EXPECT_FALSE(
      without_waiting(problem, {across(problem, Time{0}, 0, 1), across(problem, kEpoch, 1, 2),
                                across(problem, 2 * kEpoch, 1, 3)}));
}

}  // namespace
}  // namespace stellwerk
