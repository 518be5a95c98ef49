#include "stellwerk/plan/reachability.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stellwerk/base/error.hpp"
#include "stellwerk/plan/passing.hpp"
#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

using ::testing::AllOf;
using testing::data;
using ::testing::HasSubstr;
using testing::kChunk;
using testing::kUs;
using testing::Network;
using testing::sum;

std::string complaint(const Problem& problem) {
  try {
    require_reachable(problem);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsolved);
    return error.what();
  }
  return "";
}

/// g0 -> g1 -> g2, one way.
Network one_way() {
  Network network;
  for (int i = 0; i < 3; ++i) network.gpu();
  network.link(NodeId(0), NodeId(1)), network.link(NodeId(1), NodeId(2));
  return network;
}

TEST(Reachability, NamesWhatCannotReachWhom) {
  EXPECT_EQ(complaint(testing::problem(one_way(), {data({0}, {1, 2}), sum({0, 1}, {2})})), "");
  EXPECT_THAT(complaint(testing::problem(one_way(), {data({0}, {1}), data({2}, {0})})),
              AllOf(HasSubstr("job 'job'"), HasSubstr("chunk 1"), HasSubstr("'g2'"),
                    HasSubstr("'g0'"), HasSubstr("add links")));
}

TEST(Reachability, OneOriginIsEnoughButEveryContributorIsNeeded) {
  EXPECT_EQ(complaint(testing::problem(one_way(), {data({2, 0}, {1})})), "");
  EXPECT_THAT(complaint(testing::problem(one_way(), {sum({0, 2}, {1})})), HasSubstr("'g2'"));
}

TEST(Reachability, MembersOnlyIsSaid) {
  const std::vector<CustomChunk> chunks = {data({0}, {2})};
  EXPECT_EQ(complaint(testing::problem(one_way(), chunks, {0, 2})), "");
  EXPECT_THAT(complaint(testing::problem(one_way(), chunks, {0, 2}, Relays::members)),
              HasSubstr("--relays all"));
}

TEST(Reachability, ABufferThatIsTooSmallIsSaid) {
  Network network = one_way();
  network.nodes[NodeId(1)].buffer = kChunk;
  EXPECT_EQ(complaint(testing::problem(network, {data({0}, {2})})), "");
  network.nodes[NodeId(1)].buffer = Bytes{kChunk.value - 1};
  EXPECT_THAT(complaint(testing::problem(network, {data({0}, {2})})), HasSubstr("buffer"));
  EXPECT_EQ(complaint(testing::problem(network, {data({0}, {1, 2})})), "");  // g1 wants it
  EXPECT_EQ(complaint(testing::problem(network, {sum({0, 1}, {2})})), "");   // g1 takes part
}

TEST(KeepsBuffers, CountsAChunkFromItsFirstByteToTheEndOfItsLastSend) {
  Network network = one_way();
  network.nodes[NodeId(1)].buffer = kChunk;
  const Problem problem = testing::problem(network, {data({0}, {2}), data({0}, {2})});
  const auto send = [&](int chunk, int link, Time start) {
    return whole_chunk_send(problem.topology, problem.chunks[ChunkId(chunk)], ChunkId(chunk),
                            Op::copy, start, {LinkId(link)});
  };
  const auto keeps = [&](std::int64_t second) {
    return keeps_buffers(problem, {send(0, 0, Time{0}), send(0, 1, Time{kUs}),
                                   send(1, 0, Time{second}), send(1, 1, Time{second + kUs})});
  };
  EXPECT_TRUE(keeps(2 * kUs));
  EXPECT_FALSE(keeps(2 * kUs - 1));
}

}  // namespace
}  // namespace stellwerk
