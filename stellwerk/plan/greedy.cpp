// Several greedy runs (plan/greedy_run.cpp), the best of which is kept.
//
// No rule of choice is best everywhere. At large sizes the relaxed cluster rule wins (it lets no
// link idle), at small ones the strict one (it spends no slow link on what arrives by itself); where
// no links are slow neither is needed. So all are run, then again with other random choices while
// that pays. A run that cannot beat the best is broken off. The best is then improved by
// forward-backward passes (plan/list_schedule.cpp) and, where it is small, by plan/polish.hpp.
//
// Cost: a run takes about 1 us a delivery; the number of runs falls with the size, down to two.
// Tests: greedy_test.cpp.
#include "stellwerk/plan/greedy.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "stellwerk/check/prune.hpp"
#include "stellwerk/check/simulate.hpp"
#include "stellwerk/plan/greedy_run.hpp"
#include "stellwerk/plan/list_schedule.hpp"
#include "stellwerk/plan/passing.hpp"
#include "stellwerk/plan/polish.hpp"
#include "stellwerk/plan/reversal.hpp"

namespace stellwerk {
namespace {

using Rule = GreedyStyle::Rule;

constexpr double kMostBits = 1.6e10;             // of one matrix: 2 GB
constexpr std::int64_t kDeliveries = 2'000'000;  // of all runs together, about
constexpr std::size_t kMostForPasses = 100'000;  // sends
constexpr std::size_t kMostForPolish = 20'000;
constexpr std::size_t kMostForRetiming = 5'000;

/// The styles of one sweep, the most promising first.
std::vector<GreedyStyle> styles(const GreedyInput& input, bool large) {
  std::vector<GreedyStyle> result;
  GreedyStyle style;
  style.rarest_of = large ? 16 : 64;
  for (std::size_t k = 0; k < input.clusterings.size(); ++k) {
    style.clustering = k;
    style.rule = Rule::strict;
    if (large) result.push_back(style);
    style.rule = Rule::relaxed;
    for (const bool only_behind : {true, false}) {
      style.only_behind = only_behind;
      for (const bool wait : {false, true}) {
        style.wait = wait;
        result.push_back(style);
      }
    }
    style.only_behind = style.wait = false;
    style.rule = Rule::strict;
    if (!large) result.push_back(style);
  }
  style.rule = Rule::none;
  style.rarest_of = 64;
  for (const bool wait : {true, false}) {
    style.wait = wait;
    result.push_back(style);
  }
  return result;
}

/// Plans one problem of copies.
class Greedy {
 public:
  Greedy(const Problem& problem, Time target, const PlanOptions& options, PlannerContext& context)
      : problem_(problem), target_(target), options_(options), context_(context) {}

  /// Empty when it worked, else what is in the way.
  std::string run() {
    if (problem_.chunks.empty()) return "";
    const double bits = static_cast<double>(problem_.chunks.size()) *
                        static_cast<double>(problem_.topology.nodes().size());
    if (bits > kMostBits) {
      return "too many pairs of a chunk and a node: use fewer chunks, or `flow` where nobody "
             "copies";
    }
    const Forwarders forwarders = find_forwarders(problem_, context_.stop);
    if (!forwarders.objection.empty()) return forwarders.objection;
    const GreedyInput input(problem_, forwarders);
    sweep(input);
    if (best_finish_ == Time::max()) return "no plan before the limit";
    const bool forwarding = std::any_of(forwarders.of.begin(), forwarders.of.end(),
                                        [](const auto& nodes) { return !nodes.empty(); });
    if (forwarding) best_ = prune(problem_, best_);
    if (options_.store) improve();
    return "";
  }

  Schedule take() { return std::move(best_); }

 private:
  void sweep(const GreedyInput& input) {
    const std::int64_t deliveries =
        std::accumulate(problem_.chunks.begin(), problem_.chunks.end(), std::int64_t{0},
                        [](std::int64_t sum, const Chunk& chunk) {
                          return sum + static_cast<std::int64_t>(chunk.destinations.size());
                        });
    std::int64_t runs = std::clamp<std::int64_t>(
        kDeliveries / std::max<std::int64_t>(deliveries, 1), 2, options_.quick ? 4 : 64);
    const std::vector<GreedyStyle> sweep = styles(input, deliveries > kDeliveries / 8);
    bool share = false;
    while (true) {
      const Time before = best_finish_;
      for (GreedyStyle style : sweep) {
        if (runs-- == 0 || context_.stop.should_stop()) return;
        style.share = share;
        attempt(input, style);
        if (best_finish_ <= target_) return;
      }
      if (share && best_finish_ == before) return;
      share = !share;
    }
  }

  void attempt(const GreedyInput& input, const GreedyStyle& style) {
    GreedyRun run(input, style, Rng(context_.rng.next()), context_.stop);
    if (!run.run(best_finish_) || run.finish() >= best_finish_) return;
    best_finish_ = run.finish();
    best_ = run.schedule();
    context_.report("greedy, " + std::to_string(problem_.chunks.size()) + " chunks", best_finish_);
  }

  /// Passes, as long as there is something to gain; re-timing, as long as it costs little.
  void improve() {
    if (best_finish_ > target_ && best_.size() <= kMostForPasses &&
        !has_buffer_limits(problem_.topology)) {
      const ListSchedule list(problem_.topology, best_, find_waits(problem_, best_), readiness());
      std::vector<std::int64_t> key;
      for (const Send& send : best_) key.push_back(send.start.ps);
      constexpr int kRounds = 4;
      const ListSchedule::Result result =
          list.improve(list.forwards(key), kRounds, target_, context_.stop);
      if (result.finish < best_finish_) {
        best_finish_ = result.finish;
        best_ = with_times(std::move(best_), result);
      }
    }
    if (best_finish_ > target_ && best_.size() <= kMostForPolish) {
      best_ = polish(problem_, best_, context_.stop);
    } else if (best_.size() <= kMostForRetiming) {
      best_ = simulate(problem_, best_).sends;
    }
  }

  std::vector<Time> readiness() const {
    std::vector<Time> ready;
    ready.reserve(best_.size());
    for (const Send& send : best_) ready.push_back(problem_.chunks[send.chunk].ready);
    return ready;
  }

  const Problem& problem_;
  Time target_;
  const PlanOptions& options_;
  PlannerContext& context_;
  Time best_finish_ = Time::max();
  Schedule best_;
};

}  // namespace

PlannerOutcome plan_greedy(const Problem& problem, const PlanOptions& options,
                           PlannerContext& context) {
  PlannerOutcome outcome;
  const Time target = target_time(options, context);
  const auto run = [&](const Problem& part, Time part_target, Schedule& sends) {
    Greedy greedy(part, part_target, options, context);
    outcome.message = greedy.run();
    sends = greedy.take();
    return outcome.message.empty();
  };
  bool found = false;
  if (!has_reductions(problem)) {
    found = run(problem, target, outcome.sends);
  } else {
    const ReductionSplit split = split_reductions(problem);
    const bool one = split.spread.chunks.empty() || split.collect.chunks.empty();
    const Time part_target = one ? target : Time{target.ps / 2};
    Schedule collect;
    Schedule spread;
    const StopCondition whole = context.stop;
    if (!one) context.stop = whole.within(whole.seconds_left() / 2);
    found = run(split.collect, part_target, collect);
    context.stop = whole;
    found = found && run(split.spread, part_target, spread);
    if (found) {
      outcome.sends = options.store ? join_and_polish(problem, split, collect, spread, context.stop)
                                    : join_reductions(problem, split, collect, spread);
    }
  }
  outcome.termination.limit = context.stop.reached();
  if (found) {
    outcome.termination.reason = Termination::Reason::feasible;
  } else if (outcome.termination.limit == Limit::none) {
    outcome.termination.reason = Termination::Reason::unsupported;
  }
  return outcome;
}

}  // namespace stellwerk
