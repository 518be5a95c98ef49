// The sends of a plan as a two-sided runtime sees them: from one rank to one other, of one chunk. What such a runtime cannot do is
// refused here, with the reason.
#pragma once

#include <vector>

#include "stellwerk/core/plan.hpp"

namespace stellwerk::lower {

struct Transfer {
  int from = 0, to = 0;  ///< ranks: positions in the job's list
  ChunkId chunk;
  Op op = Op::copy;
  Time start, arrival;
};

/// In the order of the model: by start, then chunk and source. Precondition: the plan is valid and not compressed. Throws
/// Error(unsolved) that says what is in the way and what to change: several jobs, a collective that runtimes have no buffers for,
/// byte ranges, sends to several GPUs at once (multicast), sums in switches, nodes that forward but are no rank, blocks of unequal
/// numbers of chunks.
std::vector<Transfer> transfers(const Plan& plan);

}  // namespace stellwerk::lower
