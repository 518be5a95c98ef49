#include "stellwerk/bound/partition.hpp"

#include <gtest/gtest.h>

#include "stellwerk/bound/bound.hpp"
#include "stellwerk/check/certificate.hpp"
#include "stellwerk/io/catalogue.hpp"

namespace stellwerk::bound {
namespace {

Problem allreduce(Topology topology, Bytes size) {
  Job job;
  job.name = "ar";
  job.collective = Collective::allreduce;
  job.ranks = topology.gpus();
  job.size = size;
  return make_problem(std::move(topology), {job});
}

/// n GPUs at one switch, 1 GB/s and 1 us each way.
Topology star(int gpus, bool reduce) {
  IdVector<NodeId, Node> nodes(static_cast<std::size_t>(gpus) + 1);
  IdVector<LinkId, Link> links;
  const NodeId hub(gpus);
  for (int g = 0; g <= gpus; ++g) nodes[NodeId(g)].name = "n" + std::to_string(g);
  nodes[hub].kind = NodeKind::switch_;
  nodes[hub].reduce = reduce;
  for (int g = 0; g < gpus; ++g) {
    links.push_back({NodeId(g), hub, Time{1'000'000}, Bandwidth{1'000'000'000}, ""});
    links.push_back({hub, NodeId(g), Time{1'000'000}, Bandwidth{1'000'000'000}, ""});
  }
  return Topology("star", "", std::move(nodes), std::move(links));
}

TEST(Partition, StarNeedsTwiceTheBytesUnlessTheSwitchReduces) {
  const Problem plain = allreduce(star(4, false), Bytes{4'000'000});
  const Bound bound = lower_bound(plain);
  EXPECT_EQ(bound.certificate.kind, Certificate::Kind::gossip);
  // 2 * 3 * 4 MB over 4 GB/s, and 2 us.
  EXPECT_EQ(bound.value, Time{6'002'000'000});
  EXPECT_EQ(proven_by(bound.certificate, plain), bound.value);

  // In the network: up and down once, 4 ms and two latencies.
  const Problem reducing = allreduce(star(4, true), Bytes{4'000'000});
  EXPECT_EQ(lower_bound(reducing).value, Time{4'002'000'000});
}

TEST(Partition, KnownBounds) {
  // docs/planners.md: the same as twice the AllGather on NDv2 x 4; above the cut on DGX2 x 2.
  const Problem ndv2 = allreduce(catalogue_topology("ndv2:4"), Bytes{1'000'000'000});
  EXPECT_EQ(lower_bound(ndv2).value, Time{120'002'600'000});
  const Problem dgx2 = allreduce(catalogue_topology("dgx2:2"), Bytes{1'000'000'000});
  const Bound bound = lower_bound(dgx2);
  EXPECT_EQ(bound.certificate.kind, Certificate::Kind::gossip);
  EXPECT_EQ(bound.certificate.parts.size(), 32u);
  EXPECT_GE(bound.value, Time{14'761'904'000});  // 62 GB over 4200 GB/s
  EXPECT_LE(bound.value, Time{14'764'000'000});
}

TEST(Partition, CountsOnlyWhatCrosses) {
  // A ring of four, halves as parts: 2 messages of 1 MB each over 4 links of 50 GB/s.
  const Problem ring = allreduce(catalogue_topology("ring:4"), Bytes{1'000'000});
  const Network network(ring.topology);
  const Demand demand(ring);
  const Images images(ring, demand);
  Certificate certificate;
  certificate.kind = Certificate::Kind::partition;
  certificate.parts = {{NodeId(0), NodeId(1)}, {NodeId(2), NodeId(3)}};
  EXPECT_EQ(partition_value(certificate, network, images), Time{10'000'000});
  certificate.parts = {{NodeId(0)}, {NodeId(1)}, {NodeId(2)}, {NodeId(3)}};
  EXPECT_EQ(partition_value(certificate, network, images), Time{15'000'000});  // 6 MB over 8 links
}

}  // namespace
}  // namespace stellwerk::bound
