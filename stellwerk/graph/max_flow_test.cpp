#include "stellwerk/graph/max_flow.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "stellwerk/base/rng.hpp"

namespace stellwerk::graph {
namespace {

struct Network {
  Digraph graph;
  std::vector<std::int64_t> capacity;
};

Network random_network(Rng& rng) {
  const int n = static_cast<int>(rng.between(2, 7));
  std::vector<Arc> arcs;
  std::vector<std::int64_t> capacity;
  const std::int64_t count = rng.between(0, 20);
  for (std::int64_t i = 0; i < count; ++i) {
    arcs.push_back({static_cast<int>(rng.below(static_cast<std::uint64_t>(n))),
                    static_cast<int>(rng.below(static_cast<std::uint64_t>(n)))});
    capacity.push_back(rng.between(0, 3) == 0 ? 0 : rng.between(1, 1'000'000'000'000));
  }
  return {Digraph(n, arcs), capacity};
}

std::int64_t cut_value(const Network& network, const std::vector<bool>& side) {
  std::int64_t value = 0;
  for (int a = 0; a < network.graph.arcs(); ++a) {
    const Arc arc = network.graph.arc(a);
    if (side[static_cast<std::size_t>(arc.from)] && !side[static_cast<std::size_t>(arc.to)]) {
      value += network.capacity[static_cast<std::size_t>(a)];
    }
  }
  return value;
}

TEST(MaxFlow, EqualsTheSmallestOfAllCuts) {
  Rng rng(1);
  for (int round = 0; round < 2000; ++round) {
    const Network network = random_network(rng);
    const int n = network.graph.vertices();
    MaxFlow flow(n);
    flow.add_arcs(network.graph, network.capacity);
    const std::int64_t value = flow.run(0, n - 1);

    std::int64_t smallest = INT64_MAX;
    std::size_t fewest = 64, most = 0;  // vertices on the source's side of the minimum cuts
    for (std::uint32_t mask = 0; mask < (1u << n); ++mask) {
      if (!(mask & 1u) || (mask >> (n - 1) & 1u)) continue;
      std::vector<bool> side;
      for (int v = 0; v < n; ++v) side.push_back(mask >> v & 1u);
      const std::int64_t cut = cut_value(network, side);
      const std::size_t size = static_cast<std::size_t>(std::count(side.begin(), side.end(), true));
      if (cut < smallest) {
        smallest = cut;
        fewest = most = size;
      } else if (cut == smallest) {
        fewest = std::min(fewest, size);
        most = std::max(most, size);
      }
    }
    ASSERT_EQ(value, smallest);
    const auto nearest = flow.source_side_of_nearest_cut();
    const auto farthest = flow.source_side_of_farthest_cut();
    ASSERT_EQ(cut_value(network, nearest), smallest);
    ASSERT_EQ(cut_value(network, farthest), smallest);
    ASSERT_EQ(std::count(nearest.begin(), nearest.end(), true), static_cast<long>(fewest));
    ASSERT_EQ(std::count(farthest.begin(), farthest.end(), true), static_cast<long>(most));

    // The flow is one: within capacities, and conserved.
    std::vector<std::int64_t> balance(static_cast<std::size_t>(n), 0);
    for (int a = 0; a < network.graph.arcs(); ++a) {
      const std::int64_t amount = flow.flow(a);
      ASSERT_GE(amount, 0);
      ASSERT_LE(amount, network.capacity[static_cast<std::size_t>(a)]);
      balance[static_cast<std::size_t>(network.graph.arc(a).from)] -= amount;
      balance[static_cast<std::size_t>(network.graph.arc(a).to)] += amount;
    }
    for (int v = 1; v + 1 < n; ++v) ASSERT_EQ(balance[static_cast<std::size_t>(v)], 0);
    ASSERT_EQ(balance.back(), value);
  }
}

TEST(MaxFlow, StopsAtTheLimitAndStartsAfresh) {
  MaxFlow flow(2);
  const int arc = flow.add_arc(0, 1, 10);
  EXPECT_EQ(flow.run(0, 1, 4), 4);
  EXPECT_EQ(flow.run(0, 1), 10);
  flow.set_capacity(arc, 7);
  EXPECT_EQ(flow.run(0, 1), 7);
}

}  // namespace
}  // namespace stellwerk::graph
