// Lower bounds on what several jobs are planned for: docs/certificates.md, "Objectives".
#pragma once

#include <vector>

#include "stellwerk/base/stop.hpp"
#include "stellwerk/core/plan.hpp"

namespace stellwerk {

/// The best bound found on the objective, for any chunking. `alone`: the jobs' times alone, for
/// slowdowns. Precondition: no symmetry. Polls `stop`; what has been proven by then is returned.
ObjectiveBound objective_bound(Objective objective, const Problem& problem,
                               const std::vector<Time>& alone, const StopCondition& stop = {});

/// The better of `known` (lower_bound) and what the jobs that start late prove by themselves.
Bound with_late_jobs(const Bound& known, const Problem& problem, const StopCondition& stop = {});

}  // namespace stellwerk
