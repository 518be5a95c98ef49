// Time reversal: see docs/model.md, "Plans", and docs/planners.md. A valid broadcast schedule on
// the reversed network, run backwards, is a valid reduction schedule: bytes that entered link e
// during [a, a + d) and arrived one latency later enter the turned link during [T - a - latency -
// d, T - a - latency). All windows of one link move by the same amount, so what did not overlap
// does not, and what a node received before it sent on, it now sends after it received. Held to its
// word by: plan/reversal_test.cpp.
#include "stellwerk/plan/reversal.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "stellwerk/check/prune.hpp"
#include "stellwerk/plan/passing.hpp"
#include "stellwerk/plan/polish.hpp"

namespace stellwerk {

bool has_reductions(const Problem& problem) {
  return std::any_of(problem.chunks.begin(), problem.chunks.end(),
                     [](const Chunk& chunk) { return chunk.is_reduction(); });
}

namespace {

/// Finds where sums can be formed.
class Roots {
 public:
  explicit Roots(const Problem& problem)
      : problem_(problem), buffers_(has_buffer_limits(problem.topology)) {}

  /// The owner when it wants the sum, else the first destination; but if not all contributors reach
  /// it or it does not reach all destinations, the first node among destinations and contributors
  /// for which that holds.
  NodeId of(const Chunk& chunk) {
    const auto& wanting = chunk.destinations;
    const bool owner_wants =
        std::find(wanting.begin(), wanting.end(), chunk.owner) != wanting.end();
    const NodeId usual = owner_wants ? chunk.owner : wanting.front();
    if (buffers_) known_.clear();
    if (serves(chunk, usual)) return usual;
    for (const auto* list : {&wanting, &chunk.contributors}) {
      for (const NodeId node : *list) {
        if (serves(chunk, node)) return node;
      }
    }
    return usual;
  }

 private:
  bool serves(const Chunk& chunk, NodeId root) {
    const auto all_in = [](const std::vector<NodeId>& nodes, const std::vector<char>& seen) {
      return std::all_of(nodes.begin(), nodes.end(),
                         [&](NodeId node) { return seen[node.index()] != 0; });
    };
    return all_in(chunk.contributors, reach(chunk, root, true)) &&
           all_in(chunk.destinations, reach(chunk, root, false));
  }

  /// Who reaches the root (`towards`), or whom it reaches. Without buffer limits chunks of one job
  /// and size have the same surroundings.
  const std::vector<char>& reach(const Chunk& chunk, NodeId root, bool towards) {
    std::vector<char>& seen = known_[{chunk.job, chunk.bytes, root, towards}];
    if (!seen.empty()) return seen;
    const Topology& topology = problem_.topology;
    seen.assign(topology.nodes().size(), 0);
    std::vector<NodeId> stack{root};
    seen[root.index()] = 1;
    while (!stack.empty()) {
      const NodeId node = stack.back();
      stack.pop_back();
      for (const LinkId id : towards ? topology.in(node) : topology.out(node)) {
        const NodeId next = towards ? topology.link(id).from : topology.link(id).to;
        const auto& partners = towards ? chunk.contributors : chunk.destinations;
        const bool takes_part = std::find(partners.begin(), partners.end(), next) != partners.end();
        if (seen[next.index()] != 0 ||
            !(takes_part || may_pass(problem_, next, chunk.job, chunk.bytes)))
          continue;
        seen[next.index()] = 1;
        stack.push_back(next);
      }
    }
    return seen;
  }

  const Problem& problem_;
  bool buffers_;
  std::map<std::tuple<JobId, Bytes, NodeId, bool>, std::vector<char>> known_;
};

std::vector<NodeId> without(const std::vector<NodeId>& nodes, NodeId node) {
  std::vector<NodeId> result;
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(result),
               [&](NodeId other) { return other != node; });
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
  Roots roots(problem);
  for (const ChunkId id : problem.chunk_ids()) {
    const Chunk& chunk = problem.chunks[id];
    if (!chunk.is_reduction()) {
      split.spread.chunks.push_back(chunk);
      split.spreading.push_back(id);
      continue;
    }
    Chunk half = chunk;
    half.contributors.clear();
    half.owner = roots.of(chunk);
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

Schedule join_reductions(const Problem& problem, const ReductionSplit& split,
                         const Schedule& collect_sends, const Schedule& spread) {
  // A delivery that nobody needs would, backwards, send a sum that nobody has begun.
  const Schedule collect = prune(split.collect, collect_sends);
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
  for (const ChunkId id : split.collected)
    latest_ready = std::max(latest_ready, problem.chunks[id].ready);
  end += latest_ready;
  for (std::size_t i = 0; i < collect.size(); ++i) {
    Send send = collect[i];
    send.chunk = split.collected[send.chunk.index()];
    send.op = Op::reduce;
    send.start = end - last[i];
    std::reverse(send.links.begin(), send.links.end());
    result.push_back(std::move(send));
  }
  // Re-timing does not make room in transit buffers, so where there are limits everything waits for
  // the sums.
  const bool wait = has_buffer_limits(problem.topology);
  for (const Send& other : spread) {
    Send send = other;
    send.chunk = split.spreading[send.chunk.index()];
    if (wait || problem.chunks[send.chunk].is_reduction()) send.start += end;
    result.push_back(std::move(send));
  }
  sort_sends(problem.topology, result);
  return result;
}

Schedule join_and_polish(const Problem& problem, const ReductionSplit& split,
                         const Schedule& collect, const Schedule& spread,
                         const StopCondition& stop) {
  Schedule joined = join_reductions(problem, split, collect, spread);
  Schedule polished = polish(problem, joined, stop);
  if (keeps_buffers(problem, polished)) return polished;
  return polish(problem, one_chunk_after_the_other(problem, std::move(joined)), stop);
}

}  // namespace stellwerk
