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

BlockList Demand::entering(const NodeSet& set) const {
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
  BlockList candidates;
  candidates.reserve(std::min(inside, outside));
  for (std::size_t v = 0; v < set.size(); ++v) {
    if (set[v] != look_inside) continue;
    const BlockList& list = look_inside ? wanted_[v] : held_[v];
    candidates.insert(candidates.end(), list.begin(), list.end());
  }
  std::sort(candidates.begin(), candidates.end());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  std::erase_if(candidates, [&](std::size_t i) {
    const Block& block = blocks_[i];
    if (!must_enter(block, set)) return true;
    return !look_inside &&
           std::none_of(block.chunk->destinations.begin(), block.chunk->destinations.end(),
                        [&](NodeId node) { return set[node.index()]; });
  });
  return candidates;
}

}  // namespace stellwerk::bound
