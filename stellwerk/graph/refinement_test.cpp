#include "stellwerk/graph/refinement.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/graphs.hpp"

namespace stellwerk::graph {
namespace {

using testing::Draft;
using testing::random_draft;

using Cells = std::set<std::set<int>>;

Cells cells_of(const OrderedPartition& partition, int vertices) {
  std::map<int, std::set<int>> cells;
  for (int v = 0; v < vertices; ++v) cells[partition.cell(v)].insert(v);
  Cells result;
  for (const auto& [cell, members] : cells) {
    EXPECT_EQ(partition.size(cell), static_cast<int>(members.size()));
    const auto listed = partition.members(cell);
    EXPECT_EQ(std::set<int>(listed.begin(), listed.end()), members);
    result.insert(members);
  }
  EXPECT_EQ(partition.cells(), static_cast<int>(result.size()));
  std::size_t large = 0;
  for (int c = partition.first_large(); c >= 0; c = partition.next_large(c)) {
    EXPECT_GT(partition.size(c), 1);
    ++large;
  }
  for (const auto& members : result) large -= members.size() > 1 ? 1 : 0;
  EXPECT_EQ(large, 0U);
  return result;
}

/// The coarsest partition that refines colours (and singles out `single`) in which all members of a
/// cell have the same arcs to every cell, by rounds of comparison.
Cells coarsest(const ColouredGraph& graph, const std::vector<VertexPermutation>& commuting,
               const std::set<int>& single) {
  const int n = graph.vertices();
  std::vector<int> cell(static_cast<std::size_t>(n), 0);
  using Key = std::tuple<int, int, int, int, std::multiset<std::tuple<int, int, int>>>;
  for (int round = 0; round <= n; ++round) {
    std::vector<Key> keys;
    for (int v = 0; v < n; ++v) {
      std::multiset<std::tuple<int, int, int>> around;
      const auto add = [&](int kind, int label, int w) {
        around.emplace(kind, label, cell[static_cast<std::size_t>(w)]);
      };
      for (const auto& half : graph.out(v)) add(0, half.label, half.vertex);
      for (const auto& half : graph.in(v)) add(1, half.label, half.vertex);
      for (std::size_t g = 0; g < commuting.size(); ++g) {
        const std::size_t i = static_cast<std::size_t>(v);
        if (commuting[g][i] == v) continue;  // no arc
        add(2, static_cast<int>(g), commuting[g][i]);
        add(3, static_cast<int>(g), inverse(commuting[g])[i]);
      }
      keys.emplace_back(cell[static_cast<std::size_t>(v)], graph.colour(v),
                        graph.is_point(v) ? 1 : 0, single.contains(v) ? v + 1 : 0,
                        std::move(around));
    }
    std::map<Key, int> number;
    for (const Key& key : keys) number.emplace(key, 0);
    int next = 0;
    for (auto& [key, value] : number) value = next++;
    for (int v = 0; v < n; ++v) {
      cell[static_cast<std::size_t>(v)] = number[keys[static_cast<std::size_t>(v)]];
    }
  }
  std::map<int, std::set<int>> members;
  for (int v = 0; v < n; ++v) members[cell[static_cast<std::size_t>(v)]].insert(v);
  Cells result;
  for (const auto& [number, list] : members) result.insert(list);
  return result;
}

TEST(Refinement, IsTheCoarsestAndCanBeUndone) {
  Rng rng(3);
  std::int64_t work = 0;
  for (int round = 0; round < 200; ++round) {
    const ColouredGraph graph = random_draft(rng).graph();
    const int n = graph.vertices();
    std::vector<VertexPermutation> commuting;
    if (rng.below(2) == 0) {
      commuting.push_back(identity(n));
      rng.shuffle(commuting.back());
    }
    const RefinementGraph arcs(graph, commuting, RefinementGraph::Arcs::directed);
    OrderedPartition partition(graph);
    Trace trace;
    partition.refine(arcs, trace, work);
    EXPECT_EQ(cells_of(partition, n), coarsest(graph, commuting, {}));
    std::vector<Cells> before = {cells_of(partition, n)};
    std::vector<std::size_t> marks = {partition.splits().size()};
    std::set<int> single;
    while (!partition.discrete()) {
      const int v = partition.members(partition.first_large()).front();
      single.insert(v);
      partition.individualise(v);
      partition.refine(arcs, trace, work);
      EXPECT_EQ(cells_of(partition, n), coarsest(graph, commuting, single));
      before.push_back(cells_of(partition, n));
      marks.push_back(partition.splits().size());
    }
    for (std::size_t i = marks.size(); i-- > 0;) {
      partition.undo(marks[i]);
      EXPECT_EQ(cells_of(partition, n), before[i]);
    }
  }
  EXPECT_GT(work, 0);
}

/// What a symmetry maps to each other has the same trace and the same cells at the same places.
TEST(Refinement, TracesAgreeUnderSymmetries) {
  Rng rng(4);
  std::int64_t work = 0;
  for (int round = 0; round < 100; ++round) {
    const ColouredGraph graph = random_draft(rng).graph();
    const int n = graph.vertices();
    const RefinementGraph arcs(graph, {}, RefinementGraph::Arcs::directed);
    OrderedPartition root(graph);
    Trace ignored;
    root.refine(arcs, ignored, work);
    const auto symmetries = testing::all_automorphisms(graph);
    for (int v = 0; v < n; ++v) {
      OrderedPartition one = root;
      Trace trace;
      one.individualise(v);
      one.refine(arcs, trace, work);
      for (const VertexPermutation& p : symmetries) {
        const int w = p[static_cast<std::size_t>(v)];
        OrderedPartition two = root;
        two.individualise(w);
        ASSERT_TRUE(two.refine_like(arcs, trace, work));
        for (int u = 0; u < n; ++u) {
          EXPECT_EQ(one.cell(u), two.cell(p[static_cast<std::size_t>(u)]));
        }
      }
    }
  }
}

}  // namespace
}  // namespace stellwerk::graph
