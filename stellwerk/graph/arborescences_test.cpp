#include "stellwerk/graph/arborescences.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace stellwerk::graph {
namespace {

/// Empty if the packing is what was asked for.
std::string wrong(const Digraph& graph, const std::vector<std::int64_t>& capacity,
                  const std::vector<std::int64_t>& copies,
                  const std::vector<Arborescence>& packing) {
  std::vector<std::int64_t> used(capacity.size(), 0);
  std::vector<std::int64_t> rooted(copies.size(), 0);
  for (const Arborescence& tree : packing) {
    if (tree.copies <= 0) return "no copies";
    rooted[static_cast<std::size_t>(tree.root)] += tree.copies;
    std::vector<char> reached(copies.size(), 0);
    reached[static_cast<std::size_t>(tree.root)] = 1;
    for (const int a : tree.arcs) {
      used[static_cast<std::size_t>(a)] += tree.copies;
      if (reached[static_cast<std::size_t>(graph.arc(a).from)] == 0) return "tail not reached";
      if (reached[static_cast<std::size_t>(graph.arc(a).to)] != 0) return "head reached twice";
      reached[static_cast<std::size_t>(graph.arc(a).to)] = 1;
    }
    if (tree.arcs.size() + 1 != copies.size()) return "not spanning";
  }
  if (rooted != copies) return "other numbers of copies";
  for (std::size_t a = 0; a < used.size(); ++a) {
    if (used[a] > capacity[a]) return "capacity";
  }
  return "";
}

/// Edmonds' condition by enumeration of all sets.
bool exists(const Digraph& graph, const std::vector<std::int64_t>& capacity,
            const std::vector<std::int64_t>& copies) {
  for (unsigned set = 1; set < 1U << graph.vertices(); ++set) {
    std::int64_t need = 0;
    for (int v = 0; v < graph.vertices(); ++v)
      need += (set >> v & 1) != 0 ? 0 : copies[static_cast<std::size_t>(v)];
    for (int a = 0; a < graph.arcs(); ++a) {
      const Arc& arc = graph.arc(a);
      if ((set >> arc.from & 1) == 0 && (set >> arc.to & 1) != 0)
        need -= capacity[static_cast<std::size_t>(a)];
    }
    if (need > 0) return false;
  }
  return true;
}

TEST(Arborescences, TwoInATriangle) {
  const Digraph graph(3, {{0, 1}, {1, 2}, {0, 2}, {2, 1}});
  Rng rng(1);
  const std::vector<std::int64_t> capacity(4, 1);
  const std::vector<std::int64_t> copies{2, 0, 0};
  const auto packing =
      pack_arborescences(graph, capacity, copies, {1, 1, 1, 1}, {}, rng, StopCondition());
  ASSERT_TRUE(packing);
  EXPECT_EQ(wrong(graph, capacity, copies, *packing), "");
}

TEST(Arborescences, PrefersShortArcs) {
  // A direct arc of length 10 or a detour of 1 + 1: the detour is a star's depth 2.
  const Digraph graph(3, {{0, 1}, {1, 2}, {0, 2}});
  Rng rng(1);
  const auto packing =
      pack_arborescences(graph, {1, 1, 1}, {1, 0, 0}, {1, 1, 10}, {}, rng, StopCondition());
  ASSERT_TRUE(packing);
  EXPECT_EQ(packing->front().arcs, (std::vector<int>{0, 1}));
}

TEST(Arborescences, ExactlyWhereEdmondsSaysSo) {
  Rng rng(11);
  int found = 0;
  for (int round = 0; round < 400; ++round) {
    const int n = 2 + static_cast<int>(rng.below(5));
    std::vector<Arc> arcs;
    std::vector<std::int64_t> capacity, length;
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        if (i == j || rng.below(3) == 0) continue;
        arcs.push_back({i, j});
        capacity.push_back(static_cast<std::int64_t>(rng.below(6)));
        length.push_back(1 + static_cast<std::int64_t>(rng.below(5)));
      }
    }
    const Digraph graph(n, arcs);
    std::vector<std::int64_t> copies;
    for (int i = 0; i < n; ++i) copies.push_back(static_cast<std::int64_t>(rng.below(3)));
    const bool expected = exists(graph, capacity, copies);
    bool feasible = true;
    for (int v = 0; v < n; ++v) {
      const std::vector<bool> cut = deficient_cut(graph, capacity, copies, v);
      feasible = feasible && cut.empty();
      if (cut.empty()) continue;
      EXPECT_TRUE(cut[static_cast<std::size_t>(v)]);
    }
    EXPECT_EQ(feasible, expected);
    const auto packing =
        pack_arborescences(graph, capacity, copies, length,
                           {static_cast<int>(rng.below(100)), INT64_MAX}, rng, StopCondition());
    ASSERT_EQ(packing.has_value(), expected) << "round " << round;
    if (!packing) continue;
    ++found;
    EXPECT_EQ(wrong(graph, capacity, copies, *packing), "");
  }
  EXPECT_GT(found, 100);
}

TEST(Arborescences, ManyCopiesAreFewTrees) {
  // A ring both ways with room for a million copies: their number is that of the classes.
  std::vector<Arc> arcs;
  for (int i = 0; i < 8; ++i) {
    arcs.push_back({i, (i + 1) % 8});
    arcs.push_back({(i + 1) % 8, i});
  }
  const Digraph graph(8, arcs);
  const std::vector<std::int64_t> capacity(16, 4'000'000);
  const std::vector<std::int64_t> copies(8, 1'000'000);
  Rng rng(1);
  const auto packing = pack_arborescences(graph, capacity, copies, std::vector<std::int64_t>(16, 1),
                                          {}, rng, StopCondition());
  ASSERT_TRUE(packing);
  EXPECT_EQ(wrong(graph, capacity, copies, *packing), "");
  EXPECT_LT(packing->size(), 200U);
}

TEST(Arborescences, StopWhenTold) {
  const Digraph graph(2, {{0, 1}});
  Rng rng(1);
  PackingOptions none;
  none.step_limit = 0;
  EXPECT_FALSE(pack_arborescences(graph, {1}, {1, 0}, {1}, none, rng, StopCondition()));
}

}  // namespace
}  // namespace stellwerk::graph
