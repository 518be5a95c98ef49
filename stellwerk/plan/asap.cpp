#include "stellwerk/plan/asap.hpp"

#include <algorithm>
#include <utility>

#include "stellwerk/check/simulate.hpp"

namespace stellwerk {

AsapBuilder::AsapBuilder(const Problem& problem, const Routes& routes)
    : problem_(problem), routes_(routes), free_(problem.topology.links().size(), Time{0}) {
  for (const ChunkId id : problem.chunk_ids()) {
    const Chunk& chunk = problem.chunks[id];
    for (const NodeId origin : chunk.origins) complete_.emplace(key(id, origin), chunk.ready);
  }
}

Time AsapBuilder::append(ChunkId chunk, Op op, const Hop& hop, Time held) {
  const Topology& topology = problem_.topology;
  Time start = held;
  Time offset;
  for (const LinkId link : hop.links) {
    start = std::max(start, free_[link] - offset);
    offset += topology.link(link).latency;
  }
  Send send = whole_chunk_send(topology, problem_.chunks[chunk], chunk, op, start, hop.links);
  if (const auto cap = topology.node(hop.from).injection) send.rate = std::min(send.rate, *cap);
  if (const auto cap = topology.node(hop.to).ejection) send.rate = std::min(send.rate, *cap);
  const Time duration = transmission_time(send.bytes, send.rate);
  offset = Time{0};
  for (const LinkId link : hop.links) {
    free_[link] = start + offset + duration;
    offset += topology.link(link).latency;
  }
  sends_.push_back(std::move(send));
  return start + hop.latency + duration;
}

Time AsapBuilder::copy(ChunkId chunk, HopId id) {
  const Hop& hop = routes_.hop(id);
  const auto held = complete_.find(key(chunk, hop.to));
  if (held != complete_.end()) return held->second;
  const Time arrival = append(chunk, Op::copy, hop, complete_.at(key(chunk, hop.from)));
  complete_.emplace(key(chunk, hop.to), arrival);
  return arrival;
}

void AsapBuilder::copy_along(ChunkId chunk, const std::vector<HopId>& hops) {
  for (const HopId hop : hops) copy(chunk, hop);
}

Time AsapBuilder::partial_ready(ChunkId chunk, NodeId node) const {
  const auto arrived = partial_.find(key(chunk, node));
  const Time ready = problem_.chunks[chunk].ready;
  return arrived == partial_.end() ? ready : std::max(ready, arrived->second);
}

Time AsapBuilder::reduce(ChunkId chunk, HopId id) {
  const Hop& hop = routes_.hop(id);
  const Time arrival = append(chunk, Op::reduce, hop, partial_ready(chunk, hop.from));
  Time& latest = partial_[key(chunk, hop.to)];
  latest = std::max(latest, arrival);
  return arrival;
}

void AsapBuilder::finish_sum(ChunkId chunk, NodeId node) {
  complete_[key(chunk, node)] = partial_ready(chunk, node);
}

Schedule AsapBuilder::take() {
  sort_sends(problem_.topology, sends_);
  return simulate(problem_, sends_).sends;
}

}  // namespace stellwerk
