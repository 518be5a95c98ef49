#include "stellwerk/plan/passing.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "stellwerk/plan/timeline.hpp"

namespace stellwerk {

bool keeps_buffers(const Problem& problem, const Schedule& sends) {
  const Topology& topology = problem.topology;
  if (!has_buffer_limits(topology)) return true;
  std::map<std::pair<NodeId, ChunkId>, std::pair<Time, Time>> stays;
  const auto cover = [&](NodeId node, ChunkId id, Time begin, Time end) {
    if (!topology.node(node).buffer) return;
    const Chunk& chunk = problem.chunks[id];
    for (const auto* list : {&chunk.origins, &chunk.contributors, &chunk.destinations}) {
      if (std::find(list->begin(), list->end(), node) != list->end()) return;
    }
    const auto [stay, fresh] = stays.emplace(std::pair(node, id), std::pair(begin, end));
    if (fresh) return;
    stay->second.first = std::min(stay->second.first, begin);
    stay->second.second = std::max(stay->second.second, end);
  };
  for (const Send& send : sends) {
    const SendTiming times = timing(topology, send);
    for (std::size_t i = 0; i < send.links.size(); ++i) {
      const Link& link = topology.link(send.links[i]);
      const Time enters = send.start + times.entry[i];
      if (topology.stores(link.from)) cover(link.from, send.chunk, enters, enters + times.duration);
      if (topology.stores(link.to)) {
        cover(link.to, send.chunk, enters + link.latency, enters + link.latency + times.duration);
      }
    }
  }
  IdVector<NodeId, Timeline> used(topology.nodes().size());
  for (const NodeId node : topology.node_ids()) {
    if (topology.node(node).buffer) used[node] = Timeline(topology.node(node).buffer->value);
  }
  for (const auto& [key, stay] : stays) {
    const auto [node, id] = key;
    const Time duration = stay.second - stay.first;
    const std::int64_t bytes = problem.chunks[id].bytes.value;
    if (!used[node].fits(stay.first, duration, bytes)) return false;
    used[node].add(stay.first, duration, bytes);
  }
  return true;
}

Schedule one_chunk_after_the_other(const Problem& problem, Schedule sends) {
  IdVector<ChunkId, Time> first(problem.chunks.size(), Time::max());
  IdVector<ChunkId, Time> last(problem.chunks.size());
  for (const Send& send : sends) {
    const SendTiming times = timing(problem.topology, send);
    first[send.chunk] = std::min(first[send.chunk], send.start);
    for (const Time arrival : times.arrival)
      last[send.chunk] = std::max(last[send.chunk], send.start + arrival);
  }
  IdVector<ChunkId, Time> shift(problem.chunks.size());
  Time free;
  for (const ChunkId id : problem.chunk_ids()) {
    if (first[id] == Time::max()) continue;
    free = std::max(free, problem.chunks[id].ready);
    shift[id] = free - first[id];
    free += last[id] - first[id];
  }
  for (Send& send : sends) send.start += shift[send.chunk];
  sort_sends(problem.topology, sends);
  return sends;
}

}  // namespace stellwerk
