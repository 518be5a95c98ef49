#include "stellwerk/plan/reachability.hpp"

#include <map>
#include <string>

#include "stellwerk/base/error.hpp"
#include "stellwerk/plan/passing.hpp"

namespace stellwerk {
namespace {

/// Nodes that `chunk` can come to from `source`.
std::vector<char> reach(const Problem& problem, NodeId source, const Chunk& chunk) {
  const Topology& topology = problem.topology;
  std::vector<char> enterable(topology.nodes().size(), 0);
  for (const NodeId node : topology.node_ids()) {
    enterable[node.index()] = static_cast<char>(may_pass(problem, node, chunk.job, chunk.bytes));
  }
  // Who takes part needs no room for data in transit.
  for (const auto* list : {&chunk.origins, &chunk.contributors, &chunk.destinations}) {
    for (const NodeId node : *list) enterable[node.index()] = 1;
  }
  std::vector<char> seen(topology.nodes().size(), 0);
  std::vector<NodeId> stack{source};
  seen[source.index()] = 1;
  while (!stack.empty()) {
    const NodeId node = stack.back();
    stack.pop_back();
    for (const LinkId id : topology.out(node)) {
      const NodeId head = topology.link(id).to;
      if (seen[head.index()] != 0 || enterable[head.index()] == 0) continue;
      seen[head.index()] = 1;
      stack.push_back(head);
    }
  }
  return seen;
}

/// Can every node that takes part in the job's chunks reach every other, over nodes that may pass
/// all of them on? Then nothing is left to be asked.
class Strong {
 public:
  explicit Strong(const Problem& problem) : problem_(problem) {
    std::vector<NodeId> first(problem.jobs.size());
    takes_part_.resize(problem.jobs.size());
    for (auto& flags : takes_part_) flags.assign(problem.topology.nodes().size(), 0);
    for (const Chunk& chunk : problem.chunks) {
      for (const auto* list : {&chunk.origins, &chunk.contributors, &chunk.destinations}) {
        for (const NodeId node : *list) takes_part_[chunk.job.index()][node.index()] = 1;
      }
      first[chunk.job.index()] = chunk.destinations.front();
    }
    for (std::size_t j = 0; j < first.size(); ++j) {
      connected_.push_back(first[j].valid() && spans(JobId(j), first[j], true) &&
                           spans(JobId(j), first[j], false));
    }
  }
  bool connected(JobId job) const { return connected_[job.index()]; }

 private:
  bool spans(JobId job, NodeId start, bool forwards) const {
    const Topology& topology = problem_.topology;
    std::vector<char> seen(topology.nodes().size(), 0);
    std::vector<NodeId> stack{start};
    seen[start.index()] = 1;
    while (!stack.empty()) {
      const NodeId node = stack.back();
      stack.pop_back();
      for (const LinkId id : forwards ? topology.out(node) : topology.in(node)) {
        const NodeId next = forwards ? topology.link(id).to : topology.link(id).from;
        if (seen[next.index()] != 0 || !may_pass(problem_, next, job, Bytes{0})) continue;
        seen[next.index()] = 1;
        stack.push_back(next);
      }
    }
    const auto& wanted = takes_part_[job.index()];
    for (std::size_t v = 0; v < seen.size(); ++v) {
      if (wanted[v] != 0 && seen[v] == 0) return false;
    }
    return true;
  }

  const Problem& problem_;
  std::vector<std::vector<char>> takes_part_;  // by job, by node
  std::vector<bool> connected_;
};

}  // namespace

void require_reachable(const Problem& problem, const std::vector<ChunkId>& numbers) {
  // Without buffer limits all chunks of one job have the same surroundings: one search per (job, source).
  const bool buffers = has_buffer_limits(problem.topology);
  const Strong strong(problem);
  std::map<std::pair<JobId, NodeId>, std::vector<char>> known;
  for (const ChunkId id : problem.chunk_ids()) {
    const Chunk& chunk = problem.chunks[id];
    if (!buffers && strong.connected(chunk.job)) continue;
    const std::vector<NodeId>& sources = chunk.is_reduction() ? chunk.contributors : chunk.origins;
    if (buffers) known.clear();
    const auto from = [&](NodeId source) -> const std::vector<char>& {
      auto& seen = known[{chunk.job, source}];
      if (seen.empty()) seen = reach(problem, source, chunk);
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
      std::string why = "no path of links leads there; add links or leave the rank out";
      if (problem.relays == Relays::members) {
        why = "no path through members of the job; allow other GPUs with --relays all or add links";
      }
      if (buffers)
        why =
            "no path leads there through nodes whose buffers have room for it; raise buffer or add "
            "links";
      const ChunkId number = numbers.empty() ? id : numbers[id.index()];
      throw Error(ErrorCode::unsolved, "job '" + job + "': chunk " + std::to_string(number.value) +
                                           " of '" + problem.topology.node(missing).name +
                                           "' cannot reach '" + problem.topology.node(node).name +
                                           "': " + why);
    }
  }
}

}  // namespace stellwerk
