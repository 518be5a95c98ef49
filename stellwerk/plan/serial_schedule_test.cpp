#include "stellwerk/plan/serial_schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "stellwerk/base/rng.hpp"
#include "tests/support/small_world.hpp"

namespace stellwerk {
namespace {

using test_support::send_over;
using test_support::SmallWorld;
using ::testing::ElementsAre;

TEST(CapacityProfile, FindsGaps) {
  CapacityProfile profile(10, 10, 1);
  profile.claim(5, 5, 10);
  profile.claim(20, 5, 10);
  EXPECT_EQ(profile.earliest(0, 5, 10), 0);
  EXPECT_EQ(profile.earliest(0, 6, 10), 10);
  EXPECT_EQ(profile.earliest(12, 8, 10), 12);
  EXPECT_EQ(profile.earliest(12, 9, 10), 25);
  EXPECT_EQ(profile.earliest(-30, 100, 10), 25);
}

/// Against a load for every instant.
TEST(CapacityProfile, AgreesWithATableOfInstants) {
  Rng rng(7);
  for (int round = 0; round < 300; ++round) {
    constexpr std::int64_t kEnd = 400;
    const std::int64_t capacity = rng.between(1, 4);
    const std::int64_t least_amount = rng.between(1, capacity);
    const std::int64_t least_duration = rng.between(1, 5);
    CapacityProfile profile(capacity, least_amount, least_duration);
    std::vector<std::int64_t> load(kEnd, 0);
    for (int k = 0; k < 25; ++k) {
      const std::int64_t amount = rng.between(least_amount, capacity);
      const std::int64_t duration = rng.between(least_duration, 9);
      const std::int64_t from = rng.between(0, 60);
      const auto fits = [&](std::int64_t at) {
        const auto begin = load.begin() + at;
        return std::all_of(begin, begin + duration,
                           [&](std::int64_t l) { return l + amount <= capacity; });
      };
      std::int64_t expected = from;
      while (!fits(expected)) ++expected;
      ASSERT_EQ(profile.earliest(from, duration, amount), expected)
          << "round " << round << ", claim " << k;
      profile.claim(expected, duration, amount);
      for (std::int64_t t = expected; t < expected + duration; ++t)
        load[static_cast<std::size_t>(t)] += amount;
    }
  }
}

TEST(SerialSchedule, FillsGapsAndMirrors) {
  // Chunk 1 goes over link 0 late (it becomes ready late); chunk 2 fits before it.
  const Problem problem = SmallWorld(3)
                              .link(0, 1)
                              .link(1, 2)
                              .data(10, {0}, {2})
                              .data(10, {0}, {1}, 30'000)
                              .data(20, {0}, {1})
                              .problem();
  const Schedule sends{send_over(problem, 0, 0, {0}), send_over(problem, 0, 10'000, {1}),
                       send_over(problem, 1, 30'000, {0}), send_over(problem, 2, 40'000, {0})};
  const SerialSchedule list(problem, sends);
  EXPECT_THAT(list.forwards({0, 1, 2, 3}).value(), ElementsAre(0, 10'000, 30'000, 10'000));
  EXPECT_EQ(list.finish({0, 10'000, 30'000, 10'000}), Time{40'000});
  // From 40000 backwards, taking the last first.
  EXPECT_THAT(list.backwards({0, 1, 2, 3}, 40'000).value(), ElementsAre(0, 30'000, 10'000, 20'000));
}

}  // namespace
}  // namespace stellwerk
