// Runs under noise: by hand on small worlds (1 GB/s, so 1000 ps a byte), then what must hold on
// random schedules that use everything the model allows.
#include "stellwerk/check/executor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/noise_study.hpp"
#include "stellwerk/check/simulate.hpp"
#include "tests/support/random_schedule.hpp"
#include "tests/support/small_world.hpp"

namespace stellwerk {
namespace {

using test_support::RandomSchedule;
using test_support::RandomScheduleMaker;
using test_support::send_over;
using test_support::SmallWorld;
using ::testing::ElementsAre;

std::int64_t finish(const Problem& problem, const Schedule& sends, Discipline discipline,
                    const NoiseDraw& draw = {}) {
  return Executor(problem, sends).run(discipline, draw).finish.ps;
}

TEST(Executor, AStretchedSendDelaysWhatNeedsItsDataOrItsLink) {
  const Problem problem =
      SmallWorld(3).link(0, 1).link(1, 2).data(10, {0}, {2}).data(20, {0}, {1}).problem();
  const Schedule sends = {send_over(problem, 0, 0, {0}), send_over(problem, 0, 10'000, {1}),
                          send_over(problem, 1, 10'000, {0})};
  NoiseDraw draw;
  draw.send = {2'500'000, 1'000'000, 1'000'000};
  EXPECT_EQ(finish(problem, sends, Discipline::strict), 30'000);
  EXPECT_EQ(finish(problem, sends, Discipline::strict, draw), 45'000);
}

TEST(Executor, ASlowLinkStretchesEverySendOverIt) {
  const Problem problem = SmallWorld(2, 1)
                              .link(0, 2, 100)
                              .link(2, 1, 50)
                              .data(10, {0}, {1})
                              .data(7, {0}, {1})
                              .problem();
  const Schedule sends = {send_over(problem, 0, 0, {0, 1}), send_over(problem, 1, 10'000, {0, 1})};
  NoiseDraw draw;
  draw.link = IdVector<LinkId, std::int64_t>(std::vector<std::int64_t>{1'000'000, 3'000'000});
  EXPECT_EQ(finish(problem, sends, Discipline::strict, draw), 3 * 17'000 + 150);
}

TEST(Executor, LateGpusHoldBackWhatLeavesThem) {
  const Problem problem =
      SmallWorld(3).link(0, 1).link(1, 2).data(10, {0}, {2}).data(30, {1}, {2}).problem();
  const Schedule sends = {send_over(problem, 0, 0, {0}), send_over(problem, 1, 0, {1}),
                          send_over(problem, 0, 30'000, {1})};
  NoiseDraw draw;
  draw.late = IdVector<NodeId, Time>(std::vector<Time>{Time{0}, Time{5'000}, Time{90'000}});
  EXPECT_EQ(finish(problem, sends, Discipline::strict, draw), 45'000);
}

TEST(Executor, PriorityFillsALinkThatStrictOrderKeepsWaiting) {
  // Link 1 -> 2 is to carry the chunk from gpu0 first, but that is late.
  const Problem problem =
      SmallWorld(3).link(0, 1).link(1, 2).data(10, {0}, {2}).data(30, {1}, {2}).problem();
  const Schedule sends = {send_over(problem, 0, 0, {0}), send_over(problem, 0, 10'000, {1}),
                          send_over(problem, 1, 20'000, {1})};
  NoiseDraw draw;
  draw.send = {4'000'000, 1'000'000, 1'000'000};
  EXPECT_EQ(finish(problem, sends, Discipline::strict, draw), 40'000 + 10'000 + 30'000);
  EXPECT_EQ(finish(problem, sends, Discipline::priority, draw), 40'000 + 10'000);
}

TEST(Executor, PrioritySerialisesALinkInThePlansOrder) {
  const Problem problem =
      SmallWorld(2).link(0, 1).data(10, {0}, {1}).data(20, {0}, {1}).data(30, {0}, {1}).problem();
  const Schedule sends = {send_over(problem, 2, 0, {0}), send_over(problem, 0, 30'000, {0}),
                          send_over(problem, 1, 40'000, {0})};
  EXPECT_EQ(finish(problem, sends, Discipline::priority), 60'000);
}

TEST(Executor, WithoutNoiseAStrictRunKeepsEveryPromiseOfRandomSchedules) {
  test_support::RandomScheduleOptions options;
  options.buffers = false;
  int worse = 0;
  int without_order = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const RandomSchedule made = RandomScheduleMaker(seed, options).make();
    const Simulation promised = simulate(made.problem, made.sends);
    Executor executor(made.problem, promised.sends);
    const Time last = executor.run(Discipline::strict, {}).finish;
    if (executor.keeps_whole_order()) {
      EXPECT_LE(last, promised.transfer_time) << seed;
    } else {
      ++without_order;
    }
    // Noise only makes it later.
    const NoiseModel noise = parse_noise("link:40%,send:50%,late:1us");
    const NoiseDraw draw = draw_noise(noise, made.problem.topology, made.sends.size(), seed, 0);
    const Time noisy = executor.run(Discipline::strict, draw).finish;
    EXPECT_GE(noisy, last) << seed;
    worse += noisy > last ? 1 : 0;
    EXPECT_GE(executor.run(Discipline::priority, draw).finish.ps, 0) << seed;
  }
  EXPECT_GT(worse, 250);
  EXPECT_LT(without_order, 20);
}

TEST(Executor, RefusesTransitBuffers) {
  SmallWorld world(2);
  world.link(0, 1).data(10, {0}, {1}).nodes[NodeId(1)].buffer = Bytes{100};
  const Problem problem = world.problem();
  const Schedule sends = {send_over(problem, 0, 0, {0})};
  EXPECT_THROW(Executor(problem, sends), Error);
}

TEST(Noise, ReadsAndWritesModels) {
  const NoiseModel model = parse_noise("link:20%,send:0.3,late:20us");
  EXPECT_EQ(model.link, 200'000);
  EXPECT_EQ(model.send, 300'000);
  EXPECT_EQ(model.late.ps, 20'000'000);
  EXPECT_EQ(parse_noise(to_string(model)), model);
  EXPECT_EQ(to_string(parse_noise("send:2.5%")), "send:2.5%");
  for (const char* bad :
       {"", "link", "link:", "link:100%", "send:x", "late:20", "late:-1us", "x:1", "link:10%,"}) {
    EXPECT_THROW(parse_noise(bad), Error) << bad;
  }
}

TEST(Noise, ExponentialHasTheRightMoments) {
  Rng rng(7);
  constexpr int kDraws = 200'000;
  double sum = 0, squares = 0;
  int beyond_two = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = static_cast<double>(draw_exponential(rng)) / 1e6;
    sum += x;
    squares += x * x;
    beyond_two += x > 2 ? 1 : 0;
  }
  EXPECT_NEAR(sum / kDraws, 1, 0.01);
  EXPECT_NEAR(squares / kDraws, 2, 0.05);
  EXPECT_NEAR(beyond_two / double{kDraws}, 0.1353, 0.004);
}

TEST(Noise, QuantilesAreRunsThatHappened) {
  std::vector<Time> times;
  for (std::int64_t k = 200; k >= 1; --k) times.push_back(Time{k});
  const Spread spread = spread_of(times);
  EXPECT_THAT((std::vector{spread.p50.ps, spread.p99.ps, spread.worst.ps}),
              ElementsAre(100, 198, 200));
}

TEST(Noise, StudiesRepeat) {
  const Problem problem = SmallWorld(2).link(0, 1).data(1000, {0}, {1}).problem();
  const Schedule sends = {send_over(problem, 0, 0, {0})};
  NoiseStudy study;
  study.noise = parse_noise("send:30%,late:1us");
  study.runs = 50;
  Executor executor(problem, sends);
  const NoiseResult first = run_study(problem, executor, study, {});
  EXPECT_EQ(first.all, run_study(problem, executor, study, {}).all);
  EXPECT_LT(first.all.p50, first.all.worst);
  study.seed = 2;
  EXPECT_NE(first.all, run_study(problem, executor, study, {}).all);
}

}  // namespace
}  // namespace stellwerk
