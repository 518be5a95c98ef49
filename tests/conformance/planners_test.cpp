// Every row of the table of planners on every instance: a plan is valid as a whole (verify), so
// never below its bounds; what a planner cannot do it declines with a message.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>

#include "stellwerk/bound/bound.hpp"
#include "stellwerk/check/simulate.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/plan/no_copy.hpp"
#include "stellwerk/plan/passing.hpp"
#include "stellwerk/plan/planner.hpp"
#include "stellwerk/plan/portfolio.hpp"
#include "stellwerk/plan/reversal.hpp"
#include "tests/conformance/instances.hpp"
#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

using Reason = Termination::Reason;

struct Tally {
  int plans = 0, optimal = 0, declined = 0;
  double worst_gap = 0;
};

/// The plan of a planner, complete as the portfolio would make it.
Plan complete(const Problem& problem, const PlannerRow& row, PlannerOutcome outcome,
              const Bound& bound, const Bound& chunked) {
  Plan plan;
  plan.problem = problem;
  Simulation timed = simulate(problem, outcome.sends);
  // Sends that may stand for their images as well are not re-timed.
  plan.sends = row.compressed ? std::move(timed.sends) : std::move(outcome.sends);
  plan.result.transfer_time = timed.transfer_time;
  plan.result.job_finish = timed.job_finish;
  plan.result.planner = row.name;
  plan.result.bound = bound;
  plan.result.bound_chunked = chunked;
  plan.result.termination = outcome.termination;
  return plan;
}

bool has_caps(const Topology& topology) {
  return std::any_of(topology.nodes().begin(), topology.nodes().end(),
                     [](const Node& node) { return node.injection || node.ejection; });
}

/// What a row says that it cannot do.
bool may_decline(const PlannerRow& row, const Problem& problem) {
  const bool copies = std::any_of(problem.chunks.begin(), problem.chunks.end(),
                                  [](const Chunk& chunk) { return chunk.destinations.size() > 1; });
  return row.kind == PlannerKind::baseline || row.compressed || row.name == "trees" ||
         row.name == "rails" || row.name == "in-network" ||  // any fabric but their own
         ((row.name == "flow" || row.name == "joint") && has_caps(problem.topology)) ||
         (!row.reductions && has_reductions(problem)) || (!row.copies && copies) ||
         has_buffer_limits(problem.topology);
}

TEST(Planners, EveryRowOnEveryInstance) {
  std::map<std::string_view, Tally> tallies;
  for (const int number : testing::conformance_numbers()) {
    const testing::ConformanceInstance instance = testing::conformance_instance(number);
    SCOPED_TRACE(instance.name);
    const Problem& problem = instance.problem;
    const Bound bound = lower_bound(problem);
    const Bound chunked = lower_bound_chunked(problem, bound);
    for (const PlannerRow& row : planners()) {
      SCOPED_TRACE(row.name);
      PlannerContext context;
      context.bound = bound;
      context.bound_chunked = chunked;
      context.rng = Rng(1);
      PlanOptions options;
      options.quick = number % 8 != 0;
      options.epoch = {EpochChoice::Kind::explicit_time, 1, testing::kEpoch};
      PlannerOutcome outcome = row.plan(problem, options, context);
      if (!outcome.has_plan()) {
        EXPECT_EQ(outcome.termination.reason, Reason::unsupported) << outcome.message;
        EXPECT_FALSE(outcome.message.empty());
        EXPECT_TRUE(may_decline(row, problem)) << outcome.message;
        ++tallies[row.name].declined;
        continue;
      }
      const Plan plan = complete(problem, row, std::move(outcome), bound, chunked);
      const Verdict verdict = verify(plan);
      EXPECT_TRUE(verdict.valid()) << verdict.message;
      Tally& tally = tallies[row.name];
      ++tally.plans;
      tally.optimal += plan.result.transfer_time == chunked.value ? 1 : 0;
      tally.worst_gap =
          std::max(tally.worst_gap,
                   static_cast<double>(plan.result.transfer_time.ps) /
                           static_cast<double>(std::max<std::int64_t>(1, chunked.value.ps)) -
                       1);
    }
  }
  for (const PlannerRow& row : planners()) {
    const Tally& tally = tallies[row.name];
    std::printf(
        "%-8.*s %3d plans valid and >= bound (%3d meet it, worst gap %3.0f%%), %3d declined\n",
        static_cast<int>(row.name.size()), row.name.data(), tally.plans, tally.optimal,
        100 * tally.worst_gap, tally.declined);
    // With a sanitizer there are few instances, none of boxes and rails among them; in none all GPUs hang on switches that
    // add.
    if (testing::conformance_numbers().size() < 200 && row.name == "rails") continue;
    if (row.name == "in-network") continue;
    EXPECT_GT(tally.plans, 0) << row.name;
  }
}

TEST(Planners, ThePortfolioOnInstancesOfEveryCollective) {
  int plans = 0, optimal = 0;
  for (const int number : testing::conformance_numbers()) {
    if (number % 6 != 0) continue;
    const testing::ConformanceInstance instance = testing::conformance_instance(number);
    SCOPED_TRACE(instance.name);
    for (const bool copy : {true, false}) {
      if (!copy && number % 12 != 0) continue;
      PortfolioRequest request;
      request.topology = instance.problem.topology;
      request.jobs = instance.problem.jobs;
      request.relays = instance.problem.relays;
      request.options.copy = copy;
      request.options.quick = true;
      const Judge judge = [](const Plan& plan) -> std::optional<std::string> {
        const Verdict verdict = verify(plan);
        return verdict.valid() ? std::nullopt : std::optional(verdict.message);
      };
      const Plan plan = make_plan(std::move(request), StopCondition(20), nullptr, judge);
      const Verdict verdict = verify(plan);
      EXPECT_TRUE(verdict.valid()) << verdict.message;
      ++plans;
      optimal += plan.result.termination.reason == Reason::optimal ? 1 : 0;
    }
  }
  std::printf("portfolio: %d plans, %d optimal\n", plans, optimal);
}

}  // namespace
}  // namespace stellwerk
