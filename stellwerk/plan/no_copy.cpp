#include "stellwerk/plan/no_copy.hpp"

#include <algorithm>

namespace stellwerk {

NoCopyProblem without_copies(const Problem& problem) {
  NoCopyProblem result;
  result.problem.topology = problem.topology;
  result.problem.jobs = problem.jobs;
  result.problem.relays = problem.relays;
  for (const ChunkId id : problem.chunk_ids()) {
    const Chunk& chunk = problem.chunks[id];
    for (const NodeId node : chunk.destinations) {
      if (std::find(chunk.origins.begin(), chunk.origins.end(), node) != chunk.origins.end())
        continue;
      Chunk single = chunk;
      single.destinations = {node};
      result.problem.chunks.push_back(std::move(single));
      result.original.push_back(id);
    }
  }
  return result;
}

Schedule NoCopyProblem::translate(Schedule sends) const {
  for (Send& send : sends) send.chunk = original[send.chunk.index()];
  sort_sends(problem.topology, sends);
  return sends;
}

}  // namespace stellwerk
