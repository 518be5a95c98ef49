// The same demand without copies: every destination is sent a chunk of its own.
#pragma once

#include <vector>

#include "stellwerk/core/problem.hpp"
#include "stellwerk/core/send.hpp"

namespace stellwerk {

struct NoCopyProblem {
  Problem problem;
  std::vector<ChunkId> original;  ///< of each chunk

  /// Sends of `problem` as sends of the original one (a chunk may then arrive more than once at a node).
  Schedule translate(Schedule sends) const;
};

/// Precondition: no reductions.
NoCopyProblem without_copies(const Problem& problem);

}  // namespace stellwerk
