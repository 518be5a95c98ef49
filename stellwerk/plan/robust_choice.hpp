// Choosing among plans by how they fare under noise, not by what they promise.
#pragma once

#include <string>
#include <vector>

#include "stellwerk/check/noise_study.hpp"
#include "stellwerk/plan/portfolio.hpp"

namespace stellwerk {

/// Different plans of one problem, the one that promises least first: the portfolio's own, and those
/// of every construction and baseline that takes the problem, at several chunk counts where the jobs
/// leave that open. All are judged and written out in full. What planners decline is missing. Throws what make_plan throws
/// if there is not even the portfolio's own plan.
std::vector<Plan> candidate_plans(const PortfolioRequest& request, const StopCondition& stop,
                                  Progress* progress, const Judge& judge);

/// How one candidate fared.
struct Trial {
  std::string planner;
  int chunks = 1;  ///< a block, of the first job
  Time promised;
  Spread spread;
  int runs = 0;  ///< fewer than the study's: it was out of the race by then
};

/// One trial a plan, in their order. A plan whose first runs end later at the median than the best
/// of those tried before ends at `quantile` is not run on. Plans that cannot be run (transit
/// buffers) throw.
std::vector<Trial> try_plans(const std::vector<Plan>& plans, const NoiseStudy& study,
                             Quantile quantile);

/// The first of the complete trials with the least of that quantile. Precondition: there is one.
std::size_t best_trial(const std::vector<Trial>& trials, const NoiseStudy& study,
                       Quantile quantile);

/// The plan that was chosen, with a note of how in its record, and all trials, its own among them.
struct RobustChoice {
  Plan plan;
  std::vector<Trial> trials;
  std::size_t chosen = 0;
};
RobustChoice choose_plan(const PortfolioRequest& request, const NoiseStudy& study,
                         Quantile quantile, const StopCondition& stop, Progress* progress,
                         const Judge& judge);

}  // namespace stellwerk
