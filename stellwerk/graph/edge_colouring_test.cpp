#include "stellwerk/graph/edge_colouring.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "stellwerk/base/rng.hpp"

namespace stellwerk::graph {
namespace {

void expect_proper(int lefts, int rights, const std::vector<BipartiteEdge>& edges) {
  const std::vector<int> colour = colour_edges(lefts, rights, edges);
  ASSERT_EQ(colour.size(), edges.size());
  std::vector<int> degree(static_cast<std::size_t>(lefts + rights), 0);
  std::set<std::pair<int, int>> seen;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    ++degree[static_cast<std::size_t>(edges[e].left)];
    ++degree[static_cast<std::size_t>(lefts + edges[e].right)];
    EXPECT_TRUE(seen.emplace(edges[e].left, colour[e]).second);
    EXPECT_TRUE(seen.emplace(lefts + edges[e].right, colour[e]).second);
  }
  if (edges.empty()) return;
  EXPECT_LT(*std::max_element(colour.begin(), colour.end()),
            *std::max_element(degree.begin(), degree.end()));
  EXPECT_GE(*std::min_element(colour.begin(), colour.end()), 0);
}

TEST(EdgeColouring, UsesAsManyColoursAsTheLargestDegree) {
  Rng rng(3);
  for (int round = 0; round < 300; ++round) {
    const int lefts = static_cast<int>(rng.between(1, 9)),
              rights = static_cast<int>(rng.between(1, 9));
    std::vector<BipartiteEdge> edges(rng.below(120));
    for (BipartiteEdge& edge : edges) {
      edge.left = static_cast<int>(rng.below(static_cast<std::uint64_t>(lefts)));
      edge.right = static_cast<int>(rng.below(static_cast<std::uint64_t>(rights)));
    }
    expect_proper(lefts, rights, edges);
  }
}

TEST(EdgeColouring, AllToAllOfACrossbar) {
  std::vector<BipartiteEdge> edges;
  for (int a = 0; a < 40; ++a) {
    for (int b = 0; b < 40; ++b) {
      if (a != b) edges.insert(edges.end(), 3, {a, b});
    }
  }
  expect_proper(40, 40, edges);
}

TEST(EdgeColouring, EarlyEdgesGetLowColours) {
  // A 2 x 2 block that comes first stays in the first two rounds of four.
  std::vector<BipartiteEdge> edges;
  for (const int half : {0, 2}) {
    for (int a = 0; a < 4; ++a) {
      for (int b = 0; b < 4; ++b) {
        if (((a + b) % 4 < 2) == (half == 0)) edges.push_back({a, b});
      }
    }
  }
  const std::vector<int> colour = colour_edges(4, 4, edges);
  double early = 0, late = 0;
  for (std::size_t e = 0; e < 8; ++e) early += colour[e];
  for (std::size_t e = 8; e < 16; ++e) late += colour[e];
  EXPECT_LT(early, late);
}

}  // namespace
}  // namespace stellwerk::graph
