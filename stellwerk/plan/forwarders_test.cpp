#include "stellwerk/plan/forwarders.hpp"

#include <gtest/gtest.h>

#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

using testing::data;
using testing::kUs;
using testing::Network;

TEST(Forwarders, AreNotNeededWhereTheWantingReachEachOther) {
  const Problem problem = testing::problem(testing::ring(5), Collective::allgather);
  const Forwarders found = find_forwarders(problem);
  EXPECT_TRUE(found.objection.empty());
  for (const auto& nodes : found.of) EXPECT_TRUE(nodes.empty());
  // A switch is no forwarder.
  const Problem star = testing::problem(testing::star(4), {data({0}, {2})});
  EXPECT_TRUE(find_forwarders(star).of[ChunkId(0)].empty());
}

TEST(Forwarders, JoinWhatIsApart) {
  const Problem problem = testing::problem(testing::line(5), {data({0}, {2, 4}), data({1}, {0})});
  const Forwarders found = find_forwarders(problem);
  EXPECT_EQ(found.of[ChunkId(0)], testing::nodes({1, 3}));
  EXPECT_TRUE(found.of[ChunkId(1)].empty());
}

TEST(Forwarders, ShareTheLoad) {
  // Two relays between two GPUs: four chunks use both.
  Network network;
  network.gpu();
  network.gpu();
  for (int i = 0; i < 2; ++i) {
    const NodeId relay = network.relay();
    network.both(NodeId(0), relay);
    network.both(NodeId(1), relay);
  }
  const Problem problem =
      testing::problem(network, {data({0}, {1}), data({0}, {1}), data({0}, {1}), data({0}, {1})});
  const Forwarders found = find_forwarders(problem);
  int first = 0;
  for (const auto& nodes : found.of) first += nodes == testing::nodes({2}) ? 1 : 0;
  EXPECT_EQ(first, 2);
}

TEST(Forwarders, KeepToTheMembersAndToTheRoomThereIs) {
  Network network = testing::line(3);
  const std::vector<CustomChunk> chunks{data({0}, {2}), data({0}, {2})};
  EXPECT_FALSE(find_forwarders(testing::problem(network, chunks, {0, 2}, Relays::members))
                   .objection.empty());
  EXPECT_TRUE(find_forwarders(testing::problem(network, chunks, {0, 2})).objection.empty());
  network.nodes[NodeId(1)].buffer = Bytes{2 * testing::kChunk.value};
  EXPECT_TRUE(find_forwarders(testing::problem(network, chunks)).objection.empty());
  network.nodes[NodeId(1)].buffer = Bytes{2 * testing::kChunk.value - 1};
  EXPECT_FALSE(find_forwarders(testing::problem(network, chunks)).objection.empty());
}

}  // namespace
}  // namespace stellwerk
