#include "stellwerk/plan/problem_family.hpp"

#include <gtest/gtest.h>

#include "stellwerk/check/certificate.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/plan/finish_times.hpp"
#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

ProblemFamily family(const std::string& name, Collective collective, bool auto_chunks = true) {
  Topology topology = catalogue_topology(name);
  Job job;
  job.name = "job";
  job.collective = collective;
  job.ranks = topology.gpus();
  job.size = Bytes{4096};
  job.auto_chunks = auto_chunks;
  return {std::move(topology), {job}, Relays::all};
}

TEST(ProblemFamily, CountsDeliveries) {
  ProblemFamily torus = family("torus:4x4", Collective::allgather);
  EXPECT_EQ(torus.deliveries(), 16 * 15);
  torus.find_symmetry(StopCondition(10));
  EXPECT_TRUE(torus.symmetric());
  EXPECT_EQ(torus.deliveries(true), 15);
  EXPECT_EQ(torus.chunk_counts(64, 1000, false), (std::vector<int>{1, 2, 4}));
  EXPECT_EQ(torus.chunk_counts(64, 1000, true), (std::vector<int>{1, 2, 4, 8, 16, 32, 64}));
  EXPECT_EQ(family("torus:4x4", Collective::allgather, false).chunk_counts(64, 1000, true),
            (std::vector<int>{1}));
}

TEST(ProblemFamily, AProblemInUseIsShared) {
  ProblemFamily torus = family("torus:4x4", Collective::allgather);
  const auto first = torus.problem(2, false);
  EXPECT_EQ(first, torus.problem(2, false));
  EXPECT_EQ(first->chunks.size(), 32U);
}

TEST(ProblemFamily, BoundsKeepTheirValueInAllMembers) {
  for (const Collective collective :
       {Collective::allgather, Collective::alltoall, Collective::reducescatter}) {
    ProblemFamily torus = family("torus:4x4", collective);
    torus.find_symmetry(StopCondition(10));
    const auto few = torus.problem(1, true);
    for (const int chunks : {1, 2}) {
      for (const bool by_representatives : {true, false}) {
        const auto member = torus.problem(chunks, by_representatives);
        Certificate latency;
        latency.kind = Certificate::Kind::latency;
        latency.chunk = ChunkId(few->chunks.size() - 1);
        latency.target = few->chunks[*latency.chunk].destinations.back();
        const Time value = proven_by(latency, *few);
        const Bound same = translated({value, latency}, *few, *member);
        EXPECT_EQ(proven_by(same.certificate, *member), value);
        const Chunk& chunk = member->chunks[*same.certificate.chunk];
        EXPECT_EQ(chunk.owner, few->chunks[*latency.chunk].owner);
      }
    }
  }
}

TEST(FinishTimes, TheFirstCopyAndTheLastAddendCount) {
  const testing::Network line = testing::line(3);
  const Problem copies = testing::problem(line, {testing::data({0}, {1})});
  const auto send = [&](const Problem& problem, int from, int to, Op op, std::int64_t start) {
    for (const LinkId id : problem.topology.link_ids()) {
      const Link& link = problem.topology.link(id);
      if (link.from != NodeId(from) || link.to != NodeId(to)) continue;
      return whole_chunk_send(problem.topology, problem.chunks[ChunkId(0)], ChunkId(0), op,
                              Time{start}, {id});
    }
    return Send{};
  };
  const Send early = send(copies, 0, 1, Op::copy, 0), late = send(copies, 0, 1, Op::copy, 500);
  EXPECT_EQ(finish_times(copies, {late, early}), finish_times(copies, {early}));

  const Problem sum = testing::problem(line, {testing::sum({0, 1, 2}, {1})});
  const Send left = send(sum, 0, 1, Op::reduce, 0), right = send(sum, 2, 1, Op::reduce, 500);
  EXPECT_EQ(finish_times(sum, {right, left}), finish_times(sum, {right}));
}

}  // namespace
}  // namespace stellwerk
