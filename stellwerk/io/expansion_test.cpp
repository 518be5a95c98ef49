#include "stellwerk/core/expansion.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/io/plan_file.hpp"

namespace stellwerk {
namespace {

Permutation permutation(const std::vector<int>& images) {
  Permutation result;
  for (const int image : images) result.push_back(NodeId(image));
  return result;
}

/// i -> i + 1 mod n.
Permutation rotation(std::size_t n) {
  Permutation result;
  for (std::size_t i = 0; i < n; ++i) result.push_back(NodeId((i + 1) % n));
  return result;
}

TEST(Expansion, ClosuresHaveTheRightOrder) {
  EXPECT_EQ(group_closure({}, 4).size(), 1U);
  EXPECT_EQ(group_closure({rotation(12)}, 12).size(), 12U);
  EXPECT_EQ(group_closure({rotation(5), permutation({1, 0, 2, 3, 4})}, 5).size(), 120U);
  const auto dihedral = group_closure({rotation(4), permutation({0, 3, 2, 1})}, 4);
  EXPECT_EQ(dihedral.size(), 8U);
  EXPECT_EQ(dihedral.front(), permutation({0, 1, 2, 3}));
  // S_13 does not fit.
  EXPECT_THROW(
      group_closure({rotation(13), permutation({1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})}, 13),
      Error);
}

Job ring_job(const Topology& topology, int chunks) {
  Job job;
  job.name = "j";
  job.ranks = topology.gpus();
  job.size = Bytes{static_cast<std::int64_t>(1000 * topology.gpus().size())};
  job.chunks = chunks;
  return job;
}

LinkId link_between(const Topology& topology, std::size_t from, std::size_t to) {
  for (const LinkId id : topology.out(NodeId(from))) {
    if (topology.link(id).to == NodeId(to)) return id;
  }
  ADD_FAILURE();
  return {};
}

/// Every chunk all the way round the ring, of the chunks of `owners` first GPUs.
Schedule around(const Problem& problem, std::size_t owners) {
  const std::size_t n = problem.topology.gpus().size();
  Schedule sends;
  for (const ChunkId id : problem.chunk_ids()) {
    const Chunk& chunk = problem.chunks[id];
    if (chunk.owner.index() >= owners) continue;
    for (std::size_t hop = 0; hop + 1 < n; ++hop) {
      const std::size_t at = (chunk.owner.index() + hop) % n;
      sends.push_back(whole_chunk_send(problem.topology, chunk, id, Op::copy,
                                       Time{static_cast<std::int64_t>(hop) * 1'000'000},
                                       {link_between(problem.topology, at, (at + 1) % n)}));
    }
  }
  sort_sends(problem.topology, sends);
  return sends;
}

TEST(Expansion, OneOwnerGivesTheWholeRing) {
  for (const int chunks : {1, 3}) {
    Topology topology = catalogue_topology("ring:6");
    const Problem whole = make_problem(topology, {ring_job(topology, chunks)});
    Plan plan;
    plan.problem = whole;
    plan.problem.chunks.resize(static_cast<std::size_t>(chunks));  // those of GPU 0
    plan.sends = around(plan.problem, 1);
    expand(plan, {rotation(6)});
    EXPECT_EQ(plan.problem.chunks, whole.chunks);
    EXPECT_EQ(plan.sends, around(whole, 6));
  }
}

// The reflection that fixes GPU 0 maps the broadcast's chunk to itself: its image sends are sends
// of the same chunk, and the send to the opposite GPU, which is fixed up to direction, doubles up.
TEST(Expansion, AnElementThatFixesAChunkAddsSends) {
  const Topology topology = catalogue_topology("ring:3");
  Job job = ring_job(topology, 1);
  job.collective = Collective::broadcast;
  Plan plan;
  plan.problem = make_problem(topology, {job});
  const Chunk& chunk = plan.problem.chunks[ChunkId(0)];
  const Send to_1 = whole_chunk_send(topology, chunk, ChunkId(0), Op::copy, Time{0},
                                     {link_between(topology, 0, 1)});
  const Send to_2 = whole_chunk_send(topology, chunk, ChunkId(0), Op::copy, Time{0},
                                     {link_between(topology, 0, 2)});
  plan.sends = {to_1};
  expand(plan, {permutation({0, 2, 1})});
  Schedule both = {to_1, to_2};
  sort_sends(topology, both);
  EXPECT_EQ(plan.sends, both);
  EXPECT_EQ(plan.problem.chunks.size(), 1U);
  // Sends that are each other's images count once.
  expand(plan, {permutation({0, 2, 1})});
  EXPECT_EQ(plan.sends, both);
}

TEST(Expansion, ParallelLinksMapInOrder) {
  IdVector<NodeId, Node> nodes(4);
  for (std::size_t i = 0; i < 4; ++i)
    nodes[NodeId(i)].name = std::string(1, static_cast<char>('a' + i));
  IdVector<LinkId, Link> links;
  const auto add = [&](int from, int to, std::int64_t rate) {
    links.push_back({NodeId(from), NodeId(to), Time{1}, Bandwidth{rate}, ""});
  };
  add(0, 1, 100);
  add(2, 3, 100);
  add(0, 1, 7);
  add(2, 3, 7);
  const Topology topology("t", "", nodes, links);
  Job job;
  job.name = "j";
  job.collective = Collective::custom;
  job.ranks = topology.gpus();
  job.custom = {{Bytes{5}, {NodeId(0)}, {NodeId(1)}, {}, {}},
                {Bytes{5}, {NodeId(2)}, {NodeId(3)}, {}, {}}};
  Plan plan;
  plan.problem = make_problem(topology, {job});
  plan.problem.chunks.resize(1);
  plan.sends = {whole_chunk_send(topology, plan.problem.chunks[ChunkId(0)], ChunkId(0), Op::copy,
                                 Time{0}, {LinkId(2)})};
  expand(plan, {permutation({2, 3, 0, 1})});
  ASSERT_EQ(plan.sends.size(), 2U);
  EXPECT_EQ(plan.sends[0].links, (std::vector<LinkId>{LinkId(2)}));
  EXPECT_EQ(plan.sends[1].links, (std::vector<LinkId>{LinkId(3)}));
  EXPECT_EQ(plan.sends[1].chunk, ChunkId(1));
}

TEST(Expansion, RefusesWhatIsNoSymmetry) {
  const Topology topology = catalogue_topology("mesh:2x3");
  Plan plan;
  plan.problem = make_problem(topology, {ring_job(topology, 1)});
  try {
    expand(plan, {rotation(6)});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "generator 0 is no symmetry of the topology: link 3 (gpu0.1->gpu0.2) has no image");
  }
  // A symmetry of the network, but not of the demand.
  const Topology ring = catalogue_topology("ring:6");
  Job job = ring_job(ring, 1);
  job.ranks.pop_back();
  plan.problem = make_problem(ring, {job});
  EXPECT_THROW(expand(plan, {rotation(6)}), Error);
}

TEST(Expansion, CompressedFilesStayCompressed) {
  Topology topology = catalogue_topology("ring:5");
  const Problem whole = make_problem(topology, {ring_job(topology, 2)});
  Plan plan;
  plan.problem = whole;
  plan.problem.chunks.resize(2);
  plan.sends = around(plan.problem, 1);
  plan.result.transfer_time = Time{4'000'000};
  plan.result.job_finish = {Time{4'000'000}};
  Certificate latency;
  latency.kind = Certificate::Kind::latency;
  latency.chunk = ChunkId(1);
  latency.target = NodeId(3);
  plan.result.bound = Bound{Time{1'400'000}, latency};
  plan.problem.symmetry = {{permutation({1, 2, 3, 4, 0})}};
  std::string text = format_plan(plan);
  Plan read = parse_plan(text, "f");
  EXPECT_EQ(read.problem.symmetry, plan.problem.symmetry);
  EXPECT_EQ(read.problem.chunks, plan.problem.chunks);
  EXPECT_EQ(read.sends, plan.sends);
  EXPECT_EQ(format_plan(read), text);
  EXPECT_EQ(images_of_chunks(read.problem), 5);
  // Two chunks at a time on one link, whichever way it is looked at.
  EXPECT_EQ(verify(read).violation, Violation::link_capacity);
  expand(read);
  EXPECT_TRUE(read.problem.symmetry.trivial());
  EXPECT_EQ(images_of_chunks(read.problem), 1);
  EXPECT_EQ(read.problem.chunks, whole.chunks);
  EXPECT_EQ(read.sends, around(whole, 5));
  EXPECT_EQ(read.result.bound, plan.result.bound);
  EXPECT_EQ(verify(read).violation, Violation::link_capacity);

  text.replace(text.find("[1,2,3,4,0]"), 11, "[1,0,2,3,4]");
  try {
    parse_plan(text, "f");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what())
                  .find("f: /symmetry: generator 0 is no symmetry of the topology: link "),
              0U);
  }
}

/// Where the group keeps the root of a broadcast, one chunk has several images of a send: there the
/// whole plan is read.
TEST(Expansion, OtherGroupsAreExpandedWhenRead) {
  const Topology topology = catalogue_topology("mesh:3x1");
  Job job = ring_job(topology, 1);
  job.collective = Collective::broadcast;
  job.root = 1;
  Plan plan;
  plan.problem = make_problem(topology, {job});
  const Problem whole = plan.problem;
  for (const LinkId id : topology.out(topology.gpus()[1])) {
    plan.sends.push_back(
        whole_chunk_send(topology, whole.chunks[ChunkId(0)], ChunkId(0), Op::copy, Time{}, {id}));
  }
  const Schedule all = plan.sends;
  plan.sends.pop_back();
  plan.problem.symmetry = {{permutation({2, 1, 0})}};
  plan.result.job_finish = {Time{}};
  const Plan read = parse_plan(format_plan(plan), "f");
  EXPECT_TRUE(read.problem.symmetry.trivial());
  EXPECT_EQ(read.problem.chunks, whole.chunks);
  EXPECT_EQ(read.sends, all);
}

}  // namespace
}  // namespace stellwerk
