#include "stellwerk/base/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace stellwerk {
namespace {

// The published SplitMix64 values for seed 1234567: the sequence must never change.
TEST(Rng, IsSplitMix64) {
  Rng rng(1234567);
  EXPECT_EQ(rng.next(), 6457827717110365317ULL);
  EXPECT_EQ(rng.next(), 3203168211198807973ULL);
  EXPECT_EQ(rng.next(), 9817491932198370423ULL);
}

TEST(Rng, StaysInRangeAndReachesItsEnds) {
  Rng rng(7);
  std::vector<int> seen(6, 0);
  for (int i = 0; i < 6000; ++i) {
    const std::int64_t value = rng.between(-2, 3);
    ASSERT_GE(value, -2);
    ASSERT_LE(value, 3);
    ++seen[static_cast<std::size_t>(value + 2)];
    ASSERT_LT(rng.below(3), 3U);
    const double u = rng.uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
  }
  for (const int count : seen) EXPECT_NEAR(count, 1000, 150);
  EXPECT_EQ(rng.below(1), 0U);
}

// The whole range of int64, whose size does not fit into 64 bits.
TEST(Rng, BetweenTheExtremes) {
  Rng rng(1);
  bool negative = false;
  bool positive = false;
  for (int i = 0; i < 100; ++i) {
    const std::int64_t value = rng.between(INT64_MIN, INT64_MAX);
    negative = negative || value < 0;
    positive = positive || value > 0;
  }
  EXPECT_TRUE(negative && positive);
  EXPECT_EQ(rng.between(5, 5), 5);
}

TEST(Rng, ShufflesToPermutationsEvenly) {
  Rng rng(3);
  std::vector<int> first(5, 0);
  for (int i = 0; i < 5000; ++i) {
    std::vector<int> values(5);
    std::iota(values.begin(), values.end(), 0);
    rng.shuffle(values);
    ++first[static_cast<std::size_t>(values[0])];
    std::sort(values.begin(), values.end());
    ASSERT_EQ(values, (std::vector<int>{0, 1, 2, 3, 4}));
  }
  for (const int count : first) EXPECT_NEAR(count, 1000, 150);
}

TEST(Rng, SameSeedSameSequence) {
  Rng a(42), b(42), c(43);
  EXPECT_EQ(a.next(), b.next());
  EXPECT_NE(a.next(), c.next());
}

}  // namespace
}  // namespace stellwerk
