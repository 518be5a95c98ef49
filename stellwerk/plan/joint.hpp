// Planner "joint": several jobs on one network, planned together for a stated objective.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stellwerk/plan/alone_plans.hpp"
#include "stellwerk/plan/planner.hpp"

namespace stellwerk {

/// What to try.
struct JointOptions {
  Objective objective = Objective::makespan;
  std::uint64_t seed = 1;
  bool fair = true;    ///< the fair overlay is a candidate (for experiments: false)
  bool quick = false;  ///< the fixed rules only, no search
};

/// One way to schedule the jobs, and how good it is.
struct JointCandidate {
  std::string name;  ///< "fifo", "fair", "sequential", "edf 1.2", "search", ...
  std::int64_t value = 0;
};

struct JointPlan {
  Schedule sends;  ///< none if nothing has to move
  std::vector<Time> job_finish;
  std::int64_t value = 0;  ///< objective_value of them
  std::string winner;      ///< empty: a limit came before the first candidate
  std::vector<JointCandidate> tried;
  std::size_t tasks = 0;
};

/// The best schedule of the jobs' own plans that it finds: never worse than the FIFO overlay and,
/// unless switched off, the fair one, if no limit strikes before they are done. Preconditions: as
/// plan_alone, which made `alone` for this problem.
JointPlan plan_jobs(const Problem& problem, const AlonePlans& alone, const JointOptions& options,
                    PlannerContext& context);

/// The planner's row: plans every job alone, then plan_jobs.
PlannerOutcome plan_joint(const Problem& problem, const PlanOptions& options,
                          PlannerContext& context);

}  // namespace stellwerk
