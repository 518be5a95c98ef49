// The search for lower bounds: proposals from all families, each evaluated exactly by the
// definitions in docs/certificates.md, the best kept. Nothing here can make a bound wrong, only
// weak; the families are described in their own files. Held to its word by bound_test.cpp: known
// values, and never above the optimum of an exhaustive search on small random problems.
#include "stellwerk/bound/bound.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "stellwerk/bound/candidate_sets.hpp"
#include "stellwerk/bound/chunk_cut.hpp"
#include "stellwerk/bound/cut.hpp"
#include "stellwerk/bound/main_chunk_cuts.hpp"
#include "stellwerk/bound/main_cuts.hpp"
#include "stellwerk/bound/metric.hpp"
#include "stellwerk/bound/partition.hpp"

namespace stellwerk {
namespace {

using bound::Best;
using bound::Block;
using bound::Demand;
using bound::Images;
using bound::Network;

constexpr std::size_t kSmallNetwork = 96;
constexpr std::size_t kFewChunks = 20'000;

void search_latency(const Network& network, const Demand& demand, Best& best) {
  for (const Block& block : demand.blocks()) {
    const Chunk& chunk = *block.chunk;
    for (const NodeId target : chunk.destinations) {
      const std::vector<std::int64_t>& to = network.to(target);
      std::int64_t nearest = graph::kUnreachable, farthest = 0;
      for (const NodeId source : block.sources()) {
        nearest = std::min(nearest, to[source.index()]);
        farthest = std::max(farthest, to[source.index()]);
      }
      const std::int64_t distance = chunk.is_reduction() ? farthest : nearest;
      if (distance >= graph::kUnreachable) continue;
      const Time value = chunk.ready + Time{distance};
      if (value <= best.value()) continue;
      Certificate certificate;
      certificate.kind = Certificate::Kind::latency;
      certificate.chunk = block.id;
      certificate.target = target;
      best.offer(value, certificate);
    }
  }
}

/// Small enough for trying every set, target and level?
bool small(const Problem& problem) {
  return problem.symmetry.trivial() && problem.topology.nodes().size() <= kSmallNetwork &&
         problem.chunks.size() <= kFewChunks;
}

void search_everything(const Network& network, const Demand& demand, const StopCondition& stop,
                       Best& best) {
  Best latency;
  search_latency(network, demand, latency);
  best.offer(latency.value(), latency.bound().certificate);
  const auto sets = bound::candidate_sets(network, demand, stop);
  for (const auto& [set, target] : sets) {
    if (stop.should_stop()) return;
    bound::search_cuts(set, target, network, demand, best);
  }
  for (const auto& [set, target] : sets) {
    if (stop.should_stop()) return;
    bound::search_dynamic_cuts(set, target, network, demand, latency.value(), best);
  }
}

}  // namespace

Bound lower_bound(const Problem& problem, const StopCondition& stop) {
  const Network network(problem.topology);
  const Demand demand(problem);
  const Images images(problem, demand);
  Best best;
  const bound::MainCuts main(network, images, stop);
  main.search_latency(best);
  const Time latency_bound = best.value();
  // Simple kinds first: of equal bounds the first stays.
  main.search_cuts(best);
  bound::search_partitions(network, images, best);
  main.search_dynamic_cuts(latency_bound, best);
  if (small(problem)) search_everything(network, demand, stop, best);
  bound::search_metric(network, images, stop, best);
  return best.bound();
}

Bound lower_bound_chunked(const Problem& problem, const Bound& any_chunking,
                          const StopCondition& stop) {
  const Network network(problem.topology);
  const Demand demand(problem);
  const Images images(problem, demand);
  Best best(any_chunking);
  const bound::MainCuts main(network, images, stop);
  bound::MainChunkCuts(network, images, main, stop).search(best);
  if (!small(problem)) return best.bound();
  const bound::ChunkCutSearch search(network, demand);
  search.search_ways(stop, best);
  const auto sets = bound::candidate_sets(network, demand, stop);
  std::vector<std::pair<Time, std::size_t>> order;
  for (std::size_t k = 0; k < sets.size(); ++k) {
    order.emplace_back(Time{} - search.transfer_time(sets[k]), k);
  }
  std::sort(order.begin(), order.end());
  for (const auto& [transfer, k] : order) {
    if (stop.should_stop() || search.exhausted()) break;
    search.search_set(sets[k], best);
  }
  return best.bound();
}

}  // namespace stellwerk
