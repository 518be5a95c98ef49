#include "stellwerk/plan/move_schedule.hpp"

#include <gtest/gtest.h>

#include <string>

#include "stellwerk/check/verify.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/plan/crossbar_order.hpp"
#include "tests/support/small_world.hpp"

namespace stellwerk {
namespace {

/// AllToAll on a fabric, routed.
class Moves {
 public:
  explicit Moves(const std::string& name, int chunks = 2, std::int64_t size = 50'000'000)
      : Moves(pose(name, chunks, size)) {}
  explicit Moves(Problem problem) : problem_(std::move(problem)) {
    std::string why;
    demand_ = make_parcels(problem_, why).value();
    Rng rng(1);
    paths_ = route_parcels(problem_.topology, demand_, {}, rng, {});
    hops_.emplace(problem_.topology, demand_, paths_);
  }

  const ParcelHops& hops() const { return *hops_; }
  double fullest_seconds() const { return paths_.fullest_seconds; }

  void expect_valid(const MoveTimes& times) const {
    ASSERT_TRUE(times.complete());
    const Verdict verdict = verify_sends(problem_, hops_->sends(times.starts, times.rates));
    EXPECT_TRUE(verdict.valid()) << verdict.message;
    EXPECT_EQ(verdict.transfer_time, Time{times.finish});
  }

 private:
  static Problem pose(const std::string& name, int chunks, std::int64_t size) {
    Topology topology = catalogue_topology(name);
    Job job;
    job.name = "job";
    job.collective = Collective::alltoall;
    job.ranks = topology.gpus();
    job.size = Bytes{size};
    job.chunks = chunks;
    Job late = job;
    late.name = "late";
    late.start = Time{3'000'000};
    return make_problem(std::move(topology), {job, late});
  }

  Problem problem_;
  ParcelDemand demand_;
  ParcelPaths paths_;
  std::optional<ParcelHops> hops_;
};

const char* const kFabrics[] = {"torus:3x4", "rail:3x4,degrade=4,what=any", "ndv2:2", "dgx1",
                                "random-boxes:2"};

TEST(ListMoves, ValidUnderEveryRule) {
  Rng rng(3);
  for (const char* name : kFabrics) {
    const Moves moves(name);
    std::vector<double> priority;
    for (std::size_t m = 0; m < moves.hops().moves(); ++m) {
      priority.push_back(static_cast<double>(rng.below(50)));
    }
    for (const Choice choice : {Choice::priority, Choice::fullest}) {
      for (const bool share : {false, true}) {
        for (const bool slow_start : {false, true}) {
          SCOPED_TRACE(name);
          ListOptions options;
          options.choice = choice;
          options.share = share;
          options.slow_start = slow_start;
          moves.expect_valid(list_moves(moves.hops(), priority, options, {}));
        }
      }
    }
  }
}

TEST(ListMoves, TheUrgentOnesFirst) {
  test_support::SmallWorld world(2);
  world.link(0, 1).data(100, {0}, {1}).data(100, {0}, {1}).data(100, {0}, {1});
  const Moves moves(world.problem());
  const MoveTimes times = list_moves(moves.hops(), {1, 3, 2}, {}, {});
  EXPECT_EQ(times.starts, (std::vector<std::int64_t>{200'000, 0, 100'000}));
  EXPECT_EQ(times.finish, 300'000);
}

TEST(ForwardBackward, NeverWorseAndValid) {
  for (const char* name : kFabrics) {
    SCOPED_TRACE(name);
    const Moves moves(name);
    ListOptions options;
    options.share = true;
    const std::vector<double> remaining = remaining_seconds(moves.hops());
    const MoveTimes start = list_moves(moves.hops(), remaining, options, {});
    for (const bool slow_start : {false, true}) {
      const MoveTimes better = forward_backward(moves.hops(), start, 4, slow_start, 0, {});
      moves.expect_valid(better);
      EXPECT_LE(better.finish, start.finish);
    }
  }
}

TEST(ForwardBackward, LeavesAScheduleThatWasCutShortAsItIs) {
  const Moves moves(kFabrics[0]);
  EXPECT_FALSE(forward_backward(moves.hops(), MoveTimes{}, 4, true, 0, {}).complete());
}

TEST(CrossbarOrder, AppendedMovesAreValid) {
  for (const char* name : {"switch:6", "rail:3x4", "ndv2:4"}) {
    SCOPED_TRACE(name);
    const Moves moves(name);
    const std::vector<float> order = crossbar_order(moves.hops(), moves.fullest_seconds());
    ASSERT_EQ(order.size(), moves.hops().moves());
    for (std::size_t m = 0; m < order.size(); ++m) {
      if (moves.hops().is_last(m)) continue;
      EXPECT_LE(order[m], order[m + 1]);
    }
    moves.expect_valid(append_moves(moves.hops(), order, {}));
  }
}

TEST(CrossbarOrder, NoPortOfASwitchIdles) {
  // Two jobs of 5 chunks out of and into every GPU, 10 MB each at 50 GB/s, and a latency of 0.7 us.
  // The one job begins at 3 us.
  const Moves moves("switch:6", 1, 60'000'000);
  const MoveTimes times =
      append_moves(moves.hops(), crossbar_order(moves.hops(), moves.fullest_seconds()), {});
  EXPECT_LE(times.finish, 10 * 200'000'000 + 700'000 + 3'000'000);
}

TEST(CrossbarOrder, NothingToOrderWithoutSwitches) {
  const Moves moves("torus:3x4");
  EXPECT_TRUE(crossbar_order(moves.hops(), moves.fullest_seconds()).empty());
}

}  // namespace
}  // namespace stellwerk
