#include "stellwerk/graph/displacement.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "stellwerk/graph/refinement.hpp"
#include "tests/support/graphs.hpp"

namespace stellwerk::graph {
namespace {

/// Level by level from one end.
std::vector<Displacement> from(const ColouredGraph& graph, int start) {
  std::vector<Displacement> result(static_cast<std::size_t>(graph.vertices()));
  result[static_cast<std::size_t>(start)] = {0, 1};
  for (int level = 0; level < graph.vertices(); ++level) {
    for (int v = 0; v < graph.vertices(); ++v) {
      const Displacement here = result[static_cast<std::size_t>(v)];
      if (here.distance != level) continue;
      for (const auto& half : graph.out(v)) {
        Displacement& there = result[static_cast<std::size_t>(half.vertex)];
        if (there.distance < 0) there = {level + 1, 0};
        if (there.distance == level + 1) {
          there.paths += here.paths * (mix(static_cast<std::uint64_t>(half.label) + 101) | 1);
        }
      }
    }
  }
  return result;
}

TEST(Displacement, SearchesThatMeetAgreeWithOneThatGoesAllTheWay) {
  Rng rng(6);
  std::int64_t work = 0;
  for (int round = 0; round < 100; ++round) {
    const ColouredGraph graph = testing::random_draft(rng).graph();
    DisplacementFinder find(graph);
    for (int v = 0; v < graph.vertices(); ++v) {
      const auto expected = from(graph, v);
      for (int w = 0; w < graph.vertices(); ++w) {
        const Displacement& right = expected[static_cast<std::size_t>(w)];
        EXPECT_EQ(find(v, w, work), right);
        EXPECT_TRUE(find.is(right, v, w, work));
        Displacement wrong = right;
        wrong.distance += 1;
        EXPECT_FALSE(find.is(wrong, v, w, work));
        wrong.distance -= 2;
        EXPECT_FALSE(find.is(wrong, v, w, work));
        wrong = {right.distance, right.paths + 1};
        EXPECT_FALSE(find.is(wrong, v, w, work));
      }
    }
  }
}

}  // namespace
}  // namespace stellwerk::graph
