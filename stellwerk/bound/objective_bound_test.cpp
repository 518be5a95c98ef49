#include "stellwerk/bound/objective_bound.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/rng.hpp"
#include "stellwerk/bound/bound.hpp"
#include "stellwerk/check/objective_bound.hpp"
#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

using testing::data;
using testing::kUs;

Job job_over_link(int number, std::int64_t bytes, std::int64_t start, std::int64_t weight) {
  Job job;
  job.name = "job" + std::to_string(number);
  job.collective = Collective::custom;
  job.custom = {data({0}, {1}, Time{0}, Bytes{bytes})};
  job.ranks = testing::nodes({0, 1});
  job.start = Time{start};
  job.weight = weight;
  return job;
}

Certificate into_gpu1(std::vector<int> jobs) {
  Certificate cut;
  cut.kind = Certificate::Kind::cut;
  cut.set = testing::nodes({1});
  for (const int job : jobs) cut.jobs.emplace_back(job);
  return cut;
}

// 1 us and 2 us of work on one link: the short one first is best, and the bound knows it.
TEST(ObjectiveBound, OneLinkTwoJobsByHand) {
  const Problem problem = make_problem(
      testing::line(2).topology(), {job_over_link(0, 2000, 0, 1), job_over_link(1, 1000, 0, 1)});
  const std::vector<Time> alone{Time{2 * kUs}, Time{kUs}};
  const ObjectiveBound weighted = objective_bound(Objective::weighted, problem, alone);
  EXPECT_EQ(weighted.value, 4 * kUs);  // 1 us and 3 us
  EXPECT_EQ(proven_objective(Objective::weighted, weighted.groups, problem, alone), 4 * kUs);
  // One of the two ends at 3 us: slowdown 1.5 if it is the long one.
  const ObjectiveBound slowdown = objective_bound(Objective::slowdown, problem, alone);
  EXPECT_EQ(slowdown.value, 3 * kSlowdownUnit / 2);
  EXPECT_EQ(proven_objective(Objective::slowdown, slowdown.groups, problem, alone), slowdown.value);
}

// Preemptive WSPT: the heavy latecomer goes first from its release on.
TEST(ObjectiveBound, AHeavyLatecomer) {
  const Problem problem =
      make_problem(testing::line(2, 1, Time{7000}).topology(),
                   {job_over_link(0, 3000, 0, 1), job_over_link(1, 1000, kUs, 10)});
  // Job 0: [0, 1) and [2, 4): twice its moment is 1 + 12, mean busy 13/6, and 3/2 more: 11/3 us.
  // Job 1: [1, 2): done at 2 us. And 7 ns of latency each.
  const std::int64_t expected = 11 * kUs / 3 + 7000 + 10 * (2 * kUs + 7000);
  EXPECT_EQ(proven_objective(Objective::weighted, {into_gpu1({0, 1})}, problem, {}), expected);
  EXPECT_GE(objective_bound(Objective::weighted, problem, {}).value, expected);
}

TEST(ObjectiveBound, JobsThatStartLateBoundTheMakespan) {
  const Problem problem =
      make_problem(testing::line(2).topology(),
                   {job_over_link(0, 1000, 0, 1), job_over_link(1, 3000, 5 * kUs, 1)});
  const Bound all = lower_bound(problem);
  const Bound late = with_late_jobs(all, problem);
  EXPECT_EQ(late.value, Time{8 * kUs});
  EXPECT_EQ(late.certificate.jobs, (std::vector<JobId>{JobId(1)}));
}

TEST(ObjectiveBound, BrokenCertificatesProveNothing) {
  const Problem problem = make_problem(
      testing::line(2).topology(), {job_over_link(0, 2000, 0, 1), job_over_link(1, 1000, 0, 1)});
  const auto proven = [&](Objective objective, const std::vector<Certificate>& groups) {
    return proven_objective(objective, groups, problem, {Time{kUs}, Time{kUs}});
  };
  EXPECT_THROW(proven(Objective::weighted, {into_gpu1({})}), Error);
  EXPECT_THROW(proven(Objective::weighted, {into_gpu1({0, 1}), into_gpu1({1})}), Error);
  EXPECT_THROW(proven(Objective::weighted, {into_gpu1({0, 2})}), Error);
  EXPECT_THROW(proven(Objective::slowdown, {into_gpu1({0, 0})}), Error);
  Certificate whole = into_gpu1({0});
  whole.kind = Certificate::Kind::chunk_cut;
  EXPECT_THROW(proven(Objective::slowdown, {whole}), Error);
  // A latency does not make a machine of several jobs.
  Certificate latency;
  latency.kind = Certificate::Kind::latency;
  latency.chunk = ChunkId(0);
  latency.target = NodeId(1);
  latency.jobs = {JobId(0), JobId(1)};
  EXPECT_THROW(proven(Objective::weighted, {latency}), Error);
}

/// The best that whole unit pieces in any order on one link reach: an exhaustive search.
void best_orders(const std::vector<Job>& jobs, const std::vector<Time>& alone,
                 std::vector<std::int64_t>& rest, std::int64_t now, std::vector<Time>& finish,
                 std::array<std::int64_t, 3>& best) {
  if (std::all_of(rest.begin(), rest.end(), [](std::int64_t r) { return r == 0; })) {
    std::size_t k = 0;
    for (const Objective objective :
         {Objective::makespan, Objective::weighted, Objective::slowdown}) {
      best[k] = std::min(best[k], objective_value(objective, jobs, finish, alone));
      ++k;
    }
    return;
  }
  bool any = false;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (rest[j] == 0 || jobs[j].start.ps > now) continue;
    any = true;
    --rest[j];
    const Time before = finish[j];
    finish[j] = Time{now + kUs};
    best_orders(jobs, alone, rest, now + kUs, finish, best);
    finish[j] = before;
    ++rest[j];
  }
  if (!any) best_orders(jobs, alone, rest, now + kUs, finish, best);
}

TEST(ObjectiveBound, NeverAboveTheBestOrderAndSometimesEqual) {
  std::array<int, 3> tight{};
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    Rng rng(seed);
    std::vector<Job> jobs;
    std::vector<Time> alone;
    std::vector<std::int64_t> rest;
    for (int j = 0; j < 3; ++j) {
      const std::int64_t units = rng.between(1, 3);
      jobs.push_back(job_over_link(j, 1000 * units, rng.between(0, 3) * kUs, rng.between(1, 4)));
      alone.push_back(Time{units * kUs});
      rest.push_back(units);
    }
    const Problem problem = make_problem(testing::line(2).topology(), jobs);
    std::array<std::int64_t, 3> best;
    best.fill(INT64_MAX);
    std::vector<Time> finish(jobs.size());
    best_orders(jobs, alone, rest, 0, finish, best);
    std::size_t k = 0;
    for (const Objective objective :
         {Objective::makespan, Objective::weighted, Objective::slowdown}) {
      const ObjectiveBound bound = objective_bound(objective, problem, alone);
      EXPECT_EQ(bound.value, proven_objective(objective, bound.groups, problem, alone))
          << to_string(objective) << " seed " << seed;
      EXPECT_LE(bound.value, best[k]) << to_string(objective) << " seed " << seed;
      tight[k] += bound.value == best[k] ? 1 : 0;
      ++k;
    }
  }
  EXPECT_EQ(tight[0], 25);
  EXPECT_GT(tight[1], 5);
  EXPECT_GT(tight[2], 5);
}

}  // namespace
}  // namespace stellwerk
