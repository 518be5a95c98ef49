// Planning from the middle.
//
// Copies. The greedy construction (plan/greedy_run.cpp) does not care how it came to be that some
// nodes hold some chunks: it starts from who holds what, with links taken by what is in flight. So
// what is left is planned anew as a whole. Keeping the old trees and mending them loses to this for
// AllGather, where a chunk that cannot come one way can come many others.
//
// Sums. Nodes that still have parts of a sum are the contributors of what is left of it. A broadcast
// to them from the root on the reversed network, backwards in time, gathers them (plan/reversal.hpp).
// It is planned as if all parts were there and all links free; then all sends are placed in that
// order, as early as parts arrive and links are free.
//
// Guarantee: whatever comes out is causal and keeps all limits but transit buffers. No bound on the
// finish; the residual bound says how far it can be off. Cost: that of a greedy run, and
// O(k log k) for placing k sends. Tests: replan_test.cpp, tests/property/replan_test.cpp.
#include "stellwerk/plan/rest_plan.hpp"

#include <algorithm>
#include <utility>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/check/prune.hpp"
#include "stellwerk/plan/asap.hpp"
#include "stellwerk/plan/forwarders.hpp"
#include "stellwerk/plan/greedy_run.hpp"
#include "stellwerk/plan/reservations.hpp"
#include "stellwerk/plan/reversal.hpp"

namespace stellwerk {
namespace {

constexpr std::size_t kMostForPlacing = 60'000;  // sends of copies, which are placed already

/// The ways to choose of one run after the other.
std::vector<GreedyStyle> styles(const GreedyInput& input) {
  using Rule = GreedyStyle::Rule;
  std::vector<GreedyStyle> result;
  GreedyStyle style;
  style.rarest_of = 16;
  for (std::size_t k = 0; k < input.clusterings.size(); ++k) {
    style.clustering = k;
    style.rule = Rule::strict;
    result.push_back(style);
    style.rule = Rule::relaxed;
    style.only_behind = true;
    style.wait = true;
    result.push_back(style);
  }
  style = GreedyStyle{};
  result.push_back(style);
  style.wait = true;
  result.push_back(style);
  return result;
}

constexpr const char* kLimit = "it was stopped before there was one";
constexpr const char* kNoRoom =
    "on the only ways that are left are nodes without room for a chunk, or with a share of its sum "
    "that counts elsewhere";

/// Greedy runs on one residual of copies, one way of choosing after the other.
class Copies {
 public:
  /// Keeps references.
  Copies(const Residual& rest, const RestOptions& options, const StopCondition& stop)
      : rest_(rest),
        stop_(stop),
        forwarders_(find_forwarders(rest.problem, stop, &rest.barred)),
        input_(rest.problem, forwarders_, &rest),
        styles_(styles(input_)),
        rng_(options.seed) {
    for (const Chunk& chunk : rest.problem.chunks) {
      deliveries_ += static_cast<std::int64_t>(chunk.destinations.size());
    }
  }

  /// Why there is no plan; empty if there may be one.
  std::string objection() const {
    if (forwarders_.objection.empty()) return "";
    return stop_.should_stop() ? kLimit : kNoRoom;
  }
  std::int64_t deliveries() const { return deliveries_; }

  /// The next run; not found unless it ends before `give_up`. The first one is not stopped.
  RestPlan next(Time give_up) {
    RestPlan result;
    if (rest_.problem.chunks.empty()) {
      result.finish = Time{0};
      return result;
    }
    const GreedyStyle& style = styles_[static_cast<std::size_t>(runs_) % styles_.size()];
    GreedyRun run(input_, style, Rng(rng_.next()), runs_ > 0 ? stop_ : StopCondition{});
    ++runs_;
    if (!run.run(give_up)) return result;
    result.finish = run.finish();
    result.sends = run.schedule();
    const bool forwarding = std::any_of(forwarders_.of.begin(), forwarders_.of.end(),
                                        [](const auto& nodes) { return !nodes.empty(); });
    if (forwarding) result.sends = prune(rest_.problem, result.sends);
    return result;
  }

  /// The best of several runs, placed again where that helps or is needed.
  RestPlan best(std::int64_t runs) {
    RestPlan best;
    for (std::int64_t i = 0; i < runs && !(best.found() && stop_.should_stop()); ++i) {
      RestPlan plan = next(best.finish);
      if (plan.finish < best.finish) best = std::move(plan);
    }
    const bool unsettled = std::any_of(rest_.unsettled.begin(), rest_.unsettled.end(),
                                       [](const auto& nodes) { return !nodes.empty(); });
    if (!best.found() || (best.sends.size() > kMostForPlacing && !unsettled)) return best;
    RestPlan placed = place_in_order(rest_, best.sends);
    return unsettled || placed.finish < best.finish ? placed : best;
  }

 private:
  const Residual& rest_;
  const StopCondition& stop_;
  const Forwarders forwarders_;
  const GreedyInput input_;
  const std::vector<GreedyStyle> styles_;
  Rng rng_;
  std::int64_t deliveries_ = 0;
  std::int64_t runs_ = 0;
};

constexpr const char* kNoWay = "no way was found from those who hold a chunk to all who lack it";

std::int64_t runs_for(const RestOptions& options, std::int64_t deliveries) {
  constexpr std::int64_t kMostRuns = 12;
  return std::clamp<std::int64_t>(options.deliveries / (deliveries + 1), 1, kMostRuns);
}

}  // namespace

Residual part_of(const Residual& rest, const IdVector<ChunkId, char>& wanted,
                 std::vector<ChunkId>& number) {
  Residual part;
  part.problem.topology = rest.problem.topology;
  part.problem.jobs = rest.problem.jobs;
  part.problem.relays = rest.problem.relays;
  part.busy = rest.busy;
  number.clear();
  for (const ChunkId id : rest.problem.chunk_ids()) {
    if (wanted[id] == 0) continue;
    part.problem.chunks.push_back(rest.problem.chunks[id]);
    part.late.push_back(rest.late[id]);
    part.barred.push_back(rest.barred[id]);
    part.unsettled.push_back(rest.unsettled[id]);
    number.push_back(id);
  }
  return part;
}

RestPlan place_in_order(const Residual& rest, Schedule sends) {
  const Topology& topology = rest.problem.topology;
  sort_sends(topology, sends);
  Reservations reservations(topology);
  for (const Busy& busy : rest.busy) {
    int resource = busy.id;
    if (busy.kind == Busy::Kind::injection) resource = reservations.injection(NodeId(busy.id));
    if (busy.kind == Busy::Kind::ejection) resource = reservations.ejection(NodeId(busy.id));
    if (busy.kind == Busy::Kind::groups) resource = reservations.groups(NodeId(busy.id));
    if (resource < 0) continue;
    reservations.add({{resource, Time{0}, busy.end - busy.begin, busy.amount}}, busy.begin);
  }
  // From when on a node can send what it has: all of a chunk, or what it has gathered of a sum.
  ChunkNodeTimes ready(rest.problem);
  for (const ChunkId id : rest.problem.chunk_ids()) {
    const Chunk& chunk = rest.problem.chunks[id];
    for (const auto* list : {&chunk.origins, &chunk.contributors}) {
      for (const NodeId node : *list) ready.set(id, node, rest.release(id, node));
    }
  }
  RestPlan result;
  result.finish = Time{0};
  Footprint footprint;
  for (Send& send : sends) {
    const SendTiming times = timing(topology, send);
    Time from{0};
    for (const NodeId source : times.sources) {
      from = std::max(from, ready.get(send.chunk, source));
    }
    if (from == Time::max()) return {};  // nobody has brought it there
    for (const Release& each : rest.unsettled[send.chunk]) {
      for (std::size_t k = 0; k < times.leaves.size(); ++k) {
        if (times.leaves[k] == each.node) {
          from = std::max(from, each.at - times.arrival[k] + Time{1});
        }
      }
    }
    reservations.footprint(send, footprint);
    send.start = reservations.earliest(footprint, from);
    if (send.start == Time::max()) return {};
    reservations.add(footprint, send.start);
    const bool sum = rest.problem.chunks[send.chunk].is_reduction();
    for (std::size_t k = 0; k < times.leaves.size(); ++k) {
      const Time arrival = send.start + times.arrival[k];
      result.finish = std::max(result.finish, arrival);
      const Time before = ready.get(send.chunk, times.leaves[k]);
      Time now = arrival;
      if (send.op != Op::copy && before != Time::max()) now = std::max(before, arrival);
      if (send.op == Op::copy && !sum) now = std::min(before, arrival);
      ready.set(send.chunk, times.leaves[k], now);
    }
  }
  result.sends = std::move(sends);
  return result;
}

RestPlan plan_rest(const Residual& rest, const RestOptions& options, const StopCondition& stop,
                   std::string& objection) {
  objection.clear();
  if (!has_reductions(rest.problem)) {
    Copies copies(rest, options, stop);
    objection = copies.objection();
    if (!objection.empty()) return {};
    RestPlan best = copies.best(runs_for(options, copies.deliveries()));
    if (!best.found()) objection = stop.should_stop() ? kLimit : kNoWay;
    return best;
  }
  const ReductionSplit split = split_reductions(rest.problem);
  Residual collect;
  collect.problem = split.collect;
  collect.late.resize(split.collect.chunks.size());
  collect.unsettled.resize(split.collect.chunks.size());
  for (const ChunkId id : split.collected) collect.barred.push_back(rest.barred[id]);
  Residual spread;
  spread.problem = split.spread;
  spread.busy = rest.busy;
  for (const ChunkId id : split.spreading) {
    const bool sum = rest.problem.chunks[id].is_reduction();
    spread.late.push_back(sum ? std::vector<Release>{} : rest.late[id]);
    spread.barred.emplace_back();
    spread.unsettled.push_back(rest.unsettled[id]);
  }
  Copies gathering(collect, options, stop);
  Copies spreading(spread, options, stop);
  objection = gathering.objection().empty() ? spreading.objection() : gathering.objection();
  if (!objection.empty()) return {};
  const RestPlan spread_plan = spreading.best(runs_for(options, spreading.deliveries()));
  RestPlan best;
  // How early parts arrive and links are free shows only when the sends are placed.
  const std::int64_t runs = runs_for(options, 2 * gathering.deliveries());
  for (std::int64_t i = 0; i < runs && spread_plan.found(); ++i) {
    if (best.found() && stop.should_stop()) break;
    const RestPlan gathered = gathering.next(Time::max());
    if (!gathered.found()) continue;
    RestPlan placed = place_in_order(
        rest, join_reductions(rest.problem, split, gathered.sends, spread_plan.sends));
    if (placed.finish < best.finish) best = std::move(placed);
  }
  if (!best.found()) objection = stop.should_stop() ? kLimit : kNoWay;
  return best;
}

}  // namespace stellwerk
