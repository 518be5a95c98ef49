#include "stellwerk/graph/coloured_graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/graphs.hpp"

namespace stellwerk::graph {
namespace {

using testing::all_automorphisms;
using testing::Draft;
using testing::random_draft;

TEST(VertexPermutation, Arithmetic) {
  const VertexPermutation p = {1, 2, 0, 4, 3, 5};
  EXPECT_EQ(product(p, inverse(p)), identity(6));
  EXPECT_EQ(power(p, 0), identity(6));
  EXPECT_EQ(power(p, 1), p);
  EXPECT_EQ(power(p, 2), product(p, p));
  EXPECT_EQ(power(p, 6'000'000'007), p);
  EXPECT_EQ(product(VertexPermutation{1, 0, 2}, VertexPermutation{0, 2, 1}),
            (VertexPermutation{2, 0, 1}));
}

TEST(ColouredGraph, IndexesArcs) {
  const ColouredGraph graph({0, 0, 1}, {1, 1, 0}, {{0, 2, 3}, {2, 0, 1}, {0, 1, 0}});
  EXPECT_EQ(graph.vertices(), 3);
  EXPECT_EQ(graph.labels(), 4);
  ASSERT_EQ(graph.out(0).size(), 2U);
  EXPECT_EQ(graph.out(0)[0], (ColouredGraph::Half{1, 0}));
  EXPECT_EQ(graph.out(0)[1], (ColouredGraph::Half{2, 3}));
  ASSERT_EQ(graph.in(0).size(), 1U);
  EXPECT_EQ(graph.in(0)[0], (ColouredGraph::Half{2, 1}));
  EXPECT_TRUE(graph.is_point(1));
  EXPECT_FALSE(graph.is_point(2));
}

/// Against the search that goes vertex by vertex: every permutation of small graphs.
TEST(ColouredGraph, AutomorphismsAreTheRightOnes) {
  Rng rng(5);
  std::size_t some = 0;
  for (int round = 0; round < 60; ++round) {
    const ColouredGraph graph = random_draft(rng).graph();
    if (graph.vertices() > 6) continue;
    const auto expected = all_automorphisms(graph);
    std::size_t count = 0;
    VertexPermutation p = identity(graph.vertices());
    do {
      const bool known = std::find(expected.begin(), expected.end(), p) != expected.end();
      ASSERT_EQ(graph.is_automorphism(p), known);
      count += known ? 1 : 0;
    } while (std::next_permutation(p.begin(), p.end()));
    EXPECT_EQ(count, expected.size());
    some += count > 1 ? 1 : 0;
  }
  EXPECT_GT(some, 20U);
}

}  // namespace
}  // namespace stellwerk::graph
