// The demand as bounds see it: chunks that differ in nothing but size, slot and owner are one
// block.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stellwerk/bound/network.hpp"
#include "stellwerk/core/problem.hpp"

namespace stellwerk::bound {

struct Block {
  const Chunk* chunk;  ///< one of them: origins, contributors, destinations, ready time
  ChunkId id;          ///< of that one
  std::int64_t bytes;  ///< of all of them
  std::vector<std::int64_t> sizes;  ///< of each, in the order of the chunks

  /// Who has data (or an addend) that others need.
  const std::vector<NodeId>& sources() const {
    return chunk->is_reduction() ? chunk->contributors : chunk->origins;
  }
};

/// Positions in Demand::blocks().
using BlockList = std::vector<std::size_t>;

class Demand {
 public:
  explicit Demand(const Problem& problem);

  std::size_t nodes() const { return wanted_.size(); }

  const std::vector<Block>& blocks() const { return blocks_; }
  const Block& block(std::size_t position) const { return blocks_[position]; }
  /// Blocks that a node wants and does not hold from the start.
  const BlockList& wanted_by(NodeId node) const { return wanted_[node.index()]; }
  /// Blocks of which a node is a source.
  const BlockList& held_by(NodeId node) const { return held_[node.index()]; }
  /// Nodes that want something, ascending.
  const std::vector<NodeId>& wanting() const { return wanting_; }

  /// The latest ready time of all chunks.
  Time latest_ready() const { return latest_ready_; }
  /// Bytes of the largest chunk.
  std::int64_t largest_chunk() const { return largest_chunk_; }

  /// Must the block enter `set` if a node of it wants it? Data: no origin in the set; a sum: some
  /// contributor outside.
  static bool must_enter(const Block& block, const NodeSet& set);

  /// The blocks that some node of `set` (or `target`, which is one of them) wants and that must
  /// enter it, ascending.
  BlockList entering(const NodeSet& set, std::optional<NodeId> target = {}) const;

  /// What must enter a set for each node of it.
  struct Inflow {
    BlockList blocks;  ///< entering(set, target)
    std::vector<NodeId>
        wanting;  ///< nodes of the set that want some of them (or only the target), ascending
    std::vector<std::int64_t> bytes;  ///< how much each of them wants
  };
  Inflow inflow(const NodeSet& set, std::optional<NodeId> target) const;

 private:
  std::vector<Block> blocks_;
  std::vector<BlockList> wanted_, held_;
  std::vector<NodeId> wanting_;
  Time latest_ready_;
  std::int64_t largest_chunk_ = 0;
};

}  // namespace stellwerk::bound
