// Where a chunk lies in the buffers of a rank, as NCCL lays them out: counted in chunks.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "stellwerk/core/plan.hpp"

namespace stellwerk::lower {

enum class Buffer : std::uint8_t { input, output, scratch };

struct Place {
  Buffer buffer = Buffer::input;
  int offset = 0;
  friend auto operator<=>(const Place&, const Place&) = default;
};

/// The input and output buffers of one collective. In place they are one memory, and every place is named by the larger of
/// the two: output for AllGather, input for all others.
class Buffers {
 public:
  /// Precondition: `problem` has one job that transfers() accepts, and outlives this.
  Buffers(const Problem& problem, bool in_place);

  bool in_place() const { return in_place_; }
  /// Chunks of the larger buffer.
  int chunks() const { return chunks_; }
  /// Chunks of each buffer; 0 for the one that is not named because the call is in place.
  int input_size() const { return input_size_; }
  int output_size() const { return output_size_; }

  /// Where `rank` has its own data of the chunk before the start: its addend, or the chunk itself; nothing if
  /// it has none.
  std::optional<Place> before(ChunkId chunk, int rank) const;
  /// Where the chunk must be in the end; nothing if `rank` does not want it.
  std::optional<Place> after(ChunkId chunk, int rank) const;
  /// What a rank copies from its own input to its own output, whatever the plan: from, to.
  std::vector<std::pair<Place, Place>> own_copies(int rank) const;

 private:
  Place input(int offset) const;
  Place output(int rank, int offset) const;

  const Problem& problem_;
  Collective collective_;
  bool in_place_;
  int ranks_ = 0, cut_ = 0;  ///< chunks a block
  int root_ = 0;
  int chunks_ = 0, input_size_ = 0, output_size_ = 0;
  std::vector<int> owner_;  ///< rank, one a chunk
};

}  // namespace stellwerk::lower
