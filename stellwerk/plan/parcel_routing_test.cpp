#include "stellwerk/plan/parcel_routing.hpp"

#include <gtest/gtest.h>

#include <string>

#include "stellwerk/io/catalogue.hpp"
#include "tests/support/small_world.hpp"

namespace stellwerk {
namespace {

struct Routed {
  Problem problem;
  ParcelDemand demand;
  ParcelPaths paths;
};

Routed routed(Problem problem) {
  Routed result{std::move(problem), {}, {}};
  std::string why;
  result.demand = make_parcels(result.problem, why).value();
  Rng rng(1);
  RoutingOptions options;
  options.latency_weight = 0.05;
  result.paths = route_parcels(result.problem.topology, result.demand, options, rng, {});
  return result;
}

Routed routed_alltoall(const std::string& name, std::int64_t size, int chunks,
                       std::size_t ranks = SIZE_MAX, Relays relays = Relays::all) {
  Topology topology = catalogue_topology(name);
  Job job;
  job.name = "job";
  job.collective = Collective::alltoall;
  job.ranks = topology.gpus();
  if (ranks < job.ranks.size()) job.ranks.resize(ranks);
  job.size = Bytes{size};
  job.chunks = chunks;
  return routed(make_problem(std::move(topology), {job}, relays));
}

/// Every path leads from origin to target, over nodes that may forward, and the fullest link is what
/// it is said to be.
void expect_sound(const Routed& all) {
  const Topology& topology = all.problem.topology;
  ASSERT_EQ(all.paths.begin.size(), all.demand.parcels.size() + 1);
  std::vector<double> busy(topology.links().size(), 0);
  for (std::size_t i = 0; i < all.demand.parcels.size(); ++i) {
    const Parcel& parcel = all.demand.parcels[i];
    NodeId at = parcel.from;
    for (const LinkId id : all.paths.of(i)) {
      const Link& link = topology.link(id);
      ASSERT_EQ(link.from, at);
      const JobId job = all.problem.chunks[parcel.chunk].job;
      ASSERT_TRUE(at == parcel.from || all.problem.may_forward(at, job));
      at = link.to;
      busy[id.index()] += static_cast<double>(parcel.bytes.value) /
                          static_cast<double>(link.bandwidth.bytes_per_second);
    }
    ASSERT_EQ(at, parcel.to);
  }
  const double fullest = *std::max_element(busy.begin(), busy.end());
  EXPECT_NEAR(all.paths.fullest_seconds, fullest, fullest * 1e-9);
}

TEST(ParcelRouting, MeetsKnownOptima) {
  // 16 ranks, 10 MB a pair, 2 hops on average over all 16, 4 links of 50 GB/s a GPU.
  const Routed torus = routed_alltoall("torus:4x4", 160'000'000, 4);
  expect_sound(torus);
  EXPECT_NEAR(torus.paths.fullest_seconds, 32 * 1e7 / 2e11, 2.5e6 / 5e10 * 1.01);  // a chunk
  // 5 ranks on a ring: distances 1, 1, 2, 2 over two links a GPU.
  const Routed ring = routed_alltoall("ring:5", 50'000'000, 1);
  expect_sound(ring);
  EXPECT_NEAR(ring.paths.fullest_seconds, 3 * 1e7 / 5e10, 1e-9);
  // 3 x 12 blocks of 10 MB leave a box over four NICs of 50 GB/s.
  const Routed rail = routed_alltoall("rail:4x4", 160'000'000, 2);
  expect_sound(rail);
  EXPECT_NEAR(rail.paths.fullest_seconds, 48 * 1e7 / 2e11, 5e6 / 5e10 * 1.01);
}

TEST(ParcelRouting, KeepsToTheMembersOfAJob) {
  const Routed all = routed_alltoall("torus:4x4", 1'000'000, 1, 8, Relays::members);
  expect_sound(all);
}

TEST(ParcelRouting, GoesAroundAFullLink) {
  // Two chunks from 0 to 1: one straight, one over 2.
  test_support::SmallWorld world(3);
  world.link(0, 1).link(0, 2).link(2, 1).data(1000, {0}, {1}).data(1000, {0}, {1});
  const Routed all = routed(world.problem());
  expect_sound(all);
  EXPECT_NEAR(all.paths.fullest_seconds, 1e-6, 1e-12);
}

TEST(ParcelRouting, StopsWithoutPathsWhenThereIsNoTime) {
  const Routed all = routed_alltoall("torus:4x4", 1'000'000, 1);
  Rng rng(1);
  EXPECT_TRUE(
      route_parcels(all.problem.topology, all.demand, {}, rng, StopCondition(0)).begin.empty());
}

}  // namespace
}  // namespace stellwerk
