#include "stellwerk/bound/demand.hpp"

#include <algorithm>
#include <numeric>

namespace stellwerk::bound {
namespace {

bool same_block(const Chunk& a, const Chunk& b) {
  return a.job == b.job && a.ready == b.ready && a.origins == b.origins &&
         a.contributors == b.contributors && a.destinations == b.destinations;
}

bool contains(const std::vector<NodeId>& nodes, NodeId node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

}  // namespace

std::int32_t Block::largest() const {
  std::int32_t best = 0;
  for (std::int32_t k = 1; k < count; ++k) {
    if (size(k) > size(best)) best = k;
  }
  return best;
}

Demand::Demand(const Problem& problem)
    : wanted_begin_(problem.topology.nodes().size() + 1, 0),
      held_begin_(problem.topology.nodes().size() + 1, 0) {
  blocks_.reserve(problem.chunks.size());
  for (const ChunkId id : problem.chunk_ids()) {
    const Chunk& chunk = problem.chunks[id];
    if (blocks_.empty() || !same_block(*blocks_.back().chunk, chunk)) {
      Block block{&chunk, id, 0, 0, NodeId(), NodeId(), chunk.is_reduction()};
      if (block.sources().size() == 1) block.source = block.sources().front();
      if (chunk.destinations.size() == 1) block.destination = chunk.destinations.front();
      blocks_.push_back(block);
    }
    blocks_.back().bytes += chunk.bytes.value;
    ++blocks_.back().count;
    largest_chunk_ = std::max(largest_chunk_, chunk.bytes.value);
    latest_ready_ = std::max(latest_ready_, chunk.ready);
  }
  const auto for_each_source = [](const Block& block, const auto& visit) {
    if (block.source.valid()) return visit(block.source);
    for (const NodeId node : block.sources()) visit(node);
  };
  const auto for_each_wanted = [](const Block& block, const auto& visit) {
    if (block.unicast()) return visit(block.destination);
    for (const NodeId node : block.chunk->destinations) {
      if (!contains(block.chunk->origins, node)) visit(node);
    }
  };
  for (const Block& block : blocks_) {
    for_each_wanted(block, [&](NodeId node) { ++wanted_begin_[node.index() + 1]; });
    for_each_source(block, [&](NodeId node) { ++held_begin_[node.index() + 1]; });
  }
  std::partial_sum(wanted_begin_.begin(), wanted_begin_.end(), wanted_begin_.begin());
  std::partial_sum(held_begin_.begin(), held_begin_.end(), held_begin_.begin());
  wanted_.resize(wanted_begin_.back());
  held_.resize(held_begin_.back());
  std::vector<std::size_t> wanted_end(wanted_begin_), held_end(held_begin_);
  for (std::uint32_t i = 0; i < blocks_.size(); ++i) {
    for_each_wanted(blocks_[i], [&](NodeId node) { wanted_[wanted_end[node.index()]++] = i; });
    for_each_source(blocks_[i], [&](NodeId node) { held_[held_end[node.index()]++] = i; });
  }
  for (const NodeId node : problem.topology.node_ids()) {
    if (!wanted_by(node).empty()) wanting_.push_back(node);
  }
}

bool Demand::must_enter(const Block& block, const NodeSet& set) {
  const Chunk& chunk = *block.chunk;
  if (block.source.valid()) return !set[block.source.index()];
  if (block.reduction) {
    return std::any_of(chunk.contributors.begin(), chunk.contributors.end(),
                       [&](NodeId node) { return !set[node.index()]; });
  }
  return std::none_of(chunk.origins.begin(), chunk.origins.end(),
                      [&](NodeId node) { return set[node.index()]; });
}

BlockList Demand::entering(const NodeSet& set, std::optional<NodeId> target) const {
  BlockList result;
  if (target) {
    for (const std::uint32_t i : wanted_by(*target)) {
      if (must_enter(blocks_[i], set)) result.push_back(i);
    }
    return result;
  }
  // Look through what is wanted inside or through what is held outside, whichever is less.
  std::size_t inside = 0, outside = 0;
  for (std::size_t v = 0; v < set.size(); ++v) {
    if (set[v]) {
      inside += wanted_by(NodeId(v)).size();
    } else {
      outside += held_by(NodeId(v)).size();
    }
  }
  const bool look_inside = inside <= outside;
  std::vector<bool> seen(blocks_.size(), false);
  for (std::size_t v = 0; v < set.size(); ++v) {
    if (set[v] != look_inside) continue;
    for (const std::uint32_t i : look_inside ? wanted_by(NodeId(v)) : held_by(NodeId(v))) {
      if (seen[i]) continue;
      seen[i] = true;
      const Block& block = blocks_[i];
      if (!must_enter(block, set)) continue;
      const std::vector<NodeId>& destinations = block.chunk->destinations;
      if (look_inside || std::any_of(destinations.begin(), destinations.end(),
                                     [&](NodeId node) { return set[node.index()]; })) {
        result.push_back(i);
      }
    }
  }
  std::sort(result.begin(), result.end());
  return result;
}

Demand::Inflow Demand::inflow(const NodeSet& set, std::optional<NodeId> target) const {
  Inflow result;
  result.blocks = entering(set, target);
  if (result.blocks.empty()) return result;
  std::vector<std::int64_t> bytes(nodes(), 0);
  if (target) {
    for (const std::uint32_t i : result.blocks) bytes[target->index()] += blocks_[i].bytes;
  } else {
    // By wanting node or by block, whichever is less to look at.
    std::size_t by_node = 0, by_block = 0;
    for (std::size_t v = 0; v < set.size(); ++v)
      by_node += set[v] ? wanted_by(NodeId(v)).size() : 0;
    for (const std::uint32_t i : result.blocks) by_block += blocks_[i].chunk->destinations.size();
    if (by_node < by_block) {
      std::vector<bool> enters(blocks_.size(), false);
      for (const std::uint32_t i : result.blocks) enters[i] = true;
      for (std::size_t v = 0; v < set.size(); ++v) {
        if (!set[v]) continue;
        for (const std::uint32_t i : wanted_by(NodeId(v)))
          bytes[v] += enters[i] ? blocks_[i].bytes : 0;
      }
    } else {
      for (const std::uint32_t i : result.blocks) {
        for (const NodeId node : blocks_[i].chunk->destinations) {
          if (set[node.index()]) bytes[node.index()] += blocks_[i].bytes;
        }
      }
    }
  }
  for (std::size_t v = 0; v < bytes.size(); ++v) {
    if (bytes[v] == 0) continue;
    result.wanting.push_back(NodeId(v));
    result.bytes.push_back(bytes[v]);
  }
  return result;
}

}  // namespace stellwerk::bound
