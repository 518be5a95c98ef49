// Choice under noise.
//
// Problem. The plan that promises the least is not the plan that keeps its promise best. When every
// send takes a random time, a plan in which much waits for much (many chunks meeting at one GPU,
// links without slack) loses more than a ring, whose links wait for one neighbour each.
//
// Idea. Make different plans, run each under the stated noise, keep the one whose stated quantile is
// least; a plan whose median over the first twenty runs is beyond the best quantile so far is out.
// The portfolio keeps one plan only, so planners are asked one by one here: constructions and
// baselines, each at chunk counts 1, 4, 16.
//
// Guarantee. On the runs of the study the chosen plan is at least as good as the portfolio's own
// plan and every candidate that was tried, among them ring. On other runs of the same noise that
// holds up to the error of sampling (docs/benchmarks.md has both).
//
// Complexity: candidates * runs * sends; candidates of more than 100,000 sends are left out, and so
// is what comes after the time limit. Test: robust_choice_test.cpp.
#include "stellwerk/plan/robust_choice.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/core/expansion.hpp"
#include "stellwerk/plan/planner.hpp"

namespace stellwerk {
namespace {

constexpr int kCounts[] = {1, 4, 16};
/// Larger candidates take seconds to run often enough.
constexpr std::size_t kMostSends = 100'000;
constexpr double kShareOfPortfolio = 0.4;
constexpr double kShareOfConstruction = 0.1;

/// How many sends a plan has at least.
std::size_t deliveries(const std::vector<Job>& jobs, int chunks) {
  std::size_t count = 0;
  for (const Job& job : jobs) {
    const std::size_t ranks = job.ranks.size();
    count += ranks * ranks * static_cast<std::size_t>(job.auto_chunks ? chunks : job.chunks);
  }
  return count;
}

}  // namespace

std::vector<Plan> candidate_plans(const PortfolioRequest& request, const StopCondition& stop,
                                  Progress* progress, const Judge& judge) {
  std::vector<Plan> plans;
  const auto add = [&](PortfolioRequest asked, double share) {
    Plan plan =
        make_plan(std::move(asked), stop.within(stop.seconds_left() * share), progress, judge);
    expand(plan);
    const bool known = std::any_of(plans.begin(), plans.end(),
                                   [&](const Plan& other) { return other.sends == plan.sends; });
    if (!known && (plans.empty() || plan.sends.size() <= kMostSends)) {
      plans.push_back(std::move(plan));
    }
  };
  add(request, kShareOfPortfolio);
  const bool adjustable = std::any_of(request.jobs.begin(), request.jobs.end(),
                                      [](const Job& job) { return job.auto_chunks; });
  // Baselines take milliseconds; constructions may use what time there is.
  for (const PlannerKind kind : {PlannerKind::baseline, PlannerKind::construction}) {
    for (const int chunks : kCounts) {
      if ((chunks > 1 && !adjustable) || deliveries(request.jobs, chunks) > kMostSends) break;
      for (const PlannerRow& planner : planners()) {
        if (planner.kind != kind || stop.should_stop()) continue;
        PortfolioRequest asked = request;
        asked.planner = planner.name;
        asked.options.threads = 1;
        for (Job& job : asked.jobs) {
          if (job.auto_chunks) job.chunks = chunks;
          job.auto_chunks = false;
        }
        try {
          add(std::move(asked), kind == PlannerKind::baseline ? 1 : kShareOfConstruction);
        } catch (const Error& error) {
          if (error.code() != ErrorCode::unsolved) throw;  // declined, or no time
        }
      }
    }
  }
  std::stable_sort(plans.begin(), plans.end(), [](const Plan& a, const Plan& b) {
    return a.result.transfer_time < b.result.transfer_time;
  });
  return plans;
}

std::vector<Trial> try_plans(const std::vector<Plan>& plans, const NoiseStudy& study,
                             Quantile quantile) {
  constexpr int kFirstRuns = 20;
  std::vector<std::size_t> order(plans.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return plans[a].result.transfer_time < plans[b].result.transfer_time;
  });
  std::vector<Trial> trials(plans.size());
  Time best = Time::max();
  for (const std::size_t i : order) {
    const Plan& plan = plans[i];
    Executor executor(plan.problem, plan.sends);
    NoiseStudy first = study;
    first.runs = std::min(study.runs, kFirstRuns);
    NoiseResult result = run_study(plan.problem, executor, first, {});
    if (first.runs < study.runs && result.all.p50 <= best) {
      result = run_study(plan.problem, executor, study, {});
    }
    if (result.runs == study.runs) best = std::min(best, at(result.all, quantile));
    trials[i] = {plan.result.planner, plan.problem.jobs.front().chunks, plan.result.transfer_time,
                 result.all, result.runs};
  }
  return trials;
}

std::size_t best_trial(const std::vector<Trial>& trials, const NoiseStudy& study,
                       Quantile quantile) {
  std::size_t best = trials.size();
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].runs < study.runs) continue;
    if (best == trials.size() ||
        at(trials[i].spread, quantile) < at(trials[best].spread, quantile)) {
      best = i;
    }
  }
  return best;
}

RobustChoice choose_plan(const PortfolioRequest& request, const NoiseStudy& study,
                         Quantile quantile, const StopCondition& stop, Progress* progress,
                         const Judge& judge) {
  std::vector<Plan> plans = candidate_plans(request, stop, progress, judge);
  RobustChoice choice;
  // All candidates on the same runs, or they cannot be compared: the time limit is for planning.
  choice.trials = try_plans(plans, study, quantile);
  choice.chosen = best_trial(choice.trials, study, quantile);
  choice.plan = std::move(plans[choice.chosen]);
  const Spread& spread = choice.trials[choice.chosen].spread;
  auto& record = choice.plan.result.options;
  record.emplace_back("choose", to_string(quantile));
  record.emplace_back("noise", to_string(study.noise));
  record.emplace_back("executor", to_string(study.discipline));
  record.emplace_back("runs", std::to_string(study.runs));
  record.emplace_back("noise_seed", std::to_string(study.seed));
  record.emplace_back("p50", to_exact_string(spread.p50));
  record.emplace_back("p99", to_exact_string(spread.p99));
  record.emplace_back("worst", to_exact_string(spread.worst));
  return choice;
}

}  // namespace stellwerk
