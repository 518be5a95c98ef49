#include "stellwerk/graph/union_find.hpp"

#include <gtest/gtest.h>

namespace stellwerk::graph {
namespace {

TEST(UnionFind, SetsAreNamedByTheirSmallestMember) {
  UnionFind sets(6);
  sets.join(5, 3);
  sets.join(4, 5);
  sets.join(1, 1);
  EXPECT_EQ(sets.root(4), 3u);
  EXPECT_EQ(sets.root(1), 1u);
  sets.join(4, 0);
  EXPECT_EQ(sets.root(5), 0u);
  EXPECT_EQ(sets.root(2), 2u);
}

}  // namespace
}  // namespace stellwerk::graph
