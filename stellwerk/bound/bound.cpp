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
#include "stellwerk/bound/metric.hpp"
#include "stellwerk/bound/partition.hpp"

namespace stellwerk {
namespace {

using bound::Best;
using bound::Block;
using bound::Demand;
using bound::Network;
using bound::NodeSet;

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

}  // namespace

Bound lower_bound(const Problem& problem, const StopCondition& stop) {
  const Network network(problem.topology);
  const Demand demand(problem);
  Best best;
  search_latency(network, demand, best);
  const Time latency_bound = best.value();
  const auto sets = bound::candidate_sets(network, demand, stop);
  // All plain cuts first: of equal bounds the simpler certificate stays.
  for (const auto& [set, target] : sets) {
    if (stop.should_stop()) break;
    bound::search_cuts(set, target, network, demand, best);
  }
  bound::search_partitions(network, demand, best);
  for (const auto& [set, target] : sets) {
    if (stop.should_stop()) break;
    bound::search_dynamic_cuts(set, target, network, demand, latency_bound, best);
  }
  bound::search_metric(network, demand, stop, best);
  return best.bound();
}

Bound lower_bound_chunked(const Problem& problem, const Bound& any_chunking,
                          const StopCondition& stop) {
  const Network network(problem.topology);
  const Demand demand(problem);
  Best best(any_chunking);
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
