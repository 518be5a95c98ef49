#include "stellwerk/graph/concurrent_flow.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stellwerk/graph/shortest_paths.hpp"

namespace stellwerk::graph {
namespace {

/// What lengths prove: (amounts * distances) / (capacities * lengths).
double proven(const Digraph& graph, const FlowGroups& groups,
              const std::vector<FlowSource>& sources, const std::vector<double>& lengths) {
  constexpr double kScale = 1e12;
  std::vector<std::int64_t> arcs;
  for (const int group : groups.of_arc) {
    arcs.push_back(std::llround(lengths[static_cast<std::size_t>(group)] * kScale));
  }
  double bought = 0, moved = 0;
  for (std::size_t g = 0; g < lengths.size(); ++g) bought += lengths[g] * groups.capacity[g];
  for (const FlowSource& source : sources) {
    const auto distance = distances(graph, arcs, std::vector{Start{source.vertex}});
    for (const auto& [to, amount] : source.to) {
      moved += amount * static_cast<double>(distance[static_cast<std::size_t>(to)]) / kScale;
    }
  }
  return moved / bought;
}

/// `columns` x `rows`, joined both ways round; arcs from `missing` on are left out.
Digraph torus(int columns, int rows, int missing = 0) {
  std::vector<Arc> arcs;
  for (int x = 0; x < columns; ++x) {
    for (int y = 0; y < rows; ++y) {
      const int v = x * rows + y;
      for (const int w : {((x + 1) % columns) * rows + y, x * rows + (y + 1) % rows}) {
        arcs.push_back({v, w});
        arcs.push_back({w, v});
      }
    }
  }
  arcs.erase(arcs.begin(), arcs.begin() + missing);
  return Digraph(columns * rows, arcs);
}

std::vector<FlowSource> all_to_all(int vertices, double amount) {
  std::vector<FlowSource> sources;
  for (int v = 0; v < vertices; ++v) {
    sources.push_back({v, {}});
    for (int w = 0; w < vertices; ++w) {
      if (w != v) sources.back().to.emplace_back(w, amount);
    }
  }
  return sources;
}

FlowGroups one_each(const Digraph& graph, double capacity) {
  FlowGroups groups;
  groups.of_arc.resize(static_cast<std::size_t>(graph.arcs()));
  std::iota(groups.of_arc.begin(), groups.of_arc.end(), 0);
  groups.capacity.assign(groups.of_arc.size(), capacity);
  return groups;
}

TEST(ConcurrentFlow, LengthsReachTheOptimumOfATorus) {
  // 4 x 4: 32 hops to all others, four arcs of capacity 5: 8 / 5 a unit.
  const Digraph graph = torus(4, 4);
  const FlowGroups groups = one_each(graph, 5);
  const auto sources = all_to_all(16, 3);
  ConcurrentFlow flow(graph, groups, sources);
  flow.run(1500);
  EXPECT_NEAR(proven(graph, groups, sources, flow.mean_lengths()), 3 * 8.0 / 5, 3e-3);
}

TEST(ConcurrentFlow, LengthsFindTheNarrowPlace) {
  // Two cliques of four, one arc each way between them: 16 units over it.
  std::vector<Arc> arcs;
  for (int half : {0, 4}) {
    for (int a = 0; a < 4; ++a) {
      for (int b = 0; b < 4; ++b) {
        if (a != b) arcs.push_back({half + a, half + b});
      }
    }
  }
  arcs.push_back({0, 4});
  arcs.push_back({4, 0});
  const Digraph graph(8, arcs);
  const FlowGroups groups = one_each(graph, 1);
  const auto sources = all_to_all(8, 1);
  ConcurrentFlow flow(graph, groups, sources);
  flow.run(1000);
  EXPECT_NEAR(proven(graph, groups, sources, flow.mean_lengths()), 16, 0.02);
  const std::vector<double> lengths = flow.mean_lengths();
  EXPECT_GT(lengths[lengths.size() - 1], 20 * lengths.front());
}

TEST(ConcurrentFlow, FlowsAlmostConserveAndNothingIsMuchFuller) {
  const Digraph graph = torus(4, 4, 3);
  const FlowGroups groups = one_each(graph, 1);
  const auto sources = all_to_all(16, 1);
  ConcurrentFlow flow(graph, groups, sources);
  flow.run(4000);
  const double bound = proven(graph, groups, sources, flow.mean_lengths());
  EXPECT_GT(bound, 8);
  std::vector<double> load(static_cast<std::size_t>(graph.arcs()), 0);
  for (std::size_t s = 0; s < sources.size(); ++s) {
    const std::vector<double> x = flow.flow(s);
    std::vector<double> net(16, 0);
    for (int a = 0; a < graph.arcs(); ++a) {
      const double amount = x[static_cast<std::size_t>(a)];
      load[static_cast<std::size_t>(a)] += amount;
      net[static_cast<std::size_t>(graph.arc(a).to)] += amount;
      net[static_cast<std::size_t>(graph.arc(a).from)] -= amount;
    }
    for (int v = 0; v < 16; ++v) {
      if (v != static_cast<int>(s)) {
        EXPECT_NEAR(net[static_cast<std::size_t>(v)], 1, 0.05);
      }
    }
  }
  EXPECT_LT(*std::max_element(load.begin(), load.end()), bound * 1.05);
}

TEST(ConcurrentFlow, ArcsShareTheCapacityOfTheirGroup) {
  // One vertex of a ring of six stands for all: what it sends over all arcs of a direction is what
  // every arc carries.
  std::vector<Arc> arcs;
  FlowGroups groups;
  for (int v = 0; v < 6; ++v) {
    arcs.push_back({v, (v + 1) % 6});
    groups.of_arc.push_back(0);
    arcs.push_back({(v + 1) % 6, v});
    groups.of_arc.push_back(1);
  }
  groups.capacity = {1, 1};
  const Digraph graph(6, arcs);
  std::vector<FlowSource> sources = {all_to_all(6, 1).front()};
  ConcurrentFlow flow(graph, groups, sources);
  flow.run(2000);
  // 1 + 1 + 2 + 2 + 3 hops over two directions.
  EXPECT_NEAR(proven(graph, groups, sources, flow.mean_lengths()), 4.5, 0.01);
}

}  // namespace
}  // namespace stellwerk::graph
