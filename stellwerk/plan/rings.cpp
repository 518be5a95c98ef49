#include "stellwerk/plan/rings.hpp"

#include <algorithm>

namespace stellwerk {

JobRings::JobRings(const Problem& problem, Routers& routers) : problem_(problem) {
  const Topology& topology = problem.topology;
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    const std::vector<NodeId>& ranks = problem.jobs[j].ranks;
    const auto chunk =
        std::find_if(problem.chunks.begin(), problem.chunks.end(),
                     [&](const Chunk& candidate) { return candidate.job == JobId(j); });
    rings_.emplace_back();
    position_.emplace_back();
    if (chunk == problem.chunks.end()) continue;
    Router& router = routers.of(*chunk);
    // If all reach the first rank and it reaches all, everybody reaches everybody.
    for (const NodeId rank : ranks) {
      for (const auto& [from, to] :
           {std::pair(ranks.front(), rank), std::pair(rank, ranks.front())}) {
        if (unreachable_ || router.reaches(from, to)) continue;
        unreachable_ = "job '" + problem.jobs[j].name + "': no path leads from " +
                       topology.node(from).name + " to " + topology.node(to).name;
      }
    }
    if (unreachable_) return;
    rings_.back() = ring_orders(topology, ranks, chunk->bytes, router);
    for (const RingOrder& ring : rings_.back()) {
      IdVector<NodeId, std::size_t> position(topology.nodes().size(), 0);
      for (std::size_t i = 0; i < ring.size(); ++i) position[ring[i]] = i;
      position_.back().push_back(std::move(position));
    }
  }
}

JobRings::Seat JobRings::seat(const Chunk& chunk, std::size_t k) const {
  const std::size_t job = chunk.job.index();
  const auto parts = static_cast<std::size_t>(problem_.jobs[job].chunks);
  const std::size_t ring = (k / parts + k % parts) % rings_[job].size();
  return {&rings_[job][ring], position_[job][ring][chunk.owner]};
}

}  // namespace stellwerk
