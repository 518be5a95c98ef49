#include "stellwerk/plan/timeline.hpp"

#include <gtest/gtest.h>

#include <array>

#include "stellwerk/base/rng.hpp"

namespace stellwerk {
namespace {

TEST(Timeline, IsFreeBeforeAnythingIsAdded) {
  const Timeline timeline(10);
  EXPECT_EQ(timeline.earliest(Time{7}, Time{100}, 10), Time{7});
}

TEST(Timeline, FindsTheFirstGapThatIsLongEnough) {
  Timeline timeline(1);
  timeline.add(Time{10}, Time{10}, 1);
  timeline.add(Time{23}, Time{10}, 1);
  EXPECT_EQ(timeline.earliest(Time{0}, Time{10}, 1), Time{0});  // ends when the first begins
  EXPECT_EQ(timeline.earliest(Time{1}, Time{10}, 1), Time{33});
  EXPECT_EQ(timeline.earliest(Time{1}, Time{3}, 1), Time{1});
  EXPECT_EQ(timeline.earliest(Time{8}, Time{3}, 1), Time{20});
  EXPECT_EQ(timeline.earliest(Time{8}, Time{4}, 1), Time{33});
}

TEST(Timeline, SharesItsCapacity) {
  Timeline timeline(10);
  timeline.add(Time{0}, Time{10}, 6);
  EXPECT_TRUE(timeline.fits(Time{0}, Time{10}, 4));
  EXPECT_EQ(timeline.earliest(Time{0}, Time{10}, 5), Time{10});
}

TEST(Timeline, AmountBeyondCapacityNeverFits) {
  Timeline timeline(10);
  EXPECT_EQ(timeline.earliest(Time{0}, Time{10}, 11), Time::max());
  timeline.add(Time{0}, Time{10}, 6);
  EXPECT_EQ(timeline.earliest(Time{3}, Time{10}, 11), Time::max());
  EXPECT_FALSE(timeline.fits(Time{20}, Time{1}, 11));
}

TEST(Timeline, GivesBack) {
  Timeline timeline(1);
  timeline.add(Time{5}, Time{10}, 1);
  timeline.add(Time{15}, Time{10}, 1);
  timeline.add(Time{5}, Time{10}, -1);
  EXPECT_EQ(timeline.earliest(Time{5}, Time{10}, 1), Time{5});
  EXPECT_EQ(timeline.earliest(Time{6}, Time{10}, 1), Time{25});
  timeline.clear();
  EXPECT_EQ(timeline.earliest(Time{6}, Time{10}, 1), Time{6});
}

TEST(Timeline, AgreesWithAnArray) {
  constexpr std::int64_t kLength = 60;
  constexpr std::int64_t kCapacity = 5;
  Rng rng(1);
  for (int round = 0; round < 200; ++round) {
    Timeline timeline(kCapacity);
    std::array<std::int64_t, 3 * kLength> used{};
    struct Use {
      std::int64_t start, duration, amount;
    };
    std::vector<Use> uses;
    for (int step = 0; step < 30; ++step) {
      if (!uses.empty() && rng.below(3) == 0) {
        const std::size_t which = rng.below(uses.size());
        const Use use = uses[which];
        uses.erase(uses.begin() + static_cast<std::ptrdiff_t>(which));
        timeline.add(Time{use.start}, Time{use.duration}, -use.amount);
        for (auto t = use.start; t < use.start + use.duration; ++t) {
          used[static_cast<std::size_t>(t)] -= use.amount;
        }
      }
      const Use wish{rng.between(0, kLength), rng.between(1, 9), rng.between(1, kCapacity)};
      std::int64_t expected = wish.start;
      for (std::int64_t t = expected; t < expected + wish.duration; ++t) {
        if (used[static_cast<std::size_t>(t)] + wish.amount > kCapacity) expected = t + 1;
      }
      const Time found = timeline.earliest(Time{wish.start}, Time{wish.duration}, wish.amount);
      ASSERT_EQ(found.ps, expected);
      if (expected > kLength) continue;
      timeline.add(found, Time{wish.duration}, wish.amount);
      uses.push_back({found.ps, wish.duration, wish.amount});
      for (auto t = found.ps; t < found.ps + wish.duration; ++t) {
        used[static_cast<std::size_t>(t)] += wish.amount;
      }
    }
  }
}

}  // namespace
}  // namespace stellwerk
