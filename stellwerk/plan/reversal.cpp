// Time reversal: see docs/model.md, "Plans", and docs/planners.md. A valid broadcast schedule on the reversed network, run
// backwards, is a valid reduction schedule: bytes that entered link e during [a, a + d) and arrived one latency later
// enter the turned link during [T - a - latency - d, T - a - latency). All windows of one link move by the same amount,
// so what did not overlap does not, and what a node received before it sent on, it now sends after it received.
// Held to its word by: plan/reversal_test.cpp.
#include "stellwerk/plan/reversal.hpp"

#include <algorithm>

namespace stellwerk {

bool has_reductions(const Problem& problem) {
  return std::any_of(problem.chunks.begin(), problem.chunks.end(),
                     [](const Chunk& chunk) { return chunk.is_reduction(); });
}

namespace {

NodeId root_of(const Chunk& chunk) {
  const auto& wanting = chunk.destinations;
  return std::find(wanting.begin(), wanting.end(), chunk.owner) != wanting.end() ? chunk.owner : wanting.front();
}

std::vector<NodeId> without(const std::vector<NodeId>& nodes, NodeId node) {
  std::vector<NodeId> result;
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(result), [&](NodeId other) { return other != node; });
  return result;
}

}  // namespace

ReductionSplit split_reductions(const Problem& problem) {
  ReductionSplit split;
  split.collect.topology = reversed(problem.topology);
  split.spread.topology = problem.topology;
  for (Problem* half : {&split.collect, &split.spread}) {
    half->jobs = problem.jobs;
    half->relays = problem.relays;
  }
  for (const ChunkId id : problem.chunk_ids()) {
    const Chunk& chunk = problem.chunks[id];
    if (!chunk.is_reduction()) {
      split.spread.chunks.push_back(chunk);
      split.spreading.push_back(id);
      continue;
    }
    Chunk half = chunk;
    half.contributors.clear();
    half.owner = root_of(chunk);
    half.origins = {half.owner};
    half.ready = Time{0};
    half.destinations = without(chunk.contributors, half.owner);
    if (!half.destinations.empty()) {
      split.collect.chunks.push_back(half);
      split.collected.push_back(id);
    }
    half.destinations = without(chunk.destinations, half.owner);
    if (!half.destinations.empty()) {
      split.spread.chunks.push_back(half);
      split.spreading.push_back(id);
    }
  }
  return split;
}

Schedule join_reductions(const Problem& problem, const ReductionSplit& split, const Schedule& collect,
                         const Schedule& spread) {
  Schedule result;
  result.reserve(collect.size() + spread.size());
  Time end{0};
  std::vector<Time> last(collect.size());
  for (std::size_t i = 0; i < collect.size(); ++i) {
    const SendTiming times = timing(split.collect.topology, collect[i]);
    last[i] = collect[i].start + *std::max_element(times.arrival.begin(), times.arrival.end());
    end = std::max(end, last[i]);
  }
  Time latest_ready{0};
  for (const ChunkId id : split.collected) latest_ready = std::max(latest_ready, problem.chunks[id].ready);
  end += latest_ready;
  for (std::size_t i = 0; i < collect.size(); ++i) {
    Send send = collect[i];
    send.chunk = split.collected[send.chunk.index()];
    send.op = Op::reduce;
    send.start = end - last[i];
    std::reverse(send.links.begin(), send.links.end());
    result.push_back(std::move(send));
  }
  for (const Send& other : spread) {
    Send send = other;
    send.chunk = split.spreading[send.chunk.index()];
    if (problem.chunks[send.chunk].is_reduction()) send.start += end;
    result.push_back(std::move(send));
  }
  sort_sends(problem.topology, result);
  return result;
}

}  // namespace stellwerk
