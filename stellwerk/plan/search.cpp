// Search over insertion orders.
//
// Problem: one pass of insertion (plan/insertion.hpp) depends on the order of the chunks and on the
// penalty for link time. Idea: (1) several passes; between them late chunks move to the front
// (squeaky wheel: Joslin and Clements, JAIR 1999), with penalties lambda in {0, 1/4, 1/2, 1, 2, 4,
// 10} and three degrees of patience for joint multicasts. (2) Ruin and recreate (Schrimpf et al.,
// J. Comp. Phys. 2000): take out a few chunks, a latest one among them, insert them anew in another
// order and style, keep the result if it is no worse, or, early on, slightly worse. Reductions go
// through time reversal (plan/reversal.hpp). Guarantee: a valid plan whenever every demand can be
// reached, unless a limit strikes during the very first pass; no bound of its own. Cost: a pass is
// chunks x hops timeline queries. Held to its word by: plan/search_test.cpp, tests/conformance.
#include "stellwerk/plan/search.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "stellwerk/base/wide.hpp"
#include "stellwerk/plan/insertion.hpp"
#include "stellwerk/plan/polish.hpp"
#include "stellwerk/plan/reversal.hpp"

namespace stellwerk {
namespace {

constexpr std::array kOccupancy = {0, 1, 2, 4, 8, 16, 40};  // quarters

/// One search on a problem of copies.
class Search {
 public:
  Search(const Problem& problem, const Routes& routes, Time target, const PlanOptions& options,
         PlannerContext& context)
      : problem_(problem),
        context_(context),
        rng_(context.rng),
        insertion_(problem, routes, rng_),
        target_(target),
        quick_(options.quick),
        no_wait_(!options.store),
        order_(problem.chunks.size()),
        priority_(problem.chunks.size()) {
    std::iota(order_.begin(), order_.end(), 0);
  }

  /// True when a plan was found.
  bool run() {
    if (problem_.chunks.empty()) return true;
    first_priorities();
    const int passes = static_cast<int>(kOccupancy.size()) * 3;
    int stale = 0;
    for (int pass = 0; pass < 2 * passes && stale < passes; ++pass, ++stale) {
      if (!build(pass)) break;
      if (improved()) stale = 0;
      if (good_enough()) return true;
      squeak(pass);
    }
    if (!found_) return false;
    if (quick_) return true;
    restore_best();
    ruin_and_recreate();
    return true;
  }

  const Schedule& best() const { return best_; }

 private:
  bool good_enough() const { return best_makespan_ <= target_; }

  /// Chunks with far destinations and large ones first.
  void first_priorities() {
    for (const ChunkId id : problem_.chunk_ids()) {
      const Chunk& chunk = problem_.chunks[id];
      priority_[id.index()] = (static_cast<std::int64_t>(chunk.destinations.size()) << 20) +
                              static_cast<std::int64_t>(rng_.below(1 << 16));
    }
  }

  InsertionStyle pass_style(int pass) const {
    InsertionStyle style;
    style.no_wait = no_wait_;
    style.occupancy_quarters = kOccupancy[static_cast<std::size_t>(pass) % kOccupancy.size()];
    constexpr std::array kWait = {4, 0, 12};
    style.wait_quarters = kWait[static_cast<std::size_t>(pass) / kOccupancy.size() % kWait.size()];
    return style;
  }

  /// One pass in priority order; false when stopped or unreachable.
  bool build(int pass) {
    std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) {
      return priority_[static_cast<std::size_t>(a)] > priority_[static_cast<std::size_t>(b)];
    });
    insertion_.clear();
    const InsertionStyle style = pass_style(pass);
    for (const int chunk : order_) {
      if (context_.stop.should_stop()) return false;
      if (insertion_.insert(ChunkId(chunk), style) == Time::max()) return false;
    }
    return true;
  }

  bool improved() {
    const Time now = insertion_.makespan();
    if (found_ && now >= best_makespan_) return false;
    found_ = true;
    best_makespan_ = now;
    best_ = insertion_.schedule();
    context_.report("search, " + std::to_string(problem_.chunks.size()) + " chunks",
                    best_makespan_);
    return true;
  }

  void squeak(int pass) {
    const Time makespan = std::max(insertion_.makespan(), Time{1});
    if (pass == static_cast<int>(kOccupancy.size())) {  // index order: rotations for alltoall
      for (std::size_t i = 0; i < priority_.size(); ++i)
        priority_[i] = -static_cast<std::int64_t>(i);
      return;
    }
    if (rng_.below(6) == 0) {
      for (auto& priority : priority_) priority = static_cast<std::int64_t>(rng_.below(1 << 20));
      return;
    }
    for (std::size_t i = 0; i < priority_.size(); ++i) {
      const auto late = static_cast<std::int64_t>(
          (static_cast<Int128>(insertion_.finish(ChunkId(i)).ps) << 20) / makespan.ps);
      priority_[i] = priority_[i] * 6 / 10 +
                     static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(late) + 1));
    }
  }

  void restore_best() {
    insertion_.clear();
    IdVector<ChunkId, std::vector<Send>> sends(problem_.chunks.size());
    for (const Send& send : best_) sends[send.chunk].push_back(send);
    for (const ChunkId id : problem_.chunk_ids()) insertion_.restore(id, std::move(sends[id]));
  }

  void ruin_and_recreate() {
    const std::int64_t chunks = static_cast<std::int64_t>(problem_.chunks.size());
    const std::int64_t patience =
        4000 + 40 * chunks;  // iterations without improvement: ends deterministically
    Time current = insertion_.makespan();
    for (std::int64_t stale = 0; stale < patience && !good_enough() && !context_.stop.should_stop();
         ++stale) {
      const std::vector<ChunkId> ruined = choose(current, chunks);
      std::vector<std::vector<Send>> old;
      Int128 old_sum = 0;
      for (const ChunkId id : ruined) {
        old.push_back(insertion_.sends(id));
        old_sum += insertion_.finish(id).ps;
      }
      for (const ChunkId id : ruined) insertion_.remove(id);
      Int128 new_sum = 0;
      InsertionStyle style;
      style.no_wait = no_wait_;
      if (rng_.below(3) == 0) style.noise = Time{current.ps / 50 + 1};
      style.occupancy_quarters = random_occupancy();
      bool complete = true;
      for (const ChunkId id : ruined) {
        if (rng_.below(4) == 0) style.occupancy_quarters = random_occupancy();
        constexpr std::array kWait = {0, 1, 4, 12};
        style.wait_quarters = kWait[rng_.below(4)];
        const Time finish = insertion_.insert(id, style);
        complete = complete && finish != Time::max();
        new_sum += finish.ps;
      }
      const Time now = insertion_.makespan();
      // A little worse is accepted while the search is young.
      const std::int64_t warmth =
          current.ps / 500 * std::max<std::int64_t>(0, patience - 2 * stale) / patience;
      const bool accept =
          complete &&
          (now < current ||
           (now == current && new_sum <= old_sum + static_cast<Int128>(warmth) * 2 *
                                                       static_cast<std::int64_t>(ruined.size())) ||
           (warmth > 0 && rng_.below(4) == 0 && (now - current).ps < warmth / 3));
      if (!accept) {
        for (const ChunkId id : ruined) insertion_.remove(id);
        for (std::size_t i = 0; i < ruined.size(); ++i)
          insertion_.restore(ruined[i], std::move(old[i]));
        continue;
      }
      current = now;
      if (improved()) stale = 0;
    }
  }

  int random_occupancy() { return kOccupancy[rng_.below(kOccupancy.size())]; }

  /// A latest chunk and a few others, late ones preferred, in random order.
  std::vector<ChunkId> choose(Time current, std::int64_t chunks) {
    std::vector<ChunkId> latest;
    for (const ChunkId id : problem_.chunk_ids()) {
      if (insertion_.finish(id).ps >= current.ps - current.ps / 10000) latest.push_back(id);
    }
    const std::int64_t few = std::min<std::int64_t>(6, chunks);
    const std::int64_t count =
        1 +
        static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(
            rng_.below(4) == 0 ? std::max<std::int64_t>(1, std::min<std::int64_t>(chunks / 3, 64))
                               : few)));
    std::vector<ChunkId> result{latest[rng_.below(latest.size())]};
    for (std::int64_t tries = 0;
         tries < 4 * count && static_cast<std::int64_t>(result.size()) < count; ++tries) {
      ChunkId candidate(static_cast<std::size_t>(rng_.below(static_cast<std::uint64_t>(chunks))));
      if (rng_.below(3) != 0) {
        const ChunkId other(
            static_cast<std::size_t>(rng_.below(static_cast<std::uint64_t>(chunks))));
        if (insertion_.finish(other) > insertion_.finish(candidate)) candidate = other;
      }
      if (std::find(result.begin(), result.end(), candidate) == result.end())
        result.push_back(candidate);
    }
    if (rng_.below(2) == 0) rng_.shuffle(result);
    return result;
  }

  const Problem& problem_;
  PlannerContext& context_;
  Rng rng_;
  Insertion insertion_;
  Time target_;
  bool quick_;
  bool no_wait_;
  std::vector<int> order_;
  std::vector<std::int64_t> priority_;
  bool found_ = false;
  Time best_makespan_ = Time::max();
  Schedule best_;
};

}  // namespace

PlannerOutcome plan_search(const Problem& problem, const PlanOptions& options,
                           PlannerContext& context) {
  PlannerOutcome outcome;
  const Time target = target_time(options, context);
  const auto run = [&](const Problem& part, Time part_target, Schedule& sends) {
    const Routes routes(part.topology);
    Search search(part, routes, part_target, options, context);
    const bool found = search.run();
    sends = search.best();
    return found;
  };
  bool found = false;
  if (!has_reductions(problem)) {
    found = run(problem, target, outcome.sends);
    // Re-timing would let chunks wait.
    if (found && options.store) outcome.sends = polish(problem, outcome.sends, context.stop);
  } else {
    const ReductionSplit split = split_reductions(problem);
    Schedule collect;
    Schedule spread;
    // The halves share the target of the whole when there is only one of them.
    const bool one = split.spread.chunks.empty() || split.collect.chunks.empty();
    const Time part_target = one ? target : Time{target.ps / 2};
    PlannerContext whole = context;
    if (!one) context.stop = whole.stop.within(whole.stop.seconds_left() / 2);
    found = run(split.collect, part_target, collect);
    context.stop = whole.stop;
    found = found && run(split.spread, part_target, spread);
    if (found) {
      outcome.sends = options.store ? join_and_polish(problem, split, collect, spread, context.stop)
                                    : join_reductions(problem, split, collect, spread);
    }
  }
  outcome.termination.limit = context.stop.reached();
  if (!found) {
    outcome.message = "no plan before the limit";
    return outcome;
  }
  outcome.termination.reason = Termination::Reason::feasible;
  return outcome;
}

}  // namespace stellwerk
