#include "stellwerk/graph/shortest_paths.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "stellwerk/base/rng.hpp"

namespace stellwerk::graph {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

struct Case {
  Digraph graph;
  std::vector<std::int64_t> length;
  std::vector<bool> usable;
  std::vector<std::vector<std::int64_t>> all;         // distances between all pairs
  std::vector<std::vector<std::int64_t>> all_usable;  // over usable arcs only
};

Case random_case(Rng& rng) {
  const int n = static_cast<int>(rng.between(1, 8));
  Case result;
  std::vector<Arc> arcs;
  const std::int64_t count = rng.between(0, 18);
  for (std::int64_t i = 0; i < count; ++i) {
    arcs.push_back({static_cast<int>(rng.below(static_cast<std::uint64_t>(n))),
                    static_cast<int>(rng.below(static_cast<std::uint64_t>(n)))});
    result.length.push_back(rng.between(0, 9));
    result.usable.push_back(rng.below(4) != 0);
  }
  result.graph = Digraph(n, arcs);
  for (auto* table : {&result.all, &result.all_usable}) {
    table->assign(at(n), std::vector<std::int64_t>(at(n), kUnreachable));
    for (int v = 0; v < n; ++v) (*table)[at(v)][at(v)] = 0;
    for (std::size_t a = 0; a < arcs.size(); ++a) {
      if (table == &result.all_usable && !result.usable[a]) continue;
      auto& entry = (*table)[at(arcs[a].from)][at(arcs[a].to)];
      entry = std::min(entry, result.length[a]);
    }
    for (int k = 0; k < n; ++k)
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
          auto& entry = (*table)[at(i)][at(j)];
          if ((*table)[at(i)][at(k)] == kUnreachable || (*table)[at(k)][at(j)] == kUnreachable)
            continue;
          entry = std::min(entry, (*table)[at(i)][at(k)] + (*table)[at(k)][at(j)]);
        }
  }
  return result;
}

TEST(ShortestPaths, EqualFloydWarshallFromSeveralStarts) {
  Rng rng(2);
  for (int round = 0; round < 1000; ++round) {
    const Case c = random_case(rng);
    const int n = c.graph.vertices();
    std::vector<Start> starts;
    for (std::int64_t i = rng.between(0, 3); i > 0; --i) {
      starts.push_back(
          {static_cast<int>(rng.below(static_cast<std::uint64_t>(n))), rng.between(0, 12)});
    }
    const auto forwards = distances(c.graph, c.length, starts);
    const auto backwards = distances(c.graph, c.length, starts, true);
    for (int v = 0; v < n; ++v) {
      std::int64_t to = kUnreachable, from = kUnreachable;
      for (const Start& start : starts) {
        const auto there = c.all[at(start.vertex)][at(v)], back = c.all[at(v)][at(start.vertex)];
        if (there != kUnreachable) to = std::min(to, start.distance + there);
        if (back != kUnreachable) from = std::min(from, start.distance + back);
      }
      ASSERT_EQ(forwards[at(v)], to);
      ASSERT_EQ(backwards[at(v)], from);
    }
  }
}

TEST(Reachable, FollowsUsableArcs) {
  Rng rng(3);
  for (int round = 0; round < 500; ++round) {
    const Case c = random_case(rng);
    const int start = static_cast<int>(rng.below(static_cast<std::uint64_t>(c.graph.vertices())));
    const auto seen = reachable(c.graph, std::vector<int>{start}, c.usable);
    for (int v = 0; v < c.graph.vertices(); ++v) {
      ASSERT_EQ(seen[at(v)], c.all_usable[at(start)][at(v)] != kUnreachable);
    }
  }
}

TEST(StrongComponents, AreMutualReachability) {
  Rng rng(4);
  for (int round = 0; round < 1000; ++round) {
    const Case c = random_case(rng);
    const int n = c.graph.vertices();
    const auto component = strong_components(c.graph, c.usable);
    std::map<int, int> smallest;  // component -> its smallest vertex
    for (int v = 0; v < n; ++v) {
      smallest.emplace(component[at(v)], v);
      for (int w = 0; w < n; ++w) {
        const bool mutual = c.all_usable[at(v)][at(w)] != kUnreachable &&
                            c.all_usable[at(w)][at(v)] != kUnreachable;
        ASSERT_EQ(component[at(v)] == component[at(w)], mutual);
      }
    }
    int last = -1, number = 0;
    for (const auto& [id, vertex] : smallest) {
      ASSERT_EQ(id, number++);
      ASSERT_GT(vertex, last);
      last = vertex;
    }
  }
}

TEST(Digraph, ReversedTurnsEveryArc) {
  const Digraph graph(3, {{0, 1}, {1, 2}, {0, 1}});
  EXPECT_EQ(graph.out(0).size(), 2u);
  const Digraph back = graph.reversed();
  EXPECT_EQ(back.arc(1), (Arc{2, 1}));
  EXPECT_EQ(back.in(0).size(), 2u);
  EXPECT_TRUE(back.out(0).empty());
}

}  // namespace
}  // namespace stellwerk::graph
