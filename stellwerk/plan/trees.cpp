// Trees for every root that together use the bottleneck to the full.
//
// Problem. Large data, any fabric: everybody sends something to everybody. The fluid optimum is the
// worst cut (fluid_time), and it is reached by a set of trees. Which trees, and how to pipeline
// them?
//
// Idea. k trees a root (plan/tree_packing.cpp), every chunk on one of them, several chunks a tree;
// then list scheduling with shared rates and forward-backward passes (plan/tree_schedule.cpp).
// Several k, two shapes of trees and two ways of pairing links at switches are tried, again and again:
// few trees cost less to pack and pipeline, many come nearer to the optimum where speeds are mixed, and
// chance is worth some percent. Reductions by time reversal; AllReduce jointly (plan/joint_trees.cpp)
// where that promises more than two halves.
//
// Guarantee. None on the schedule, which usually is within a percent of the packing. Cost: about
// a few dozen n max-flows for n nodes, 0.1 s at 64 and 2 s at 256 on rails. Tests: trees_test.cpp.
#include "stellwerk/plan/trees.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>

#include "stellwerk/check/prune.hpp"
#include "stellwerk/check/simulate.hpp"
#include "stellwerk/plan/joint_trees.hpp"
#include "stellwerk/plan/reversal.hpp"
#include "stellwerk/plan/tree_packing.hpp"
#include "stellwerk/plan/tree_schedule.hpp"

namespace stellwerk {
namespace {

constexpr std::size_t kMostTerminals = 512;
constexpr std::int64_t kMostSends = 4'000'000;
constexpr std::size_t kFewSends = 100'000;  // re-timing costs little
constexpr int kRounds = 3;                  // through all variants

/// Why there is no plan; nothing where there is one.
struct Refusal {
  std::string why;
  bool more_chunks = false;  ///< would help
};

/// Chunks that all go from one node each to the same nodes.
struct Uniform {
  std::vector<NodeId> terminals;             ///< ascending
  std::vector<std::vector<ChunkId>> chunks;  ///< by terminal: those that start there
  Bytes largest;
  std::string objection;  ///< why the problem is not of this kind
};

Uniform uniform_demand(const Problem& problem) {
  Uniform result;
  std::vector<NodeId> nodes;
  for (const ChunkId id : problem.chunk_ids()) {
    const Chunk& chunk = problem.chunks[id];
    nodes = chunk.destinations;
    nodes.push_back(chunk.origins.front());
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    if (nodes.size() < 2) continue;
    if (result.terminals.empty()) {
      result.terminals = nodes;
      result.chunks.resize(nodes.size());
    }
    if (nodes != result.terminals || chunk.job != problem.chunks.front().job) {
      result.objection = "not every chunk goes to the same nodes";
      return result;
    }
    const auto origin = std::lower_bound(nodes.begin(), nodes.end(), chunk.origins.front());
    result.chunks[static_cast<std::size_t>(origin - nodes.begin())].push_back(id);
    result.largest = std::max(result.largest, chunk.bytes);
  }
  if (result.terminals.size() > kMostTerminals)
    result.objection = "more than " + std::to_string(kMostTerminals) + " nodes";
  return result;
}

/// Who may forward besides the terminals. Trees may lead all chunks through a node at once: only with
/// unlimited buffers.
IdVector<NodeId, char> passable_nodes(const Problem& problem) {
  IdVector<NodeId, char> result(problem.topology.nodes().size(), 0);
  for (const NodeId node : problem.topology.node_ids()) {
    const bool passable = problem.topology.stores(node) && !problem.topology.node(node).buffer &&
                          problem.may_forward(node, problem.chunks.front().job);
    result[node] = passable ? 1 : 0;
  }
  return result;
}

TreeDemand tree_demand(const Problem& problem, const Uniform& uniform) {
  TreeDemand demand;
  demand.terminals = uniform.terminals;
  demand.passable = passable_nodes(problem);
  demand.bytes = uniform.largest;
  for (const auto& chunks : uniform.chunks)
    demand.copies.push_back(static_cast<std::int64_t>(chunks.size()));
  return demand;
}

/// Plans one problem of copies.
class Trees {
 public:
  Trees(const Problem& problem, Time target, const PlanOptions& options, PlannerContext& context)
      : problem_(problem), target_(target), quick_(options.quick), context_(context) {}

  Refusal run() {
    const Uniform uniform = uniform_demand(problem_);
    if (!uniform.objection.empty()) return {uniform.objection};
    if (uniform.terminals.empty()) return {};
    std::int64_t most = 0;  // trees a root, so that every tree carries as many chunks
    std::int64_t all = 0;
    for (const auto& chunks : uniform.chunks) {
      most = std::gcd(most, static_cast<std::int64_t>(chunks.size()));
      all += static_cast<std::int64_t>(chunks.size());
    }
    if (all * static_cast<std::int64_t>(uniform.terminals.size()) > kMostSends)
      return {"more than " + std::to_string(kMostSends) + " sends"};
    const TreeDemand demand = tree_demand(problem_, uniform);
    const FluidTimes balanced = fluid_times(problem_.topology, demand);
    if (balanced.longest == Time::max())
      return {"some node cannot be reached without nodes that have limited buffers"};
    // Where latency counts more than bandwidth, planners that look at it do better.
    if (quick_ && balanced.longest.ps < target_.ps / 2) return {"most of the time is latency"};
    const FluidTimes loose = fluid_times(problem_.topology, demand, 80, false);
    for (const Variant& variant : variants(most)) {
      if (context_.stop.should_stop() || best_finish_ <= target_) break;
      attempt(uniform, demand, variant.balanced ? balanced : loose, variant);
      if (quick_ && best_finish_ != Time::max()) break;
    }
    if (best_finish_ != Time::max()) return {};
    if (context_.stop.should_stop()) return {"no plan before the limit"};
    return {"no packing of trees of " + std::to_string(most) +
                " chunks a root was found: use more chunks",
            true};
  }

  Schedule take() { return std::move(best_); }

 private:
  /// One way to make trees.
  struct Variant {
    std::int64_t trees = 1;   ///< a root
    std::int64_t pieces = 1;  ///< chunks that share a tree's copy
    bool few = false;         ///< partners at switches
    bool balanced = true;     ///< which of the fluid times
    int depth = 30;           ///< what short paths are worth, in percent
  };

  /// The most promising first. Trees of the same kind, but for chance, differ by some percent: the
  /// whole list is gone through kRounds times.
  std::vector<Variant> variants(std::int64_t most) const {
    const auto& nodes = problem_.topology.nodes();
    const bool switches = std::any_of(nodes.begin(), nodes.end(), [](const Node& node) {
      return node.kind == NodeKind::switch_;
    });
    std::vector<Variant> result;
    for (int round = 0; round < kRounds; ++round) {
      for (const int depth : {30, 100}) {
        for (const std::int64_t trees : tree_counts(most)) {
          // Without switches all four are the same.
          for (const bool few : {false, true}) {
            for (const bool balanced : {true, false}) {
              if (switches || (balanced && !few))
                result.push_back({trees, most / trees, few, balanced, depth});
            }
          }
        }
      }
    }
    return result;
  }

  /// Numbers of trees a root to try: divisors of the number of chunks, near a few good ones.
  static std::vector<std::int64_t> tree_counts(std::int64_t most) {
    std::vector<std::int64_t> result;
    for (const std::int64_t wish : {32, 16, 64, 8, 4, 1}) {
      std::int64_t best = 1;
      for (std::int64_t d = 1; d <= std::min(most, wish); ++d) {
        if (most % d == 0) best = d;
      }
      if (std::find(result.begin(), result.end(), best) == result.end()) result.push_back(best);
    }
    return result;
  }

  void attempt(const Uniform& uniform, TreeDemand demand, const FluidTimes& fluid,
               const Variant& variant) {
    for (std::int64_t& copies : demand.copies) copies /= variant.pieces;
    demand.bytes = variant.pieces * demand.bytes;
    Rng rng(context_.rng.next());
    const std::optional<TimedPacking> packed =
        pack_trees_in_least_time(problem_.topology, demand, fluid, {variant.few, false, rng.next()},
                                 variant.depth, best_finish_, rng, context_.stop);
    if (!packed) return;
    TreeSchedule schedule(problem_);
    for (std::size_t t = 0; t < uniform.terminals.size(); ++t) {
      const std::vector<std::size_t> dealt =
          deal_trees(packed->packing.trees, static_cast<int>(t), variant.pieces);
      for (std::size_t j = 0; j < dealt.size(); ++j) {
        schedule.spread(uniform.chunks[t][j], packed->packing, packed->packing.trees[dealt[j]],
                        uniform.terminals,
                        (static_cast<double>(j) + 0.5) / static_cast<double>(dealt.size()));
      }
    }
    using Order = TreeSchedule::Order;
    constexpr std::array kOrders = {Order::turn, Order::both, Order::way};
    const ListSchedule::Result result =
        schedule.schedule(kOrders, {fluid.longest, target_, best_finish_, quick_}, context_.stop);
    if (result.finish < best_finish_) {
      best_finish_ = result.finish;
      best_ = schedule.with_times(result);
      context_.report("trees, " + std::to_string(demand.copies.front()) + " a root", best_finish_);
    }
  }

  const Problem& problem_;
  Time target_;
  bool quick_;
  PlannerContext& context_;
  Time best_finish_ = Time::max();
  Schedule best_;
};

/// The least time for which an AllReduce in two halves keeps the fullest links busy; max where trees
/// cannot do the halves.
Time fluid_halves(const ReductionSplit& split) {
  Time sum{0};
  for (const Problem* half : {&split.collect, &split.spread}) {
    const Uniform uniform = uniform_demand(*half);
    if (!uniform.objection.empty() || uniform.terminals.empty()) return Time::max();
    const Time time = fluid_times(half->topology, tree_demand(*half, uniform)).longest;
    if (time == Time::max()) return time;
    sum += time;
  }
  return sum;
}

/// An AllReduce, or what is like it: all chunks summed from, and wanted by, the same nodes.
std::optional<JointDemand> joint_demand(const Problem& problem, const PlannerContext& context) {
  JointDemand demand;
  Bytes total{0};
  for (const ChunkId id : problem.chunk_ids()) {
    const Chunk& chunk = problem.chunks[id];
    std::vector<NodeId> contributors = chunk.contributors;
    std::vector<NodeId> destinations = chunk.destinations;
    std::sort(contributors.begin(), contributors.end());
    std::sort(destinations.begin(), destinations.end());
    if (demand.terminals.empty()) demand.terminals = contributors;
    if (contributors != demand.terminals || destinations != demand.terminals ||
        chunk.job != problem.chunks.front().job || contributors.size() < 2)
      return std::nullopt;
    demand.chunks.push_back(id);
    total = total + chunk.bytes;
  }
  if (demand.terminals.size() > kMostTerminals ||
      static_cast<std::int64_t>(demand.chunks.size() * demand.terminals.size()) > kMostSends / 2)
    return std::nullopt;
  demand.passable = passable_nodes(problem);
  // They do not depend on the number of chunks.
  constexpr const char* kName = "rates of joint trees";
  std::shared_ptr<const JointRates> rates;
  if (context.memory != nullptr) rates = context.memory->recall<JointRates>(kName);
  if (rates == nullptr) {
    std::optional<JointRates> found =
        joint_rates(problem.topology, demand.terminals, demand.passable, total, context.stop);
    if (!found) return std::nullopt;
    rates = std::make_shared<const JointRates>(std::move(*found));
    if (context.memory != nullptr) context.memory->keep(kName, rates);
  }
  demand.rates = *rates;
  return demand;
}

/// Plans one problem with reductions: jointly where that promises more than two halves, in halves
/// where it does not.
class ReductionTrees {
 public:
  ReductionTrees(const Problem& problem, Time target, const PlanOptions& options,
                 PlannerContext& context)
      : problem_(problem),
        split_(split_reductions(problem)),
        target_(target),
        options_(options),
        context_(context) {}

  Refusal run() {
    const bool one = split_.spread.chunks.empty() || split_.collect.chunks.empty();
    const Time halves = one ? Time{0} : fluid_halves(split_);
    if (!one && !join(halves))
      return {"few chunks: more would make more of roots that are free to choose", true};
    const bool found = best_finish_ < Time::max();
    if (found && (options_.quick || best_finish_ <= std::max(target_, halves))) return {};
    const Refusal refusal = plan_halves(one);
    return best_finish_ < Time::max() ? Refusal() : refusal;
  }

  Schedule take() { return std::move(best_); }

 private:
  /// False if there are too few chunks for what it promises.
  bool join(Time halves) {
    const std::optional<JointDemand> demand = joint_demand(problem_, context_);
    if (!demand) return true;
    context_.report("least length of trees into and out of roots", demand->rates.length);
    if (demand->rates.length >= halves) return true;
    // Many GPUs with few chunks: pipelining loses what joint trees gain. Halves would lose more.
    constexpr std::int64_t kMuch = 8;  // an eighth shorter
    if (few_chunks()) return demand->rates.length > halves - Time{halves.ps / kMuch};
    JointTreePlan plan = plan_joint_trees(problem_, *demand, target_, options_.quick, context_);
    if (plan.finish == Time::max()) return true;
    best_ = std::move(plan.sends);
    best_finish_ = plan.finish;
    return true;
  }

  /// So few that many more can be asked for: the portfolio goes up to 400,000 deliveries.
  bool few_chunks() const {
    const std::size_t ranks = problem_.chunks.front().contributors.size();
    const Job& job = problem_.jobs[problem_.chunks.front().job.index()];
    return options_.quick && job.auto_chunks && ranks > 32 && ranks <= 110 &&
           problem_.chunks.size() < 16 * ranks;
  }

  Refusal plan_halves(bool one) {
    const Time part_target = one ? target_ : Time{target_.ps / 2};
    const StopCondition whole = context_.stop;
    if (!one) context_.stop = whole.within(whole.seconds_left() / 2);
    Trees collect(split_.collect, part_target, options_, context_);
    Refusal refusal = collect.run();
    context_.stop = whole;
    if (!refusal.why.empty()) return refusal;
    Trees spread(split_.spread, part_target, options_, context_);
    refusal = spread.run();
    if (!refusal.why.empty()) return refusal;
    Schedule sends =
        join_and_polish(problem_, split_, collect.take(), spread.take(), context_.stop);
    const Time finish = simulate(problem_, sends).transfer_time;
    if (finish >= best_finish_) return {};
    best_ = std::move(sends);
    best_finish_ = finish;
    return {};
  }

  const Problem& problem_;
  ReductionSplit split_;
  Time target_;
  const PlanOptions& options_;
  PlannerContext& context_;
  Schedule best_;
  Time best_finish_ = Time::max();
};

}  // namespace

PlannerOutcome plan_trees(const Problem& problem, const PlanOptions& options,
                          PlannerContext& context) {
  PlannerOutcome outcome;
  const Time target = target_time(options, context);
  Refusal refusal;
  if (has_reductions(problem)) {
    ReductionTrees trees(problem, target, options, context);
    refusal = trees.run();
    outcome.sends = trees.take();
  } else {
    Trees trees(problem, target, options, context);
    refusal = trees.run();
    if (refusal.why.empty()) outcome.sends = prune(problem, trees.take());
  }
  const bool found = refusal.why.empty();
  outcome.message = std::move(refusal.why);
  outcome.more_chunks = refusal.more_chunks;
  if (found && outcome.sends.size() <= kFewSends && !context.stop.should_stop())
    outcome.sends = simulate(problem, outcome.sends).sends;
  outcome.termination.limit = context.stop.reached();
  if (found) {
    outcome.termination.reason = Termination::Reason::feasible;
  } else if (outcome.termination.limit == Limit::none) {
    outcome.termination.reason = Termination::Reason::unsupported;
  }
  return outcome;
}

}  // namespace stellwerk
