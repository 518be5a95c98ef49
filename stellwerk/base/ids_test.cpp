#include "stellwerk/base/ids.hpp"

#include <gtest/gtest.h>

#include <type_traits>
#include <unordered_set>
#include <vector>

namespace stellwerk {
namespace {

static_assert(!std::is_convertible_v<NodeId, LinkId>);
static_assert(!std::is_convertible_v<int, NodeId>);
static_assert(!std::is_constructible_v<NodeId, LinkId>);

TEST(Ids, DefaultIsNone) {
  EXPECT_FALSE(NodeId().valid());
  EXPECT_TRUE(NodeId(0).valid());
  EXPECT_LT(NodeId(1), NodeId(2));
  EXPECT_EQ(NodeId(std::size_t{7}), NodeId(7));
}

TEST(Ids, RangesCountFromZero) {
  std::vector<int> values;
  for (const ChunkId id : IdRange<ChunkId>(3)) values.push_back(id.value);
  EXPECT_EQ(values, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(IdRange<ChunkId>(0).begin(), IdRange<ChunkId>(0).end());
}

TEST(Ids, VectorsAreIndexedByTheirId) {
  IdVector<LinkId, int> values(2, 5);
  values[LinkId(1)] = 6;
  const auto& fixed = values;
  EXPECT_EQ(fixed[LinkId(0)], 5);
  EXPECT_EQ(fixed[LinkId(1)], 6);
  IdVector<LinkId, bool> flags(3, false);
  flags[LinkId(2)] = true;
  EXPECT_TRUE(flags[LinkId(2)]);
}

TEST(Ids, Hash) {
  std::unordered_set<NodeId> set = {NodeId(1), NodeId(1), NodeId(2)};
  EXPECT_EQ(set.size(), 2U);
}

}  // namespace
}  // namespace stellwerk
