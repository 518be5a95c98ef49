#include "stellwerk/core/symmetry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "stellwerk/base/error.hpp"
#include "stellwerk/core/problem.hpp"

namespace stellwerk {
namespace {

Permutation permutation(const std::vector<int>& images) {
  Permutation result;
  for (const int image : images) result.push_back(NodeId(image));
  return result;
}

/// `boxes` boxes of two GPUs (nodes 2b and 2b+1) joined both ways; the GPUs 2b in a ring one way by
/// two links of different rates, listed fast first in every other box; a switch joined to all GPUs.
Topology boxes_with_switch(int boxes) {
  IdVector<NodeId, Node> nodes;
  IdVector<LinkId, Link> links;
  const auto add = [&](int from, int to, std::int64_t bandwidth) {
    links.push_back({NodeId(from), NodeId(to), Time{5}, Bandwidth{bandwidth}, ""});
  };
  for (int i = 0; i < 2 * boxes; ++i) {
    nodes.push_back({});
    nodes.back().name = "g" + std::to_string(i);
  }
  nodes.push_back({});
  nodes.back().name = "s";
  nodes.back().kind = NodeKind::switch_;
  for (int b = 0; b < boxes; ++b) {
    add(2 * b, 2 * b + 1, 7);
    add(2 * b + 1, 2 * b, 7);
    const int next = (2 * b + 2) % (2 * boxes);
    add(2 * b, next, b % 2 == 0 ? 3 : 1);
    add(2 * b, next, b % 2 == 0 ? 1 : 3);
    for (int g = 2 * b; g < 2 * b + 2; ++g) {
      add(g, 2 * boxes, 9);
      add(2 * boxes, g, 9);
    }
  }
  return Topology("boxes", "", nodes, links);
}

/// By `boxes` boxes of `count`.
Permutation rotation(int boxes, int count) {
  std::vector<int> images;
  for (int i = 0; i < 2 * count; ++i) images.push_back((i + 2 * boxes) % (2 * count));
  images.push_back(2 * count);
  return permutation(images);
}

TEST(LinkImages, ParallelLinksGoToTheirLikes) {
  const Topology topology = boxes_with_switch(4);
  const LinkImages images(topology);
  const Permutation g = rotation(1, 4);
  EXPECT_TRUE(images.automorphism(g));
  std::set<LinkId> hit;
  for (const LinkId id : topology.link_ids()) {
    const LinkId image = images.image(id, g);
    ASSERT_TRUE(image.valid());
    hit.insert(image);
    EXPECT_EQ(topology.link(image).from, g[topology.link(id).from.index()]);
    EXPECT_EQ(topology.link(image).to, g[topology.link(id).to.index()]);
    EXPECT_EQ(topology.link(image).bandwidth, topology.link(id).bandwidth);
  }
  EXPECT_EQ(hit.size(), topology.links().size());
}

TEST(LinkImages, WhatIsNoAutomorphism) {
  const Topology topology = boxes_with_switch(3);
  const LinkImages images(topology);
  // Within the boxes: the ring has no image.
  const Permutation swap = permutation({1, 0, 3, 2, 5, 4, 6});
  EXPECT_FALSE(images.automorphism(swap));
  EXPECT_FALSE(images.image(LinkId(2), swap).valid());
  // One box turned the other way round.
  EXPECT_FALSE(images.automorphism(permutation({2, 3, 0, 1, 4, 5, 6})));
  // With the switch for a GPU.
  EXPECT_FALSE(images.automorphism(permutation({6, 1, 2, 3, 4, 5, 0})));

  const auto changed = [&](auto change) {
    IdVector<NodeId, Node> nodes = topology.nodes();
    IdVector<LinkId, Link> links = topology.links();
    change(nodes, links);
    const Topology other("other", "", nodes, links);
    return LinkImages(other).automorphism(rotation(1, 3));
  };
  using Nodes = IdVector<NodeId, Node>;
  using Links = IdVector<LinkId, Link>;
  EXPECT_TRUE(changed([](Nodes&, Links&) {}));
  EXPECT_TRUE(changed([](Nodes& n, Links&) { n[NodeId(0)].host = "label"; }));
  EXPECT_FALSE(changed([](Nodes& n, Links&) { n[NodeId(0)].buffer = Bytes{1}; }));
  EXPECT_FALSE(changed([](Nodes& n, Links&) { n[NodeId(0)].injection = Bandwidth{1}; }));
  EXPECT_FALSE(changed([](Nodes& n, Links&) { n[NodeId(0)].ejection = Bandwidth{1}; }));
  EXPECT_FALSE(changed([](Nodes& n, Links&) { n[NodeId(0)].kind = NodeKind::relay; }));
  EXPECT_FALSE(changed([](Nodes&, Links& l) { l[LinkId(0)].latency = Time{6}; }));
  EXPECT_FALSE(changed([](Nodes&, Links& l) { l[LinkId(3)].bandwidth = Bandwidth{2}; }));
  EXPECT_FALSE(changed([](Nodes&, Links& l) { l.push_back(l[LinkId(0)]); }));
  EXPECT_FALSE(changed([](Nodes&, Links& l) { l.pop_back(); }));
}

TEST(Orbits, OfTheGroup) {
  const Topology topology = boxes_with_switch(4);
  const std::vector<NodeId>& ranks = topology.gpus();
  const auto sizes = [](const auto& label, const std::vector<std::int64_t>& size) {
    std::vector<std::int64_t> result(size.size(), 0);
    for (const std::uint32_t orbit : label) ++result[orbit];
    return result == size ? result : std::vector<std::int64_t>{};
  };
  const Orbits all = find_orbits(topology, {{rotation(1, 4)}}, ranks);
  EXPECT_EQ(all.order, 4);
  EXPECT_EQ(sizes(all.node, all.node_size), (std::vector<std::int64_t>{4, 4, 1}));
  // Within the boxes, the ring by rate, to the switch and from it.
  EXPECT_EQ(sizes(all.link, all.link_size), (std::vector<std::int64_t>(8, 4)));
  EXPECT_EQ(all.link[LinkId(2)], all.link[LinkId(3 + 8)]);
  EXPECT_NE(all.link[LinkId(2)], all.link[LinkId(3)]);

  const Orbits half = find_orbits(topology, {{rotation(2, 4)}}, ranks);
  EXPECT_EQ(half.order, 2);
  EXPECT_EQ(half.node_size, (std::vector<std::int64_t>{2, 2, 2, 2, 1}));
  EXPECT_EQ(half.link_size.size(), 16U);
  EXPECT_EQ(find_orbits(topology, {{rotation(2, 4), rotation(3, 4)}}, ranks).order, 4);

  const Orbits none = find_orbits(topology, {}, ranks);
  EXPECT_EQ(none.order, 1);
  EXPECT_EQ(none.node_size.size(), 9U);
  EXPECT_EQ(none.link_size.size(), topology.links().size());
}

Job job_over(std::vector<NodeId> ranks, Collective collective) {
  Job job;
  // Jobs of a problem have different names.
  job.name = std::string(to_string(collective)) + std::to_string(ranks.size()) + "from" +
             std::to_string(ranks.front().value);
  job.collective = collective;
  job.ranks = std::move(ranks);
  job.size = Bytes{1001};
  job.chunks = 3;
  return job;
}

/// All images under the rotations by whole boxes of the chunks of a compressed problem, as a bag,
/// beside all chunks of the whole.
void expect_same_demand(const std::vector<Job>& jobs, int boxes) {
  const Topology topology = boxes_with_switch(boxes);
  const Problem whole = make_problem(topology, jobs, Relays::members);
  const Problem compressed =
      make_compressed_problem(topology, jobs, Relays::members, {{rotation(1, boxes)}});
  EXPECT_EQ(compressed.relays, Relays::members);
  EXPECT_EQ(compressed.jobs, jobs);
  EXPECT_EQ(compressed.chunks.size() * static_cast<std::size_t>(boxes), whole.chunks.size());
  using Key =
      std::tuple<JobId, Bytes, Time, NodeId, std::set<NodeId>, std::set<NodeId>, std::set<NodeId>>;
  const auto image = [](const std::vector<NodeId>& nodes, const Permutation& g) {
    std::set<NodeId> result;
    for (const NodeId node : nodes) result.insert(g[node.index()]);
    return result;
  };
  std::map<Key, int> balance;
  const auto count = [&](const Problem& problem, const Permutation& g, int sign) {
    for (const Chunk& c : problem.chunks) {
      balance[{c.job, c.bytes, c.ready, g[c.owner.index()], image(c.origins, g),
               image(c.destinations, g), image(c.contributors, g)}] += sign;
    }
  };
  count(whole, rotation(0, boxes), 1);
  for (int b = 0; b < boxes; ++b) count(compressed, rotation(b, boxes), -1);
  for (const auto& [key, value] : balance) EXPECT_EQ(value, 0);
}

TEST(CompressedProblem, ItsImagesAreAllChunks) {
  const Topology topology = boxes_with_switch(4);
  const std::vector<NodeId> some = {NodeId(4), NodeId(0), NodeId(6), NodeId(2)};
  for (const Collective collective : {Collective::allgather, Collective::reducescatter,
                                      Collective::allreduce, Collective::alltoall}) {
    expect_same_demand({job_over(topology.gpus(), collective)}, 4);
    expect_same_demand({job_over(some, collective)}, 4);
    expect_same_demand(
        {job_over(some, Collective::alltoall), job_over(topology.gpus(), collective),
         job_over({NodeId(1), NodeId(7), NodeId(5), NodeId(3)}, Collective::allgather)},
        4);
  }
  Job matrix = job_over(topology.gpus(), Collective::alltoallv);
  matrix.size = Bytes{};
  matrix.matrix.assign(8, std::vector<Bytes>(8));
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j) {
      matrix.matrix[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] =
          Bytes{(i % 2) * 10 + (j - i + 8) % 8};
    }
  }
  expect_same_demand({matrix}, 4);
}

TEST(CompressedProblem, WithoutSymmetryIsWhole) {
  const Topology topology = boxes_with_switch(2);
  const std::vector<Job> jobs = {job_over(topology.gpus(), Collective::broadcast)};
  EXPECT_EQ(make_compressed_problem(topology, jobs, Relays::all, {}).chunks,
            make_problem(topology, jobs).chunks);
}

TEST(CompressedProblem, RefusesWhatIsNotSymmetric) {
  const Topology topology = boxes_with_switch(4);
  const Symmetry symmetry{{rotation(1, 4)}};
  const auto refused = [&](const std::vector<NodeId>& ranks, Collective collective) {
    try {
      make_compressed_problem(topology, {job_over(ranks, collective)}, Relays::all, symmetry);
    } catch (const Error& error) {
      return error.code() == ErrorCode::internal;
    }
    return false;
  };
  EXPECT_FALSE(refused(topology.gpus(), Collective::allgather));
  EXPECT_TRUE(refused(topology.gpus(), Collective::broadcast));
  EXPECT_TRUE(refused({NodeId(0), NodeId(2)}, Collective::allgather));
}

/// 268 million pairs: the representatives of one rank only.
TEST(CompressedProblem, NeverListsAllChunks) {
  IdVector<NodeId, Node> nodes(16384);
  Permutation next;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[NodeId(i)].name = std::to_string(i);
    next.push_back(NodeId((i + 1) % nodes.size()));
  }
  const Topology topology("bare", "", nodes, {});
  Job job = job_over(topology.gpus(), Collective::alltoall);
  job.size = Bytes{1 << 30};
  job.chunks = 1;
  const Problem problem = make_compressed_problem(topology, {job}, Relays::all, {{next}});
  EXPECT_EQ(problem.chunks.size(), 16383U);
  EXPECT_THROW(make_problem(topology, {job}), Error);
}

}  // namespace
}  // namespace stellwerk
