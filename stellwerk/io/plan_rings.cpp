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

PlanRings plan_rings(const Plan& plan) {
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
  PlanRings result;
  // A chunk does not take the step back to its origin: the steps of a ring come from all of its chunks.
  std::map<std::vector<NodeId>, std::map<NodeId, Step>> steps;
  std::vector<std::vector<NodeId>> order_of;
  for (std::size_t c = 0; c < next.size(); ++c) {
    const Chunk& chunk = plan.problem.chunks[ChunkId(c)];
    if (chunk.origins.empty()) refuse("it has sums");
    order_of.push_back(order_along(next[c], chunk.origins[0], ranks, std::to_string(c)));
    steps[order_of.back()].insert(next[c].begin(), next[c].end());
  }
  for (const auto& [order, taken] : steps) {
    PlanRing ring{order, {}};
    for (const NodeId node : order) {
      const auto step = taken.find(node);
      ring.steps.push_back(step == taken.end() ? nullptr : step->second.send);
    }
    result.rings.push_back(std::move(ring));
  }
  for (const std::vector<NodeId>& order : order_of) {
    const auto place = std::distance(steps.begin(), steps.find(order));
    result.ring_of.push_back(static_cast<std::size_t>(place));
  }
  return result;
}

}  // namespace stellwerk
