#include "stellwerk/check/difference_constraints.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "stellwerk/base/rng.hpp"

namespace stellwerk {
namespace {

using Values = std::vector<std::int64_t>;

/// V rounds of relaxing everything; nothing if it still moves then.
std::optional<Values> bellman_ford(Values x, const std::vector<DifferenceArc>& arcs) {
  for (std::size_t round = 0; round <= x.size(); ++round) {
    bool moved = false;
    for (const DifferenceArc& arc : arcs) {
      std::int64_t& to = x[static_cast<std::size_t>(arc.to)];
      const std::int64_t via = x[static_cast<std::size_t>(arc.from)] + arc.lag;
      moved = moved || via > to;
      to = std::max(to, via);
    }
    if (!moved) return x;
  }
  return std::nullopt;
}

struct Instance {
  Values lower;
  std::vector<DifferenceArc> arcs;
};

Instance random_instance(std::uint64_t seed) {
  Rng rng(seed);
  const auto size = static_cast<std::size_t>(rng.between(1, 12));
  Instance instance;
  for (std::size_t i = 0; i < size; ++i) instance.lower.push_back(rng.between(0, 20));
  const std::int64_t highest = rng.between(0, 10);
  for (std::int64_t k = 0, count = rng.between(0, 30); k < count; ++k) {
    instance.arcs.push_back({static_cast<std::int32_t>(rng.below(size)),
                             static_cast<std::int32_t>(rng.below(size)),
                             rng.between(-15, highest)});
  }
  return instance;
}

TEST(DifferenceConstraints, FollowsAChain) {
  EXPECT_EQ(least_solution({5, 0, 0}, {{0, 1, 10}, {1, 2, -3}}), (Values{5, 15, 12}));
}

TEST(DifferenceConstraints, NamesACircleOfPositiveLag) {
  EXPECT_EQ(least_solution({0, 0}, {{0, 1, 5}, {1, 0, -4}}), std::nullopt);
  EXPECT_EQ(least_solution({0, 0}, {{0, 1, 5}, {1, 0, -5}}), (Values{0, 5}));
}

TEST(DifferenceConstraints, AVariableWithoutBoundTakesThatOfItsArcs) {
  EXPECT_EQ(least_solution({7, kNoLowerBound, 0}, {{0, 1, 1}, {1, 2, 1}}), (Values{7, 8, 9}));
  EXPECT_EQ(least_solution({kNoLowerBound, 3}, {{0, 1, 1}}), (Values{kNoLowerBound, 3}));
}

TEST(DifferenceConstraints, AgreesWithBellmanFordOnRandomInstances) {
  int solved = 0;
  int contradictory = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    const Instance instance = random_instance(seed);
    const std::optional<Values> expected = bellman_ford(instance.lower, instance.arcs);
    EXPECT_EQ(least_solution(instance.lower, instance.arcs), expected) << "seed " << seed;
    if (!expected) {
      ++contradictory;
      continue;
    }
    ++solved;
    // A known solution, here the least one moved up as a whole, changes nothing.
    Values known = *expected;
    for (std::int64_t& value : known) value += static_cast<std::int64_t>(seed % 5);
    EXPECT_EQ(least_solution(instance.lower, instance.arcs, known), expected) << "seed " << seed;
    // Nor does one that is wrong.
    known.front() = -1;
    EXPECT_EQ(least_solution(instance.lower, instance.arcs, known), expected) << "seed " << seed;
  }
  EXPECT_GT(solved, 1000);
  EXPECT_GT(contradictory, 500);
}

TEST(DifferenceConstraints, AKnownSolutionMakesSlowInstancesExact) {
  // A chain that a worklist goes through against the numbering, one step a round, back and forth
  // with lag 0; variable 0 rises with every step.
  constexpr std::int32_t kLength = 400;
  const Values lower(kLength, 0);
  std::vector<DifferenceArc> arcs;
  for (std::int32_t i = kLength - 1; i > 1; --i) {
    arcs.push_back({i, i - 1, 1});
    arcs.push_back({i - 1, i, -1});
    arcs.push_back({i, 0, 1000});
  }
  Values expected(kLength, 0);
  for (std::int32_t i = kLength - 1; i > 0; --i) {
    expected[static_cast<std::size_t>(i)] = kLength - 1 - i;
  }
  expected[0] = kLength - 3 + 1000;
  EXPECT_EQ(bellman_ford(lower, arcs), expected);
  EXPECT_EQ(least_solution(lower, arcs), std::nullopt);
  Values known = expected;
  for (std::int64_t& value : known) value += 77;
  EXPECT_EQ(least_solution(lower, arcs, known), expected);
}

}  // namespace
}  // namespace stellwerk
