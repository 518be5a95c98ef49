// Can every demand be met at all?
#pragma once

#include "stellwerk/core/problem.hpp"

namespace stellwerk {

/// Throws Error(unsolved) that names the first chunk that cannot reach (or be summed at) one of its destinations, and
/// why; returns otherwise.
void require_reachable(const Problem& problem);

}  // namespace stellwerk
