#include "stellwerk/bound/demand.hpp"

#include <algorithm>

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

Demand::Demand(const Problem& problem)
    : wanted_(problem.topology.nodes().size()), held_(problem.topology.nodes().size()) {
  for (const ChunkId id : problem.chunk_ids()) {
    const Chunk& chunk = problem.chunks[id];
    if (blocks_.empty() || !same_block(*blocks_.back().chunk, chunk)) {
      blocks_.push_back({&chunk, id, 0, {}});
    }
    blocks_.back().bytes += chunk.bytes.value;
    largest_chunk_ = std::max(largest_chunk_, chunk.bytes.value);
    blocks_.back().sizes.push_back(chunk.bytes.value);
  }
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Chunk& chunk = *blocks_[i].chunk;
    latest_ready_ = std::max(latest_ready_, chunk.ready);
    for (const NodeId node : chunk.destinations) {
      if (!contains(chunk.origins, node)) wanted_[node.index()].push_back(i);
    }
    for (const NodeId node : blocks_[i].sources()) held_[node.index()].push_back(i);
  }
  for (const NodeId node : problem.topology.node_ids()) {
    if (!wanted_[node.index()].empty()) wanting_.push_back(node);
  }
}

bool Demand::must_enter(const Block& block, const NodeSet& set) {
  const Chunk& chunk = *block.chunk;
  if (chunk.is_reduction()) {
    return std::any_of(chunk.contributors.begin(), chunk.contributors.end(),
                       [&](NodeId node) { return !set[node.index()]; });
  }
  return std::none_of(chunk.origins.begin(), chunk.origins.end(),
                      [&](NodeId node) { return set[node.index()]; });
}

BlockList Demand::entering(const NodeSet& set, std::optional<NodeId> target) const {
  BlockList result;
  if (target) {
    for (const std::size_t i : wanted_by(*target)) {
      if (must_enter(blocks_[i], set)) result.push_back(i);
    }
    return result;
  }
  // Look through what is wanted inside or through what is held outside, whichever is less.
  std::size_t inside = 0, outside = 0;
  for (std::size_t v = 0; v < set.size(); ++v) {
    if (set[v]) {
      inside += wanted_[v].size();
    } else {
      outside += held_[v].size();
    }
  }
  const bool look_inside = inside <= outside;
  std::vector<bool> seen(blocks_.size(), false);
  for (std::size_t v = 0; v < set.size(); ++v) {
    if (set[v] != look_inside) continue;
    for (const std::size_t i : look_inside ? wanted_[v] : held_[v]) {
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
    for (const std::size_t i : result.blocks) bytes[target->index()] += blocks_[i].bytes;
  } else {
    // By wanting node or by block, whichever is less to look at.
    std::size_t by_node = 0, by_block = 0;
    for (std::size_t v = 0; v < set.size(); ++v) by_node += set[v] ? wanted_[v].size() : 0;
    for (const std::size_t i : result.blocks) by_block += blocks_[i].chunk->destinations.size();
    if (by_node < by_block) {
      std::vector<bool> enters(blocks_.size(), false);
      for (const std::size_t i : result.blocks) enters[i] = true;
      for (std::size_t v = 0; v < set.size(); ++v) {
        if (!set[v]) continue;
        for (const std::size_t i : wanted_[v]) bytes[v] += enters[i] ? blocks_[i].bytes : 0;
      }
    } else {
      for (const std::size_t i : result.blocks) {
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
