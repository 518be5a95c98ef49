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

/// A chunk's steps by the rank that takes them: one, or two where the chunk sets out both ways round.
using Steps = std::map<NodeId, std::vector<Step>>;

/// One chunk's way along a plan's rings, with names for messages.
class ChunkWay {
 public:
  ChunkWay(const Plan& plan, ChunkId chunk, Steps steps)
      : topology_(plan.problem.topology),
        ranks_(plan.problem.jobs[0].ranks),
        name_("chunk " + std::to_string(chunk.value)),
        origin_(plan.problem.chunks[chunk].origins.at(0)),
        steps_(std::move(steps)) {
    for (const auto& [rank, taken] : steps_) {
      if (taken.size() == 1 || (rank == origin_ && taken.size() == 2)) continue;
      refuse(topology_.node(rank).name + " sends " + name_ + " to " + std::to_string(taken.size()) +
             " others, " + topology_.node(taken[0].to).name + " and " +
             topology_.node(taken[1].to).name + (taken.size() > 2 ? ", ..." : "") +
             "; in a ring each rank sends to the next one only, by a way that passes over no other "
             "rank (--planner ring takes such ways where links have them)");
    }
  }

  /// Adds the steps to the rings that they are part of: one, or, if the chunk goes both ways, that and its reverse.
  void add_to(std::map<std::vector<NodeId>, std::map<NodeId, Step>>& rings) const {
    std::vector<std::vector<NodeId>> arms;
    if (const auto first = steps_.find(origin_); first != steps_.end()) {
      for (const Step& step : first->second) arms.push_back(arm(step));
    }
    std::vector<NodeId> order{origin_};
    if (!arms.empty()) order.insert(order.end(), arms[0].begin(), arms[0].end());
    if (arms.size() == 2) order.insert(order.begin(), arms[1].rbegin(), arms[1].rend());
    check_all(order);
    for (std::size_t k = 0; k < std::max<std::size_t>(arms.size(), 1); ++k) {
      if (k == 1) std::reverse(order.begin(), order.end());
      std::vector<NodeId> from_first = order;
      std::rotate(from_first.begin(), std::find(from_first.begin(), from_first.end(), ranks_[0]),
                  from_first.end());
      auto& ring = rings[std::move(from_first)];
      if (arms.empty()) continue;
      ring.emplace(origin_, steps_.at(origin_)[k]);
      for (const NodeId node : arms[k]) {
        if (const auto step = steps_.find(node); step != steps_.end())
          ring.emplace(node, step->second[0]);
      }
    }
  }

 private:
  /// The ranks that a chunk comes to, one after the other.
  std::vector<NodeId> arm(const Step& first) const {
    std::vector<NodeId> order{first.to};
    for (auto step = steps_.find(first.to); step != steps_.end() && order.size() <= ranks_.size();
         step = steps_.find(order.back()))
      order.push_back(step->second[0].to);
    return order;
  }

  void check_all(const std::vector<NodeId>& order) const {
    std::vector<NodeId> sorted = order, all = ranks_;
    std::sort(sorted.begin(), sorted.end());
    std::sort(all.begin(), all.end());
    if (sorted == all) return;
    for (const NodeId rank : all) {
      if (!std::binary_search(sorted.begin(), sorted.end(), rank))
        refuse(name_ + " does not go round all ranks: it does not come to " +
               topology_.node(rank).name + " (--planner ring makes rings)");
    }
    refuse(name_ + " does not go round all ranks once each (--planner ring makes rings)");
  }

  const Topology& topology_;
  const std::vector<NodeId>& ranks_;
  std::string name_;
  NodeId origin_;
  Steps steps_;
};

}  // namespace

std::vector<PlanRing> plan_rings(const Plan& plan) {
  const Topology& topology = plan.problem.topology;
  if (plan.problem.jobs.size() != 1) refuse("there are several jobs");
  std::vector<Steps> next(plan.problem.chunks.size());
  for (const Send& send : plan.sends) {
    const SendTiming times = timing(topology, send);
    const std::string chunk = std::to_string(send.chunk.value);
    if (send.op != Op::copy)
      refuse("it has sums (export the AllGather: libraries use a ring for both)");
    if (times.leaves.size() != 1 || times.sources.size() != 1)
      refuse("chunk " + chunk + " is multicast (--planner ring makes rings)");
    // A chunk may come in pieces.
    std::vector<Step>& steps = next[send.chunk.index()][times.sources[0]];
    const bool known = std::any_of(steps.begin(), steps.end(),
                                   [&](const Step& step) { return step.to == times.leaves[0]; });
    if (!known) steps.push_back({times.leaves[0], &send});
  }
  // A chunk does not take the step back to its origin: the steps of a ring come from all of its chunks.
  std::map<std::vector<NodeId>, std::map<NodeId, Step>> steps;
  for (std::size_t c = 0; c < next.size(); ++c) {
    if (plan.problem.chunks[ChunkId(c)].origins.empty()) refuse("it has sums");
    ChunkWay(plan, ChunkId(c), std::move(next[c])).add_to(steps);
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
