// The choice under noise holds what its essay says, on a fabric small enough for many candidates.
#include "stellwerk/plan/robust_choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/io/load.hpp"

namespace stellwerk {
namespace {

PortfolioRequest ring_of_boxes() {
  PortfolioRequest request;
  request.topology = load_topology("rail:2x4");
  Job job;
  job.name = "allgather";
  job.ranks = request.topology.gpus();
  job.size = Bytes{4 << 20};
  job.auto_chunks = true;
  request.jobs = {job};
  request.options.gap = 1;  // planners stop at their first plans
  return request;
}

TEST(RobustChoice, IsNoWorseThanTheNominalPlanAndEveryCandidate) {
  NoiseStudy study;
  study.noise = parse_noise("send:30%");
  study.runs = 100;
  const RobustChoice choice =
      choose_plan(ring_of_boxes(), study, Quantile::p99, StopCondition(20), nullptr, judge);
  ASSERT_GE(choice.trials.size(), 5U);
  const Trial& chosen = choice.trials[choice.chosen];
  EXPECT_EQ(chosen.runs, 100);
  bool ring = false;
  for (const Trial& trial : choice.trials) {
    EXPECT_LE(choice.trials.front().promised, trial.promised);
    // What was dropped had shown a median beyond the best p99.
    if (trial.runs == study.runs) {
      EXPECT_LE(chosen.spread.p99, trial.spread.p99);
    } else {
      EXPECT_LT(chosen.spread.p99, trial.spread.p50);
    }
    ring = ring || trial.planner == "ring";
  }
  EXPECT_TRUE(ring);
  EXPECT_TRUE(verify(choice.plan).valid());

  // The record can be checked by running the plan again.
  Executor executor(choice.plan.problem, choice.plan.sends);
  const NoiseResult again = run_study(choice.plan.problem, executor, study, {});
  EXPECT_EQ(again.all, chosen.spread);
  const auto& record = choice.plan.result.options;
  const auto p99 = std::find_if(record.begin(), record.end(),
                                [](const auto& entry) { return entry.first == "p99"; });
  ASSERT_NE(p99, record.end());
  EXPECT_EQ(parse_time(p99->second), again.all.p99);
}

TEST(RobustChoice, TakesThePortfoliosPlanWhereThereIsNoNoise) {
  NoiseStudy study;
  study.runs = 1;
  const std::vector<Plan> plans =
      candidate_plans(ring_of_boxes(), StopCondition(20), nullptr, judge);
  const std::vector<Trial> trials = try_plans(plans, study, Quantile::worst);
  EXPECT_EQ(best_trial(trials, study, Quantile::worst), 0U);
}

}  // namespace
}  // namespace stellwerk
