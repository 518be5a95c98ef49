// Demands without useful copies, flat: what `flow` routes and schedules, millions at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stellwerk/core/problem.hpp"

namespace stellwerk {

/// A chunk that one node lacks, with the origin it is taken from.
struct Parcel {
  ChunkId chunk;
  NodeId from, to;
  std::int32_t passing;  ///< a row of ParcelDemand::may_pass
  Bytes bytes;
  Time ready;
};

struct ParcelDemand {
  std::vector<Parcel> parcels;  ///< in the order of the chunks
  /// By passing class: may data be forwarded by the node? Switches may always.
  std::vector<IdVector<NodeId, char>> may_pass;
};

/// The parcels of a problem. Of several origins the one from which a chunk would arrive first if it
/// were alone. Nothing, and the reason in `why`, for sums, for chunks that several nodes lack, and
/// for what no path leads to.
std::optional<ParcelDemand> make_parcels(const Problem& problem, std::string& why);

}  // namespace stellwerk
