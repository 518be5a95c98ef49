// The planner `symmetric`: plans the chunks of one rank of every orbit, for all ranks at once.
#pragma once

#include "stellwerk/plan/planner.hpp"

namespace stellwerk {

/// Precondition: `problem` is compressed (core/problem.hpp), or small. The sends are those of the
/// representatives, with final starts: the union of their images under the problem's symmetry is a
/// valid plan that takes as long as they do. Unsupported: transit buffers.
PlannerOutcome plan_symmetric(const Problem& problem, const PlanOptions& options,
                              PlannerContext& context);

}  // namespace stellwerk
