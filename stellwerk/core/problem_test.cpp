#include "stellwerk/core/problem.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "stellwerk/base/error.hpp"

namespace stellwerk {
namespace {

/// GPUs 0 to 3, a relay 4 and a switch 5, without links: chunks do not depend on them.
Topology bare() {
  IdVector<NodeId, Node> nodes(6);
  for (std::size_t i = 0; i < 6; ++i) nodes[NodeId(i)].name = "n" + std::to_string(i);
  nodes[NodeId(4)].kind = NodeKind::relay;
  nodes[NodeId(5)].kind = NodeKind::switch_;
  return Topology("bare", "", nodes, {});
}

std::vector<NodeId> ids(const std::vector<int>& values) {
  std::vector<NodeId> result;
  for (const int value : values) result.push_back(NodeId(value));
  return result;
}

/// Ranks in an order that is not that of the nodes.
Job job_of(Collective collective, std::int64_t size, int chunks) {
  Job job;
  job.name = "j";
  job.collective = collective;
  job.ranks = ids({2, 0, 3});
  job.size = Bytes{size};
  job.chunks = chunks;
  job.root = 1;  // node 0
  job.start = Time{11};
  return job;
}

struct Expected {
  std::int64_t bytes;
  int owner;
  std::vector<int> origins, destinations, contributors;
  std::int64_t slot;
};

void expect_chunks(const Job& job, const std::vector<Expected>& expected) {
  const Problem problem = make_problem(bare(), {job});
  ASSERT_EQ(problem.chunks.size(), expected.size()) << to_string(job.collective);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Chunk& chunk = problem.chunks[ChunkId(i)];
    const Expected& e = expected[i];
    Chunk wanted;
    wanted.job = JobId(0);
    wanted.bytes = Bytes{e.bytes};
    wanted.owner = NodeId(e.owner);
    wanted.origins = ids(e.origins);
    wanted.destinations = ids(e.destinations);
    wanted.contributors = ids(e.contributors);
    wanted.ready = Time{11};
    wanted.slot = e.slot;
    EXPECT_EQ(chunk, wanted) << to_string(job.collective) << " chunk " << i;
  }
}

TEST(Problem, ChunksOfEveryCollective) {
  // 7 bytes over 3 ranks: blocks of 3 bytes, cut into 2 and 1.
  expect_chunks(job_of(Collective::allgather, 7, 2), {{2, 2, {2}, {0, 3}, {}, 0},
                                                      {1, 2, {2}, {0, 3}, {}, 1},
                                                      {2, 0, {0}, {2, 3}, {}, 2},
                                                      {1, 0, {0}, {2, 3}, {}, 3},
                                                      {2, 3, {3}, {2, 0}, {}, 4},
                                                      {1, 3, {3}, {2, 0}, {}, 5}});
  expect_chunks(job_of(Collective::reducescatter, 9, 1), {{3, 2, {}, {2}, {2, 0, 3}, 0},
                                                          {3, 0, {}, {0}, {2, 0, 3}, 1},
                                                          {3, 3, {}, {3}, {2, 0, 3}, 2}});
  expect_chunks(job_of(Collective::allreduce, 9, 1), {{3, 2, {}, {2, 0, 3}, {2, 0, 3}, 0},
                                                      {3, 0, {}, {2, 0, 3}, {2, 0, 3}, 1},
                                                      {3, 3, {}, {2, 0, 3}, {2, 0, 3}, 2}});
  expect_chunks(job_of(Collective::alltoall, 9, 1), {{3, 2, {2}, {0}, {}, 1},
                                                     {3, 2, {2}, {3}, {}, 2},
                                                     {3, 0, {0}, {2}, {}, 0},
                                                     {3, 0, {0}, {3}, {}, 2},
                                                     {3, 3, {3}, {2}, {}, 0},
                                                     {3, 3, {3}, {0}, {}, 1}});
  expect_chunks(job_of(Collective::broadcast, 7, 2),
                {{4, 0, {0}, {2, 3}, {}, 0}, {3, 0, {0}, {2, 3}, {}, 1}});
  expect_chunks(job_of(Collective::reduce, 7, 2),
                {{4, 0, {}, {0}, {2, 0, 3}, 0}, {3, 0, {}, {0}, {2, 0, 3}, 1}});
  expect_chunks(job_of(Collective::gather, 9, 1),
                {{3, 2, {2}, {0}, {}, 0}, {3, 3, {3}, {0}, {}, 2}});
  expect_chunks(job_of(Collective::scatter, 9, 1),
                {{3, 0, {0}, {2}, {}, 0}, {3, 0, {0}, {3}, {}, 2}});
  expect_chunks(job_of(Collective::sendrecv, 7, 1),
                {{7, 2, {2}, {0}, {}, 0}, {7, 0, {0}, {3}, {}, 0}, {7, 3, {3}, {2}, {}, 0}});
  Job v = job_of(Collective::alltoallv, 0, 2);
  v.matrix = {{Bytes{9}, Bytes{3}, Bytes{0}},
              {Bytes{1}, Bytes{9}, Bytes{4}},
              {Bytes{0}, Bytes{0}, Bytes{9}}};
  expect_chunks(v, {{2, 2, {2}, {0}, {}, 0},
                    {1, 2, {2}, {0}, {}, 1},
                    {1, 0, {0}, {2}, {}, 0},  // one byte is not cut
                    {2, 0, {0}, {3}, {}, 1},
                    {2, 0, {0}, {3}, {}, 2}});
  Job custom = job_of(Collective::custom, 0, 1);
  custom.custom = {{Bytes{5}, ids({3}), ids({2, 0}), Time{4}, {}},
                   {Bytes{6}, {}, ids({2}), Time{0}, ids({0, 3})}};
  expect_chunks(custom, {{5, 3, {3}, {2, 0}, {}, 0}, {6, 2, {}, {2}, {0, 3}, 1}});
}

TEST(Problem, SlotsOfABlockStayItsOwnWhenItIsTooSmallToCut) {
  // Blocks of 2 bytes in at most 4 chunks: slots 0, 1, then 4, 5.
  const Problem problem = make_problem(bare(), {job_of(Collective::allgather, 6, 4)});
  std::vector<std::int64_t> slots;
  for (const Chunk& chunk : problem.chunks) slots.push_back(chunk.slot);
  EXPECT_EQ(slots, (std::vector<std::int64_t>{0, 1, 4, 5, 8, 9}));
}

TEST(Problem, ACustomChunkIsReadyWhenItAndTheJobAre) {
  Job job = job_of(Collective::custom, 0, 1);
  job.custom = {{Bytes{5}, ids({3}), ids({2}), Time{20}, {}},
                {Bytes{5}, ids({3}), ids({2}), Time{3}, {}}};
  const Problem problem = make_problem(bare(), {job});
  EXPECT_EQ(problem.chunks[ChunkId(0)].ready, Time{20});
  EXPECT_EQ(problem.chunks[ChunkId(1)].ready, Time{11});
}

// Whatever the collective, size and number of chunks: what is moved adds up to the blocks.
TEST(Problem, ChunksOfABlockAddUpAndDifferByAByte) {
  for (const CollectiveRow& c : collectives()) {
    if (c.collective == Collective::custom || c.collective == Collective::alltoallv) continue;
    for (const std::int64_t size : {1, 2, 5, 64, 1000}) {
      for (const int chunks : {1, 2, 3, 7}) {
        const Job job = job_of(c.collective, size, chunks);
        std::map<std::pair<NodeId, std::vector<NodeId>>, std::vector<std::int64_t>> blocks;
        for (const Chunk& chunk : make_chunks(job, JobId(0))) {
          auto key = std::pair(chunk.owner, chunk.destinations);
          blocks[key].push_back(chunk.bytes.value);
        }
        for (const auto& [key, bytes] : blocks) {
          std::int64_t sum = 0;
          for (const std::int64_t b : bytes) sum += b;
          EXPECT_EQ(sum, block_bytes(job).value) << c.name;
          EXPECT_TRUE(std::is_sorted(bytes.rbegin(), bytes.rend())) << c.name;
          EXPECT_LE(bytes.front() - bytes.back(), 1) << c.name;
          EXPECT_EQ(bytes.size(), static_cast<std::size_t>(std::min<std::int64_t>(chunks, sum)));
        }
      }
    }
  }
}

TEST(Problem, EffectiveAndOutputSizes) {
  EXPECT_EQ(block_bytes(job_of(Collective::allgather, 7, 1)), Bytes{3});
  EXPECT_EQ(effective_size(job_of(Collective::allgather, 7, 1)), Bytes{9});
  EXPECT_EQ(output_bytes(job_of(Collective::allgather, 7, 1)).largest, Bytes{9});
  EXPECT_EQ(output_bytes(job_of(Collective::reducescatter, 7, 1)).largest, Bytes{3});
  EXPECT_EQ(output_bytes(job_of(Collective::scatter, 7, 1)).largest, Bytes{3});
  EXPECT_EQ(output_bytes(job_of(Collective::gather, 7, 1)).largest, Bytes{9});
  EXPECT_EQ(effective_size(job_of(Collective::broadcast, 7, 1)), Bytes{7});
  EXPECT_EQ(output_bytes(job_of(Collective::sendrecv, 7, 1)).largest, Bytes{7});
  // No overflow just below the largest size.
  EXPECT_EQ(block_bytes(job_of(Collective::allgather, INT64_MAX, 1)).value, INT64_MAX / 3 + 1);
  Job v = job_of(Collective::alltoallv, 0, 1);
  v.matrix = {{Bytes{1}, Bytes{2}, Bytes{3}},
              {Bytes{10}, Bytes{0}, Bytes{0}},
              {Bytes{0}, Bytes{0}, Bytes{0}}};
  EXPECT_EQ(effective_size(v), Bytes{11});
  EXPECT_EQ(output_bytes(v).smallest, Bytes{2});
  EXPECT_EQ(output_bytes(v).largest, Bytes{11});
  Job custom = job_of(Collective::custom, 0, 1);
  custom.custom = {{Bytes{5}, ids({3}), ids({2, 0}), {}, {}},
                   {Bytes{6}, ids({3}), ids({2}), {}, {}}};
  EXPECT_EQ(effective_size(custom), Bytes{11});
  EXPECT_EQ(output_bytes(custom).smallest, Bytes{5});
  EXPECT_EQ(output_bytes(custom).largest, Bytes{11});
}

TEST(Problem, BusFactorsAreThoseOfNcclTests) {
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::allreduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::allgather, 8), 0.875);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::reducescatter, 8), 0.875);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::alltoall, 8), 0.875);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::gather, 8), 0.875);
  EXPECT_DOUBLE_EQ(busbw_factor(Collective::scatter, 8), 0.875);
  for (const Collective c : {Collective::broadcast, Collective::reduce, Collective::sendrecv}) {
    EXPECT_DOUBLE_EQ(busbw_factor(c, 8), 1);
  }
}

TEST(Problem, WhoMayForward) {
  Problem problem = make_problem(bare(), {job_of(Collective::allgather, 9, 1)}, Relays::members);
  EXPECT_TRUE(problem.may_forward(NodeId(2), JobId(0)));
  EXPECT_FALSE(problem.may_forward(NodeId(1), JobId(0)));
  EXPECT_TRUE(problem.may_forward(NodeId(4), JobId(0)));
  EXPECT_TRUE(problem.may_forward(NodeId(5), JobId(0)));
  problem.relays = Relays::all;
  EXPECT_TRUE(problem.may_forward(NodeId(1), JobId(0)));
}

TEST(Problem, TablesOfCollectivesAgree) {
  for (const CollectiveRow& c : collectives()) {
    EXPECT_EQ(parse_collective(c.name), c.collective);
    EXPECT_EQ(row(c.collective).name, c.name);
  }
  EXPECT_THROW(parse_collective("allgathr"), Error);
}

TEST(Problem, RefusesWhatMakesNoSense) {
  const auto good = [] { return job_of(Collective::allgather, 9, 1); };
  const std::vector<std::pair<std::function<void(Job&)>, std::string>> cases = {
      {[](Job& j) { j.name = ""; }, "job '': the job has no name: give it one"},
      {[](Job& j) { j.ranks = ids({2, 0, 9}); },
       "job 'j': ranks: there is no node 9 in topology 'bare'"},
      {[](Job& j) { j.ranks = ids({2, -1}); },
       "job 'j': ranks: there is no node -1 in topology 'bare'"},
      {[](Job& j) { j.ranks = ids({2, 4}); },
       "job 'j': ranks: 'n4' is a relay, only GPUs can take part"},
      {[](Job& j) { j.ranks = ids({2, 2}); }, "job 'j': ranks: 'n2' is listed twice"},
      {[](Job& j) { j.ranks = ids({2}); },
       "job 'j': a collective needs at least two ranks, 1 given"},
      {[](Job& j) { j.start = Time{-1}; }, "job 'j': start is negative"},
      {[](Job& j) { j.start = Time::max(); },
       "job 'j': a start after more than 10^6 s is surely a wrong unit"},
      {[](Job& j) { j.weight = 0; }, "job 'j': weight must be at least 1"},
      {[](Job& j) { j.chunks = 0; }, "job 'j': chunks must be at least 1"},
      {[](Job& j) { j.chunks = 20'000'000; },
       "job 'j': is cut into more than 50000000 chunks: lower chunks"},
      {[](Job& j) { j.size = Bytes{0}; }, "job 'j': size must be positive"},
      {[](Job& j) { j.size = Bytes{INT64_MAX}; },
       "job 'j': asks for more than 2^60 bytes in all: lower the size"},
      {[](Job& j) { j.root = 3; }, "job 'j': root 3 is not a position in the list of 3 ranks"},
      {[](Job& j) { j.root = -1; }, "job 'j': root -1 is not a position in the list of 3 ranks"},
      {[](Job& j) { j.collective = Collective::custom; },
       "job 'j': a custom job needs a list of chunks"},
      {[](Job& j) {
         j.collective = Collective::custom;
         j.custom = {{Bytes{1}, ids({2}), {}, {}, {}}};
       },
       "job 'j': chunk 0: destinations is empty"},
      {[](Job& j) {
         j.collective = Collective::custom;
         j.custom = {{Bytes{1}, ids({2}), ids({0}), {}, ids({0})}};
       },
       "job 'j': chunk 0: give either origins, or contributors for a reduction"},
      {[](Job& j) {
         j.collective = Collective::custom;
         j.custom = {{Bytes{1}, ids({2}), ids({1}), {}, {}}};
       },
       "job 'j': chunk 0: 'n1' is not among the job's ranks"},
      {[](Job& j) { j.collective = Collective::alltoallv; },
       "job 'j': bytes has 0 rows, but the job has 3 ranks"},
  };
  EXPECT_NO_THROW(make_problem(bare(), {good()}));
  for (const auto& [damage, expected] : cases) {
    Job job = good();
    damage(job);
    try {
      make_problem(bare(), {job});
      ADD_FAILURE() << "accepted; expected: " << expected;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unreadable_input);
      EXPECT_EQ(error.what(), expected);
    }
  }
  EXPECT_THROW(make_problem(bare(), {}), Error);
  EXPECT_THROW(make_problem(bare(), {good(), good()}), Error);
}

TEST(Problem, SeveralJobsKeepTheirOrder) {
  Job a = job_of(Collective::allgather, 9, 1);
  Job b = job_of(Collective::broadcast, 9, 1);
  b.name = "k";
  const Problem problem = make_problem(bare(), {a, b});
  ASSERT_EQ(problem.chunks.size(), 4U);
  EXPECT_EQ(problem.chunks[ChunkId(2)].job, JobId(0));
  EXPECT_EQ(problem.chunks[ChunkId(3)].job, JobId(1));
}

}  // namespace
}  // namespace stellwerk
