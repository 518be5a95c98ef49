#include "stellwerk/bound/images.hpp"

#include <gtest/gtest.h>

#include <string>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "tests/support/symmetric_networks.hpp"

namespace stellwerk::bound {
namespace {

struct Case {
  std::string topology;
  Collective collective;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.topology << " " << to_string(c.collective);
}

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const char* topology : {"ring:5", "torus:3x4", "rail:3x2", "ndv2:2", "switch:6"}) {
    for (const Collective collective : {Collective::allgather, Collective::alltoall,
                                        Collective::allreduce, Collective::reducescatter}) {
      result.push_back({topology, collective});
    }
  }
  return result;
}

Job job_of(const Case& c, const Topology& topology) {
  Job job;
  job.name = "job";
  job.collective = c.collective;
  job.ranks = topology.gpus();
  job.size = Bytes{1'000'003};
  job.chunks = 3;
  return job;
}

class ImagesOf : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const Topology topology = catalogue_topology(GetParam().topology);
    Job job = job_of(GetParam(), topology);
    Job late = job;
    late.name = "late";
    late.start = Time{5'000};
    late.chunks = 1;
    whole_ = make_problem(topology, {job, late});
    few_ = make_compressed_problem(topology, {job, late}, Relays::all,
                                   testing::catalogue_symmetry(GetParam().topology, topology));
    ASSERT_FALSE(few_.symmetry.trivial());
    ASSERT_LT(few_.chunks.size(), whole_.chunks.size());
  }

  Problem whole_, few_;
};

TEST_P(ImagesOf, TalliesAreThoseOfTheExpandedProblem) {
  const Demand whole_demand(whole_), few_demand(few_);
  const Images all(whole_, whole_demand), images(few_, few_demand);
  ASSERT_TRUE(images.compressed());
  ASSERT_FALSE(all.compressed());
  const std::size_t n = whole_.topology.nodes().size();
  Rng rng(7);
  int counted = 0;
  for (int round = 0; round < 300; ++round) {
    NodeSet set(n), from(n), to(n);
    const std::uint64_t dense = 1 + rng.below(4);
    for (std::size_t v = 0; v < n; ++v) {
      set[v] = rng.below(5) < dense;
      from[v] = !set[v] && rng.below(3) > 0;
      to[v] = set[v] && rng.below(3) > 0;
    }
    Selection selection{&set, {}, nullptr, nullptr};
    if (rng.below(2) == 0) selection.from = &from;
    if (rng.below(2) == 0) selection.to = &to;
    const NodeId gpu = whole_.topology.gpus()[rng.below(whole_.topology.gpus().size())];
    if (rng.below(2) == 0 && set[gpu.index()]) selection.target = gpu;
    const Tally expected = all.tally(selection), found = images.tally(selection);
    ASSERT_EQ(found.bytes, expected.bytes);
    ASSERT_EQ(found.ready, expected.ready);
    ASSERT_EQ(found.wanting, expected.wanting);
    ASSERT_EQ(found.start, expected.start);
    counted += expected.bytes > 0;
  }
  EXPECT_GT(counted, 100);
}

TEST_P(ImagesOf, NodesWantAndHoldAsMuchAsInTheExpandedProblem) {
  const Demand whole_demand(whole_), few_demand(few_);
  const Images all(whole_, whole_demand), images(few_, few_demand);
  const auto sum = [](const Images& of, NodeId node, bool wanted) {
    std::int64_t bytes = 0;
    const auto add = [&](std::size_t i, const Element&, std::int64_t count) {
      bytes += of.demand().block(i).bytes * count;
    };
    if (wanted) {
      of.for_each_wanted(node, add);
    } else {
      of.for_each_held(node, add);
    }
    return bytes;
  };
  for (const NodeId node : whole_.topology.node_ids()) {
    EXPECT_EQ(sum(images, node, true), sum(all, node, true)) << node.value;
    EXPECT_EQ(sum(images, node, false), sum(all, node, false)) << node.value;
  }
}

TEST_P(ImagesOf, ElementsTakeBlocksToImagesForTheNode) {
  const Demand demand(few_);
  const Images images(few_, demand);
  for (const NodeId node : few_.topology.gpus()) {
    images.for_each_wanted(node, [&](std::size_t i, const Element& element, std::int64_t count) {
      const Chunk& chunk = *demand.block(i).chunk;
      if (count > 1) return;  // equal images: the identity stands for all
      const NodeId own = element.inverse(node);
      EXPECT_NE(std::find(chunk.destinations.begin(), chunk.destinations.end(), own),
                chunk.destinations.end());
      EXPECT_EQ(element(own), node);
      if (element.source().valid()) {
        EXPECT_EQ(element.source(), element(demand.block(i).source));
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, ImagesOf, ::testing::ValuesIn(cases()));

TEST(Transversal, TakesBasesToRanks) {
  for (const char* name : {"torus:4x6", "rail:5x4", "ring:9"}) {
    const Topology topology = catalogue_topology(name);
    const Transversal group(topology.nodes().size(), testing::catalogue_symmetry(name, topology),
                            topology.gpus());
    const LinkImages links(topology);
    EXPECT_EQ(group.order() * static_cast<std::int64_t>(group.bases().size()),
              static_cast<std::int64_t>(topology.gpus().size()));
    for (const NodeId rank : topology.gpus()) {
      EXPECT_EQ(group.from_base(rank, group.base(rank)), rank);
      const Permutation element = group.element(rank);
      EXPECT_TRUE(links.automorphism(element));
      for (const NodeId node : topology.node_ids()) {
        EXPECT_EQ(element[node.index()], group.from_base(rank, node));
        EXPECT_EQ(group.to_base(rank, element[node.index()]), node);
      }
    }
  }
}

}  // namespace
}  // namespace stellwerk::bound
