#include "stellwerk/plan/overlay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/check/simulate.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/core/metrics.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/plan/alone_plans.hpp"
#include "stellwerk/plan/finish_times.hpp"
#include "stellwerk/plan/keyed_schedule.hpp"
#include "stellwerk/plan/recursive_doubling.hpp"
#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

using testing::data;
using testing::kUs;
using TaskId = SendGraph::TaskId;

Job custom_job(const std::string& name, std::vector<CustomChunk> chunks, Time start = Time{0}) {
  Job job;
  job.name = name;
  job.collective = Collective::custom;
  job.custom = std::move(chunks);
  job.start = start;
  job.ranks = testing::nodes({0, 1});
  return job;
}

/// Two jobs of one chunk (1 us) each over the same link; the second is released half a us later.
Problem two_on_a_link() {
  return make_problem(testing::line(2).topology(),
                      {custom_job("first", {data({0}, {1})}),
                       custom_job("second", {data({0}, {1})}, Time{kUs / 2})});
}

std::vector<Schedule> straight(const Problem& problem) {
  std::vector<Schedule> result;
  for (const ChunkId id : problem.chunk_ids()) {
    result.push_back({whole_chunk_send(problem.topology, problem.chunks[id], id, Op::copy, Time{0},
                                       {LinkId(0)})});
  }
  return result;
}

void expect_valid(const Problem& problem, const SendGraph& graph, const GraphSchedule& schedule,
                  const std::string& what) {
  ASSERT_TRUE(schedule.complete) << what;
  const Schedule sends = sends_of(graph, schedule);
  const Verdict verdict = verify_sends(problem, sends);
  ASSERT_TRUE(verdict.valid()) << what << ": " << verdict.message;
  EXPECT_EQ(verdict.job_finish, schedule.job_finish) << what;
  EXPECT_EQ(verdict.job_finish, finish_times(problem, sends)) << what;
}

TEST(Overlay, FirstComeFirstServed) {
  const Problem problem = two_on_a_link();
  const SendGraph graph(problem, straight(problem));
  const GraphSchedule schedule = overlay_fifo(graph);
  expect_valid(problem, graph, schedule, "fifo");
  EXPECT_EQ(schedule.job_finish, (std::vector<Time>{Time{kUs}, Time{2 * kUs}}));
}

TEST(Overlay, FairSharingInPieces) {
  const Problem problem = two_on_a_link();
  const SendGraph graph(problem, straight(problem));
  const GraphSchedule schedule = overlay_fair(graph);
  expect_valid(problem, graph, schedule, "fair");
  // 500 bytes alone, then both at half the rate; the second ends alone.
  EXPECT_EQ(schedule.job_finish, (std::vector<Time>{Time{3 * kUs / 2}, Time{2 * kUs}}));
  std::vector<std::int64_t> bytes;
  for (const TaskPiece& piece : schedule.pieces) bytes.push_back(piece.bytes.value);
  EXPECT_EQ(bytes, (std::vector<std::int64_t>{500, 500, 500, 500}));
}

TEST(Overlay, TheUrgentInterrupts) {
  const Problem problem = two_on_a_link();
  const SendGraph graph(problem, straight(problem));
  const GraphSchedule schedule = keyed_schedule(graph, {{1, 0}, true, false});
  expect_valid(problem, graph, schedule, "interrupted");
  EXPECT_EQ(schedule.job_finish, (std::vector<Time>{Time{2 * kUs}, Time{3 * kUs / 2}}));
  EXPECT_EQ(schedule.pieces.size(), 3U);
  // Without interruption the first has the link until it is done.
  const GraphSchedule whole = keyed_schedule(graph, {{1, 0}, false, false});
  EXPECT_EQ(whole.job_finish, (std::vector<Time>{Time{kUs}, Time{2 * kUs}}));
}

// Byte ranges and rates in the figures: what was sent is what was asked for.
TEST(Overlay, PiecesAreMeasuredAsSends) {
  const Problem problem = two_on_a_link();
  const SendGraph graph(problem, straight(problem));
  const Schedule sends = sends_of(graph, overlay_fair(graph));
  const Usage usage = measure_usage(problem, sends, Time{2 * kUs});
  EXPECT_EQ(usage.sent, Bytes{2000});
  EXPECT_EQ(usage.needed, Bytes{2000});
  const Simulation replayed = simulate(problem, sends);
  EXPECT_EQ(replayed.job_finish, (std::vector<Time>{Time{3 * kUs / 2}, Time{2 * kUs}}));
}

std::vector<Job> random_jobs(const Topology& topology, int count, Rng& rng) {
  std::vector<Job> jobs;
  constexpr std::array kCollectives = {Collective::allgather, Collective::alltoall,
                                       Collective::allreduce, Collective::reducescatter};
  for (int j = 0; j < count; ++j) {
    Job job;
    job.name = "job" + std::to_string(j);
    job.collective = kCollectives[rng.below(kCollectives.size())];
    job.ranks = topology.gpus();
    rng.shuffle(job.ranks);
    job.ranks.resize(std::min<std::size_t>(job.ranks.size(), 3 + rng.below(4)));
    job.size = Bytes{rng.between(100'000, 4'000'000)};
    job.chunks = 1 + static_cast<int>(rng.below(2));
    job.start = Time{rng.between(0, 50'000'000)};
    job.weight = rng.between(1, 4);
    jobs.push_back(std::move(job));
  }
  return jobs;
}

std::vector<Schedule> alone_schedules(const Problem& problem) {
  PlannerContext context;
  AlonePlans alone = plan_alone(problem, {}, context);
  std::vector<Schedule> result;
  for (AlonePlan& plan : alone.best) result.push_back(std::move(plan.sends));
  return result;
}

/// Max-min fair sharing as the book says it: fluid, all rates anew at every event.
std::vector<double> naive_fair(const SendGraph& graph) {
  const auto n = static_cast<TaskId>(graph.size());
  std::vector<double> rest, rate(graph.size());
  std::vector<int> blocked;
  std::vector<double> finish(graph.problem().jobs.size());
  std::multimap<double, TaskId> unblock;
  std::set<TaskId> active;
  for (TaskId i = 0; i < n; ++i) {
    rest.push_back(static_cast<double>(graph.task(i).bytes.value));
    blocked.push_back(graph.waits(i) + graph.links_behind(i) + 1);
    unblock.emplace(static_cast<double>(graph.ready(i).ps), i);
  }
  double now = 0;
  while (!active.empty() || !unblock.empty()) {
    double next = unblock.empty() ? 1e300 : unblock.begin()->first;
    for (const TaskId i : active) {
      next = std::min(
          next, now + rest[static_cast<std::size_t>(i)] / rate[static_cast<std::size_t>(i)] * 1e12);
    }
    for (const TaskId i : active) {
      rest[static_cast<std::size_t>(i)] -= rate[static_cast<std::size_t>(i)] * (next - now) * 1e-12;
    }
    now = next;
    for (auto it = active.begin(); it != active.end();) {
      const TaskId i = *it;
      if (rest[static_cast<std::size_t>(i)] > 1e-3) {
        ++it;
        continue;
      }
      it = active.erase(it);
      const auto job = graph.task(i).job.index();
      finish[job] = std::max(finish[job], now + static_cast<double>(graph.task(i).last_arrival.ps));
      for (const auto& successor : graph.after_arrival(i)) {
        unblock.emplace(now + static_cast<double>(successor.lag.ps), successor.task);
      }
      for (const TaskId behind : graph.next_on_link(i)) {
        if (behind >= 0) unblock.emplace(now, behind);
      }
    }
    while (!unblock.empty() && unblock.begin()->first <= now + 0.5) {
      const TaskId i = unblock.begin()->second;
      unblock.erase(unblock.begin());
      if (--blocked[static_cast<std::size_t>(i)] == 0) active.insert(i);
    }
    std::map<LinkId, double> capacity;
    std::map<LinkId, int> count;
    std::set<TaskId> open = active;
    for (const TaskId i : active) {
      for (const auto& use : graph.uses(i)) {
        capacity[use.link] =
            static_cast<double>(graph.problem().topology.link(use.link).bandwidth.bytes_per_second);
        ++count[use.link];
      }
    }
    while (!open.empty()) {
      LinkId tightest;
      double least = 1e300;
      for (const auto& [link, sends] : count) {
        if (sends > 0 && capacity[link] / sends < least) {
          least = capacity[link] / sends;
          tightest = link;
        }
      }
      for (auto it = open.begin(); it != open.end();) {
        const auto uses = graph.uses(*it);
        if (std::none_of(uses.begin(), uses.end(),
                         [&](const auto& use) { return use.link == tightest; })) {
          ++it;
          continue;
        }
        rate[static_cast<std::size_t>(*it)] = least;
        for (const auto& use : uses) {
          capacity[use.link] -= least;
          --count[use.link];
        }
        it = open.erase(it);
      }
    }
  }
  return finish;
}

TEST(Overlay, FairSharingIsThatOfTheBook) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Rng rng(seed);
    // One offset a link, so that nothing has to wait for bytes on their way.
    const std::string name = seed % 2 == 0 ? "torus:3x3" : "rail:3x3";
    const Topology topology = catalogue_topology(name);
    const Problem problem = make_problem(topology, random_jobs(topology, 4, rng));
    const SendGraph graph(problem, alone_schedules(problem));
    const GraphSchedule exact = overlay_fair(graph);
    expect_valid(problem, graph, exact, name);
    const std::vector<double> fluid = naive_fair(graph);
    for (std::size_t j = 0; j < fluid.size(); ++j) {
      const auto finish = static_cast<double>(exact.job_finish[j].ps);
      EXPECT_NEAR(finish / fluid[j], 1, 1e-4) << name << " seed " << seed << " job " << j;
    }
  }
}

// Ways of different lengths through the switches: bytes of different sends enter a link at different
// times after their starts.
TEST(Overlay, EveryScheduleOfRandomJobsIsAPlan) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng(seed);
    constexpr std::array kNames = {"leaf-spine:4x2,per-leaf=2", "dragonfly:2x1x2", "ndv2:2",
                                   "torus:3x3", "rail:4x4"};
    const std::string name = kNames[seed % kNames.size()];
    const Topology topology = catalogue_topology(name);
    const Problem problem = make_problem(topology, random_jobs(topology, 4, rng));
    const SendGraph graph(problem, alone_schedules(problem));
    expect_valid(problem, graph, overlay_fifo(graph), name + " fifo");
    expect_valid(problem, graph, overlay_fair(graph), name + " fair");
    std::vector<std::int64_t> keys;
    for (std::size_t i = 0; i < graph.size(); ++i) keys.push_back(rng.between(0, 1000));
    expect_valid(problem, graph, keyed_schedule(graph, {ranks_of(keys), true, false}),
                 name + " interrupting");
    expect_valid(problem, graph, keyed_schedule(graph, {ranks_of(keys), false, false}),
                 name + " whole");
  }
}

// Partners that share their sums send at the same instant, whatever else is on the links.
TEST(Overlay, SharedSumsStayApart) {
  const Topology topology = catalogue_topology("hypercube:3");
  std::vector<Job> jobs;
  for (int j = 0; j < 3; ++j) {
    Job job = testing::collective_job(topology, Collective::allreduce);
    job.name = "job" + std::to_string(j);
    job.start = Time{j * kUs};
    jobs.push_back(job);
  }
  const Problem problem = make_problem(topology, jobs);
  std::vector<Schedule> alone;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    Job job = jobs[j];
    job.start = Time{};
    PlannerContext context;
    PlannerOutcome outcome = plan_recursive_doubling(make_problem(topology, {job}), {}, context);
    ASSERT_TRUE(outcome.has_plan());
    std::size_t shares = 0;
    for (Send& send : outcome.sends) {
      shares += send.op == Op::share ? 1 : 0;
      send.chunk = ChunkId(send.chunk.index() + j * problem.chunks.size() / jobs.size());
    }
    ASSERT_GT(shares, 0U);
    alone.push_back(outcome.sends);
  }
  const SendGraph graph(problem, alone);
  EXPECT_LT(graph.size(), alone[0].size() + alone[1].size() + alone[2].size());
  expect_valid(problem, graph, overlay_fifo(graph), "fifo");
  expect_valid(problem, graph, overlay_fair(graph), "fair");
  std::vector<std::int32_t> rank(graph.size());
  for (std::size_t i = 0; i < rank.size(); ++i) {
    rank[i] = static_cast<std::int32_t>(rank.size() - 1 - i);
  }
  expect_valid(problem, graph, keyed_schedule(graph, {rank, true, false}), "interrupting");
}

// Hundreds of equal groups are planned once, and every one's plan is a plan.
TEST(AlonePlans, EqualJobsArePlannedOnce) {
  const Topology topology = catalogue_topology("rail:4x4");
  std::vector<Job> jobs;
  for (int b = 0; b < 4; ++b) {
    Job job;
    job.name = "tp" + std::to_string(b);
    job.collective = Collective::allreduce;
    for (int k = 0; k < 4; ++k)
      job.ranks.push_back(topology.gpus()[static_cast<std::size_t>(b * 4 + k)]);
    job.size = Bytes{1'000'000};
    jobs.push_back(job);
  }
  for (int k = 0; k < 4; ++k) {
    Job job;
    job.name = "dp" + std::to_string(k);
    job.collective = Collective::allgather;
    for (int b = 0; b < 4; ++b)
      job.ranks.push_back(topology.gpus()[static_cast<std::size_t>(b * 4 + k)]);
    job.size = Bytes{1'000'000};
    job.start = Time{kUs};
    jobs.push_back(job);
  }
  const Problem problem = make_problem(topology, jobs, Relays::members);
  PlannerContext context;
  const AlonePlans alone = plan_alone(problem, {}, context);
  EXPECT_EQ(alone.classes, 2U);
  EXPECT_FALSE(alone.relays_help);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    Job job = jobs[j];
    job.start = Time{};
    const Problem own = make_problem(topology, {job}, Relays::members);
    Schedule sends = alone.best[j].sends;
    const std::size_t first = j * own.chunks.size();
    for (Send& send : sends) send.chunk = ChunkId(send.chunk.index() - first);
    const Verdict verdict = verify_sends(own, sends);
    ASSERT_TRUE(verdict.valid()) << verdict.message;
    EXPECT_GE(verdict.transfer_time, alone.best[j].length);
  }
}

}  // namespace
}  // namespace stellwerk
