// Recomputes bounds on objectives from their certificates, independently of the code that found them.
#pragma once

#include <cstdint>
#include <vector>

#include "stellwerk/core/plan.hpp"

namespace stellwerk {

/// The bound that the certificates prove (docs/certificates.md, "Objectives"), in the units of
/// objective_value. `alone`: one a job; needed for slowdowns only. Throws
/// Error(verification_failed) when one is malformed or proves nothing.
std::int64_t proven_objective(Objective objective, const std::vector<Certificate>& groups,
                              const Problem& problem, const std::vector<Time>& alone);

}  // namespace stellwerk
