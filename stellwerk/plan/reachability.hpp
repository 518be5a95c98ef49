// Can every demand be met at all?
#pragma once

#include <vector>

#include "stellwerk/core/problem.hpp"

namespace stellwerk {

/// Throws Error(unsolved) that names the first chunk that cannot reach (or be summed at) one of its destinations, and
/// why; returns otherwise. `numbers`: what to call the chunks; empty: by their own.
void require_reachable(const Problem& problem, const std::vector<ChunkId>& numbers = {});

}  // namespace stellwerk
