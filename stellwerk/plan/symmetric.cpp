// One scheduling problem for all images.
//
// Theorem. Let a group G of automorphisms of topology and jobs act freely on the ranks, and let P
// be sends for the chunks of one rank of every orbit. The union of the images gP is a valid plan if
// and only if P is causal, delivers its chunks, and for every link orbit O and instant the rates of
// P's uses of links in O sum to at most bandwidth * |O| / |G|. For: automorphisms keep latencies,
// bandwidths, ready times and destinations; images of a chunk are different chunks, because G is
// free; and the load of a link l at time t is the sum over P's uses of links e in its orbit of rate
// * |{g : g e = l}|, which is a coset of the stabiliser of l. The same holds for caps on nodes and,
// with 1 for a rate, for multicast groups. A multicast with k links in one orbit uses it k times.
//
// So: schedule the chunks of the representatives on link orbits. With 1,024 GPUs on a torus there
// are 4 of them. Trees are grown under several penalties (symmetric_growth.cpp), then justified
// (symmetric_schedule.cpp); with time left, random restarts.
#include "stellwerk/plan/symmetric.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "stellwerk/check/simulate.hpp"
#include "stellwerk/plan/passing.hpp"
#include "stellwerk/plan/symmetric_parts.hpp"
#include "stellwerk/plan/symmetric_schedule.hpp"

namespace stellwerk {
namespace {

using namespace symmetric;

constexpr int kRounds = 8;
constexpr double kNear = 1.02;
constexpr std::size_t kMostLanes = 1999;
constexpr std::size_t kMostOrbits = 5000;
constexpr std::size_t kMostDeliveries = 4'000'000;

class SymmetricPlanner {
 public:
  SymmetricPlanner(const Problem& problem, const PlanOptions& options, PlannerContext& context)
      : problem_(problem), options_(options), context_(context) {
    if (context.bound) {
      good_enough_ = static_cast<std::int64_t>(static_cast<double>(context.bound->value.ps) *
                                               (1 + options.gap));
    }
  }

  PlannerOutcome run(Parts& parts) {
    copying_ = std::any_of(
        problem_.topology.nodes().begin(), problem_.topology.nodes().end(), [](const Node& node) {
          return node.kind == NodeKind::switch_ && (node.multicast || node.reduce);
        });
    int number = 0;
    for (const double penalty : {0.0, 4.0, 64.0, 1.0, 16.0, 256.0, 0.5, 2.0, 8.0, 1024.0}) {
      if (options_.quick && ++number > 6) break;
      for (const std::size_t leaves : {std::size_t{1}, kAll}) {
        if (leaves > 1 && !copying_) continue;
        Rules rules;
        rules.growth.penalty = penalty;
        rules.growth.most_leaves = leaves;
        rules.paths.latency = 0.01 * penalty;
        attempt(parts, rules);
      }
    }
    Rules early;
    early.growth.contended = false;
    attempt(parts, early);
    for (std::int64_t begin = work_, last = work_;
         !options_.quick && !done() && work_ - last < kMostIdleWork + 2 * (last - begin);) {
      const std::int64_t before = finish_;
      attempt(parts, context_.rng.below(2) == 0 ? any_rules() : nearby(best_rules_));
      if (finish_ < before) last = work_;
    }
    PlannerOutcome outcome;
    const bool found = finish_ < kNever;
    // Representatives alone cannot be re-timed: their images are in the way.
    outcome.sends =
        problem_.symmetry.trivial() && found ? simulate(problem_, best_).sends : std::move(best_);
    outcome.termination = {found ? Termination::Reason::feasible : Termination::Reason::no_solution,
                           context_.stop.reached()};
    if (!found && context_.stop.reached() == Limit::none)
      outcome.message = "some destination cannot be reached";
    return outcome;
  }

 private:
  /// Restarts end when twice the work that led to the best plan and this much more brought nothing.
  static constexpr std::int64_t kMostIdleWork = 3'000'000;
  static constexpr std::size_t kAll = std::size_t{1} << 20;

  bool done() const { return finish_ <= good_enough_ || context_.stop.should_stop(); }

  bool coin() { return context_.rng.below(2) == 0; }
  /// Between low and high, uniform in the logarithm.
  double scale(double low, double high) {
    return low * std::pow(high / low, context_.rng.uniform());
  }

  Rules any_rules() {
    Rules rules;
    rules.shuffle = coin();
    GrowthRules& growth = rules.growth;
    growth.random = true;
    growth.penalty = scale(0.1, 1000);
    growth.patience = static_cast<double>(context_.rng.between(-1, 2)) / 2;
    growth.bottleneck = coin();
    growth.strict = growth.patience < 1 || coin();
    growth.contended = context_.rng.below(4) != 0;
    growth.cheap = coin() ? 0.75 : 0.4;
    if (copying_ && coin()) growth.most_leaves = kAll;
    rules.paths.latency = scale(0.001, 1);
    return rules;
  }

  Rules nearby(Rules rules) {
    rules.shuffle = coin();
    rules.growth.random = true;
    rules.growth.penalty *= scale(0.5, 2);
    rules.paths.latency *= scale(0.5, 2);
    return rules;
  }

  /// Schedules what the rules give: in the growth's own order, and by longest tails. What comes near
  /// the best is justified at length.
  void attempt(Parts& parts, const Rules& rules) {
    if (done()) return;
    const std::optional<Proposal> proposal = parts.propose(rules, context_.rng, context_.stop);
    if (!proposal) return;
    const TaskGraph& graph = proposal->graph;
    work_ += 100 * static_cast<std::int64_t>(graph.tasks.size());
    const ListScheduler scheduler(parts.quotient(), graph);
    std::vector<std::int64_t> urgent = scheduler.tails();
    for (std::int64_t& tail : urgent) tail = -tail;
    std::vector<Timing> firsts;
    if (proposal->timed) firsts.push_back({proposal->starts, proposal->finish});
    for (const Generation g : {Generation::serial, Generation::dispatch}) {
      if (!firsts.empty()) keep(graph, firsts.back(), rules);
      if (done()) return;
      firsts.push_back(scheduler.forwards(urgent, g, context_.stop));
    }
    keep(graph, firsts.back(), rules);
    for (const Timing& first : firsts) {
      for (const Generation g : {Generation::serial, Generation::dispatch}) {
        if (done()) return;
        Timing timing = scheduler.justify(first, 2, g, good_enough_, context_.stop);
        if (static_cast<double>(timing.finish) < kNear * static_cast<double>(finish_))
          timing = scheduler.justify(std::move(timing), kRounds, g, good_enough_, context_.stop);
        keep(graph, timing, rules);
      }
    }
  }

  void keep(const TaskGraph& graph, const Timing& timing, const Rules& rules) {
    if (timing.finish >= finish_) return;
    finish_ = timing.finish;
    best_rules_ = rules;
    best_ = sends_of(graph, timing.starts, problem_.chunks);
    context_.report("symmetric, penalty " + std::to_string(rules.growth.penalty), Time{finish_});
  }

  const Problem& problem_;
  const PlanOptions& options_;
  PlannerContext& context_;
  std::int64_t good_enough_ = 0;
  std::int64_t finish_ = kNever;
  bool copying_ = false;
  std::int64_t work_ = 0;  ///< about how often a task has been placed
  Rules best_rules_;
  Schedule best_;
};

}  // namespace

PlannerOutcome plan_symmetric(const Problem& problem, const PlanOptions& options,
                              PlannerContext& context) {
  const auto unsupported = [](const char* why) {
    PlannerOutcome outcome;
    outcome.termination.reason = Termination::Reason::unsupported;
    outcome.message = why;
    return outcome;
  };
  if (has_buffer_limits(problem.topology)) return unsupported("transit buffers are limited");
  const Orbits orbits = find_orbits(problem.topology, problem.symmetry, problem.jobs.front().ranks);
  std::size_t deliveries = 0;
  for (const Chunk& chunk : problem.chunks)
    deliveries += chunk.destinations.size() + chunk.contributors.size();
  if (orbits.link_size.size() > kMostOrbits || deliveries > kMostDeliveries)
    return unsupported("too large for the symmetry that is known");
  Parts parts(problem, orbits);
  if (parts.lanes() > kMostLanes)
    return unsupported("there are too many ways to send: find a symmetry first");
  return SymmetricPlanner(problem, options, context).run(parts);
}

}  // namespace stellwerk
