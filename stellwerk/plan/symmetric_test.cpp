#include "stellwerk/plan/symmetric.hpp"

#include <gtest/gtest.h>

#include <array>

#include "stellwerk/bound/bound.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/core/expansion.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "tests/support/symmetric_networks.hpp"

namespace stellwerk {
namespace {

using testing::cyclic_world;
using testing::finish_of;
using testing::rotation;

Job job_of(Collective collective, const Topology& topology, std::int64_t size, int chunks) {
  Job job;
  job.name = "job";
  job.collective = collective;
  job.ranks = topology.gpus();
  job.size = Bytes{size};
  job.chunks = chunks;
  return job;
}

/// Plans, expands and verifies; the transfer time.
Time planned(const Topology& topology, const Job& job, const Symmetry& symmetry,
             std::optional<Bound> bound = {}, std::uint64_t seed = 1) {
  Plan plan;
  plan.problem = make_compressed_problem(topology, {job}, Relays::all, symmetry);
  PlannerContext context;
  context.bound = std::move(bound);
  context.rng = Rng(seed);
  PlanOptions options;
  options.gap = 0;
  options.quick = true;
  PlannerOutcome outcome = plan_symmetric(plan.problem, options, context);
  EXPECT_TRUE(outcome.has_plan()) << outcome.message;
  plan.sends = std::move(outcome.sends);
  const Time finish = finish_of(plan.problem, plan.sends);
  if (!symmetry.trivial()) {
    plan.problem.symmetry = {};
    expand(plan, symmetry.generators);
  }
  const Verdict verdict = verify_sends(plan.problem, plan.sends);
  EXPECT_TRUE(verdict.valid()) << verdict.message;
  EXPECT_EQ(verdict.transfer_time, finish);
  return finish;
}

double ratio(const std::string& name, Collective collective, std::int64_t size, int chunks) {
  const Topology topology = catalogue_topology(name);
  const Job job = job_of(collective, topology, size, chunks);
  Job whole = job;
  whole.chunks = 1;
  const Bound bound = lower_bound(make_problem(topology, {whole}));
  const Time time = planned(topology, job, testing::catalogue_symmetry(name, topology), bound);
  EXPECT_GE(time, bound.value);
  return time.seconds() / bound.value.seconds();
}

TEST(Symmetric, AllGatherNearTheBound) {
  EXPECT_LT(ratio("torus:4x4", Collective::allgather, 1'000'000'000, 4), 1.0005);
  EXPECT_LT(ratio("torus:8x8", Collective::allgather, 1'000'000'000, 4), 1.001);
  EXPECT_LT(ratio("rail:8x8", Collective::allgather, 1'000'000'000, 16), 1.008);
  EXPECT_LT(ratio("rail:8x8", Collective::allgather, 1'000'000, 4), 1.03);
  EXPECT_LT(ratio("switch:16", Collective::allgather, 1'000'000'000, 1), 1.0001);
  EXPECT_LT(ratio("switch:16,multicast", Collective::allgather, 1'000'000'000, 1), 1.0001);
  EXPECT_LT(ratio("full:9", Collective::allgather, 1'000'000'000, 1), 1.0001);
  EXPECT_LT(ratio("ndv2:4", Collective::allgather, 1'000'000'000, 16), 1.0025);
  EXPECT_LT(ratio("ndv2:2", Collective::allgather, 1'000'000'000, 16), 1.007);
  EXPECT_LT(ratio("dgx2:2", Collective::allgather, 1'000'000'000, 8), 1.0001);
  EXPECT_LT(ratio("dgx2:2", Collective::allgather, 64'000, 16), 1.005);
}

TEST(Symmetric, AllToAllNearTheBound) {
  EXPECT_LT(ratio("torus:4x4", Collective::alltoall, 1'000'000'000, 1), 1.001);
  EXPECT_LT(ratio("torus:4x6", Collective::alltoall, 1'000'000, 2), 1.02);
  EXPECT_LT(ratio("rail:4x4", Collective::alltoall, 1'000'000'000, 1), 1.001);
  EXPECT_LT(ratio("ndv2:4", Collective::alltoall, 1'000'000'000, 1), 1.001);
  EXPECT_LT(ratio("dgx2:2", Collective::alltoall, 64'000, 4), 1.005);
}

TEST(Symmetric, ReductionsNearTheBound) {
  EXPECT_LT(ratio("torus:8x8", Collective::reducescatter, 1'000'000'000, 4), 1.0005);
  EXPECT_LT(ratio("torus:8x8", Collective::allreduce, 1'000'000'000, 4), 1.001);
  EXPECT_LT(ratio("rail:8x8", Collective::allreduce, 1'000'000'000, 16), 1.01);
}

TEST(Symmetric, WorksWithoutSymmetryOnSmallNetworks) {
  const Topology topology = catalogue_topology("dgx1");
  planned(topology, job_of(Collective::allgather, topology, 1'000'000, 3), Symmetry());
}

TEST(Symmetric, RandomCyclicNetworks) {
  Rng rng(7);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const Topology topology = cyclic_world(rng);
    const int chunks = static_cast<int>(rng.between(1, 3));
    static constexpr std::array kCollectives = {Collective::allgather, Collective::alltoall,
                                                Collective::reducescatter, Collective::allreduce};
    const Job job = job_of(kCollectives[rng.below(kCollectives.size())], topology,
                           rng.between(1, 3'000'000), chunks);
    planned(topology, job, rotation(topology), {}, rng.next());
  }
}

TEST(Symmetric, SameSeedSamePlan) {
  const Topology topology = catalogue_topology("rail:4x4");
  // Restarts included, which use the random numbers.
  const Problem problem =
      make_compressed_problem(topology, {job_of(Collective::allgather, topology, 1'000'000, 2)},
                              Relays::all, testing::catalogue_symmetry("rail:4x4", topology));
  const auto plan = [&] {
    PlannerContext context;
    context.rng = Rng(3);
    return plan_symmetric(problem, {}, context).sends;
  };
  EXPECT_EQ(plan(), plan());
}

TEST(Symmetric, RefusesTransitBuffers) {
  const Topology ring = catalogue_topology("ring:4");
  IdVector<NodeId, Node> nodes = ring.nodes();
  nodes[NodeId(0)].buffer = Bytes{1};
  const Topology topology("", "", nodes, ring.links());
  const Problem problem =
      make_problem(topology, {job_of(Collective::allgather, topology, 1000, 1)});
  PlannerContext context;
  const PlannerOutcome outcome = plan_symmetric(problem, {}, context);
  EXPECT_EQ(outcome.termination.reason, Termination::Reason::unsupported);
  EXPECT_FALSE(outcome.message.empty());
}

}  // namespace
}  // namespace stellwerk
