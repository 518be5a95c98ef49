#include "stellwerk/plan/justify.hpp"

#include <gtest/gtest.h>

#include "stellwerk/check/simulate.hpp"
#include "stellwerk/check/verify.hpp"
#include "tests/support/random_schedule.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/small_world.hpp"

namespace stellwerk {
namespace {

using test_support::random_schedule;
using test_support::RandomSchedule;
using test_support::send_over;
using test_support::SmallWorld;

TEST(Justify, SendsFirstWhatHasFarToGo) {
  // Both chunks leave gpu0 over link 0; chunk 1 goes on to gpu2 and should go first. Only the order
  // is at fault.
  const Problem problem =
      SmallWorld(3).link(0, 1).link(1, 2).data(10, {0}, {1}).data(10, {0}, {2}).problem();
  const Schedule sends{send_over(problem, 0, 0, {0}), send_over(problem, 1, 10'000, {0}),
                       send_over(problem, 1, 20'000, {1})};
  EXPECT_EQ(simulate(problem, sends).transfer_time, Time{30'000});
  EXPECT_EQ(simulate(problem, justify(problem, sends, 2)).transfer_time, Time{20'000});
}

TEST(JustifyRandom, IsValidAndNeverWorseThanRetiming) {
  int better = 0;
  for (std::uint64_t seed = 0; seed < testing::rounds(1000U, 200U); ++seed) {
    SCOPED_TRACE(seed);
    const RandomSchedule random = random_schedule(seed);
    const Verdict verdict = verify_sends(random.problem, justify(random.problem, random.sends, 3));
    ASSERT_TRUE(verdict.valid()) << verdict.message;
    const Time timed = simulate(random.problem, random.sends).transfer_time;
    ASSERT_LE(verdict.transfer_time, timed);
    better += verdict.transfer_time < timed ? 1 : 0;
  }
  EXPECT_GT(better, testing::rounds(50, 10));
}

}  // namespace
}  // namespace stellwerk
