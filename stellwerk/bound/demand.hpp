// The demand as bounds see it: chunks that differ in nothing but size, slot and owner are one
// block.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stellwerk/bound/network.hpp"
#include "stellwerk/core/problem.hpp"

namespace stellwerk::bound {

struct Block {
  const Chunk* chunk;  ///< the first of them: origins, contributors, destinations, ready time
  ChunkId id;          ///< of that one
  std::int32_t count;  ///< how many; they follow each other
  std::int64_t bytes;  ///< of all of them
  NodeId source;       ///< the only one; invalid if there are several
  NodeId destination;  ///< likewise
  bool reduction;      ///< chunk->is_reduction(): many blocks are gone through for this alone

  /// Who has data (or an addend) that others need.
  const std::vector<NodeId>& sources() const {
    return reduction ? chunk->contributors : chunk->origins;
  }
  /// One source, one destination, and not the same?
  bool unicast() const { return source.valid() && destination.valid() && source != destination; }
  /// Bytes of the k-th chunk.
  std::int64_t size(std::int32_t k) const { return chunk[k].bytes.value; }
  /// The first of the largest chunks.
  std::int32_t largest() const;
};

/// Positions in Demand::blocks().
using BlockList = std::vector<std::uint32_t>;
using BlockSpan = std::span<const std::uint32_t>;

/// Of a compressed problem: the representatives only (images.hpp counts their images). Refers to
/// the problem, which must outlive it. Memory: 48 bytes a block and 4 for each source and
/// destination.
class Demand {
 public:
  explicit Demand(const Problem& problem);

  std::size_t nodes() const { return wanted_begin_.size() - 1; }

  const std::vector<Block>& blocks() const { return blocks_; }
  const Block& block(std::size_t position) const { return blocks_[position]; }
  /// Blocks that a node wants and does not hold from the start, ascending.
  BlockSpan wanted_by(NodeId node) const { return group(wanted_, wanted_begin_, node); }
  /// Blocks of which a node is a source, ascending.
  BlockSpan held_by(NodeId node) const { return group(held_, held_begin_, node); }
  /// Where a node's blocks begin in the list of all nodes' blocks, one node after the other.
  std::size_t place(BlockSpan blocks, bool wanted) const {
    return static_cast<std::size_t>(blocks.data() - (wanted ? wanted_ : held_).data());
  }
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
  static BlockSpan group(const BlockList& blocks, const std::vector<std::size_t>& begin,
                         NodeId node) {
    return BlockSpan(blocks).subspan(begin[node.index()],
                                     begin[node.index() + 1] - begin[node.index()]);
  }

  std::vector<Block> blocks_;
  BlockList wanted_, held_;  // by node
  std::vector<std::size_t> wanted_begin_, held_begin_;
  std::vector<NodeId> wanting_;
  Time latest_ready_;
  std::int64_t largest_chunk_ = 0;
};

}  // namespace stellwerk::bound
