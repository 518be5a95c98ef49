#include "stellwerk/plan/compact.hpp"

#include <gmock/gmock.h>
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
using test_support::starts_of;
using ::testing::ElementsAre;

TEST(Compact, MovesASendIntoAGap) {
  // Re-timing keeps chunk 1 behind chunk 0 on link 1, although the link is idle until 10000.
  const Problem problem =
      SmallWorld(3).link(0, 1).link(1, 2).data(10, {0}, {2}).data(10, {1}, {2}).problem();
  const Schedule sends{send_over(problem, 0, 0, {0}), send_over(problem, 0, 10'000, {1}),
                       send_over(problem, 1, 20'000, {1})};
  EXPECT_EQ(simulate(problem, sends).transfer_time, Time{30'000});
  EXPECT_THAT(starts_of(compact(problem, sends)), ElementsAre(0, 10'000, 0));
}

TEST(CompactRandom, IsValidAndNeverWorseThanRetiming) {
  int better = 0;
  for (std::uint64_t seed = 0; seed < testing::rounds(1000U, 200U); ++seed) {
    SCOPED_TRACE(seed);
    const RandomSchedule random = random_schedule(seed);
    const Verdict verdict = verify_sends(random.problem, compact(random.problem, random.sends));
    ASSERT_TRUE(verdict.valid()) << verdict.message;
    const Time timed = simulate(random.problem, random.sends).transfer_time;
    ASSERT_LE(verdict.transfer_time, timed);
    better += verdict.transfer_time < timed ? 1 : 0;
  }
  EXPECT_GT(better, testing::rounds(10, 2));
}

}  // namespace
}  // namespace stellwerk
