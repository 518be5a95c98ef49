// Problem: every chunk has one destination; move them all as early as possible.
//
// Idea: routing and scheduling apart. The bandwidth-bound optimum is a routing question (which links
// carry how much: parcel_routing.cpp), and once loads are even, good list scheduling comes within a
// fraction of a percent of the fullest link's time (move_schedule.cpp), provided that busy switches
// work in rounds (crossbar_order.cpp) and that links of unequal speed are shared. Small sizes are
// bound by latency instead: there several weights of latency against load are tried, schedules are
// built under several rules, improved by passes backwards and forwards, and the best one is kept.
//
// Guarantee: valid plans; how far from the optimum, the bound says. Cost: see the files; on
// 1,024 GPUs on rails about 10 s for a million chunks. Held to its word by flow_planner_test.cpp, and
// docs/benchmarks.md has the figures.
//
// Papers: multiplicative weights as in parcel_routing.cpp; Koenig 1916; forward-backward
// justification as in move_schedule.cpp.
#include "stellwerk/plan/flow_planner.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "stellwerk/check/simulate.hpp"
#include "stellwerk/plan/crossbar_order.hpp"
#include "stellwerk/plan/move_schedule.hpp"
#include "stellwerk/plan/polish.hpp"

namespace stellwerk {
namespace {

constexpr std::size_t kFewMoves = 20'000;      // everything is tried
constexpr std::size_t kManyMoves = 400'000;    // one round of improvements
constexpr std::size_t kMostMoves = 8'000'000;  // 1 GB of sends and more
constexpr int kFewSweeps = 3;                  // moves of single parcels do the rest
constexpr double kRoutedWell = 1.0003;         // of the bound
constexpr double kScheduledWell = 1.0005;

/// What it cannot do, in words; empty if it can.
std::string objection(const Problem& problem) {
  for (const Node& node : problem.topology.nodes()) {
    if (node.buffer) return "it keeps no transit buffers (" + node.name + " has one)";
    if (node.injection || node.ejection) {
      return "it keeps no caps on injection and ejection (" + node.name + " has one)";
    }
  }
  return "";
}

class Flow {
 public:
  Flow(const Problem& problem, const ParcelDemand& demand, const PlanOptions& options,
       PlannerContext& context)
      : problem_(problem), demand_(demand), options_(options), context_(context) {
    const auto times = [](const Bound& bound, double factor) {
      return static_cast<std::int64_t>(static_cast<double>(bound.value.ps) * factor);
    };
    if (context.bound) {
      bound_ps_ = context.bound->value.ps;
      good_enough_ = times(*context.bound, std::max(kScheduledWell, 1 + options.gap));
    }
    if (context.bound_chunked) {
      good_enough_ = std::max(good_enough_, times(*context.bound_chunked, kScheduledWell));
    }
  }

  PlannerOutcome run() {
    PlannerOutcome outcome;
    // Latency at its worth, or little more than a way to break ties.
    std::vector<double> weights = {1.0, 0.05, 0.0};
    if (options_.quick) weights = {1.0, 0.05};
    if (demand_.parcels.size() > kFewMoves) weights = {0.2};
    for (const double weight : weights) {
      if (best_.complete() && (stopped() || good(best_.finish))) break;
      try_routing(weight);
    }
    if (!best_.complete()) {
      outcome.termination = {Termination::Reason::no_solution, context_.stop.reached()};
      outcome.message =
          too_many_ ? "more sends than it holds in memory" : "no plan before the limit";
      return outcome;
    }
    outcome.sends = std::move(best_sends_);
    outcome.termination = {Termination::Reason::feasible, context_.stop.reached()};
    return outcome;
  }

 private:
  bool stopped() const { return context_.stop.should_stop(); }
  bool good(std::int64_t finish) const { return finish <= good_enough_; }

  void try_routing(double latency_weight) {
    RoutingOptions routing;
    routing.latency_weight = latency_weight;
    routing.target_seconds = static_cast<double>(bound_ps_) * 1e-12 * kRoutedWell;
    if (demand_.parcels.size() > kFewMoves) routing.sweeps = kFewSweeps;
    const ParcelPaths paths =
        route_parcels(problem_.topology, demand_, routing, context_.rng, context_.stop);
    if (paths.begin.empty()) return;
    const ParcelHops hops(problem_.topology, demand_, paths);
    if (hops.moves() > kMostMoves) {
      too_many_ = true;
      return;
    }
    MoveTimes found;
    const auto keep = [&](MoveTimes times) {
      if (times.complete() && times.finish < found.finish) found = std::move(times);
    };
    construct(hops, crossbar_order(hops, paths.fullest_seconds), keep, found);
    if (!found.complete() || found.finish >= best_.finish) return;
    best_ = std::move(found);
    best_sends_ = hops.sends(best_.starts, best_.rates);
    context_.report("flow", Time{best_.finish});
  }

  template <class Keep>
  void construct(const ParcelHops& hops, const std::vector<float>& order, const Keep& keep,
                 const MoveTimes& found) {
    const auto enough = [&] { return found.complete() && (good(found.finish) || stopped()); };
    const bool few = hops.moves() <= kFewMoves;
    const bool uneven = has_uneven_links(hops);
    const int rounds = hops.moves() > kManyMoves ? 1 : few && !options_.quick ? 8 : 4;
    ListOptions list;
    if (!order.empty()) {
      keep(append_moves(hops, order, context_.stop));
      if (enough()) return;
      if (uneven) {
        // The rounds of crossbars as priorities, for shared links.
        std::vector<double> priority(order.size());
        std::transform(order.begin(), order.end(), priority.begin(),
                       [](float key) { return -key; });
        list.share = list.slow_start = true;
        const MoveTimes start = list_moves(hops, priority, list, context_.stop);
        keep(start);
        if (enough() || !start.complete()) return;
        keep(forward_backward(hops, start, rounds, true, good_enough_, context_.stop));
      }
      if (enough() || !few) return;
    }
    const std::vector<double> remaining = remaining_seconds(hops);
    list.slow_start = false;
    for (const Choice choice : {Choice::fullest, Choice::priority}) {
      list.choice = choice;
      list.share = uneven;
      keep(list_moves(hops, remaining, list, context_.stop));
      if (enough()) return;
    }
    if (hops.moves() > kManyMoves) return;
    keep(forward_backward(hops, found, rounds, uneven, good_enough_, context_.stop));
  }

  /// Does a busy link carry hops that are slower than it?
  bool has_uneven_links(const ParcelHops& hops) const {
    const double fullest = *std::max_element(hops.busy().begin(), hops.busy().end());
    for (const ParcelHop& hop : hops.hops()) {
      for (const LinkId id : hops.links(hop)) {
        if (hops.busy()[id.index()] >= 0.5 * fullest &&
            problem_.topology.link(id).bandwidth.bytes_per_second > hop.rate) {
          return true;
        }
      }
    }
    return false;
  }

  const Problem& problem_;
  const ParcelDemand& demand_;
  const PlanOptions& options_;
  PlannerContext& context_;
  std::int64_t bound_ps_ = 0, good_enough_ = 0;
  bool too_many_ = false;
  MoveTimes best_;
  Schedule best_sends_;
};

}  // namespace

PlannerOutcome plan_flow(const Problem& problem, const PlanOptions& options,
                         PlannerContext& context) {
  PlannerOutcome outcome;
  outcome.termination.reason = Termination::Reason::unsupported;
  outcome.message = options.store ? objection(problem) : "it stores data on the way";
  if (!outcome.message.empty()) return outcome;
  const std::optional<ParcelDemand> demand = make_parcels(problem, outcome.message);
  if (!demand) return outcome;
  if (demand->parcels.empty()) {
    outcome.termination.reason = Termination::Reason::feasible;
    return outcome;
  }
  outcome = Flow(problem, *demand, options, context).run();
  if (!outcome.has_plan()) return outcome;
  if (outcome.sends.size() <= kFewMoves && !options.quick) {
    outcome.sends = polish(problem, outcome.sends, context.stop);
  } else if (outcome.sends.size() <= kManyMoves &&
             kSecondsToRetime * static_cast<double>(outcome.sends.size()) <
                 context.stop.seconds_left()) {
    outcome.sends = simulate(problem, outcome.sends).sends;
  }
  return outcome;
}

}  // namespace stellwerk
