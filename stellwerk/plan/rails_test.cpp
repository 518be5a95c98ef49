// Rails: the shape is recognised, plans are valid on random sizes, near the bound where it is large,
// and what does not fit is declined.
#include "stellwerk/plan/rails.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stellwerk/bound/bound.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/io/load.hpp"
#include "stellwerk/plan/busy_times.hpp"
#include "stellwerk/plan/rail_fabric.hpp"

namespace stellwerk {
namespace {

using ::testing::HasSubstr;

/// AllToAllV over all GPUs: rank b is sent in proportion to 1 / place^skew, places at random.
Problem experts(const Topology& topology, double skew, std::int64_t total, std::uint64_t seed,
                int chunks = 1) {
  Rng rng(seed);
  const std::size_t n = topology.gpus().size();
  std::vector<std::size_t> place(n);
  std::iota(place.begin(), place.end(), std::size_t{1});
  rng.shuffle(place);
  double sum = 0;
  for (std::size_t k = 1; k <= n; ++k) sum += std::pow(static_cast<double>(k), -skew);
  Job job;
  job.name = "moe";
  job.collective = Collective::alltoallv;
  job.ranks = topology.gpus();
  job.chunks = chunks;
  job.matrix.assign(n, std::vector<Bytes>(n));
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) {
      const double share = std::pow(static_cast<double>(place[b]), -skew) / sum;
      const double bytes = static_cast<double>(total) / static_cast<double>(n) * share;
      if (a != b)
        job.matrix[a][b] = Bytes{static_cast<std::int64_t>(bytes * (0.5 + rng.uniform()))};
    }
  }
  return make_problem(topology, {job});
}

Verdict planned(const Problem& problem) {
  PlannerContext context;
  const PlannerOutcome outcome = plan_rails(problem, {}, context);
  EXPECT_TRUE(outcome.has_plan()) << outcome.message;
  Verdict verdict = verify_sends(problem, outcome.sends);
  EXPECT_TRUE(verdict.valid()) << verdict.message;
  return verdict;
}

TEST(RailFabric, FindsBoxesAndRails) {
  std::string why;
  const std::optional<RailFabric> fabric = find_rail_fabric(load_topology("rail:3x4"), why);
  ASSERT_TRUE(fabric) << why;
  EXPECT_EQ(fabric->boxes, 3U);
  EXPECT_EQ(fabric->rails, 4U);
  for (const auto& rails : fabric->member) {
    for (const NodeId gpu : rails) EXPECT_TRUE(gpu.valid());
  }
  // Names and numbers say nothing.
  const Topology shuffled = load_topology("rail:3x4,relabel=5");
  EXPECT_TRUE(find_rail_fabric(shuffled, why)) << why;
  for (const char* other : {"torus:4x4", "ndv2:2", "boxes:2x4", "rail:2x4,nics=2"}) {
    EXPECT_FALSE(find_rail_fabric(load_topology(other), why)) << other;
  }
}

TEST(Rails, PlansAreValidForAnySkewAndSize) {
  std::uint64_t seed = 0;
  for (const char* name : {"rail:2x4", "rail:3x3", "rail:5x2,relabel=2", "rail:4x4,degrade=3"}) {
    const Topology topology = load_topology(name);
    for (const double skew : {0.0, 0.7, 1.5}) {
      for (const std::int64_t total : {3'000, 1'000'000, 500'000'000}) {
        ++seed;
        planned(experts(topology, skew, total, seed, 1 + static_cast<int>(seed % 3)));
      }
    }
  }
}

TEST(Rails, ComesNearTheBoundWhereThatIsLarge) {
  const Topology topology = load_topology("rail:8x8");
  for (const double skew : {0.0, 1.0, 1.5}) {
    const Problem problem = experts(topology, skew, 1'000'000'000, 1, 2);
    const Bound bound = lower_bound(problem, {});
    EXPECT_LE(static_cast<double>(planned(problem).transfer_time.ps),
              1.03 * static_cast<double>(bound.value.ps))
        << skew;
  }
}

TEST(Rails, DeclinesWhatItCannotDo) {
  const auto message = [](const Problem& problem) {
    PlannerContext context;
    const PlannerOutcome outcome = plan_rails(problem, {}, context);
    EXPECT_FALSE(outcome.has_plan());
    EXPECT_EQ(outcome.termination.reason, Termination::Reason::unsupported);
    return outcome.message;
  };
  Job job;
  job.name = "allgather";
  const Topology topology = load_topology("rail:2x2");
  job.ranks = topology.gpus();
  job.size = Bytes{1'000};
  EXPECT_THAT(message(make_problem(topology, {job})), HasSubstr("one destination"));
  job.collective = Collective::alltoall;
  // Both ends of a rail are outside the job.
  job.ranks = {topology.gpus()[0], topology.gpus()[3]};
  EXPECT_THAT(message(make_problem(topology, {job}, Relays::members)), HasSubstr("no rail"));
  planned(make_problem(topology, {job}));
}

TEST(BusyTimes, FindsGapsAndMergesNeighbours) {
  BusyTimes times;
  times.take(10, 10);
  times.take(30, 10);
  EXPECT_EQ(times.earliest(0, 10), 0);
  EXPECT_EQ(times.earliest(0, 11), 40);
  EXPECT_EQ(times.earliest(15, 10), 20);
  times.take(20, 10);
  EXPECT_EQ(times.earliest(5, 6), 40);
  times.take(0, 10);
  EXPECT_EQ(times.earliest(0, 1), 40);
}

}  // namespace
}  // namespace stellwerk
