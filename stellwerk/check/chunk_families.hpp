// The chunks of a job, without listing them: those of one owner that are alike.
#pragma once

#include <cstdint>
#include <vector>

#include "stellwerk/core/job.hpp"

namespace stellwerk::check {

struct SizeCount {
  Bytes bytes;
  std::int64_t count;
};

struct ChunkFamily {
  enum class Shape : std::uint8_t {
    to_others,     ///< from the owner to all other ranks
    each_other,    ///< from the owner; for every other rank as many as `sizes` says
    to_one,        ///< from the owner to `destination`
    sum_to_owner,  ///< of all ranks' addends
    sum_to_all,    ///< of all ranks' addends, for all ranks
  };
  Shape shape;
  NodeId owner;
  NodeId destination;  ///< to_one
  std::vector<SizeCount> sizes;
};

/// In the order of the owners. Precondition: the job is valid and compressible().
std::vector<ChunkFamily> chunk_families(const Job& job);

}  // namespace stellwerk::check
