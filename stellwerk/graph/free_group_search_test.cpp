#include "stellwerk/graph/free_group_search.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "stellwerk/graph/free_group.hpp"
#include "tests/support/graphs.hpp"

namespace stellwerk::graph {
namespace {

using testing::Draft;
using testing::largest_free_order;
using testing::random_draft;

void expect_sound(const ColouredGraph& graph, const FreeGroups& found) {
  for (const FoundGroup* group : {&found.largest, &found.arc_free}) {
    for (const VertexPermutation& g : group->generators) EXPECT_TRUE(graph.is_automorphism(g));
    EXPECT_EQ(free_order(graph, group->generators, 1 << 20), group->order);
    EXPECT_EQ(found.bound % group->order, 0);
    EXPECT_DOUBLE_EQ(group->free_arcs, free_arcs(graph, group->generators, group->order));
  }
  EXPECT_EQ(found.arc_free.free_arcs, 1);
  EXPECT_LE(found.arc_free.order, found.largest.order);
}

TEST(FreeGroupSearch, AgreesWithBruteForceOnSmallGraphs) {
  Rng rng(7);
  int symmetric = 0;
  int smaller = 0;
  int arcs_smaller = 0;
  for (int round = 0; round < 400; ++round) {
    const ColouredGraph graph = random_draft(rng).shuffled(rng).graph();
    if (testing::all_automorphisms(graph).size() > 24) continue;  // too many groups for brute force
    const FreeGroups found = find_free_groups(graph);
    EXPECT_TRUE(found.complete);
    expect_sound(graph, found);
    const auto largest = static_cast<std::int64_t>(largest_free_order(graph));
    EXPECT_LE(found.largest.order, largest);
    EXPECT_EQ(found.bound % largest, 0);
    symmetric += largest > 1 ? 1 : 0;
    smaller += found.largest.order < largest ? 1 : 0;
    arcs_smaller +=
        found.arc_free.order < static_cast<std::int64_t>(largest_free_order(graph, true)) ? 1 : 0;
  }
  EXPECT_GT(symmetric, 200);
  EXPECT_EQ(smaller, 0);
  EXPECT_EQ(arcs_smaller, 0);
}

Draft torus(const std::vector<int>& sizes) {
  Draft draft;
  int count = 1;
  for (const int size : sizes) count *= size;
  for (int v = 0; v < count; ++v) draft.add(true);
  int stride = 1;
  for (const int size : sizes) {
    for (int v = 0; v < count; ++v) {
      const int at = v / stride % size;
      const int next = v + ((at + 1) % size - at) * stride;
      if (size > 2 || at == 0) draft.both(v, next);
    }
    stride *= size;
  }
  return draft;
}

/// All subsets of `dimension` bits, joined to those that differ in one; or, cube-connected cycles.
Draft cube(int dimension, bool cycles) {
  Draft draft;
  const int each = cycles ? dimension : 1;
  for (int v = 0; v < each << dimension; ++v) draft.add(true);
  for (int w = 0; w < 1 << dimension; ++w) {
    for (int i = 0; i < dimension; ++i) {
      const int here = cycles ? w * each + i : w;
      if ((w & 1 << i) == 0) draft.both(here, cycles ? (w ^ 1 << i) * each + i : w ^ 1 << i);
      if (cycles) draft.both(here, w * each + (i + 1) % each);
    }
  }
  return draft;
}

Draft petersen() {
  Draft draft;
  for (int v = 0; v < 10; ++v) draft.add(true);
  for (int i = 0; i < 5; ++i) {
    draft.both(i, (i + 1) % 5);
    draft.both(i, i + 5);
    draft.both(i + 5, (i + 2) % 5 + 5);
  }
  return draft;
}

/// Every point to those `steps` further, one way.
Draft circulant(int count, const std::vector<int>& steps) {
  Draft draft;
  for (int v = 0; v < count; ++v) draft.add(true);
  for (int v = 0; v < count; ++v) {
    for (const int step : steps) draft.arcs.push_back({v, (v + step) % count, 0});
  }
  return draft;
}

/// `groups` of `boxes` boxes of `size` points; point i of each box on leaf i of its group, all leaves
/// i on `spines` spines.
Draft leaf_spine(int groups, int boxes, int size, int spines) {
  Draft draft;
  std::vector<int> top;
  for (int i = 0; i < size * spines; ++i) top.push_back(draft.add(false));
  for (int g = 0; g < groups; ++g) {
    std::vector<int> leaves;
    for (int i = 0; i < size; ++i) {
      leaves.push_back(draft.add(false));
      for (int s = 0; s < spines; ++s) {
        draft.both(leaves.back(), top[static_cast<std::size_t>(i * spines + s)], 2);
      }
    }
    for (int b = 0; b < boxes; ++b) {
      const int box = draft.add(false);
      for (int i = 0; i < size; ++i) {
        const int point = draft.add(true);
        draft.both(point, box, 0);
        draft.both(point, leaves[static_cast<std::size_t>(i)], 1);
      }
    }
  }
  return draft;
}

TEST(FreeGroupSearch, KnownFamiliesUnderRandomNames) {
  struct Case {
    std::string name;
    Draft draft;
    std::int64_t largest, arc_free;
  };
  Draft one_more = torus({6, 6});
  one_more.both(0, 8);
  const std::vector<Case> cases = {
      {"ring", torus({12}), 12, 12},
      {"torus", torus({8, 8}), 64, 64},
      {"torus of uneven sides", torus({4, 6, 5}), 120, 120},
      {"torus with a side of two", torus({2, 4, 8}), 64, 64},
      {"hypercube", cube(6, false), 64, 64},
      {"cube-connected cycles (not abelian)", cube(4, true), 64, 64},
      // Transitive, but no group acts regularly on it.
      {"Petersen", petersen(), 5, 5},
      {"circulant", circulant(30, {1, 4, 9}), 30, 30},
      {"leaf and spine", leaf_spine(4, 4, 4, 4), 64, 64},
      {"leaf and spine, few spines", leaf_spine(4, 4, 4, 2), 64, 32},
      {"torus with a defect", one_more, 2, 2},
  };
  Rng rng(11);
  for (const Case& c : cases) {
    for (int round = 0; round < 2; ++round) {
      const ColouredGraph graph = c.draft.shuffled(rng).graph();
      const FreeGroups found = find_free_groups(graph);
      EXPECT_EQ(found.largest.order, c.largest) << c.name;
      EXPECT_EQ(found.arc_free.order, c.arc_free) << c.name;
      expect_sound(graph, found);
    }
  }
}

TEST(FreeGroupSearch, IsDeterministic) {
  Rng rng(1);
  const ColouredGraph graph = leaf_spine(4, 2, 4, 4).shuffled(rng).graph();
  const FreeGroups a = find_free_groups(graph);
  const FreeGroups b = find_free_groups(graph);
  EXPECT_EQ(a.largest.generators, b.largest.generators);
  EXPECT_EQ(a.arc_free.generators, b.arc_free.generators);
}

TEST(FreeGroupSearch, StopsWhenTold) {
  Rng rng(1);
  const ColouredGraph graph = leaf_spine(16, 8, 8, 8).shuffled(rng).graph();
  FreeGroupOptions options;
  options.should_stop = [] { return true; };
  FreeGroups found = find_free_groups(graph, options);
  EXPECT_FALSE(found.complete);
  expect_sound(graph, found);
  // In the middle: what has been found so far is a group, too.
  int polls = 0;
  options.should_stop = [&] { return ++polls > 12; };
  found = find_free_groups(graph, options);
  EXPECT_FALSE(found.complete);
  expect_sound(graph, found);
  options = {};
  options.most_work = 100'000;
  found = find_free_groups(graph, options);
  EXPECT_FALSE(found.complete);
  expect_sound(graph, found);
}

}  // namespace
}  // namespace stellwerk::graph
