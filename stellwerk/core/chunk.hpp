// The unit of demand and of transfer.
#pragma once

#include <vector>

#include "stellwerk/base/ids.hpp"
#include "stellwerk/base/units.hpp"

namespace stellwerk {

/// A piece of data that some GPUs hold and others want; or, with contributors, a sum to be formed.
struct Chunk {
  JobId job;
  Bytes bytes;
  std::vector<NodeId> origins;       ///< who holds it at `ready`; empty for a reduction
  std::vector<NodeId> destinations;  ///< who must hold it (the full sum, for a reduction)
  Time ready;
  NodeId owner;                      ///< the origin, or the rank whose block the chunk is
  std::vector<NodeId> contributors;  ///< a reduction: each holds its own addend at `ready`
  std::int64_t slot = 0;             ///< position in the buffer: see make_problem

  bool is_reduction() const { return !contributors.empty(); }
  friend bool operator==(const Chunk&, const Chunk&) = default;
};

}  // namespace stellwerk
