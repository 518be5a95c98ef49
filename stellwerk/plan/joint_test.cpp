#include "stellwerk/plan/joint.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "stellwerk/base/error.hpp"
#include "stellwerk/bench/job_suite.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/io/plan_file.hpp"
#include "stellwerk/plan/job_portfolio.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/sanitized.hpp"

namespace stellwerk {
namespace {

using testing::kUs;

std::optional<std::string> verified(const Plan& plan) {
  const Verdict verdict = verify(plan);
  return verdict.valid() ? std::nullopt : std::optional(verdict.message);
}

/// A long job, and a short one that comes when the long one has begun, over the same ring.
PortfolioRequest long_and_short(Objective objective) {
  PortfolioRequest request;
  request.topology = testing::ring(4).topology();
  Job job = testing::collective_job(request.topology, Collective::allgather, 16);
  job.name = "long";
  request.jobs.push_back(job);
  job = testing::collective_job(request.topology, Collective::allgather);
  job.name = "short";
  job.start = Time{3 * kUs};
  job.weight = 3;
  request.jobs.push_back(job);
  request.options.objective = objective;
  return request;
}

TEST(Joint, TheShortJobDoesNotWait) {
  const Plan plan =
      make_plan(long_and_short(Objective::slowdown), StopCondition(), nullptr, verified);
  ASSERT_TRUE(plan.result.objective);
  EXPECT_EQ(plan.result.planner, "joint");
  const Plan fifo = make_overlay(long_and_short(Objective::slowdown), Overlay::fifo,
                                 StopCondition(), nullptr, verified);
  EXPECT_EQ(plan.result.job_alone, fifo.result.job_alone);
  EXPECT_LT(plan.result.job_finish[1], fifo.result.job_finish[1]);
  // Interrupting the long job costs it what the short one takes.
  EXPECT_LE(plan.result.objective->value, 12 * kSlowdownUnit / 10);
  ASSERT_TRUE(plan.result.objective->bound);
  EXPECT_LE(plan.result.objective->bound->value, plan.result.objective->value);
}

TEST(Joint, PlansForObjectivesSurviveTheirFiles) {
  const Plan plan =
      make_plan(long_and_short(Objective::weighted), StopCondition(), nullptr, verified);
  const Plan read = parse_plan(format_plan(plan), "p");
  EXPECT_TRUE(verify(read).valid()) << verify(read).message;
  EXPECT_EQ(read.result.objective, plan.result.objective);
  EXPECT_EQ(read.result.job_alone, plan.result.job_alone);
  Plan damaged = read;
  damaged.result.objective->value -= 1;
  EXPECT_EQ(verify(damaged).violation, Violation::wrong_metric);
  damaged = read;
  damaged.result.objective->bound->value += 1;
  EXPECT_EQ(verify(damaged).violation, Violation::wrong_bound);
  damaged = read;
  damaged.result.job_alone.pop_back();
  EXPECT_EQ(verify(damaged).violation, Violation::wrong_metric);
}

TEST(Joint, SameSeedSameBytes) {
  const auto text = [] {
    Plan plan = make_plan(long_and_short(Objective::weighted), StopCondition(), nullptr, verified);
    plan.result.solver_time_s = plan.result.core_seconds = 0;
    plan.result.peak_rss_bytes = 0;
    return format_plan(plan);
  };
  EXPECT_EQ(text(), text());
}

// Several jobs, makespan: the portfolio and the joint planner; the better one counts.
TEST(Joint, TheMakespanIsNeverAboveTheOverlays) {
  PortfolioRequest request = long_and_short(Objective::makespan);
  const Plan plan = make_plan(request, StopCondition(2), nullptr, verified);
  for (const Overlay mode : {Overlay::fifo, Overlay::fair}) {
    const Plan overlay = make_overlay(request, mode, StopCondition(), nullptr, verified);
    EXPECT_LE(plan.result.transfer_time, overlay.result.transfer_time);
  }
  EXPECT_EQ(plan.result.job_alone.size(), 2U);
}

TEST(Joint, RandomProblemsNeverLoseToTheOverlays) {
  for (std::uint64_t number = 1; number <= testing::rounds(3U, 1U); number += 2) {
    const JobProblemResult result =
        measure_jobs({"small", "ndv2:2", 2, 3, 1}, number, StopCondition());
    EXPECT_TRUE(result.invalid.empty()) << result.invalid.front();
    for (const JobMeasurement& measured : result.objectives) {
      EXPECT_LE(measured.joint, measured.fair);
      EXPECT_LE(measured.joint, measured.fifo);
      EXPECT_LE(measured.bound, measured.joint);
    }
  }
}

// Equal groups on a small training run: three classes, and joint planning pays.
TEST(Joint, ATrainingRun) {
  PortfolioRequest request;
  request.topology = catalogue_topology("rail:8x8");
  request.jobs = training_groups(request.topology, 8);
  request.relays = Relays::members;
  request.options.objective = Objective::weighted;
  EXPECT_EQ(request.jobs.size(), 56U);
  const StatedJobs stated = state_jobs(request, StopCondition(), nullptr);
  EXPECT_EQ(stated.alone.classes, 3U);
  const Plan joint = make_joint_plan(request, StopCondition(), nullptr, verified);
  const Plan fifo = make_overlay(request, Overlay::fifo, StopCondition(), nullptr, verified);
  const auto weighted = [](const Plan& plan) {
    return objective_value(Objective::weighted, plan.problem.jobs, plan.result.job_finish, {});
  };
  EXPECT_EQ(joint.result.objective->value, weighted(joint));
  EXPECT_LT(weighted(joint), weighted(fifo));
}

TEST(Joint, LimitsOfNodesAreRefusedByName) {
  PortfolioRequest request = long_and_short(Objective::slowdown);
  IdVector<NodeId, Node> nodes = request.topology.nodes();
  nodes[NodeId(2)].injection = Bandwidth{1'000'000};
  request.topology = Topology("limited", "", nodes, request.topology.links());
  try {
    make_plan(request, StopCondition(), nullptr, verified);
    FAIL() << "planned";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsolved);
    EXPECT_NE(std::string(error.what()).find("'g2' has an injection limit"), std::string::npos);
  }
}

}  // namespace
}  // namespace stellwerk
