#include "stellwerk/plan/epoch_grid.hpp"

#include <gtest/gtest.h>

#include "stellwerk/base/error.hpp"
#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

using testing::data;
using testing::kChunk;
using testing::kEpoch;
using testing::kGb;
using testing::kNs;
using testing::kUs;
using testing::Network;
using Kind = EpochChoice::Kind;

EpochChoice choice(Kind kind, double multiple = 1, Time duration = Time{0}) {
  return {kind, multiple, duration};
}

/// Two GPUs, one link for each speed.
Problem pair_of_gpus(const std::vector<double>& speeds, Time latency = Time{0},
                     Bytes bytes = kChunk) {
  Network network;
  network.gpu(), network.gpu();
  for (const double speed : speeds) network.link(NodeId(0), NodeId(1), speed, latency);
  return testing::problem(network, {data({0}, {1}, Time{0}, bytes)});
}

TEST(EpochGrid, SlowLinksNeedWindowsAndFastOnesHaveRoom) {
  const Problem problem = pair_of_gpus({1, 2, 0.5, 0.4});
  const EpochGrid grid(problem, kEpoch);
  EXPECT_EQ(grid.window(LinkId(0), kChunk), 1);
  EXPECT_EQ(grid.window(LinkId(1), kChunk), 1);
  EXPECT_EQ(grid.window(LinkId(2), kChunk), 2);
  EXPECT_EQ(grid.window(LinkId(3), kChunk), 3);
  EXPECT_DOUBLE_EQ(grid.share(LinkId(0), kChunk), 1);
  EXPECT_DOUBLE_EQ(grid.share(LinkId(1), kChunk), 0.5);
  EXPECT_DOUBLE_EQ(grid.share(LinkId(2), kChunk), 1);
  EXPECT_DOUBLE_EQ(grid.share(LinkId(3), kChunk), 2.5 / 3);
  EXPECT_DOUBLE_EQ(grid.bytes_per_epoch(LinkId(1)), 2000);
}

TEST(EpochGrid, LatenciesBelowATenthOfAnEpochAreDropped) {
  const auto latency = [](std::int64_t ns) {
    const Problem problem = pair_of_gpus({1}, Time{ns * kNs});
    const EpochGrid grid(problem, kEpoch);
    EXPECT_EQ(grid.transit(LinkId(0), kChunk), grid.latency(LinkId(0)) + 1);
    return grid.latency(LinkId(0));
  };
  EXPECT_EQ(latency(0), 0);
  EXPECT_EQ(latency(99), 0);
  EXPECT_EQ(latency(100), 1);
  EXPECT_EQ(latency(1000), 1);
  EXPECT_EQ(latency(1001), 2);
}

TEST(EpochGrid, SwitchesCutThroughAtTheSpeedOfTheirSlowestLink) {
  Network network = testing::star(3);
  network.links[LinkId(4)].bandwidth = Bandwidth{kGb / 2};
  const NodeId other = network.gpu();
  const LinkId direct = network.link(NodeId(0), other, 1);
  const Problem problem = testing::problem(network, {data({0}, {1})});
  const EpochGrid grid(problem, kEpoch);
  for (int link = 0; link < 6; ++link) EXPECT_EQ(grid.window(LinkId(link), kChunk), 2) << link;
  EXPECT_EQ(grid.window(direct, kChunk), 1);
  EXPECT_EQ(grid.transit(LinkId(0), kChunk), 0);  // a switch passes on in the same epoch
  EXPECT_EQ(grid.transit(LinkId(3), kChunk), 2);
  EXPECT_DOUBLE_EQ(grid.share(LinkId(0), kChunk), 0.5);  // two sends at half speed fit
}

TEST(EpochGrid, BetweenSwitchesTimeAdvances) {
  Network network;
  const NodeId a = network.gpu(), s = network.switch_node(), t = network.switch_node();
  network.both(a, s), network.both(s, t), network.both(t, network.gpu(), 0.5);
  const Problem problem = testing::problem(network, {data({0}, {3})});
  const EpochGrid grid(problem, kEpoch);
  EXPECT_EQ(grid.latency(LinkId(0)), 0);
  EXPECT_EQ(grid.latency(LinkId(2)), 1);
  EXPECT_EQ(grid.latency(LinkId(3)), 1);
  EXPECT_EQ(grid.window(LinkId(0), kChunk), 2);  // one region, one speed
}

TEST(EpochGrid, ASendIsNoFasterThanWhatItsEndsPutInAndTakeOut) {
  Network network = testing::full_mesh(3);  // links by (from, to): 01 02 10 12 20 21
  network.nodes[NodeId(0)].injection = Bandwidth{kGb / 2};
  network.nodes[NodeId(1)].ejection = Bandwidth{kGb / 4};
  const Problem problem = testing::problem(network, {data({0}, {1})});
  const EpochGrid grid(problem, kEpoch);
  EXPECT_EQ(grid.window(LinkId(0), kChunk), 4);
  EXPECT_EQ(grid.window(LinkId(1), kChunk), 2);
  EXPECT_EQ(grid.window(LinkId(5), kChunk), 4);
  EXPECT_EQ(grid.window(LinkId(4), kChunk), 1);
}

TEST(EpochGrid, HugeLatenciesStayPositive) {
  const Problem problem = pair_of_gpus({1}, Time{100 * kUs * 1000 * 1000});
  const EpochGrid grid(problem, Time{1});
  EXPECT_GT(grid.latency(LinkId(0)), 100'000'000);
  EXPECT_GT(grid.transit(LinkId(0), kChunk), grid.latency(LinkId(0)));
  EXPECT_GT(grid.epoch_at_or_after(Time{std::int64_t{1} << 60}), 0);
}

TEST(EpochGrid, TellsWhenItChangesNothing) {
  EXPECT_TRUE(EpochGrid(pair_of_gpus({1, 0.5}, Time{3 * kUs}), kEpoch)
                  .exact(pair_of_gpus({1, 0.5}, Time{3 * kUs})));
  const auto exact = [](const Problem& problem, Time duration) {
    return EpochGrid(problem, duration).exact(problem);
  };
  EXPECT_FALSE(exact(pair_of_gpus({1, 2}), kEpoch));               // half an epoch
  EXPECT_TRUE(exact(pair_of_gpus({1, 2}), Time{kUs / 2}));         //
  EXPECT_FALSE(exact(pair_of_gpus({1}, Time{10 * kNs}), kEpoch));  // a dropped latency
  Network network = testing::line(2);
  EXPECT_FALSE(exact(testing::problem(network, {data({0}, {1}, Time{kUs / 2})}), kEpoch));
  network = testing::star(3);
  EXPECT_TRUE(exact(testing::problem(network, {data({0}, {1})}), kEpoch));
  network.links[LinkId(4)].bandwidth = Bandwidth{kGb / 2};  // slows all of them down
  EXPECT_FALSE(exact(testing::problem(network, {data({0}, {1})}), kEpoch));
}

TEST(EpochDuration, FollowsTheChoice) {
  const Problem problem = pair_of_gpus({1, 4, 0.5});
  EXPECT_EQ(epoch_duration(problem, choice(Kind::fastest)), Time{kUs / 4});
  EXPECT_EQ(epoch_duration(problem, choice(Kind::slowest)), Time{2 * kUs});
  EXPECT_EQ(epoch_duration(problem, choice(Kind::multiple, 3)), Time{3 * kUs / 4});
  EXPECT_EQ(epoch_duration(problem, choice(Kind::explicit_time, 1, Time{17})), Time{17});
  EXPECT_EQ(epoch_duration(problem, choice(Kind::automatic)), Time{kUs / 4});
  try {
    epoch_duration(problem, choice(Kind::explicit_time, 1, Time{0}));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::usage);
  }
}

TEST(EpochDuration, AutomaticMakesTheGridExactUnlessThatIsTooFine) {
  const Problem problem = pair_of_gpus({1, 2.5}, Time{300 * kNs});  // 1000, 400 and 300 ns
  EXPECT_EQ(epoch_duration(problem, choice(Kind::automatic)), Time{100 * kNs});
  EXPECT_TRUE(EpochGrid(problem, Time{100 * kNs}).exact(problem));
  EXPECT_EQ(epoch_duration(problem, choice(Kind::automatic), Time{200 * kNs}), Time{400 * kNs});
  EXPECT_EQ(epoch_duration(problem, choice(Kind::automatic), Time{500 * kNs}), Time{500 * kNs});
}

TEST(EpochDuration, AByteMoreDoesNotCostASecondEpoch) {
  const Problem problem = testing::problem(
      testing::line(2),
      {data({0}, {1}, Time{0}, Bytes{1000}), data({0}, {1}, Time{0}, Bytes{1001})});
  const EpochGrid grid(problem, epoch_duration(problem, choice(Kind::fastest)));
  EXPECT_EQ(grid.window(LinkId(0), Bytes{1000}), 1);
  EXPECT_EQ(grid.window(LinkId(0), Bytes{1001}), 1);
}

TEST(EpochDuration, RoundingToPicosecondsLeavesRoomForWholeChunks) {
  // 1 MiB at 300 GB/s takes 3495253.33 ps, so twice the rounded time is more than one at 150 GB/s.
  const Problem problem = pair_of_gpus({150, 300, 600}, Time{0}, Bytes{1 << 20});
  const EpochGrid grid(problem, epoch_duration(problem, choice(Kind::slowest)));
  EXPECT_EQ(grid.window(LinkId(0), Bytes{1 << 20}), 1);
  EXPECT_LE(2 * grid.share(LinkId(1), Bytes{1 << 20}), 1);
  EXPECT_LE(4 * grid.share(LinkId(2), Bytes{1 << 20}), 1);
}

}  // namespace
}  // namespace stellwerk
