#include "stellwerk/plan/finish_times.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "stellwerk/check/byte_coverage.hpp"

namespace stellwerk {
namespace {

/// Numbers of the sends, chunk by chunk: those of chunk c are [first[c], first[c + 1]).
struct ByChunk {
  std::vector<std::size_t> first, sends;

  ByChunk(std::size_t chunks, const Schedule& schedule)
      : first(chunks + 1, 0), sends(schedule.size()) {
    for (const Send& send : schedule) ++first[send.chunk.index() + 1];
    std::partial_sum(first.begin(), first.end(), first.begin());
    std::vector<std::size_t> next(first.begin(), first.end() - 1);
    for (std::size_t i = 0; i < schedule.size(); ++i) sends[next[schedule[i].chunk.index()]++] = i;
  }
};

/// A part of a chunk of data, arrived.
struct PartArrival {
  NodeId node;
  Time at;
  Bytes offset;
  Bytes bytes;
};

/// When the parts are everything, node by node; sorts them.
template <class Met>
void complete_parts(std::vector<PartArrival>& parts, Bytes whole, const Met& met) {
  std::sort(parts.begin(), parts.end(), [](const PartArrival& a, const PartArrival& b) {
    return std::tie(a.node, a.at) < std::tie(b.node, b.at);
  });
  for (std::size_t i = 0; i < parts.size();) {
    const NodeId node = parts[i].node;
    ByteCoverage coverage(whole);
    for (; i < parts.size() && parts[i].node == node; ++i) {
      if (coverage.complete()) continue;
      coverage.add(parts[i].offset, parts[i].bytes);
      if (coverage.complete()) met(node, parts[i].at);
    }
  }
  parts.clear();
}

}  // namespace

std::vector<Time> finish_times(const Problem& problem, const Schedule& sends) {
  const ByChunk by_chunk(problem.chunks.size(), sends);
  std::vector<Time> finish(problem.jobs.size(), Time{0});
  constexpr Time kNever = Time::max();
  IdVector<NodeId, Time> met(problem.topology.nodes().size(), kNever);
  IdVector<NodeId, char> wants(problem.topology.nodes().size(), 0);
  std::vector<PartArrival> parts;
  SendTiming times;
  for (const ChunkId id : problem.chunk_ids()) {
    const Chunk& chunk = problem.chunks[id];
    for (const NodeId node : chunk.destinations) wants[node] = 1;
    // What is there already counts once it is ready.
    const auto& there = chunk.is_reduction() ? chunk.contributors : chunk.origins;
    if (!chunk.is_reduction() || there.size() == 1) {
      for (const NodeId node : there) met[node] = chunk.ready;
    }
    for (std::size_t i = by_chunk.first[id.index()]; i < by_chunk.first[id.index() + 1]; ++i) {
      const Send& send = sends[by_chunk.sends[i]];
      timing(problem.topology, send, times);
      for (std::size_t leaf = 0; leaf < times.leaves.size(); ++leaf) {
        const NodeId node = times.leaves[leaf];
        if (wants[node] == 0) continue;
        const Time arrival = send.start + times.arrival[leaf];
        if (!chunk.is_reduction() && send.bytes < chunk.bytes) {
          parts.push_back({node, arrival, send.offset, send.bytes});
          continue;
        }
        Time& known = met[node];
        if (known == kNever || chunk.is_reduction() == (arrival > known)) known = arrival;
      }
    }
    complete_parts(parts, chunk.bytes, [&](NodeId node, Time at) {
      met[node] = met[node] == kNever ? at : std::min(met[node], at);
    });
    Time& job = finish[chunk.job.index()];
    for (const NodeId node : chunk.destinations) {
      if (met[node] != kNever) job = std::max(job, met[node]);
      met[node] = kNever;
      wants[node] = 0;
    }
    for (const NodeId node : there) met[node] = kNever;
  }
  return finish;
}

}  // namespace stellwerk
