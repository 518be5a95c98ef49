// Requests with several jobs: chunk counts, alone plans, a schedule of them all, the finished plan.
#pragma once

#include <functional>

#include "stellwerk/plan/alone_plans.hpp"
#include "stellwerk/plan/portfolio.hpp"

namespace stellwerk {

/// Jobs with their chunk counts, and each job's own plan.
struct StatedJobs {
  Problem problem;
  AlonePlans alone;
};

/// Where a job leaves its chunk count open, the smallest of 1, 2, 4, ... is taken beyond which its
/// plan alone gets hardly any shorter. Throws Error(unsolved), naming the reason, for topologies
/// with limits of nodes and for jobs that cannot be planned; Error(unreadable_input) for jobs that
/// do not fit the topology.
StatedJobs state_jobs(const PortfolioRequest& request, const StopCondition& stop,
                      Progress* progress);

/// How jobs that know nothing of each other share the network.
enum class Overlay : std::uint8_t { fifo, fair };

/// The plan that results when every job runs its own plan: complete, with bounds and times alone,
/// and judged. Throws as state_jobs, and Error(unsolved) if a limit comes first.
Plan make_overlay(const PortfolioRequest& request, Overlay mode, const StopCondition& stop,
                  Progress* progress, const Judge& judge);

/// Is it about several jobs that could be planned together, or an objective that only that serves?
bool wants_joint_plan(const PortfolioRequest& request);

/// The best plan for options.objective that `joint` finds; the same completeness and errors as
/// make_overlay.
Plan make_joint_plan(const PortfolioRequest& request, const StopCondition& stop, Progress* progress,
                     const Judge& judge);

/// Makes a plan for the makespan without knowing about jobs, before a limit.
using OtherPlanning = std::function<Plan(const StopCondition&)>;

/// For the makespan: the better of what `joint` makes in half of the time that is left and what
/// `other` makes in the rest, if the first is not within the gap target. Errors are those of
/// `other` where both fail.
Plan make_better_plan(const PortfolioRequest& request, const StopCondition& stop,
                      Progress* progress, const Judge& judge, const OtherPlanning& other);

}  // namespace stellwerk
