#include "stellwerk/base/in_order.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>

namespace stellwerk {
namespace {

TEST(InOrder, TakesEveryResultInOrderOnAnyNumberOfThreads) {
  for (const int threads : {1, 2, 3, 8}) {
    std::vector<std::size_t> taken;
    in_order(
        50, threads, StopCondition(),
        [](std::size_t i, const StopCondition&) {
          if (i % 7 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          return i * i;
        },
        [&](std::size_t i, std::size_t result) {
          EXPECT_EQ(result, i * i);
          taken.push_back(i);
          return true;
        });
    ASSERT_EQ(taken.size(), 50U);
    EXPECT_TRUE(std::is_sorted(taken.begin(), taken.end()));
  }
}

TEST(InOrder, WhatIsBegunBeyondTheLastTakenIsCancelled) {
  for (const int threads : {1, 2, 4}) {
    std::size_t last = 0;
    in_order(
        100, threads, StopCondition(),
        [](std::size_t i, const StopCondition& stop) {
          while (i > 5 && !stop.should_stop()) std::this_thread::yield();  // without end otherwise
          return i;
        },
        [&](std::size_t i, std::size_t) {
          last = i;
          return i < 5;
        });
    EXPECT_EQ(last, 5U);
  }
}

TEST(InOrder, AnExceptionComesWhenItsTurnComes) {
  for (const int threads : {1, 3}) {
    std::size_t taken = 0;
    EXPECT_THROW(in_order(
                     10, threads, StopCondition(),
                     [](std::size_t i, const StopCondition&) {
                       if (i == 4) throw std::runtime_error("four");
                       return i;
                     },
                     [&](std::size_t, std::size_t) {
                       ++taken;
                       return true;
                     }),
                 std::runtime_error);
    EXPECT_EQ(taken, 4U);
  }
}

}  // namespace
}  // namespace stellwerk
