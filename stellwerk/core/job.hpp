// A job: one collective over a list of ranks. A problem has one or more (multi-tenant planning is the general case).
#pragma once

#include <string>
#include <vector>

#include "stellwerk/base/ids.hpp"
#include "stellwerk/base/units.hpp"
#include "stellwerk/core/collective.hpp"

namespace stellwerk {

/// One chunk of a `custom` job, as the user wrote it.
struct CustomChunk {
  Bytes bytes;
  std::vector<NodeId> origins;  ///< empty for a reduction
  std::vector<NodeId> destinations;
  Time ready;                        ///< not before the job's start either
  std::vector<NodeId> contributors;  ///< not empty for a reduction

  friend bool operator==(const CustomChunk&, const CustomChunk&) = default;
};

struct Job {
  std::string name;
  Collective collective = Collective::allgather;
  std::vector<NodeId> ranks;  ///< rank i is ranks[i]; GPUs, each at most once
  Bytes size;                 ///< S, the larger side of the collective (nccl-tests)
  int chunks = 1;             ///< every block is cut into this many (custom: as listed)
  bool auto_chunks = false;   ///< the planner chooses `chunks`
  int root = 0;               ///< a position in `ranks`, for rooted collectives
  Time start;                 ///< release
  std::int64_t weight = 1;
  std::vector<std::vector<Bytes>> matrix;  ///< alltoallv: matrix[i][j] goes from rank i to rank j
  std::vector<CustomChunk> custom;

  friend bool operator==(const Job&, const Job&) = default;
};

/// Bytes of one block: what one rank contributes, one pair exchanges, one destination gets (docs/model.md). Not for
/// alltoallv and custom.
Bytes block_bytes(const Job& job);

/// The size that is really moved: block times its number; differs from `job.size` when n does not divide it. For
/// alltoallv the larger of the largest row and the largest column; for custom the sum of its chunks.
Bytes effective_size(const Job& job);

/// What a rank has in its receive buffer once the demand is met: smallest and largest over the ranks that get any.
struct OutputBytes {
  Bytes smallest;
  Bytes largest;
};
OutputBytes output_bytes(const Job& job);

}  // namespace stellwerk
