#include "stellwerk/bound/main_cuts.hpp"

#include <gtest/gtest.h>

#include <string>

#include "stellwerk/bound/bound.hpp"
#include "stellwerk/bound/chunk_cut.hpp"
#include "stellwerk/bound/main_chunk_cuts.hpp"
#include "stellwerk/bound/representatives.hpp"
#include "stellwerk/check/certificate.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/plan/symmetric.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/symmetric_networks.hpp"

namespace stellwerk::bound {
namespace {

Job job_of(Collective collective, std::int64_t size, const Topology& topology) {
  Job job;
  job.name = "job";
  job.collective = collective;
  job.ranks = topology.gpus();
  job.size = Bytes{size};
  return job;
}

Problem compressed(const std::string& name, Collective collective, std::int64_t size) {
  const Topology topology = catalogue_topology(name);
  return make_compressed_problem(topology, {job_of(collective, size, topology)}, Relays::all,
                                 testing::catalogue_symmetry(name, topology));
}

Problem whole(const std::string& name, Collective collective, std::int64_t size) {
  const Topology topology = catalogue_topology(name);
  return make_problem(topology, {job_of(collective, size, topology)});
}

void expect_proven(const Bound& bound, const Problem& problem) {
  ASSERT_NE(bound.certificate.kind, Certificate::Kind::none);
  EXPECT_EQ(proven_by(bound.certificate, problem), bound.value)
      << to_string(bound.certificate.kind) << ": " << describe(bound.certificate, problem);
}

constexpr Collective kGather = Collective::allgather, kToAll = Collective::alltoall,
                     kReduce = Collective::allreduce, kScatter = Collective::reducescatter;

/// The search by representatives alone, against the one that tries everything.
TEST(MainCuts, ComeCloseToTheExhaustiveSearch) {
  for (const char* name : {"ndv2:2", "dgx2:2", "torus:4x4", "torus:3x5", "rail:4x4", "ring:6"}) {
    for (const Collective collective : {kGather, kToAll, kReduce, kScatter}) {
      for (const std::int64_t size : {4'000, 1'000'000, 1'000'000'000}) {
        const Problem few = compressed(name, collective, size);
        const Problem all = whole(name, collective, size);
        const Bound one = lower_bound(few), other = lower_bound(all);
        expect_proven(one, few);
        EXPECT_LE(one.value, other.value) << name << to_string(collective) << size;
        EXPECT_GE(one.value.seconds(), other.value.seconds() * 0.995)
            << name << " " << to_string(collective) << " " << size << ": "
            << describe(one.certificate, few) << "; " << describe(other.certificate, all);
        const Bound chunks = lower_bound_chunked(few, one);
        const Bound all_chunks = lower_bound_chunked(all, other);
        expect_proven(chunks, few);
        EXPECT_LE(chunks.value, all_chunks.value);
        EXPECT_GE(chunks.value.seconds(), all_chunks.value.seconds() * 0.97)
            << name << " " << to_string(collective) << " " << size << ": "
            << describe(chunks.certificate, few) << "; " << describe(all_chunks.certificate, all);
      }
    }
  }
}

/// A cut's value is the same however it is found out.
TEST(MainCuts, ValuesAreThoseOfTheChecker) {
  Rng rng(3);
  int proven = 0, whole_chunks = 0;
  for (int round = 0; round < testing::rounds(400, 80); ++round) {
    const auto instance = testing::random_instance(rng, {});
    const Problem problem = testing::to_problem(instance, Bytes{60'000}, Time{1'000'000});
    const Network network(problem.topology);
    const Demand demand(problem);
    const Images images(problem, demand);
    const StopCondition stop;
    const MainCuts cuts(network, images, stop);
    const MainChunkCuts chunks(network, images, cuts, stop);
    const ChunkCutSearch other(network, demand);
    Certificate certificate;
    std::vector<NodeId> outside;
    for (const NodeId node : problem.topology.node_ids()) {
      (rng.below(2) == 0 ? certificate.set : outside).push_back(node);
    }
    if (certificate.set.empty() || outside.empty()) continue;
    if (rng.below(2) == 0) certificate.target = certificate.set.front();
    for (const auto kind : {Certificate::Kind::cut, Certificate::Kind::dynamic_cut}) {
      certificate.kind = kind;
      if (const auto value = cut_value(certificate, network, images)) {
        EXPECT_EQ(*value, proven_by(certificate, problem));
        ++proven;
      }
    }
    certificate.kind = Certificate::Kind::chunk_cut;
    const auto value = chunks.value(certificate);
    EXPECT_EQ(value, other.value(certificate));
    if (!value) continue;
    EXPECT_EQ(*value, proven_by(certificate, problem));
    ++whole_chunks;
  }
  EXPECT_GT(proven, testing::rounds(100, 20));
  EXPECT_GT(whole_chunks, testing::rounds(50, 10));
}

/// Networks with a rotation and little else: switches that some elements keep, limits, several
/// rates. The bounds are proven of representatives and of all, about as good as those found for all,
/// and no plan is faster.
TEST(MainCuts, HoldForPlansOfRandomCyclicNetworks) {
  Rng rng(11);
  const std::vector<Collective> collectives = {kGather, kToAll, kReduce, kScatter};
  for (int round = 0; round < 80; ++round) {
    SCOPED_TRACE(round);
    const Topology topology = testing::cyclic_world(rng);
    Job job = job_of(collectives[rng.below(4)], rng.between(1, 3'000'000), topology);
    job.chunks = static_cast<int>(rng.between(1, 3));
    const Problem few =
        make_compressed_problem(topology, {job}, Relays::all, testing::rotation(topology));
    const Problem all = make_problem(topology, {job});
    const Bound bound = lower_bound(few), chunked = lower_bound_chunked(few, bound);
    expect_proven(bound, few);
    expect_proven(chunked, few);
    if (!bound.certificate.chunk) expect_proven(bound, all);
    if (!chunked.certificate.chunk) expect_proven(chunked, all);
    EXPECT_GE(bound.value.seconds(), lower_bound(all).value.seconds() * 0.97);

    PlannerContext context;
    PlanOptions options;
    options.quick = true;
    const PlannerOutcome plan = plan_symmetric(few, options, context);
    ASSERT_TRUE(plan.has_plan());
    EXPECT_LE(chunked.value, testing::finish_of(few, plan.sends));
  }
}

struct Known {
  const char* topology;
  Collective collective;
  std::int64_t size;
  double microseconds;
};

/// A thousand GPUs. Values: bytes over bandwidth and latencies by hand.
TEST(MainCuts, KnownBoundsOfAThousandGpus) {
  const std::vector<Known> known = {
      // 1016 blocks into a box over 8 NICs; 3.3 us from the farthest GPU of another box, 2.6 us over
      // the target's own.
      {"rail:128x8", kGather, 1'000'000'000, 2480.5 + 3.2125},
      {"rail:128x8", kGather, 1'000'448, 2.48158 + 3.2125},
      // 8 * 1016 blocks out of a box.
      {"rail:128x8", kToAll, 1'000'000'000, 19843.76 + 2.6},
      // 2 * 127 messages over 1024 NICs.
      {"rail:128x8", kReduce, 1'000'000'000, 4960.94 + 2.6},
      {"torus:32x32", kGather, 1'000'000'000, 4995.12 + 0.7},
      {"torus:32x32", kGather, 1'000'000, 22.405},
      // 16 hops a byte, four links a GPU.
      {"torus:32x32", kToAll, 1'000'000'000, 80000.7},
      // 4 hops a byte along the long way round, two links a GPU.
      {"torus:8x8x16", kToAll, 1'000'000'000, 40000.7},
  };
  for (const Known& row : known) {
    if (testing::kSanitized && &row != known.data()) break;
    const Problem problem = compressed(row.topology, row.collective, row.size);
    const Bound bound = lower_bound(problem);
    EXPECT_NEAR(bound.value.seconds() * 1e6, row.microseconds, row.microseconds * 2e-4)
        << row.topology << " " << to_string(row.collective) << " " << row.size << ": "
        << describe(bound.certificate, problem);
    expect_proven(bound, problem);
    const Bound chunks = lower_bound_chunked(problem, bound);
    EXPECT_GE(chunks.value, bound.value);
    expect_proven(chunks, problem);
  }
}

TEST(MainCuts, FindTheBrokenBoxAmongAHundred) {
  // A box with one NIC less: 8 * 1016 blocks over seven of them.
  Topology intact = catalogue_topology("rail:128x8");
  IdVector<LinkId, Link> links;
  for (const Link& link : intact.links()) {
    const bool nic = intact.node(link.to).host != intact.node(link.from).host;
    const bool broken =
        intact.node(link.from).name == "h77.gpu3" || intact.node(link.to).name == "h77.gpu3";
    if (!nic || !broken) links.push_back(link);
  }
  ASSERT_EQ(links.size() + 2, intact.links().size());
  const Topology topology("broken", "", intact.nodes(), std::move(links));
  const Problem problem = make_problem(topology, {job_of(kGather, 1'000'000'000, topology)});
  const Bound bound = lower_bound(problem);
  expect_proven(bound, problem);
  EXPECT_NEAR(bound.value.seconds() * 1e6, 2480.5 * 8 / 7 + 3.3, 1.0);
  EXPECT_NE(describe(bound.certificate, problem).find("h77"), std::string::npos);
}

// Where the time was up at once, only latency was proven: 77 us of 34 ms.
TEST(MainCuts, ProveTheBandwidthOfSingleGpusEvenWithoutTime) {
  const Problem problem = whole("torus:8x8,degrade=3,what=any", kGather, 1'000'000'000);
  const Bound at_leisure = lower_bound(problem);
  const Bound at_once = lower_bound(problem, StopCondition(1e-9));
  EXPECT_GT(at_once.value.ps, at_leisure.value.ps / 100 * 95);
  expect_proven(at_once, problem);
}

TEST(Representatives, OneOfEachKind) {
  const Problem problem = whole("rail:16x8", kGather, 1'000'000);
  const Network network(problem.topology);
  const Demand demand(problem);
  const Images images(problem, demand);
  EXPECT_EQ(representatives(network, images).size(), 1u);

  // With one slow NIC: its GPU comes first, and few are near enough to it to look different.
  const Problem slow = whole("rail:16x8,degrade=1", kGather, 1'000'000);
  const Network slow_network(slow.topology);
  const Demand slow_demand(slow);
  const Images slow_images(slow, slow_demand);
  const std::vector<NodeId> found = representatives(slow_network, slow_images);
  EXPECT_GT(found.size(), 2u);
  EXPECT_LT(found.size(), 12u);
  std::int64_t bandwidth = 0;
  for (const LinkId id : slow.topology.in(found.front())) {
    bandwidth += slow.topology.link(id).bandwidth.bytes_per_second;
  }
  EXPECT_EQ(bandwidth, 475'000'000'000);
}

}  // namespace
}  // namespace stellwerk::bound
