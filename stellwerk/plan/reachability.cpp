#include "stellwerk/plan/reachability.hpp"

#include <map>
#include <set>
#include <string>

#include "stellwerk/base/error.hpp"

namespace stellwerk {
namespace {

/// Nodes that data of `job` at `source` can come to; `wanted` GPUs may receive although they may not forward.
std::vector<char> reach(const Problem& problem, NodeId source, JobId job, const std::set<NodeId>& wanted) {
  const Topology& topology = problem.topology;
  std::vector<char> seen(topology.nodes().size(), 0);
  std::vector<NodeId> stack{source};
  seen[source.index()] = 1;
  while (!stack.empty()) {
    const NodeId node = stack.back();
    stack.pop_back();
    if (node != source && !problem.may_forward(node, job)) continue;
    for (const LinkId id : topology.out(node)) {
      const NodeId head = topology.link(id).to;
      if (seen[head.index()] != 0) continue;
      if (!problem.may_forward(head, job) && !wanted.contains(head)) continue;
      seen[head.index()] = 1;
      stack.push_back(head);
    }
  }
  return seen;
}

}  // namespace

void require_reachable(const Problem& problem) {
  // Ranks of one job all have the same surroundings: one search per (job, source).
  std::map<std::pair<JobId, NodeId>, std::vector<char>> known;
  for (const ChunkId id : problem.chunk_ids()) {
    const Chunk& chunk = problem.chunks[id];
    const std::vector<NodeId>& sources = chunk.is_reduction() ? chunk.contributors : chunk.origins;
    const std::set<NodeId> wanted(chunk.destinations.begin(), chunk.destinations.end());
    const auto from = [&](NodeId source) -> const std::vector<char>& {
      auto& seen = known[{chunk.job, source}];
      if (seen.empty()) seen = reach(problem, source, chunk.job, wanted);
      return seen;
    };
    for (const NodeId node : chunk.destinations) {
      bool any = false;
      bool all = true;
      NodeId missing;
      for (const NodeId source : sources) {
        const bool reached = from(source)[node.index()] != 0;
        any = any || reached;
        if (!reached) {
          all = false;
          missing = source;
        }
      }
      if (chunk.is_reduction() ? all : any) continue;
      const std::string job = problem.jobs[chunk.job.index()].name;
      throw Error(ErrorCode::unsolved,
                  "job '" + job + "': chunk " + std::to_string(id.value) + " of '" + problem.topology.node(missing).name +
                      "' cannot reach '" + problem.topology.node(node).name +
                      (problem.relays == Relays::members
                           ? "': no path through members of the job; allow other GPUs with --relays all or add links"
                           : "': no path of links leads there; add links or leave the rank out"));
    }
  }
}

}  // namespace stellwerk
