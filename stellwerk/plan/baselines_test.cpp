// The baselines ring and direct: exact times where the books give them, valid plans everywhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/plan/direct.hpp"
#include "stellwerk/plan/ring.hpp"
#include "stellwerk/plan/ring_order.hpp"

namespace stellwerk {
namespace {

constexpr Time kMicrosecond{1'000'000};
constexpr Time kMillisecond{1'000'000'000};
constexpr Bandwidth kGigabyte{1'000'000'000};  // 1 MB a millisecond

struct Draft {
  IdVector<NodeId, Node> nodes;
  IdVector<LinkId, Link> links;

  NodeId gpu(const std::string& name, const std::string& host = "") {
    const NodeId id = other(name, NodeKind::gpu);
    nodes[id].host = host;
    return id;
  }
  NodeId other(const std::string& name, NodeKind kind) {
    Node node;
    node.name = name;
    node.kind = kind;
    nodes.push_back(std::move(node));
    return NodeId(nodes.size() - 1);
  }
  void link(NodeId from, NodeId to, Time latency = kMicrosecond, Bandwidth bandwidth = kGigabyte) {
    links.push_back({from, to, latency, bandwidth, ""});
  }
  Topology topology() const { return Topology("test", "", nodes, links); }
};

Topology one_way_ring(std::size_t n) {
  Draft draft;
  for (std::size_t i = 0; i < n; ++i) draft.gpu("g" + std::to_string(i));
  for (std::size_t i = 0; i < n; ++i) draft.link(NodeId(i), NodeId((i + 1) % n));
  return draft.topology();
}

Topology crossbar(std::size_t n) {
  Draft draft;
  for (std::size_t i = 0; i < n; ++i) draft.gpu("g" + std::to_string(i));
  const NodeId hub = draft.other("hub", NodeKind::switch_);
  for (std::size_t i = 0; i < n; ++i) {
    draft.link(NodeId(i), hub);
    draft.link(hub, NodeId(i));
  }
  return draft.topology();
}

Problem problem_of(Topology topology, Collective collective, Bytes size, int chunks = 1) {
  Job job;
  job.name = "job";
  job.collective = collective;
  job.ranks = topology.gpus();
  job.size = size;
  job.chunks = chunks;
  if (collective == Collective::alltoallv) {
    job.matrix.assign(job.ranks.size(),
                      std::vector<Bytes>(job.ranks.size(), Bytes{size.value / 4}));
    job.matrix[0][1] = Bytes{0};
  }
  if (collective == Collective::custom) {
    job.custom.push_back(
        {size, {job.ranks[0], job.ranks[1]}, {job.ranks.back()}, kMicrosecond, {}});
    job.custom.push_back({size, {}, {job.ranks.front(), job.ranks.back()}, Time{0}, job.ranks});
    job.custom.push_back({size, {}, {job.ranks.back()}, Time{0}, {job.ranks[0], job.ranks[1]}});
  }
  return make_problem(std::move(topology), {job});
}

PlannerOutcome run(PlanFunction plan, const Problem& problem) {
  PlannerContext context;
  return plan(problem, {}, context);
}

/// The transfer time of the plan, which must be valid.
Time valid_time(PlanFunction plan, const Problem& problem) {
  const PlannerOutcome outcome = run(plan, problem);
  EXPECT_TRUE(outcome.has_plan()) << outcome.message;
  const Verdict verdict = verify_sends(problem, outcome.sends);
  EXPECT_TRUE(verdict.valid()) << verdict.message;
  return verdict.transfer_time;
}

TEST(Ring, TakesTheTextbookTimeOnARing) {
  const Topology ring = one_way_ring(4);
  const auto time = [&](Collective collective, int chunks = 1) {
    return valid_time(plan_ring, problem_of(ring, collective, Bytes{4'000'000}, chunks));
  };
  const Time step = kMillisecond + kMicrosecond;
  EXPECT_EQ(time(Collective::allgather), 3 * step);
  EXPECT_EQ(time(Collective::reducescatter), 3 * step);
  EXPECT_EQ(time(Collective::allreduce), 6 * step);
  EXPECT_EQ(time(Collective::broadcast), 3 * (4 * kMillisecond + kMicrosecond));
  // With chunks the links are never idle, and latency is paid once.
  EXPECT_EQ(time(Collective::allgather, 4), 3 * kMillisecond + kMicrosecond);
  EXPECT_EQ(time(Collective::allreduce, 4), 6 * kMillisecond + kMicrosecond);
  // A pipeline: four chunks to the first rank, the last one two ranks on.
  EXPECT_EQ(time(Collective::broadcast, 4), 4 * kMillisecond + kMicrosecond + 2 * step);
  EXPECT_EQ(time(Collective::reduce, 4), 4 * kMillisecond + kMicrosecond + 2 * step);
}

TEST(Ring, CrossesBetweenHostsOnceEachWayWhereTheLinksAre) {
  Draft draft;
  for (int h = 0; h < 2; ++h) {
    for (int i = 0; i < 4; ++i)
      draft.gpu("h" + std::to_string(h) + ".gpu" + std::to_string(i), "h" + std::to_string(h));
  }
  for (std::size_t h = 0; h < 8; h += 4) {
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j < 4; ++j) {
        if (i != j)
          draft.link(NodeId(h + i), NodeId(h + j), kMicrosecond, Bandwidth{50'000'000'000});
      }
    }
  }
  draft.link(NodeId(2), NodeId(5));
  draft.link(NodeId(7), NodeId(3));
  Problem problem = problem_of(draft.topology(), Collective::allgather, Bytes{8'000'000});
  Routers routers(problem);
  const std::vector<RingOrder> rings =
      ring_orders(problem.topology, problem.jobs[0].ranks, Bytes{1'000'000},
                  routers.of(JobId(0), Bytes{1'000'000}));
  ASSERT_EQ(rings.size(), 1U) << "there is one link each way between the hosts";
  std::vector<std::pair<NodeId, NodeId>> crossings;
  for (std::size_t i = 0; i < 8; ++i) {
    const NodeId from = rings[0][i], to = rings[0][(i + 1) % 8];
    if ((from < NodeId(4)) != (to < NodeId(4))) crossings.emplace_back(from, to);
  }
  EXPECT_THAT(crossings, testing::UnorderedElementsAre(std::pair(NodeId(2), NodeId(5)),
                                                       std::pair(NodeId(7), NodeId(3))));
  // Seven of eight blocks cross, one after the other, at 1 MB a millisecond; little comes on top.
  const Time time = valid_time(plan_ring, problem);
  EXPECT_GE(time, 7 * kMillisecond);
  EXPECT_LT(time, 7 * kMillisecond + kMillisecond);
}

TEST(Ring, UsesEveryRailOfHostsThatHaveOneEach) {
  // Two hosts of four GPUs on a fast switch each; GPU i also has a card on rail i.
  Draft draft;
  for (int h = 0; h < 2; ++h) {
    for (int i = 0; i < 4; ++i)
      draft.gpu("h" + std::to_string(h) + ".gpu" + std::to_string(i), "h" + std::to_string(h));
  }
  for (std::size_t h = 0; h < 2; ++h) {
    const NodeId hub = draft.other("hub" + std::to_string(h), NodeKind::switch_);
    for (std::size_t i = 0; i < 4; ++i) {
      draft.link(NodeId(4 * h + i), hub, kMicrosecond, Bandwidth{100'000'000'000});
      draft.link(hub, NodeId(4 * h + i), kMicrosecond, Bandwidth{100'000'000'000});
    }
  }
  for (std::size_t i = 0; i < 4; ++i) {
    draft.link(NodeId(i), NodeId(4 + i));
    draft.link(NodeId(4 + i), NodeId(i));
  }
  const Problem problem = problem_of(draft.topology(), Collective::allgather, Bytes{32'000'000}, 4);
  Routers routers(problem);
  EXPECT_EQ(ring_orders(problem.topology, problem.jobs[0].ranks, Bytes{1'000'000},
                        routers.of(JobId(0), Bytes{1'000'000}))
                .size(),
            4U);
  // Seven blocks of 4 MB cross over four rails of 1 MB/ms: 7 ms and a little.
  const Time time = valid_time(plan_ring, problem);
  EXPECT_GE(time, 7 * kMillisecond);
  EXPECT_LT(time, 8 * kMillisecond);
}

TEST(Ring, UsesAFullMeshAllOver) {
  // Five GPUs, all joined to all: four rings without common links, so each carries a quarter.
  Draft draft;
  for (int i = 0; i < 5; ++i) draft.gpu("g" + std::to_string(i));
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 5; ++j) {
      if (i != j) draft.link(NodeId(i), NodeId(j));
    }
  }
  const Problem problem = problem_of(draft.topology(), Collective::allgather, Bytes{20'000'000}, 4);
  Routers routers(problem);
  const std::vector<RingOrder> rings =
      ring_orders(problem.topology, problem.jobs[0].ranks, Bytes{1'000'000},
                  routers.of(JobId(0), Bytes{1'000'000}));
  EXPECT_GE(rings.size(), 2U);
  for (const RingOrder& ring : rings) {
    EXPECT_THAT(ring, testing::UnorderedElementsAreArray(problem.topology.gpus()));
  }
}

TEST(Ring, DeclinesWhatLibrariesSendDirectly) {
  for (const Collective collective :
       {Collective::alltoall, Collective::alltoallv, Collective::gather, Collective::scatter,
        Collective::sendrecv, Collective::custom}) {
    const PlannerOutcome outcome = run(plan_ring, problem_of(crossbar(4), collective, Bytes{4096}));
    EXPECT_EQ(outcome.termination.reason, Termination::Reason::unsupported)
        << to_string(collective);
    EXPECT_THAT(outcome.message, testing::HasSubstr(std::string(to_string(collective))));
  }
}

TEST(Direct, IsOptimalOnACrossbar) {
  const Topology box = crossbar(4);
  const Time expected = 3 * kMillisecond + 2 * kMicrosecond;  // a port passes three blocks of 1 MB
  for (const Collective collective :
       {Collective::alltoall, Collective::allgather, Collective::reducescatter}) {
    for (const int chunks : {1, 3}) {
      EXPECT_EQ(valid_time(plan_direct, problem_of(box, collective, Bytes{4'000'000}, chunks)),
                expected)
          << to_string(collective) << " in " << chunks;
    }
  }
  EXPECT_EQ(valid_time(plan_direct, problem_of(box, Collective::allreduce, Bytes{4'000'000})),
            2 * expected);
  EXPECT_EQ(valid_time(plan_direct, problem_of(box, Collective::sendrecv, Bytes{4'000'000})),
            4 * kMillisecond + 2 * kMicrosecond);
}

TEST(Direct, TakesTheNearestOrigin) {
  Draft draft;
  for (int i = 0; i < 3; ++i) draft.gpu("g" + std::to_string(i));
  draft.link(NodeId(0), NodeId(2), 5 * kMicrosecond);
  draft.link(NodeId(1), NodeId(2), kMicrosecond);
  Job job;
  job.name = "job";
  job.collective = Collective::custom;
  job.ranks = {NodeId(0), NodeId(1), NodeId(2)};
  job.custom = {{Bytes{1'000'000}, {NodeId(0), NodeId(1)}, {NodeId(2)}, Time{0}, {}}};
  EXPECT_EQ(valid_time(plan_direct, make_problem(draft.topology(), {job})),
            kMillisecond + kMicrosecond);
}

TEST(Baselines, NameTheDemandThatNoPathServes) {
  Draft draft;
  for (int i = 0; i < 3; ++i) draft.gpu("g" + std::to_string(i));
  draft.link(NodeId(0), NodeId(1));
  draft.link(NodeId(1), NodeId(0));
  draft.link(NodeId(2), NodeId(0));
  const Problem problem = problem_of(draft.topology(), Collective::allgather, Bytes{3000});
  const PlannerOutcome direct = run(plan_direct, problem);
  EXPECT_FALSE(direct.has_plan());
  EXPECT_EQ(direct.message, "chunk 0 of job 'job' cannot reach g2 from g0: no path leads there");
  const PlannerOutcome ring = run(plan_ring, problem);
  EXPECT_FALSE(ring.has_plan());
  EXPECT_EQ(ring.message, "job 'job': no path leads from g0 to g2");
}

TEST(Baselines, DoNotPassThroughGpusOutsideTheJobUnlessTheyMay) {
  // g0 -> g1 -> g2, where g1 is not in the job.
  Draft draft;
  for (int i = 0; i < 3; ++i) draft.gpu("g" + std::to_string(i));
  for (const auto& [from, to] : {std::pair{0, 1}, {1, 0}, {1, 2}, {2, 1}})
    draft.link(NodeId(from), NodeId(to));
  Job job;
  job.name = "job";
  job.ranks = {NodeId(0), NodeId(2)};
  job.size = Bytes{2000};
  for (const PlanFunction plan : {plan_ring, plan_direct}) {
    valid_time(plan, make_problem(draft.topology(), {job}, Relays::all));
    EXPECT_FALSE(run(plan, make_problem(draft.topology(), {job}, Relays::members)).has_plan());
  }
}

/// A strongly connected network of GPUs, switches and relays with a random ring and random links.
Topology random_topology(Rng& rng) {
  Draft draft;
  const std::size_t gpus = 3 + rng.below(5), others = rng.below(3);
  for (std::size_t i = 0; i < gpus; ++i)
    draft.gpu("g" + std::to_string(i), "h" + std::to_string(i / 2));
  for (std::size_t i = 0; i < others; ++i) {
    draft.other("x" + std::to_string(i), rng.below(2) == 0 ? NodeKind::switch_ : NodeKind::relay);
  }
  const std::size_t n = gpus + others;
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = i;
  rng.shuffle(order);
  const auto add = [&](std::size_t from, std::size_t to) {
    draft.link(NodeId(from), NodeId(to), Time{rng.between(0, 5'000'000)},
               Bandwidth{rng.between(1, 50) * 1'000'000'000});
  };
  for (std::size_t i = 0; i < n; ++i) add(order[i], order[(i + 1) % n]);
  for (std::size_t i = 0; i < n + rng.below(n); ++i) {
    const std::size_t from = rng.below(n), to = rng.below(n);
    if (from != to) add(from, to);
  }
  if (rng.below(2) == 0)
    draft.nodes[NodeId(0)].injection = Bandwidth{rng.between(1, 60) * 1'000'000'000};
  return draft.topology();
}

TEST(Baselines, MakeValidPlansForEveryCollectiveOnRandomNetworks) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Rng rng(seed);
    const Topology topology = random_topology(rng);
    for (const CollectiveRow& row : collectives()) {
      const Problem problem =
          problem_of(topology, row.collective, Bytes{rng.between(100, 1'000'000)},
                     static_cast<int>(rng.between(1, 3)));
      for (const PlanFunction plan : {plan_ring, plan_direct}) {
        const PlannerOutcome outcome = run(plan, problem);
        if (plan == plan_ring && outcome.termination.reason == Termination::Reason::unsupported)
          continue;
        ASSERT_TRUE(outcome.has_plan()) << outcome.message << " seed " << seed << " " << row.name;
        const Verdict verdict = verify_sends(problem, outcome.sends);
        ASSERT_TRUE(verdict.valid()) << verdict.message << " seed " << seed << " " << row.name;
      }
    }
  }
}

}  // namespace
}  // namespace stellwerk
