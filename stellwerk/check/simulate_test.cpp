// Each rule of re-timing on a case that can be checked by hand (1 GB/s, so 1000 ps a byte), then
// its guarantees on random schedules that use everything the model allows.
#include "stellwerk/check/simulate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/verify.hpp"
#include "tests/support/random_schedule.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/small_world.hpp"

namespace stellwerk {
namespace {

using test_support::at_rate;
using test_support::kGigabyte;
using test_support::piece_over;
using test_support::random_schedule;
using test_support::RandomSchedule;
using test_support::RandomScheduleMaker;
using test_support::RandomScheduleOptions;
using test_support::send_over;
using test_support::SmallWorld;
using test_support::starts_of;
using ::testing::ElementsAre;

/// Simulates and has the result judged.
Simulation simulate_validly(const Problem& problem, const Schedule& sends) {
  Simulation result = simulate(problem, sends);
  const Verdict verdict = verify_sends(problem, result.sends);
  EXPECT_TRUE(verdict.valid()) << verdict.message;
  EXPECT_EQ(result.transfer_time, verdict.transfer_time);
  EXPECT_EQ(result.job_finish, verdict.job_finish);
  return result;
}

TEST(Simulate, StartsAtReadyAndOnArrival) {
  const Problem problem =
      SmallWorld(3).link(0, 1, 70).link(1, 2, 30).data(100, {0}, {2}, 500).problem();
  const Simulation result = simulate_validly(
      problem, {send_over(problem, 0, 900, {0}), send_over(problem, 0, 900'000, {1})});
  EXPECT_THAT(starts_of(result.sends), ElementsAre(500, 500 + 70 + 100'000));
  EXPECT_EQ(result.transfer_time.ps, 500 + 70 + 100'000 + 30 + 100'000);
  EXPECT_THAT(result.job_finish, ElementsAre(result.transfer_time));
}

TEST(Simulate, KeepsTheOrderOnALink) {
  const Problem problem = SmallWorld(2).link(0, 1).data(10, {0}, {1}).data(20, {0}, {1}).problem();
  // Listed in the other order than sent; the input's order of sends stays.
  const Simulation result = simulate_validly(
      problem, {send_over(problem, 0, 90'000, {0}), send_over(problem, 1, 5'000, {0})});
  EXPECT_THAT(starts_of(result.sends), ElementsAre(20'000, 0));
}

TEST(Simulate, WindowsThatOverlapStayFreeOfEachOther) {
  // Two sends at half rate share the link; the third waits for both, since it came after both.
  const Problem problem =
      SmallWorld(2).link(0, 1).data(10, {0}, {1}).data(20, {0}, {1}).data(5, {0}, {1}).problem();
  const Simulation result =
      simulate_validly(problem, {at_rate(send_over(problem, 0, 1'000, {0}), kGigabyte / 2),
                                 at_rate(send_over(problem, 1, 7'000, {0}), kGigabyte / 2),
                                 send_over(problem, 2, 90'000, {0})});
  EXPECT_THAT(starts_of(result.sends), ElementsAre(0, 0, 40'000));
}

TEST(Simulate, AThirdAtHalfRateWaitsOnlyForTheOneThatEndedBeforeIt) {
  const Problem problem =
      SmallWorld(2).link(0, 1).data(10, {0}, {1}).data(40, {0}, {1}).data(5, {0}, {1}).problem();
  const Simulation result =
      simulate_validly(problem, {at_rate(send_over(problem, 0, 0, {0}), kGigabyte / 2),
                                 at_rate(send_over(problem, 1, 0, {0}), kGigabyte / 2),
                                 at_rate(send_over(problem, 2, 33'000, {0}), kGigabyte / 2)});
  EXPECT_THAT(starts_of(result.sends), ElementsAre(0, 0, 20'000));
}

TEST(Simulate, WaitsForTheArrivalThatCameFirst) {
  const Problem problem =
      SmallWorld(4).link(0, 1).link(3, 1, 7'000).link(1, 2).data(10, {0, 3}, {2}).problem();
  // The copy over link 1 arrives second although it was sent first.
  const Simulation result =
      simulate_validly(problem, {send_over(problem, 0, 0, {1}), send_over(problem, 0, 2'000, {0}),
                                 send_over(problem, 0, 50'000, {2})});
  EXPECT_THAT(starts_of(result.sends), ElementsAre(0, 0, 10'000));
}

TEST(Simulate, UsesACopyThatNowComesFirst) {
  // As planned the detour brought it first; without delays the direct link does.
  const Problem problem =
      SmallWorld(3).link(0, 1).link(0, 1, 0, 2 * kGigabyte).link(1, 2).data(10, {0}, {2}).problem();
  const Simulation result =
      simulate_validly(problem, {send_over(problem, 0, 0, {0}), send_over(problem, 0, 30'000, {1}),
                                 send_over(problem, 0, 60'000, {2})});
  EXPECT_THAT(starts_of(result.sends), ElementsAre(0, 0, 5'000));
}

TEST(Simulate, WaitsForAllPieces) {
  const Problem problem =
      SmallWorld(3).link(0, 1).link(0, 1, 500).link(1, 2).data(10, {0}, {2}).problem();
  const Simulation result = simulate_validly(
      problem,
      {piece_over(problem, 0, 3'000, {0}, 0, 4), piece_over(problem, 0, 4'000, {1}, 4, 6),
       piece_over(problem, 0, 20'000, {2}, 0, 5), piece_over(problem, 0, 70'000, {2}, 5, 5)});
  EXPECT_THAT(starts_of(result.sends), ElementsAre(0, 0, 6'500, 11'500));
}

TEST(Simulate, CutsThroughSwitchesAndBranches) {
  SmallWorld world(3, 1);
  world.link(0, 3, 100)
      .link(3, 1, 200)
      .link(3, 2, 300)
      .data(10, {0}, {1, 2})
      .data(10, {2}, {1})
      .link(2, 3, 0);
  const Problem problem = world.problem();
  // The second send's window on switch -> gpu1 follows that of the first: [100, 10100) there.
  const Simulation result = simulate_validly(
      problem, {send_over(problem, 0, 5'000, {0, 1, 2}), send_over(problem, 1, 80'000, {3, 1})});
  EXPECT_THAT(starts_of(result.sends), ElementsAre(0, 10'100));
  EXPECT_EQ(result.transfer_time.ps, 10'100 + 200 + 10'000);
}

TEST(Simulate, KeepsInjectionEjectionAndGroups) {
  SmallWorld world(4, 1);
  world.link(0, 1)
      .link(0, 2, 50)
      .link(3, 2)
      .data(10, {0}, {1})
      .data(10, {0}, {2})
      .data(10, {3}, {2});
  world.nodes[NodeId(0)].injection = Bandwidth{kGigabyte};
  world.nodes[NodeId(2)].ejection = Bandwidth{kGigabyte};
  const Problem problem = world.problem();
  const Simulation result =
      simulate_validly(problem, {send_over(problem, 0, 0, {0}), send_over(problem, 1, 70'000, {1}),
                                 send_over(problem, 2, 99'000, {2})});
  EXPECT_THAT(starts_of(result.sends), ElementsAre(0, 10'000, 20'050));

  SmallWorld fabric(4, 1);
  fabric.link(0, 4).link(1, 4).link(4, 2).link(4, 3).link(4, 0).link(4, 1);
  fabric.data(10, {0}, {2, 3}).data(10, {1}, {0, 3});
  fabric.nodes[NodeId(4)].max_groups = 1;
  fabric.link(4, 3);  // a second link to gpu3, so that only the limit on groups keeps them apart
  const Problem groups = fabric.problem();
  EXPECT_THAT(starts_of(simulate_validly(groups, {send_over(groups, 0, 3'000, {0, 2, 3}),
                                                  send_over(groups, 1, 60'000, {1, 4, 6})})
                            .sends),
              ElementsAre(0, 10'000));
}

TEST(Simulate, KeepsTransitBuffers) {
  SmallWorld world(3);
  world.link(0, 1).link(1, 2).link(0, 1).link(1, 2).data(10, {0}, {2}).data(10, {0}, {2});
  const auto schedule = [](const Problem& problem) {
    return Schedule{send_over(problem, 0, 0, {0}), send_over(problem, 0, 10'000, {1}),
                    send_over(problem, 1, 40'000, {2}), send_over(problem, 1, 60'000, {3})};
  };
  const Problem free = world.problem();
  EXPECT_THAT(starts_of(simulate_validly(free, schedule(free)).sends),
              ElementsAre(0, 10'000, 0, 10'000));
  world.nodes[NodeId(1)].buffer = Bytes{10};  // the second chunk may come in when the first is out
  const Problem tight = world.problem();
  EXPECT_THAT(starts_of(simulate_validly(tight, schedule(tight)).sends),
              ElementsAre(0, 10'000, 20'000, 30'000));
}

TEST(Simulate, AReduceWaitsForWhatMergedBeforeIt) {
  const Problem problem =
      SmallWorld(4).link(0, 2).link(1, 2, 400).link(2, 3).sum(10, {0, 1, 2, 3}, {3}, 100).problem();
  const Simulation result =
      simulate_validly(problem, {send_over(problem, 0, 5'000, {0}, Op::reduce),
                                 send_over(problem, 0, 8'000, {1}, Op::reduce),
                                 send_over(problem, 0, 60'000, {2}, Op::reduce)});
  EXPECT_THAT(starts_of(result.sends), ElementsAre(100, 100, 10'500));
}

TEST(Simulate, WhatMergedAfterADepartureStaysAfterIt) {
  // gpu1 sends its own addend away late, then gets that of gpu0 and sends it, too: gpu0 must not
  // come early.
  const Problem problem = SmallWorld(3).link(0, 1).link(1, 2).sum(10, {0, 1}, {2}).problem();
  const Schedule sends{send_over(problem, 0, 25'000, {0}, Op::reduce),
                       send_over(problem, 0, 30'000, {1}, Op::reduce),
                       send_over(problem, 0, 70'000, {1}, Op::reduce)};
  EXPECT_THAT(starts_of(simulate_validly(problem, sends).sends), ElementsAre(0, 0, 10'000));
  // With another chunk in the way of the departure, gpu0 waits until its bytes arrive just behind
  // it.
  const Problem busy =
      SmallWorld(3).link(0, 1).link(1, 2).sum(10, {0, 1}, {2}).data(40, {1}, {2}).problem();
  Schedule more = sends;
  more[0].start = Time{55'000};
  more[1].start = Time{60'000};
  more.push_back(send_over(busy, 1, 0, {1}));
  EXPECT_THAT(starts_of(simulate_validly(busy, more).sends),
              ElementsAre(30'001, 40'000, 50'000, 0));
}

TEST(Simulate, SharesExchangeSumsAsTheyWere) {
  const Problem problem = SmallWorld(2)
                              .link(0, 1, 900)
                              .link(1, 0, 300)
                              .sum(10, {0, 1}, {0, 1})
                              .data(15, {1}, {0})
                              .problem();
  // gpu1 is busy for 15 us: what gpu0 shares must not arrive before gpu1 has sent its own.
  const Simulation result = simulate_validly(
      problem, {send_over(problem, 0, 20'000, {0}, Op::share),
                send_over(problem, 0, 20'000, {1}, Op::share), send_over(problem, 1, 0, {1})});
  EXPECT_THAT(starts_of(result.sends), ElementsAre(15'000 - 10'900 + 1, 15'000, 0));
}

TEST(Simulate, CopiesOfASumWaitForAllOfItAndPiecesOfAReduceCountOnce) {
  const Problem problem = SmallWorld(3).link(0, 1).link(1, 2).sum(10, {0, 1}, {1, 2}).problem();
  const Simulation result =
      simulate_validly(problem, {piece_over(problem, 0, 3'000, {0}, 0, 4, Op::reduce),
                                 piece_over(problem, 0, 9'000, {0}, 4, 6, Op::reduce),
                                 send_over(problem, 0, 44'000, {1})});
  EXPECT_THAT(starts_of(result.sends), ElementsAre(0, 4'000, 10'000));
}

TEST(Simulate, PartsOfAnInTreeMeetAtTheSwitch) {
  SmallWorld world(3, 1);
  world.link(0, 3, 1'000).link(1, 3, 400).link(3, 2, 50).link(2, 1).sum(10, {0, 1, 2}, {2});
  const Problem problem = world.problem();
  // gpu2's addend goes to gpu1 first; gpu1's part leaves 600 ps after gpu0's.
  const Simulation result =
      simulate_validly(problem, {send_over(problem, 0, 500, {3}, Op::reduce),
                                 send_over(problem, 0, 40'000, {0, 1, 2}, Op::reduce)});
  EXPECT_THAT(starts_of(result.sends), ElementsAre(0, 10'000 - 600));
}

TEST(Simulate, NominalStartsNeedOnlyACausalOrder) {
  const Problem problem =
      SmallWorld(3).link(0, 1, 70).link(1, 2, 30).data(100, {0}, {2}).data(100, {0}, {2}).problem();
  // All in one epoch, the dependent send first; and a link that is claimed twice at once.
  const Simulation result =
      simulate_validly(problem, {send_over(problem, 0, 0, {1}), send_over(problem, 0, 0, {0}),
                                 send_over(problem, 1, 0, {0}), send_over(problem, 1, 0, {1})});
  EXPECT_THAT(starts_of(result.sends), ElementsAre(100'070, 0, 100'000, 200'070));
}

TEST(Simulate, NominalReductionsMayDropLatencies) {
  const Problem problem =
      SmallWorld(3).link(0, 1, 700).link(1, 2, 700).sum(10, {0, 1}, {2}).problem();
  const Simulation result = simulate_validly(
      problem,
      {send_over(problem, 0, 0, {0}, Op::reduce), send_over(problem, 0, 10'000, {1}, Op::reduce)});
  EXPECT_THAT(starts_of(result.sends), ElementsAre(0, 10'700));
  // Nothing but the order of dependencies is left when all starts are 0.
  EXPECT_THAT(starts_of(simulate_validly(problem, {send_over(problem, 0, 0, {1}, Op::reduce),
                                                   send_over(problem, 0, 0, {0}, Op::reduce)})
                            .sends),
              ElementsAre(10'700, 0));
}

TEST(Simulate, RefusesWhatIsNotCausal) {
  const Problem problem =
      SmallWorld(3).link(0, 1).link(1, 2).data(10, {0}, {2}).sum(10, {0}, {2}).problem();
  EXPECT_THROW(simulate(problem, {send_over(problem, 0, 0, {1})}), Error);
  EXPECT_THROW(simulate(problem, {send_over(problem, 1, 0, {1}, Op::reduce)}), Error);
  try {
    simulate(problem, {send_over(problem, 0, 0, {1})});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::verification_failed);
    EXPECT_THAT(error.what(),
                ::testing::HasSubstr("send 0 of chunk 0: node 'gpu1' never holds the chunk"));
  }
}

TEST(Simulate, AnEmptyScheduleTakesNoTime) {
  const Problem problem = SmallWorld(2).link(0, 1).data(10, {0}, {1}).problem();
  EXPECT_EQ(simulate(problem, {}).transfer_time, Time{0});
}

TEST(Simulate, AnotherNetworkStretchesWindowsAndKeepsTheOrder) {
  const SmallWorld world =
      SmallWorld(3).link(0, 1, 100).link(1, 2, 100).data(10, {0}, {2}).data(10, {0}, {2});
  const Problem problem = world.problem();
  const Schedule sends{send_over(problem, 0, 0, {0}), send_over(problem, 1, 10'000, {0}),
                       send_over(problem, 0, 10'100, {1}), send_over(problem, 1, 20'100, {1})};
  SmallWorld slow = world;
  slow.links[LinkId(0)].bandwidth = Bandwidth{kGigabyte / 2};
  slow.links[LinkId(1)].latency = Time{0};
  slow.links[LinkId(1)].bandwidth = Bandwidth{9 * kGigabyte};
  const Topology network = slow.problem().topology;
  const Simulation result = simulate(problem, sends, {&network});
  EXPECT_THAT(starts_of(result.sends), ElementsAre(0, 20'000, 20'100, 40'100));
  EXPECT_EQ(result.sends[0].rate.bytes_per_second, kGigabyte / 2);
  EXPECT_EQ(result.sends[2].rate.bytes_per_second, kGigabyte);  // never scaled up
  EXPECT_EQ(result.transfer_time.ps, 50'100);
}

TEST(Simulate, SendsThatMeetInOppositeOrdersAreSerialised) {
  // Long latency in front of the first shared link for one send, of the second for the other: the
  // order on switch -> gpu2 is that of the windows. In the other network the two come in opposite
  // orders on both.
  SmallWorld world(4, 2);
  world.link(0, 4, 0).link(4, 5, 100'000).link(5, 2).link(5, 4, 100'000).link(4, 3).link(1, 5, 0);
  world.data(10, {0}, {2}).data(10, {1}, {3}).data(10, {0}, {3}).data(10, {1}, {2});
  const Problem problem = world.problem();
  const Schedule sends{send_over(problem, 0, 0, {0, 1, 2}), send_over(problem, 1, 0, {5, 3, 4}),
                       send_over(problem, 2, 40'000, {0, 4}),
                       send_over(problem, 3, 40'000, {5, 2})};
  const Verdict verdict = verify_sends(problem, sends);
  ASSERT_TRUE(verdict.valid()) << verdict.message;
  SmallWorld other = world;
  other.links[LinkId(1)].latency = other.links[LinkId(3)].latency = Time{0};
  Problem there = problem;
  there.topology = other.problem().topology;
  const Simulation result = simulate(problem, sends, {&there.topology});
  const Verdict judged = verify_sends(there, result.sends);
  EXPECT_TRUE(judged.valid()) << judged.message;
  EXPECT_EQ(judged.transfer_time, result.transfer_time);
}

// --- random schedules ----------------------------------------------------------------------------

constexpr std::uint64_t kSeeds = testing::rounds(1500, 300);

TEST(SimulateRandom, TheGeneratorMakesValidSchedulesOfEveryKind) {
  std::size_t shares = 0, reduces = 0, in_trees = 0, multicasts = 0, pieces = 0, buffers = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const RandomSchedule random = random_schedule(seed);
    const Verdict verdict = verify_sends(random.problem, random.sends);
    ASSERT_TRUE(verdict.valid()) << "seed " << seed << ": " << verdict.message;
    for (const Send& send : random.sends) {
      const SendTiming shape = timing(random.problem.topology, send);
      shares += send.op == Op::share;
      reduces += send.op == Op::reduce;
      in_trees += shape.sources.size() > 1;
      multicasts += shape.leaves.size() > 1;
      pieces += send.bytes < random.problem.chunks[send.chunk].bytes;
    }
    for (const Node& node : random.problem.topology.nodes()) buffers += node.buffer.has_value();
  }
  EXPECT_GT(shares, kSeeds / 15);
  EXPECT_GT(reduces, kSeeds * 2 / 3);
  EXPECT_GT(in_trees, kSeeds / 15);
  EXPECT_GT(multicasts, kSeeds * 2 / 3);
  EXPECT_GT(pieces, kSeeds * 2 / 3);
  EXPECT_GT(buffers, kSeeds / 3);
}

TEST(SimulateRandom, IsValidNeverLaterAndIdempotent) {
  std::size_t earlier = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const RandomSchedule random = random_schedule(seed);
    const Simulation result = simulate_validly(random.problem, random.sends);
    ASSERT_EQ(result.sends.size(), random.sends.size());
    for (std::size_t i = 0; i < result.sends.size(); ++i) {
      ASSERT_LE(result.sends[i].start, random.sends[i].start) << "send " << i;
      earlier += result.sends[i].start < random.sends[i].start;
      Send moved = random.sends[i];
      moved.start = result.sends[i].start;
      ASSERT_EQ(result.sends[i], moved);
    }
    ASSERT_EQ(simulate(random.problem, result.sends).sends, result.sends);
  }
  EXPECT_GT(earlier, kSeeds * 20 / 3);
}

TEST(SimulateRandom, DoesNotDependOnTheOrderInWhichSendsAreListed) {
  for (std::uint64_t seed = 0; seed < kSeeds / 5; ++seed) {
    SCOPED_TRACE(seed);
    const RandomSchedule random = random_schedule(seed);
    std::vector<std::size_t> order(random.sends.size());
    std::iota(order.begin(), order.end(), 0);
    Rng(seed).shuffle(order);
    Schedule shuffled;
    for (const std::size_t i : order) shuffled.push_back(random.sends[i]);
    const Schedule listed = simulate(random.problem, random.sends).sends;
    const Schedule other = simulate(random.problem, shuffled).sends;
    for (std::size_t i = 0; i < order.size(); ++i)
      ASSERT_EQ(other[i].start, listed[order[i]].start);
  }
}

/// Is `result` a schedule of `problem` that keeps causality, capacities and demand? Merges and
/// buffers may suffer where the order could not be kept; those are counted.
void judge_leniently(const Problem& problem, const Simulation& result, int& broken) {
  const Verdict verdict = verify_sends(problem, result.sends);
  if (verdict.valid()) {
    EXPECT_EQ(verdict.transfer_time, result.transfer_time);
    return;
  }
  ++broken;
  const bool has_sums = std::any_of(problem.chunks.begin(), problem.chunks.end(),
                                    [](const Chunk& chunk) { return chunk.is_reduction(); });
  const Violation violation = *verdict.violation;
  const bool of_sums = violation == Violation::merged_twice || violation == Violation::not_held ||
                       violation == Violation::demand_unmet;
  EXPECT_TRUE(violation == Violation::buffer || (has_sums && of_sums)) << verdict.message;
}

TEST(SimulateRandom, AnotherNetworkGivesAFiniteCausalResult) {
  int broken = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const RandomSchedule random = random_schedule(seed);
    Problem other = random.problem;
    other.topology = RandomScheduleMaker::perturbed(random.problem.topology, seed);
    judge_leniently(other, simulate(random.problem, random.sends, {&other.topology}), broken);
  }
  EXPECT_LE(broken, static_cast<int>(kSeeds / 50));
}

void expect_valid_without_latencies(std::uint64_t seed) {
  SCOPED_TRACE(seed);
  RandomScheduleOptions options;
  options.latencies = options.buffers = false;
  RandomSchedule random = random_schedule(seed, options);
  random.problem.topology = RandomScheduleMaker::with_latencies(random.problem.topology, seed);
  const Simulation result = simulate_validly(random.problem, random.sends);
  ASSERT_EQ(simulate(random.problem, result.sends).sends, result.sends);
}

TEST(SimulateRandom, SchedulesThatDropLatenciesBecomeValid) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) expect_valid_without_latencies(seed);
}

TEST(SimulateRandom, SumsStayApartWhereTheOrderOfWindowsCannotBeKept) {
  expect_valid_without_latencies(51890);
}

TEST(SimulateRandom, AnotherPieceOfASumMayComeLastAfterRetiming) {
  expect_valid_without_latencies(61078);
}

TEST(SimulateRandom, EpochPlansOfDataBecomeValidHoweverCoarse) {
  RandomScheduleOptions options;
  options.reductions = options.buffers = false;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const RandomSchedule random = random_schedule(seed, options);
    const std::int64_t epoch = 1 + static_cast<std::int64_t>(seed % 7) * 5000;
    Schedule floored = random.sends;
    Schedule ranked = random.sends;
    Schedule all_at_once = random.sends;
    for (std::size_t i = 0; i < random.sends.size(); ++i) {
      floored[i].start.ps = floored[i].start.ps / epoch * epoch;
      ranked[i].start.ps = static_cast<std::int64_t>(i);
      all_at_once[i].start.ps = 0;
    }
    for (const Schedule* nominal : {&floored, &ranked, &all_at_once})
      simulate_validly(random.problem, *nominal);
  }
}

TEST(SimulateRandom, EpochPlansOfSumsBecomeValidOrAreRefused) {
  RandomScheduleOptions options;
  options.buffers = false;
  int accepted = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const RandomSchedule random = random_schedule(seed, options);
    Schedule floored = random.sends;
    for (Send& send : floored) send.start.ps = send.start.ps / 10'000 * 10'000;
    try {
      const Simulation result = simulate(random.problem, floored);
      const Verdict verdict = verify_sends(random.problem, result.sends);
      // Read as it can be read, the plan may not sum everything: that is for the judge to say.
      EXPECT_TRUE(verdict.valid() || verdict.violation == Violation::demand_unmet)
          << verdict.message;
      accepted += verdict.valid() ? 1 : 0;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::verification_failed);
    }
  }
  EXPECT_GT(accepted, static_cast<int>(kSeeds * 8 / 10));
}

}  // namespace
}  // namespace stellwerk
