#include "stellwerk/bound/chunk_cut.hpp"

#include <gtest/gtest.h>

#include "stellwerk/bound/bound.hpp"
#include "stellwerk/io/catalogue.hpp"

namespace stellwerk::bound {
namespace {

Problem allgather(const char* name, Bytes size, int chunks = 1) {
  Topology topology = catalogue_topology(name);
  Job job;
  job.name = "ag";
  job.ranks = topology.gpus();
  job.size = size;
  job.chunks = chunks;
  return make_problem(std::move(topology), {job});
}

TEST(ChunkCut, LastChunkStillTravelsToTheFarthestGpu) {
  // 62.5 MB chunks: 8 at 12.5 GB/s, then 1.25 + 2.5 ms on two NVLinks.
  const Problem problem = allgather("ndv2:2", Bytes{1'000'000'000});
  const Network network(problem.topology);
  const Demand demand(problem);
  const ChunkCutSearch search(network, demand);
  Certificate certificate;
  certificate.kind = Certificate::Kind::chunk_cut;
  for (const NodeId node : problem.topology.gpus()) {
    if (problem.topology.node(node).host == problem.topology.node(NodeId(8)).host) {
      certificate.set.push_back(node);
    }
  }
  ASSERT_EQ(certificate.set.size(), 8u);
  Time farthest{};
  for (const NodeId node : certificate.set) {
    certificate.target = node;
    farthest = std::max(farthest, *search.value(certificate));
  }
  EXPECT_EQ(farthest, Time{43'752'700'000});
  // To the GPU at the slow link itself: 40 ms and 1.3 us.
  certificate.target.reset();
  EXPECT_EQ(search.value(certificate), Time{40'001'300'000});
}

TEST(ChunkCut, SlotsOfSeveralLinks) {
  // DGX1, 25 KB chunks: 0.5 us on a fast link, 1 us on a slow one, 0.7 us latency. Into one GPU
  // lead two of each. At 2.4 us a fast link has let through its neighbour's chunk and one that the
  // neighbour received at 1.2 us; a slow one only the neighbour's: six chunks, at 2.9 us ten. Seven
  // are needed.
  const Problem problem = allgather("dgx1", Bytes{200'000});
  const Network network(problem.topology);
  const Demand demand(problem);
  const ChunkCutSearch search(network, demand);
  Certificate certificate;
  certificate.kind = Certificate::Kind::chunk_cut;
  certificate.set = {NodeId(0)};
  certificate.target = NodeId(0);
  EXPECT_EQ(search.value(certificate), Time{2'900'000});
  // Only the chunk of a neighbour over a fast link: its way.
  certificate.from = {NodeId(1)};
  EXPECT_EQ(search.value(certificate), Time{1'200'000});
}

TEST(ChunkCut, CountsLargeChunksOnlyWhenAsked) {
  // 0 -> 1 at 1 GB/s: chunks of 1000 and 9000 bytes.
  IdVector<NodeId, Node> nodes(2);
  nodes[NodeId(0)].name = "a";
  nodes[NodeId(1)].name = "b";
  IdVector<LinkId, Link> links;
  links.push_back({NodeId(0), NodeId(1), Time{0}, Bandwidth{1'000'000'000}, ""});
  Topology topology("pair", "", std::move(nodes), std::move(links));
  Job job;
  job.name = "c";
  job.collective = Collective::custom;
  job.ranks = topology.gpus();
  job.custom.resize(2);
  for (CustomChunk& chunk : job.custom) {
    chunk.origins = {NodeId(0)};
    chunk.destinations = {NodeId(1)};
  }
  job.custom[0].bytes = Bytes{1000};
  job.custom[1].bytes = Bytes{9000};
  job.custom[1].ready = Time{5'000'000};
  const Problem problem = make_problem(std::move(topology), {job});
  const Network network(problem.topology);
  const Demand demand(problem);
  const ChunkCutSearch search(network, demand);
  Certificate certificate;
  certificate.kind = Certificate::Kind::chunk_cut;
  certificate.set = {NodeId(1)};
  EXPECT_EQ(search.value(certificate), Time{10'000'000});  // all bytes from 0 on
  certificate.chunk = ChunkId(1);
  EXPECT_EQ(search.value(certificate), Time{14'000'000});  // the large one from 5 us on
  EXPECT_EQ(lower_bound_chunked(problem, lower_bound(problem)).value, Time{14'000'000});
}

TEST(ChunkCut, GathersAndReductionsMirrorEachOther) {
  for (const char* name : {"ndv2:2", "ndv2:4", "dgx2:2"}) {
    for (const std::int64_t size : {1'000, 64'000, 1'000'000, 1'000'000'000}) {
      const Problem gather = allgather(name, Bytes{size});
      Job job = gather.jobs.front();
      job.collective = Collective::reducescatter;
      const Problem reduce = make_problem(gather.topology, {job});
      const Bound any = lower_bound(gather);
      const Bound any_reduce = lower_bound(reduce);
      EXPECT_EQ(any.value, any_reduce.value) << name << " " << size;
      EXPECT_EQ(lower_bound_chunked(gather, any).value,
                lower_bound_chunked(reduce, any_reduce).value)
          << name << " " << size;
    }
  }
}

}  // namespace
}  // namespace stellwerk::bound
