// Reductions from copies: a sum is gathered along the reverse of a broadcast tree.
#pragma once

#include <optional>
#include <vector>

#include "stellwerk/base/stop.hpp"
#include "stellwerk/core/problem.hpp"
#include "stellwerk/core/send.hpp"

namespace stellwerk {

bool has_reductions(const Problem& problem);

/// A problem with reductions as two problems of copies. In `collect`, on the reversed network, each
/// reduction chunk is broadcast from its root to its contributors; backwards in time that forms the
/// sum at the root. In `spread`, on the network itself, ordinary chunks keep their demand and
/// finished sums go from their root to the other destinations. Switches that can reduce can
/// multicast in the reversed network, and the other way round.
struct ReductionSplit {
  Problem collect;
  Problem spread;
  std::vector<ChunkId> collected;  ///< original number of each chunk of `collect`
  std::vector<ChunkId> spreading;  ///< original number of each chunk of `spread`
};

/// The root is the owner when it wants the sum, else the first destination; if the network does not
/// allow that (not all contributors reach it, or it does not reach all destinations), another
/// destination or contributor.
ReductionSplit split_reductions(const Problem& problem);

/// Sends for the original problem from plans of the two halves: the collecting ones reversed to end
/// together at T, the spreading ones of sums after T, those of ordinary chunks from 0. Starts are
/// nominal where the halves overlap: the caller re-times (check/simulate.hpp), which moves each
/// chunk's second phase up to its first.
Schedule join_reductions(const Problem& problem, const ReductionSplit& split,
                         const Schedule& collect, const Schedule& spread);

/// The same, re-timed and improved (plan/polish.hpp). Should a transit buffer not hold what passes
/// it in both halves, the chunks go one after the other.
Schedule join_and_polish(const Problem& problem, const ReductionSplit& split,
                         const Schedule& collect, const Schedule& spread,
                         const StopCondition& stop);

}  // namespace stellwerk
