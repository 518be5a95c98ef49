// The portfolio: cheap planners first, every chunk count that may pay, exact planners while time
// remains.
//
// Planning goes in stages; a stage is a list of attempts (a planner on a chunk count) that run on
// all threads, each with the best plan from before the stage at hand, and are taken in the order of
// the list (base/in_order.hpp). So the outcome depends on the threads and on the clock only when a
// limit strikes. With a bound for any chunking at hand, a chunk count whose own bound already misses
// the gap target cannot reach it, so the deeper search starts with counts that can; and a count
// whose bound is no better than the best plan is not tried at all. Attempts that would take longer
// than the time that is left, judged by their size and by what they took so far, are left out.
// Every candidate is judged by the independent verifier before it counts; the bound never comes
// from a planner. Baselines always run where they are affordable, so the plan is never worse.
// attempt.cpp makes a single attempt.
#include "stellwerk/plan/portfolio.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/in_order.hpp"
#include "stellwerk/base/resources.hpp"
#include "stellwerk/base/version.hpp"
#include "stellwerk/plan/attempt.hpp"
#include "stellwerk/plan/job_portfolio.hpp"
#include "stellwerk/plan/passing.hpp"
#include "stellwerk/plan/problem_family.hpp"
#include "stellwerk/plan/reachability.hpp"

namespace stellwerk {
namespace {

/// Plans larger than this (chunks times destinations) are not tried by the choice of the chunk
/// count, and plans by representatives are not written out.
constexpr std::int64_t kMostDeliveries = 400'000;
constexpr int kMostChunks = 256;
/// So few that a baseline may come first, lest there be no plan when time is short.
constexpr std::int64_t kFewDeliveries = 20'000;
/// So few that `greedy` takes a third of a second.
constexpr std::int64_t kMostDeliveriesAtFirst = 150'000;
/// Larger problems are planned by representatives or not at all: their chunks alone would fill the
/// memory.
constexpr std::int64_t kMostDeliveriesInFull = 20'000'000;
/// What it takes to state a chunk, and to bound it.
constexpr double kSecondsPerChunk = 1e-6;
constexpr double kBytesPerChunk = 400;

class Portfolio {
 public:
  Portfolio(PortfolioRequest request, const StopCondition& stop, Progress* progress,
            const Judge& judge)
      : request_(std::move(request)),
        family_(std::move(request_.topology), std::move(request_.jobs), request_.relays),
        stop_(stop),
        progress_(progress),
        judge_(judge) {}

  Plan run() {
    started_ = std::chrono::steady_clock::now();
    cpu_started_ = cpu_seconds();
    const PlannerRow* named = request_.planner.empty() ? nullptr : &find_planner(request_.planner);
    if (named == nullptr || named->compressed) look_for_symmetry();
    compressed_ = family_.symmetric() && family_.deliveries() > kMostDeliveries;
    if (!compressed_) require_feasible_size();
    const auto chunks = static_cast<double>(family_.chunks(compressed_));
    if (kSecondsPerChunk * chunks > stop_.seconds_left()) limit_ = Limit::time;
    if (kBytesPerChunk * chunks > stop_.bytes_left()) limit_ = Limit::memory;
    if (limit_ != Limit::none) refuse();
    runner_.emplace(request_, family_, compressed_, stop_, progress_, judge_);
    const Problem& coarse = runner_->coarse();
    if (coarse.chunks.empty()) {
      take(runner_->nothing_to_do());
      return complete();
    }
    // Where buffers are small, only small chunks may get through.
    const bool buffers = has_buffer_limits(family_.topology());
    require_reachable(buffers ? *family_.problem(counts(kMostChunks).back(), false) : coarse);
    runner_->prove_bound();
    if (named == nullptr) {
      everything();
    } else {
      only(*named);
    }
    if (!best_.plan) refuse();
    return complete();
  }

 private:
  // --- In full, or by representatives ---

  /// Buffers, and plans that must not copy or not store, are not for representatives.
  void look_for_symmetry() {
    const bool possible =
        request_.options.copy && request_.options.store && !has_buffer_limits(family_.topology());
    if (possible) family_.find_symmetry(stop_.within(stop_.seconds_left() / 2));
  }

  void require_feasible_size() const {
    if (family_.deliveries() <= kMostDeliveriesInFull) return;
    throw Error(ErrorCode::unsolved,
                std::to_string(family_.deliveries()) +
                    " deliveries are too many to plan one by one (at most " +
                    std::to_string(kMostDeliveriesInFull) + ")" +
                    (request_.planner.empty() || find_planner(request_.planner).compressed
                         ? ", and no symmetry was found: take fewer ranks"
                         : ": take fewer ranks, or a planner that works on representatives"));
  }

  /// Chunk counts to try: for plans in full, or that will be written out.
  std::vector<int> counts(int most) const {
    return family_.chunk_counts(most, kMostDeliveries, false);
  }
  /// For plans by representatives.
  std::vector<int> counts_of_representatives() const {
    return family_.chunk_counts(kMostChunks, kMostDeliveries, compressed_);
  }

  bool can_reach_target(int chunks) {
    return runner_->within_target(runner_->chunked_bound(chunks).value);
  }

  // --- How good, how long ---

  bool good_enough() const {
    return best_.plan && runner_->within_target(best_.plan->result.transfer_time);
  }
  /// More than a tenth above the bound.
  bool is_far(Time length) const {
    const std::int64_t bound = runner_->bound().value.ps;
    return length.ps - bound > bound / 10;
  }
  bool time_is_up() const { return stop_.should_stop(); }
  /// Enough is known, or no time is left (the first plan is worth passing the limit by a little).
  bool done() const { return best_.plan && (good_enough() || time_is_up()); }

  // --- Stages ---

  /// Keeps the plan if it is the best so far.
  void take(Candidate candidate) {
    for (std::string& note : candidate.notes) {
      // The same reason on several chunk counts is said once.
      if (std::find(messages_.begin(), messages_.end(), note) == messages_.end())
        messages_.push_back(std::move(note));
    }
    if (candidate.proven) proven_[candidate.chunks] = *candidate.proven;
    // A slice of the time that ran out counts as the limit: more time may give a better plan.
    if (limit_ == Limit::none) limit_ = candidate.limit;
    if (candidate.length != Time{0}) stage_best_ = std::min(stage_best_, candidate.length);
    if (!candidate.plan || candidate.length >= best_.length) return;
    best_.length = candidate.length;
    best_.chunks = candidate.chunks;
    best_.plan = std::make_shared<Plan>(std::move(*candidate.plan));
    if (progress_ != nullptr) {
      const Result& result = best_.plan->result;
      progress_->report({result.planner, result.transfer_time, runner_->bound().value});
    }
  }

  /// Does `work(i, best before, stop)` for all i on all threads, and takes what it brings in the
  /// order of i, until a plan is good enough or, where `all`, optimal.
  template <class Work>
  void stage(std::size_t count, bool all, const Work& work) {
    const auto over = [&] {
      const bool optimal = best_.length == runner_->bound().value;
      return all ? best_.plan && (optimal || time_is_up()) : done();
    };
    if (over()) return;
    const Incumbent before = best_;
    in_order(
        count, request_.options.threads, stop_,
        [&](std::size_t i, const StopCondition& stop) { return work(i, before, stop); },
        [&](std::size_t /*i*/, Candidate candidate) {
          take(std::move(candidate));
          return !over();
        });
  }

  void stage(const std::vector<Attempt>& attempts) {
    stage(attempts.size(), false,
          [&](std::size_t i, const Incumbent& best, const StopCondition& stop) {
            const Limit limit = runner_->limit_ahead(attempts[i], stop);
            if (limit == Limit::none) return runner_->run(attempts[i], best, stop);
            Candidate none;
            none.limit = limit;
            return none;
          });
  }

  void only(const PlannerRow& planner) {
    const std::vector<int> counts =
        planner.compressed ? counts_of_representatives()
                           : this->counts(planner.kind == PlannerKind::exact ? 8 : kMostChunks);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (i > 0 && (good_enough() || time_is_up())) break;
      // A count that cannot reach the target is worth a plan, not all the time.
      const bool last = i + 1 == counts.size() || can_reach_target(counts[i]);
      const Time before = best_.length;
      const Attempt attempt{&planner, counts[i], last ? 1.0 : 0.3, false};
      take(runner_->run(attempt, best_, stop_));
      if (planner.kind == PlannerKind::baseline && i > 3 && best_.plan && best_.length == before)
        break;
    }
  }

  void everything() {
    const std::vector<int> counts = this->counts(kMostChunks);
    first_construction(counts);
    const Time reached = representatives(true);
    // Where they are far from the bound others come first.
    const bool promising = compressed_ || (reached != Time::max() && !is_far(reached));
    if (promising) representatives(false);
    if (family_.deliveries() > kMostDeliveriesInFull) return;
    if (request_.options.store && family_.deliveries() <= kFewDeliveries) {
      stage({{&find_planner("direct"), 1, 1.0, true}});
    }
    constructions(counts);
    if (request_.options.store) baselines(counts);  // they do not know how not to store
    deep_constructions(counts);
    if (!promising) representatives(false);
    searches(counts, true);
    searches(counts, false);
    exact_planners(counts);
  }

  /// What takes a fraction of a second comes before the planners that work on representatives.
  void first_construction(const std::vector<int>& counts) {
    if (compressed_ || !family_.symmetric()) return;
    const auto promising = std::find_if(counts.begin(), counts.end(),
                                        [&](int count) { return can_reach_target(count); });
    if (promising == counts.end() || *promising * family_.deliveries() > kMostDeliveriesAtFirst)
      return;
    stage({{&find_planner("greedy"), *promising, 0.5, true}});
  }

  /// Planners that work on representatives; at first quickly, on more and more chunks while that
  /// helps or the plan is near the bound. Their best time, or Time::max().
  Time representatives(bool quick) {
    Time reached = Time::max();
    if (!family_.symmetric()) return reached;
    std::vector<Attempt> attempts;
    bool promising = quick;
    for (const int count : counts_of_representatives()) {
      promising = promising || can_reach_target(count);
      if (!promising) continue;
      for (const PlannerRow& planner : planners()) {
        if (planner.compressed) attempts.push_back({&planner, count, quick ? 0.5 : 0.2, quick});
      }
    }
    constexpr std::size_t kBatch = 2;
    constexpr std::int64_t kGain = 50;  // a fiftieth is a gain
    for (std::size_t i = 0; i < attempts.size(); i += quick ? kBatch : attempts.size()) {
      stage_best_ = Time::max();
      const auto begin = attempts.begin() + static_cast<std::ptrdiff_t>(i);
      const auto left = static_cast<std::size_t>(attempts.end() - begin);
      const std::size_t many = quick ? std::min(kBatch, left) : left;
      stage(std::vector<Attempt>(begin, begin + static_cast<std::ptrdiff_t>(many)));
      const bool gained = stage_best_.ps < reached.ps - reached.ps / kGain;
      reached = std::min(reached, stage_best_);
      if (quick && reached != Time::max() && is_far(reached) && !gained) break;
    }
    return reached;
  }

  /// Planners that construct one plan, without a search; first on counts that can reach the target.
  void constructions(const std::vector<int>& counts) {
    const auto promising = std::find_if(counts.begin(), counts.end(),
                                        [&](int count) { return can_reach_target(count); });
    std::vector<const PlannerRow*> rows;
    for (const PlannerRow& planner : planners()) {
      const bool fits = planner.kind == PlannerKind::construction && !planner.compressed;
      if (fits) rows.push_back(&planner);
    }
    climb(rows, {promising, counts.end()}, false);
    // Who was best on more chunks than on the first count has no use for fewer.
    if (promising != counts.end()) {
      rows.erase(std::remove_if(rows.begin(), rows.end(),
                                [&](const PlannerRow* row) {
                                  return reached_[row->name].chunks > *promising;
                                }),
                 rows.end());
    }
    climb(rows, {counts.begin(), promising}, false);
  }

  /// Constructions that know more than one way, where their first came near the best plan: all ways,
  /// on the chunk count that was best and on the next ones.
  void deep_constructions(const std::vector<int>& counts) {
    constexpr std::int64_t kNear = 5;  // a fifth worse may still become the best
    std::vector<Attempt> attempts;
    for (const std::string_view name : {"trees", "flow"}) {
      const auto reached = reached_.find(name);
      if (reached == reached_.end() || reached->second.chunks == 0 ||
          reached->second.length.ps - reached->second.length.ps / (kNear + 1) > best_.length.ps)
        continue;
      const int count = reached->second.chunks;
      const bool more = std::find(counts.begin(), counts.end(), 2 * count) != counts.end();
      attempts.push_back({&find_planner(name), count, 0.6, false});
      attempts.push_back(
          {&find_planner(name), more ? 2 * count : count, 0.6, false, more ? 0U : 1U});
    }
    stage(attempts);
  }

  /// On small problems whatever is known, so that the plan is never worse; on large ones, where each
  /// takes a good part of a second, only while the plan is not good enough.
  void baselines(const std::vector<int>& counts) {
    std::vector<const PlannerRow*> rows;
    for (const PlannerRow& planner : planners()) {
      if (planner.kind != PlannerKind::baseline) continue;
      // Without copies every destination is a demand of its own, and gets its chunk straight.
      if (request_.options.copy || planner.name == "direct") rows.push_back(&planner);
    }
    climb(rows, counts, family_.deliveries() <= kFewDeliveries);
  }

  /// A stage of planners, each on more and more chunks.
  void climb(const std::vector<const PlannerRow*>& rows, const std::vector<int>& counts, bool all) {
    std::vector<Reached> reached(rows.size());
    stage(rows.size(), all, [&](std::size_t i, const Incumbent& best, const StopCondition& stop) {
      return climb(*rows[i], counts, all, best, stop, reached[i]);
    });
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Reached& known = reached_[rows[i]->name];
      if (reached[i].length < known.length) known = reached[i];
    }
  }

  /// One planner on twice as many chunks each time, while that may make its plan the best and, unless
  /// `all`, good enough.
  Candidate climb(const PlannerRow& planner, const std::vector<int>& counts, bool all,
                  Incumbent best, const StopCondition& stop, Reached& reached) {
    constexpr int kPatience = 2;
    constexpr std::int64_t kFar = 10;  // a tenth worse is too far to be caught up with
    Candidate result;
    Time last = Time::max();
    int misses = 0;
    for (const int count : counts) {
      const Attempt attempt{&planner, count, 0.5, true};
      if (!all && result.plan && runner_->within_target(best.length)) break;
      const Limit limit = runner_->limit_ahead(attempt, stop);
      if (limit != Limit::none) {
        result.limit = limit;
        break;
      }
      if (runner_->chunked_bound(count).value >= best.length) continue;
      Candidate candidate = runner_->run(attempt, best, stop);
      result.notes.insert(result.notes.end(), candidate.notes.begin(), candidate.notes.end());
      if (candidate.limit != Limit::none) result.limit = candidate.limit;
      if (candidate.length == Time{0} && candidate.more_chunks) continue;
      if (candidate.length == Time{0} || candidate.least >= best.length) break;
      const Time length = candidate.length;
      if (length < reached.length) reached = {length, count};
      // What cutting chunks in two brings halves, too: all that is still to come is about what the
      // last time brought.
      const Time to_come = last == Time::max() ? Time{0} : length - (last - length);
      misses = to_come >= best.length ? misses + 1 : 0;
      if (to_come.ps / (kFar + 1) > best.length.ps / kFar) misses = kPatience;
      last = length;
      if (candidate.plan && length < best.length) {
        best = {nullptr, length, count};
        candidate.notes = std::move(result.notes);
        candidate.limit = result.limit;
        result = std::move(candidate);
      }
      if (misses == kPatience) break;
    }
    return result;
  }

  /// Quick passes on every count; deep ones where the target can be met.
  void searches(const std::vector<int>& counts, bool quick) {
    std::vector<Attempt> attempts;
    bool promising = counts.size() == 1;
    for (const int count : counts) {
      promising = promising || can_reach_target(count);
      const bool hopeless = count != best_.chunks && !promising;
      if (!quick && hopeless) continue;
      attempts.push_back({&find_planner("search"), count, 1.0 / 3, quick});
    }
    stage(attempts);
  }

  /// On the best count so far and on the smallest that can reach the target: few chunks make small
  /// models.
  void exact_planners(const std::vector<int>& counts) {
    constexpr double kMostForExact = 5'000;  // the solver is slow to stop on larger models
    std::vector<int> tried;
    const auto reaching = std::find_if(counts.begin(), counts.end(),
                                       [&](int count) { return can_reach_target(count); });
    if (reaching != counts.end()) tried.push_back(*reaching);
    const int best = best_.plan ? best_.chunks : counts.front();
    if (tried.empty() || tried.front() != best) tried.push_back(best);
    std::vector<Attempt> attempts;
    for (const int count : tried) {
      for (const PlannerRow& planner : planners()) {
        const Attempt attempt{&planner, count, 0.5, false};
        if (planner.kind != PlannerKind::exact || runner_->size(attempt) > kMostForExact) continue;
        attempts.push_back(attempt);
      }
    }
    for (std::size_t i = 0; i < attempts.size(); ++i) {
      // The solver may take a while to notice that it is to stop.
      if (i + 1 == attempts.size()) attempts[i].share = 0.9;
      stage({attempts[i]});
    }
  }

  // --- The outcome ---

  [[noreturn]] void refuse() const {
    std::string reasons;
    for (const std::string& message : messages_) reasons += (reasons.empty() ? "" : "; ") + message;
    if (reasons.find("invalid plan") != std::string::npos)
      throw Error(ErrorCode::internal, reasons);
    const Limit limit = stop_.reached() != Limit::none ? stop_.reached() : limit_;
    if (limit != Limit::none) {
      throw Error(ErrorCode::unsolved, "no plan before the " + std::string(to_string(limit)) +
                                           " limit: raise it" +
                                           (reasons.empty() ? "" : " (" + reasons + ")"));
    }
    throw Error(ErrorCode::unsolved, reasons.empty() ? "no planner can do this" : reasons);
  }

  Plan complete() {
    const bool good = good_enough();
    Plan plan = std::move(*best_.plan);
    Result& result = plan.result;
    // Of the chunks as they are only when they were asked for; else another count may be better.
    const bool optimal = (result.bound && result.transfer_time == result.bound->value) ||
                         (!family_.adjustable() && result.bound_chunked &&
                          result.transfer_time == result.bound_chunked->value);
    const Limit limit = stop_.reached() != Limit::none ? stop_.reached() : limit_;
    result.termination = {optimal ? Termination::Reason::optimal : Termination::Reason::feasible,
                          optimal || good ? Limit::none : limit};
    // Of a plan from elsewhere: what an epoch planner knows about the same chunks.
    const auto proven = proven_.find(best_.chunks);
    if (!result.epoch && proven != proven_.end()) result.epoch = proven->second;
    result.seed = request_.options.seed;
    result.version = kVersion;
    result.options.emplace_back("gap", std::to_string(request_.options.gap));
    result.options.emplace_back("chunks", family_.adjustable() ? "auto" : "given");
    result.options.emplace_back("planner", request_.planner.empty() ? "auto" : request_.planner);
    result.options.emplace_back("copy", request_.options.copy ? "true" : "false");
    if (best_.length != result.transfer_time) {
      result.options.emplace_back("time_without_copies", to_string(best_.length));
    }
    result.options.emplace_back("store", request_.options.store ? "true" : "false");
    result.solver_time_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
    result.core_seconds = cpu_seconds() - cpu_started_;
    result.peak_rss_bytes = peak_resident_bytes();
    return plan;
  }

  PortfolioRequest request_;  ///< topology and jobs are in `family_`
  ProblemFamily family_;
  const StopCondition& stop_;
  Progress* progress_;
  const Judge& judge_;
  std::chrono::steady_clock::time_point started_;
  double cpu_started_ = 0;

  bool compressed_ = false;  ///< too large to be written out: representatives stay as they are
  std::optional<AttemptRunner> runner_;

  Incumbent best_;
  Time stage_best_ = Time::max();                ///< of all candidates since it was set
  Limit limit_ = Limit::none;                    ///< that a planner met
  std::map<int, EpochRecord> proven_;            ///< by chunk count
  std::map<std::string_view, Reached> reached_;  ///< by planner
  std::vector<std::string> messages_;
};

}  // namespace

Plan make_plan(PortfolioRequest request, const StopCondition& stop, Progress* progress,
               const Judge& judge) {
  const auto usual = [&](const StopCondition& until) {
    return Portfolio(request, until, progress, judge).run();
  };
  if (!wants_joint_plan(request)) return usual(stop);
  if (!request.planner.empty() || request.options.objective != Objective::makespan)
    return make_joint_plan(request, stop, progress, judge);
  return make_better_plan(request, stop, progress, judge, usual);
}

}  // namespace stellwerk
