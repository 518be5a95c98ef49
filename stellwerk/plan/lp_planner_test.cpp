#include "stellwerk/plan/lp_planner.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "stellwerk/bound/bound.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/plan/path_assignment.hpp"
#include "stellwerk/plan/route_schedule.hpp"
#include "stellwerk/plan/static_flow.hpp"
#include "tests/support/brute_force.hpp"

namespace stellwerk {
namespace {

using Reason = Termination::Reason;

Job job_on(const Topology& topology, Collective collective, std::int64_t size, int chunks = 1) {
  Job job;
  job.name = "job";
  job.collective = collective;
  job.ranks = topology.gpus();
  job.size = Bytes{size};
  job.chunks = chunks;
  return job;
}

Problem problem_on(std::string_view name, Collective collective, std::int64_t size,
                   int chunks = 1) {
  Topology topology = catalogue_topology(name);
  const Job job = job_on(topology, collective, size, chunks);
  return make_problem(std::move(topology), {job});
}

/// n GPUs, links given as pairs, 1 GB/s, no latency: a chunk of 1000 bytes lasts 1 us.
Topology network(int gpus, const std::vector<std::pair<int, int>>& pairs, Time latency = {}) {
  IdVector<NodeId, Node> nodes;
  for (int i = 0; i < gpus; ++i) {
    Node node;
    node.name = "g" + std::to_string(i);
    nodes.push_back(node);
  }
  IdVector<LinkId, Link> links;
  for (const auto& [from, to] : pairs) {
    links.push_back({NodeId(from), NodeId(to), latency, Bandwidth{1'000'000'000}, ""});
  }
  return Topology("network", "", nodes, links);
}

std::vector<std::pair<int, int>> ring(int n, bool both_ways) {
  std::vector<std::pair<int, int>> pairs;
  for (int i = 0; i < n; ++i) {
    pairs.emplace_back(i, (i + 1) % n);
    if (both_ways) pairs.emplace_back((i + 1) % n, i);
  }
  return pairs;
}

PlanOptions unit_epochs() {
  PlanOptions options;
  options.epoch = {EpochChoice::Kind::explicit_time, 1, Time{1'000'000}};
  return options;
}

struct Planned {
  PlannerOutcome outcome;
  Verdict verdict;
};

Planned plan(const Problem& problem, const PlanOptions& options = {},
             const StopCondition& stop = {}) {
  PlannerContext context;
  context.stop = stop;
  Planned result;
  result.outcome = plan_lp(problem, options, context);
  result.verdict = verify_sends(problem, result.outcome.sends);
  EXPECT_TRUE(result.verdict.valid()) << result.verdict.message;
  EXPECT_TRUE(result.outcome.has_plan()) << result.outcome.message;
  EXPECT_GE(result.verdict.transfer_time, lower_bound(problem).value);
  if (result.outcome.epoch) {
    EXPECT_LE(result.outcome.epoch->proven_epochs, result.outcome.epoch->epochs);
  }
  return result;
}

void expect_epochs(const Topology& topology, Collective collective, std::int64_t size,
                   std::int64_t epochs, bool met_by_plan) {
  const Problem problem = make_problem(topology, {job_on(topology, collective, size)});
  const Planned planned = plan(problem, unit_epochs());
  ASSERT_TRUE(planned.outcome.epoch);
  EXPECT_EQ(planned.outcome.epoch->epochs, epochs);
  EXPECT_EQ(planned.outcome.epoch->proven_epochs, epochs);
  if (met_by_plan) {
    EXPECT_EQ(planned.verdict.transfer_time, epochs * Time{1'000'000});
  }
}

TEST(LpPlanner, LeastEpochsOnRingsAndMeshes) {
  // One-way ring: every link carries 1 + 2 + .. + (n - 1) chunks, and is never idle.
  expect_epochs(network(2, ring(2, false)), Collective::alltoall, 2000, 1, true);
  expect_epochs(network(3, ring(3, false)), Collective::alltoall, 3000, 3, true);
  expect_epochs(network(4, ring(4, false)), Collective::alltoall, 4000, 6, true);
  expect_epochs(network(5, ring(5, false)), Collective::alltoall, 5000, 10, true);
  // Two-way ring of five: distances 1, 1, 2, 2, hence 5 * 6 / 10 chunks a link.
  expect_epochs(network(5, ring(5, true)), Collective::alltoall, 5000, 3, true);
  // Full mesh: one chunk a link.
  std::vector<std::pair<int, int>> mesh;
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 5; ++j) {
      if (i != j) mesh.emplace_back(i, j);
    }
  }
  expect_epochs(network(5, mesh), Collective::alltoall, 5000, 1, true);
}

TEST(LpPlanner, LeastEpochsOfRootedCollectives) {
  // A line: the farthest chunk leaves first, and the root's link is the bottleneck.
  const Topology line = network(4, {{0, 1}, {1, 2}, {2, 3}});
  expect_epochs(line, Collective::scatter, 4000, 3, true);
  const Topology back = network(4, {{1, 0}, {2, 1}, {3, 2}});
  expect_epochs(back, Collective::gather, 4000, 3, true);
  // Latency of two epochs a link: the last byte needs 2 * 2 more than the two chunks of the first
  // link.
  const Topology slow = network(3, {{0, 1}, {1, 2}}, Time{2'000'000});
  expect_epochs(slow, Collective::scatter, 3000, 6, true);
}

TEST(LpPlanner, NeverLongerThanTheExhaustiveOptimum) {
  Rng rng(11);
  int compared = 0;
  for (int round = 0; round < 300; ++round) {
    testing::RandomInstanceOptions random;
    random.most_window = 1;
    testing::EpochInstance instance = testing::random_instance(rng, random);
    for (auto& chunk : instance.chunks) chunk.destinations.resize(1);
    // The grid gives links between switches at least one epoch, the oracle does not.
    for (auto& link : instance.links) {
      if (!instance.stores(link.from) && !instance.stores(link.to))
        link.latency = std::max(link.latency, 1);
    }
    const auto optimum = testing::brute_force(instance, 12);
    if (!optimum) continue;
    const Problem problem = testing::to_problem(instance, Bytes{1000}, Time{1'000'000});
    const Planned planned = plan(problem, unit_epochs());
    ASSERT_TRUE(planned.outcome.epoch) << round;
    EXPECT_LE(planned.outcome.epoch->epochs, optimum->horizon) << round;
    EXPECT_EQ(planned.outcome.epoch->proven_epochs, planned.outcome.epoch->epochs) << round;
    ++compared;
  }
  EXPECT_GT(compared, 100);
}

TEST(LpPlanner, MeetsTheBoundOnTheReferenceTopologies) {
  struct Case {
    std::string_view name;
    std::int64_t size;
    std::int64_t bound_ps;
  };
  for (const Case& c :
       {Case{"ndv2:2", 1'000'000, 321'300'000}, Case{"ndv2:2", 1'000'000'000, 320'001'300'000},
        Case{"dgx2:2", 1'000'000, 82'600'000}, Case{"dgx2:2", 1'000'000'000, 80'002'600'000}}) {
    const Problem problem = problem_on(c.name, Collective::alltoall, c.size);
    const Planned planned = plan(problem);
    EXPECT_GE(planned.verdict.transfer_time.ps, c.bound_ps) << c.name << " " << c.size;
    EXPECT_LE(planned.verdict.transfer_time.ps, c.bound_ps + c.bound_ps / 100)
        << c.name << " " << c.size;
    ASSERT_TRUE(planned.outcome.epoch);
    EXPECT_EQ(planned.outcome.epoch->epochs, planned.outcome.epoch->proven_epochs);
  }
}

TEST(LpPlanner, PlansEveryUnicastCollective) {
  for (const Collective collective :
       {Collective::alltoall, Collective::scatter, Collective::gather, Collective::sendrecv}) {
    for (const int chunks : {1, 3}) plan(problem_on("dgx1", collective, 1'000'003, chunks));
  }
  Topology topology = catalogue_topology("dgx1");
  Job job = job_on(topology, Collective::alltoallv, 0);
  Rng rng(3);
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    job.matrix.emplace_back();
    for (std::size_t j = 0; j < job.ranks.size(); ++j) {
      job.matrix.back().push_back(
          Bytes{i == j || rng.below(3) == 0 ? 0 : rng.between(1, 3'000'000)});
    }
  }
  plan(make_problem(std::move(topology), {job}));
}

TEST(LpPlanner, SeveralJobsWithStartsAndMembersOnly) {
  Topology topology = catalogue_topology("ndv2:2");
  const auto gpus = topology.gpus();
  Job first = job_on(topology, Collective::alltoall, 400'000);
  first.ranks = {gpus[0], gpus[1], gpus[2], gpus[3]};
  first.start = Time{3'000'000};
  Job second = job_on(topology, Collective::gather, 1'000'000, 2);
  second.name = "second";
  second.ranks = {gpus[0], gpus[1], gpus[5], gpus[8], gpus[9], gpus[12]};
  second.root = 3;
  for (const Relays relays : {Relays::all, Relays::members}) {
    const Planned planned = plan(make_problem(topology, {first, second}, relays));
    EXPECT_GE(planned.verdict.job_finish[0], first.start);
  }
}

TEST(LpPlanner, CustomChunksWithSeveralOriginsUseBoth) {
  // Two origins, one link each to the target: four chunks take two epochs, not four.
  const Topology topology = network(3, {{0, 2}, {1, 2}, {0, 1}});
  Job job = job_on(topology, Collective::custom, 0);
  for (int i = 0; i < 4; ++i) {
    CustomChunk chunk;
    chunk.bytes = Bytes{1000};
    chunk.origins = {NodeId(0), NodeId(1)};
    chunk.destinations = {NodeId(2), NodeId(1)};  // held there already
    job.custom.push_back(chunk);
  }
  const Planned planned = plan(make_problem(topology, {job}), unit_epochs());
  EXPECT_EQ(planned.outcome.epoch->epochs, 2);
  EXPECT_EQ(planned.verdict.transfer_time, Time{2'000'000});
}

TEST(LpPlanner, NothingToDo) {
  const Topology topology = network(2, ring(2, false));
  Job job = job_on(topology, Collective::custom, 0);
  CustomChunk chunk;
  chunk.bytes = Bytes{1000};
  chunk.origins = {NodeId(0)};
  chunk.destinations = {NodeId(0)};
  job.custom.push_back(chunk);
  const Planned planned = plan(make_problem(topology, {job}));
  EXPECT_EQ(planned.outcome.termination.reason, Reason::optimal);
  EXPECT_TRUE(planned.outcome.sends.empty());
}

TEST(LpPlanner, DeclinesCopiesAndReductions) {
  for (const Collective collective :
       {Collective::allgather, Collective::broadcast, Collective::allreduce,
        Collective::reducescatter, Collective::reduce}) {
    const Problem problem = problem_on("dgx1", collective, 1'000'000);
    PlannerContext context;
    const PlannerOutcome outcome = plan_lp(problem, {}, context);
    EXPECT_EQ(outcome.termination.reason, Reason::unsupported) << to_string(collective);
    EXPECT_FALSE(outcome.message.empty());
    EXPECT_TRUE(outcome.sends.empty());
  }
}

TEST(LpPlanner, WithoutCopiesItPlansAllGather) {
  PlanOptions options;
  options.copy = false;
  options.epoch.kind = EpochChoice::Kind::slowest;
  plan(problem_on("dgx1", Collective::allgather, 1'000'000), options);
}

TEST(LpPlanner, NamesWhatCannotBeReached) {
  const Topology topology = network(3, {{0, 1}, {1, 0}, {2, 0}});
  const Problem problem = make_problem(topology, {job_on(topology, Collective::alltoall, 3000)});
  PlannerContext context;
  const PlannerOutcome outcome = plan_lp(problem, {}, context);
  EXPECT_EQ(outcome.termination.reason, Reason::infeasible);
  EXPECT_NE(outcome.message.find("g2"), std::string::npos) << outcome.message;
}

TEST(LpPlanner, PlansWithoutAnyTime) {
  const Planned planned =
      plan(problem_on("ndv2:2", Collective::alltoall, 1'000'000), {}, StopCondition(0));
  EXPECT_EQ(planned.outcome.termination.limit, Limit::time);
  EXPECT_FALSE(planned.outcome.epoch);
}

TEST(LpPlanner, WithoutStoreNothingWaitsOnTheWay) {
  // 0 and 1 both send to 3 through 2. Without store 2 cannot keep what 0 sends while 1's chunk
  // passes; the link 2 -> 3 decides in both cases. With a second hop of half the speed the
  // difference shows.
  const Topology merge = network(4, {{0, 2}, {1, 2}, {2, 3}});
  Job job = job_on(merge, Collective::gather, 3000);
  job.ranks = {NodeId(3), NodeId(0), NodeId(1)};
  const Problem problem = make_problem(merge, {job});
  PlanOptions options = unit_epochs();
  EXPECT_EQ(plan(problem, options).outcome.epoch->epochs, 3);
  options.store = false;
  EXPECT_EQ(plan(problem, options).outcome.epoch->epochs, 3);
  // Both chunks of 0 must go at once or not at all: the first link is twice as fast as the second.
  IdVector<LinkId, Link> links = {{NodeId(0), NodeId(1), Time{}, Bandwidth{2'000'000'000}, ""},
                                  {NodeId(1), NodeId(2), Time{}, Bandwidth{1'000'000'000}, ""},
                                  {NodeId(0), NodeId(2), Time{}, Bandwidth{1'000'000'000}, ""}};
  const Topology fast_slow("fast-slow", "", network(3, {}).nodes(), links);
  Job two = job_on(fast_slow, Collective::custom, 0);
  for (int i = 0; i < 3; ++i) {
    CustomChunk chunk;
    chunk.bytes = Bytes{1000};
    chunk.origins = {NodeId(0)};
    chunk.destinations = {NodeId(2)};
    chunk.ready = Time{i == 0 ? 0 : 1'000'000};
    two.custom.push_back(chunk);
  }
  options.store = true;
  const std::int64_t with_store =
      plan(make_problem(fast_slow, {two}), options).outcome.epoch->epochs;
  options.store = false;
  const std::int64_t without = plan(make_problem(fast_slow, {two}), options).outcome.epoch->epochs;
  EXPECT_LE(with_store, without);
  EXPECT_EQ(with_store, 3);
}

TEST(LpPlanner, KeepsNodeCapsAndBuffers) {
  Topology base = catalogue_topology("ndv2:2");
  IdVector<NodeId, Node> nodes = base.nodes();
  for (Node& node : nodes) {
    node.injection = Bandwidth{20'000'000'000};
    node.ejection = Bandwidth{30'000'000'000};
    node.buffer = Bytes{130'000};  // two chunks
  }
  Topology topology("limited", "", nodes, base.links());
  const Job job = job_on(topology, Collective::alltoall, 1'000'000);
  PlanOptions options;
  options.epoch = {EpochChoice::Kind::explicit_time, 1, Time{20'000'000}};
  const Planned planned = plan(make_problem(std::move(topology), {job}), options);
  // 15 chunks of 62,500 bytes at 20 GB/s are fewer than the 64 over the link between the chassis.
  EXPECT_LE(planned.verdict.transfer_time, 2 * Time{321'300'000});
}

TEST(LpPlanner, IsDeterministic) {
  const Problem problem = problem_on("dgx1", Collective::alltoall, 1'000'000, 2);
  EXPECT_EQ(plan(problem).outcome.sends, plan(problem).outcome.sends);
}

TEST(LpPlanner, WritesTheModel) {
  const std::string path =
      (std::filesystem::temp_directory_path() / "stellwerk-lp-planner-test.mps").string();
  PlanOptions options;
  options.write_model = path;
  plan(problem_on("dgx1", Collective::scatter, 1'000'000), options);
  const lp::Model model = lp::read_model(path);
  EXPECT_GT(model.variables(), 0u);
  EXPECT_EQ(lp::solve(model).status, lp::Status::optimal);
  std::filesystem::remove(path);
}

TEST(StaticFlow, MatchesBoundsWithLatency) {
  struct Case {
    std::string_view name;
    double microseconds;
  };
  for (const Case& c : {Case{"ndv2:2", 321.3}, Case{"dgx2:2", 82.6}, Case{"ndv2:4", 482.6}}) {
    const Problem problem = problem_on(c.name, Collective::alltoall, 1'000'000);
    const auto commodities = make_commodities(problem, *unicasts(problem));
    EXPECT_EQ(commodities.size(), problem.topology.gpus().size());
    const auto flow = static_flow(problem, commodities, continuous_clock(problem.topology), {}, 1);
    ASSERT_TRUE(flow);
    EXPECT_NEAR(flow->ticks * 1e-6, c.microseconds, 1e-4) << c.name;
  }
}

TEST(Commodities, PerSourceOrPerTargetWhicheverIsFewer) {
  const auto count = [](Collective collective) {
    const Problem problem = problem_on("ndv2:2", collective, 1'000'000);
    return make_commodities(problem, *unicasts(problem)).size();
  };
  EXPECT_EQ(count(Collective::scatter), 1u);
  EXPECT_EQ(count(Collective::gather), 1u);
  EXPECT_EQ(count(Collective::alltoall), 16u);
}

TEST(PathAssignment, RoundedLoadsStayNearTheFlow) {
  const Problem problem = problem_on("dgx2:2", Collective::alltoall, 1'000'000);
  const auto demand = *unicasts(problem);
  const auto commodities = make_commodities(problem, demand);
  const auto flow = static_flow(problem, commodities, continuous_clock(problem.topology), {}, 1);
  ASSERT_TRUE(flow);
  std::vector<std::vector<FlowPath>> paths;
  for (std::size_t c = 0; c < commodities.size(); ++c) {
    paths.push_back(flow_paths(problem.topology, commodities[c], flow->flows[c]));
    double bytes = 0;
    for (const FlowPath& path : paths.back()) bytes += path.bytes;
    EXPECT_NEAR(bytes, static_cast<double>(commodities[c].bytes.value), 1.0);
  }
  // 256 chunks over 8 links of 2.5 us a chunk.
  EXPECT_EQ(fullest(problem, demand, assign_paths(problem, demand, commodities, paths, {})),
            Time{80'000'000});
  // Without a flow to start from the local search is on its own.
  const std::vector<std::vector<FlowPath>> none(commodities.size());
  EXPECT_LE(fullest(problem, demand, assign_paths(problem, demand, commodities, none, {})),
            Time{85'000'000});
}

TEST(RouteSchedule, PrefersPriorityAtEveryInstant) {
  const Topology topology = network(3, {{0, 1}, {1, 2}});
  const Problem problem = make_problem(topology, {job_on(topology, Collective::scatter, 3000)});
  std::vector<Leg> legs;
  const auto& chunks = problem.chunks;
  for (const ChunkId id : problem.chunk_ids()) {
    std::vector<LinkId> links{LinkId(0)};
    if (chunks[id].destinations.front() == NodeId(2)) links.push_back(LinkId(1));
    append_legs(topology, id, links, {}, legs);
  }
  ASSERT_EQ(legs.size(), 3u);
  std::vector<std::int64_t> far_first, near_first;
  const std::vector<Time> tail = tails(problem, legs);
  for (const Time t : tail) {
    far_first.push_back(t.ps);
    near_first.push_back(-t.ps);
  }
  EXPECT_EQ(schedule_routes(problem, legs, far_first).finish, Time{2'000'000});
  EXPECT_EQ(schedule_routes(problem, legs, near_first).finish, Time{3'000'000});
}

}  // namespace
}  // namespace stellwerk
