#include "stellwerk/io/plan_rings.hpp"

#include <algorithm>
#include <map>

#include "stellwerk/base/error.hpp"

namespace stellwerk {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::unsolved, "the plan holds no rings: " + what);
}

struct Step {
  NodeId to;
  const Send* send;
};

/// The way of a chunk round all ranks, from rank 0 on.
std::vector<NodeId> order_along(const std::map<NodeId, Step>& next, NodeId origin,
                                const std::vector<NodeId>& ranks, const std::string& chunk) {
  std::vector<NodeId> order{origin};
  for (auto step = next.find(origin); step != next.end() && order.size() <= ranks.size();
       step = next.find(order.back()))
    order.push_back(step->second.to);
  std::vector<NodeId> sorted = order, all = ranks;
  std::sort(sorted.begin(), sorted.end());
  std::sort(all.begin(), all.end());
  if (sorted != all)
    refuse("chunk " + chunk + " does not go round all ranks (plan with --planner ring)");
  std::rotate(order.begin(), std::find(order.begin(), order.end(), ranks[0]), order.end());
  return order;
}

}  // namespace

std::vector<PlanRing> plan_rings(const Plan& plan) {
  const Topology& topology = plan.problem.topology;
  if (plan.problem.jobs.size() != 1) refuse("there are several jobs");
  const std::vector<NodeId>& ranks = plan.problem.jobs[0].ranks;
  std::vector<std::map<NodeId, Step>> next(plan.problem.chunks.size());
  for (const Send& send : plan.sends) {
    const SendTiming times = timing(topology, send);
    const std::string chunk = std::to_string(send.chunk.value);
    if (send.op != Op::copy)
      refuse("it has sums (export the AllGather: libraries use a ring for both)");
    if (times.leaves.size() != 1 || times.sources.size() != 1)
      refuse("chunk " + chunk + " is multicast (plan with --planner ring)");
    const auto [entry, added] =
        next[send.chunk.index()].emplace(times.sources[0], Step{times.leaves[0], &send});
    if (!added && entry->second.to != times.leaves[0])
      refuse("a rank sends chunk " + chunk + " to two others (plan with --planner ring)");
  }
  // A chunk does not take the step back to its origin: the steps of a ring come from all of its chunks.
  std::map<std::vector<NodeId>, std::map<NodeId, Step>> steps;
  for (std::size_t c = 0; c < next.size(); ++c) {
    const Chunk& chunk = plan.problem.chunks[ChunkId(c)];
    if (chunk.origins.empty()) refuse("it has sums");
    steps[order_along(next[c], chunk.origins[0], ranks, std::to_string(c))].insert(next[c].begin(),
                                                                                   next[c].end());
  }
  std::vector<PlanRing> rings;
  for (const auto& [order, taken] : steps) {
    rings.push_back({order, {}});
    for (const NodeId node : order) {
      const auto step = taken.find(node);
      rings.back().steps.push_back(step == taken.end() ? std::vector<LinkId>{}
                                                       : step->second.send->links);
    }
  }
  return rings;
}

std::optional<PlanRing> turned(const Topology& topology, const PlanRing& ring) {
  PlanRing result{{ring.order[0]}, {}};
  for (std::size_t i = ring.order.size(); i-- > 0;) {
    if (i > 0) result.order.push_back(ring.order[i]);
    result.steps.emplace_back();
    for (auto link = ring.steps[i].rbegin(); link != ring.steps[i].rend(); ++link) {
      const Link& there = topology.link(*link);
      const auto back = topology.out(there.to);
      const auto opposite = std::find_if(
          back.begin(), back.end(), [&](LinkId id) { return topology.link(id).to == there.from; });
      if (opposite == back.end()) return std::nullopt;
      result.steps.back().push_back(*opposite);
    }
  }
  return result;
}

}  // namespace stellwerk
