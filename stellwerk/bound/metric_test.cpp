#include "stellwerk/bound/metric.hpp"

#include <gtest/gtest.h>

#include "stellwerk/bound/bound.hpp"
#include "stellwerk/check/certificate.hpp"
#include "stellwerk/io/catalogue.hpp"

namespace stellwerk::bound {
namespace {

Problem alltoall(Topology topology, Bytes size) {
  Job job;
  job.name = "a2a";
  job.collective = Collective::alltoall;
  job.ranks = topology.gpus();
  job.size = size;
  return make_problem(std::move(topology), {job});
}

TEST(Metric, UnitLengthsOnARing) {
  // Five GPUs: distances 1, 1, 2, 2; 1 MB a pair; 5 * 6 MB of hops over 10 links of 50 GB/s.
  const Problem problem = alltoall(catalogue_topology("ring:5"), Bytes{5'000'000});
  const Network network(problem.topology);
  const Demand demand(problem);
  const Images images(problem, demand);
  const std::vector<std::int64_t> ones(problem.topology.links().size(), 1);
  EXPECT_EQ(metric_value(ones, network, images), Time{60'000'000 + 700'000});
  const Bound bound = lower_bound(problem);
  EXPECT_GE(bound.value, Time{60'700'000});
  EXPECT_LE(bound.value, Time{62'000'000});  // a ring does it in 60 us and latencies
}

TEST(Metric, ToriMeetTheirFluidOptimum) {
  // 1 GB on 8 x 8: mean distance 256 / 64 hops, four links of 50 GB/s a GPU.
  const Bound bound = lower_bound(alltoall(catalogue_topology("torus:8x8"), Bytes{1'000'000'000}));
  EXPECT_EQ(bound.certificate.kind, Certificate::Kind::metric);
  EXPECT_EQ(bound.value, Time{20'000'700'000});
}

TEST(Metric, DualsSeeMissingLinks) {
  // A 4 x 4 torus without the links between two neighbours: the fluid optimum is above the whole
  // torus' and above any single cut that the other families find.
  const Topology whole = catalogue_topology("torus:4x4");
  IdVector<LinkId, Link> links;
  for (const Link& link : whole.links()) {
    const std::int32_t low = std::min(link.from.value, link.to.value);
    if (low == 0 && std::max(link.from.value, link.to.value) == 1) continue;
    links.push_back(link);
  }
  ASSERT_EQ(links.size() + 2, whole.links().size());
  const Problem problem =
      alltoall(Topology("torus-", "", whole.nodes(), links), Bytes{160'000'000});
  const Bound bound = lower_bound(problem);
  EXPECT_EQ(bound.certificate.kind, Certificate::Kind::metric);
  EXPECT_EQ(proven_by(bound.certificate, problem), bound.value);
  const std::vector<std::int64_t> ones(links.size(), 1);
  const Network network(problem.topology);
  const Demand demand(problem);
  const Images images(problem, demand);
  EXPECT_GT(bound.value, *metric_value(ones, network, images));
}

TEST(Metric, TakesOneWayOfEveryChunkThatSeveralWant) {
  Topology topology = catalogue_topology("ring:4");
  Job job;
  job.name = "b";
  job.collective = Collective::broadcast;
  job.ranks = topology.gpus();
  job.size = Bytes{1'000'000};
  const Problem problem = make_problem(std::move(topology), {job});
  const Network network(problem.topology);
  const Demand demand(problem);
  const Images images(problem, demand);
  const std::vector<std::int64_t> ones(problem.topology.links().size(), 1);
  // To the farthest, 2 hops; 8 links.
  EXPECT_EQ(metric_value(ones, network, images), Time{5'000'000 + 700'000});
}

}  // namespace
}  // namespace stellwerk::bound
