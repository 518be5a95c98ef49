#include "stellwerk/check/prune.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "stellwerk/check/verify.hpp"
#include "tests/support/random_schedule.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/small_world.hpp"

namespace stellwerk {
namespace {

using test_support::piece_over;
using test_support::random_schedule;
using test_support::RandomSchedule;
using test_support::send_over;
using test_support::SmallWorld;
using ::testing::ElementsAre;

TEST(Prune, DropsWhatIsNotWanted) {
  // gpu0 -> gpu1 -> gpu2 is of use; gpu1 -> gpu3 -> gpu4 is not.
  const Problem problem =
      SmallWorld(5).link(0, 1).link(1, 2).link(1, 3).link(3, 4).data(10, {0}, {2}).problem();
  const Schedule sends{send_over(problem, 0, 0, {0}), send_over(problem, 0, 10'000, {2}),
                       send_over(problem, 0, 10'000, {1}), send_over(problem, 0, 20'000, {3})};
  EXPECT_THAT(prune(problem, sends), ElementsAre(sends[0], sends[2]));
}

TEST(Prune, KeepsTheFirstOfTwoDeliveries) {
  const Problem problem = SmallWorld(2).link(0, 1, 50'000).link(0, 1).data(10, {0}, {1}).problem();
  const Schedule sends{send_over(problem, 0, 0, {0}), send_over(problem, 0, 20'000, {1})};
  EXPECT_THAT(prune(problem, sends), ElementsAre(sends[1]));
}

TEST(Prune, DropsDeliveriesToAnOrigin) {
  const Problem problem =
      SmallWorld(3).link(0, 1).link(1, 2).link(1, 0).data(10, {0}, {0, 1}).problem();
  const Schedule sends{send_over(problem, 0, 0, {0}), send_over(problem, 0, 10'000, {2})};
  EXPECT_THAT(prune(problem, sends), ElementsAre(sends[0]));
}

TEST(Prune, CutsLeavesOffTrees) {
  const Problem problem = SmallWorld(4, 2)
                              .link(0, 4)
                              .link(4, 1)
                              .link(4, 5)
                              .link(5, 2)
                              .link(5, 3)
                              .data(10, {0}, {3})
                              .problem();
  Send expected = send_over(problem, 0, 0, {0, 1, 2, 3, 4});
  const Schedule sends{expected};
  expected.links = {LinkId(0), LinkId(2), LinkId(4)};
  EXPECT_THAT(prune(problem, sends), ElementsAre(expected));
}

TEST(Prune, DropsPiecesThatBringNothingNew) {
  const Problem problem = SmallWorld(2).link(0, 1).data(10, {0}, {1}).problem();
  const Schedule sends{
      piece_over(problem, 0, 0, {0}, 0, 6), piece_over(problem, 0, 6'000, {0}, 2, 3),
      piece_over(problem, 0, 9'000, {0}, 5, 5), piece_over(problem, 0, 14'000, {0}, 0, 1)};
  EXPECT_THAT(prune(problem, sends), ElementsAre(sends[0], sends[2]));
}

TEST(Prune, KeepsReducesAndDropsCopiesOfTheSumInVain) {
  const Problem problem =
      SmallWorld(3).link(0, 1).link(1, 2).link(1, 0).link(2, 1).sum(10, {0, 1}, {1, 2}).problem();
  const Schedule sends{send_over(problem, 0, 0, {0}, Op::reduce),
                       send_over(problem, 0, 10'000, {1}), send_over(problem, 0, 10'000, {2}),
                       send_over(problem, 0, 20'000, {3})};
  EXPECT_THAT(prune(problem, sends), ElementsAre(sends[0], sends[1]));
}

TEST(PruneRandom, KeepsPlansValidWithTheSameFinishAndLeavesNothingToPrune) {
  std::size_t dropped = 0;
  for (std::uint64_t seed = 0; seed < testing::rounds(1500U, 300U); ++seed) {
    SCOPED_TRACE(seed);
    const RandomSchedule random = random_schedule(seed);
    const Schedule pruned = prune(random.problem, random.sends);
    const Verdict before = verify_sends(random.problem, random.sends);
    const Verdict after = verify_sends(random.problem, pruned);
    ASSERT_TRUE(after.valid()) << after.message;
    ASSERT_EQ(after.job_finish, before.job_finish);
    ASSERT_EQ(prune(random.problem, pruned), pruned);
    dropped += random.sends.size() - pruned.size();
  }
  EXPECT_GT(dropped, testing::rounds(1000U, 200U));
}

/// Copies of data: no delivery is left whose removal would do no harm.
TEST(PruneRandom, EveryDeliveryThatIsLeftIsNeeded) {
  test_support::RandomScheduleOptions options;
  options.reductions = options.pieces = false;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const RandomSchedule random = random_schedule(seed, options);
    const Schedule pruned = prune(random.problem, random.sends);
    for (std::size_t i = 0; i < pruned.size(); ++i) {
      Schedule without = pruned;
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
      ASSERT_FALSE(verify_sends(random.problem, without).valid()) << "send " << i;
    }
  }
}

}  // namespace
}  // namespace stellwerk
