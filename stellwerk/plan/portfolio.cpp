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
#include "stellwerk/plan/portfolio.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/in_order.hpp"
#include "stellwerk/base/resources.hpp"
#include "stellwerk/base/version.hpp"
#include "stellwerk/bound/bound.hpp"
#include "stellwerk/check/simulate.hpp"
#include "stellwerk/core/expansion.hpp"
#include "stellwerk/plan/finish_times.hpp"
#include "stellwerk/plan/no_copy.hpp"
#include "stellwerk/plan/no_wait.hpp"
#include "stellwerk/plan/passing.hpp"
#include "stellwerk/plan/problem_family.hpp"
#include "stellwerk/plan/reachability.hpp"
#include "stellwerk/plan/reversal.hpp"

namespace stellwerk {
namespace {

/// Plans larger than this (chunks times destinations) are not tried by the choice of the chunk
/// count, and plans by representatives are not written out.
constexpr std::int64_t kMostDeliveries = 400'000;
constexpr int kMostChunks = 256;
/// So few that a baseline may come first, lest there be no plan when time is short.
constexpr std::int64_t kFewDeliveries = 20'000;
/// A baseline of so many deliveries takes a few milliseconds, or a tenth of a second.
constexpr double kTiny = 5'000, kSmall = 40'000;
/// Larger plans are not re-timed once they are good enough.
constexpr std::size_t kManySends = 100'000;
/// Larger problems are planned by representatives or not at all: their chunks alone would fill the
/// memory.
constexpr std::int64_t kMostDeliveriesInFull = 20'000'000;
/// What it takes to state a chunk, and to bound it.
constexpr double kSecondsPerChunk = 1e-6;
constexpr double kBytesPerChunk = 400;
/// What it takes to re-time and judge a delivery.
constexpr double kSecondsToJudge = 1.5e-6;
/// What it takes to hold a plan, and to re-time and judge it.
constexpr double kBytesPerDelivery = 700;

/// Precondition: not empty.
Time latest(const std::vector<Time>& times) {
  return *std::max_element(times.begin(), times.end());
}

/// A planner on a chunk count.
struct Attempt {
  const PlannerRow* planner = nullptr;
  int chunks = 1;
  double share = 1;    ///< of the time that is left
  bool quick = false;  ///< PlanOptions::quick
};

/// Sends that meet the demand, and when.
struct Timed {
  Schedule sends;
  std::vector<Time> job_finish;
  Time length;  ///< by which plans are compared
};

/// What an attempt brought.
struct Candidate {
  std::optional<Plan> plan;  ///< judged valid
  Time length;
  Limit limit = Limit::none;          ///< that the planner met
  std::optional<EpochRecord> proven;  ///< what an epoch planner knows about these chunks
  std::vector<std::string> notes;     ///< why there is no plan
};

/// The best plan so far.
struct Incumbent {
  std::shared_ptr<Plan> plan;
  Time length = Time::max();
  int chunks = 0;
};

/// Of the time that is left; what has been proven by then is enough to go on with.
constexpr double kShareForBounds = 0.2;

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
    coarse_ = family_.problem(1, compressed_);
    if (coarse_->chunks.empty()) {
      take(offer("none", *coarse_, time(*coarse_, {}), {}, {}), 1);
      return complete();
    }
    // Where buffers are small, only small chunks may get through.
    const bool buffers = has_buffer_limits(family_.topology());
    require_reachable(buffers ? *family_.problem(counts(kMostChunks).back(), false) : *coarse_);
    bound_ = lower_bound(*coarse_, share_of_time(kShareForBounds));
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
    if (possible) family_.find_symmetry(share_of_time(0.5));
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

  /// Is the attempt at representatives?
  bool compressed(const Attempt& attempt) const {
    return attempt.planner->compressed && family_.symmetric();
  }

  /// Chunk counts to try: for plans in full, or that will be written out.
  std::vector<int> counts(int most) const {
    return family_.chunk_counts(most, kMostDeliveries, false);
  }
  /// For plans by representatives.
  std::vector<int> counts_of_representatives() const {
    return family_.chunk_counts(kMostChunks, kMostDeliveries, compressed_);
  }

  Bound chunked_bound(int chunks) {
    const std::lock_guard lock(bounds_mutex_);
    const auto known = chunked_.find(chunks);
    if (known != chunked_.end()) return known->second;
    const std::shared_ptr<const Problem> problem = family_.problem(chunks, compressed_);
    return chunked_
        .emplace(chunks, lower_bound_chunked(*problem, translated(bound_, *coarse_, *problem),
                                             share_of_time(kShareForBounds / 2)))
        .first->second;
  }
  StopCondition share_of_time(double share) const {
    return stop_.within(stop_.seconds_left() * share);
  }
  bool can_reach_target(int chunks) { return within_target(chunked_bound(chunks).value); }

  // --- How good, how long ---

  bool within_target(Time length) const {
    return static_cast<double>(length.ps) <=
           static_cast<double>(bound_.value.ps) * (1 + request_.options.gap);
  }
  bool good_enough() const { return best_.plan && within_target(best_.plan->result.transfer_time); }
  bool time_is_up() const { return stop_.should_stop(); }
  /// Enough is known, or no time is left (the first plan is worth passing the limit by a little).
  bool done() const { return best_.plan && (good_enough() || time_is_up()); }

  /// Seconds that an attempt will take at least, to construct, re-time and judge a plan.
  double cost(const Attempt& attempt) {
    constexpr double kSecondsPerDelivery = 1e-6 + kSecondsToJudge;
    const std::lock_guard lock(pace_mutex_);
    const auto known = pace_.find(attempt.planner->name);
    const double pace = known == pace_.end() ? kSecondsPerDelivery : known->second;
    return pace * size(attempt);
  }
  void remember_pace(const Attempt& attempt, double seconds) {
    const std::lock_guard lock(pace_mutex_);
    double& pace = pace_.try_emplace(attempt.planner->name, 0).first->second;
    pace = std::max(pace, seconds / std::max(size(attempt), 1000.0));
  }
  /// Deliveries of the plan.
  double size(const Attempt& attempt) const {
    const bool few = compressed_ && compressed(attempt);
    return static_cast<double>(family_.deliveries(few)) * attempt.chunks;
  }
  Limit limit_ahead(const Attempt& attempt, const StopCondition& stop) {
    if (cost(attempt) > stop.seconds_left()) return Limit::time;
    if (kBytesPerDelivery * size(attempt) > stop.bytes_left()) return Limit::memory;
    return Limit::none;
  }

  // --- One attempt (on any thread; `best` is the incumbent from before the stage) ---

  Candidate try_out(const Attempt& attempt, const Incumbent& best, const StopCondition& stop) {
    Candidate none;
    const Bound chunked = chunked_bound(attempt.chunks);
    if (chunked.value >= best.length && attempt.chunks != best.chunks) return none;
    const std::shared_ptr<const Problem> shared =
        family_.problem(attempt.chunks, compressed(attempt));
    const Problem& problem = *shared;
    try {
      return plan_with(attempt, problem, chunked, best, stop);
    } catch (const Error& error) {
      // A planner whose sends make no plan does not cost the plans of the others.
      if (error.code() != ErrorCode::verification_failed) throw;
      none.notes.push_back(std::string(attempt.planner->name) + ": invalid plan: " + error.what());
      return none;
    }
  }

  Candidate plan_with(const Attempt& attempt, const Problem& problem, const Bound& chunked,
                      const Incumbent& best, const StopCondition& stop) {
    const std::string name(attempt.planner->name);
    // Without copies every destination is a demand of its own; planners then need not know.
    const bool single = !request_.options.copy && !has_reductions(problem);
    const NoCopyProblem copies = single ? without_copies(problem) : NoCopyProblem{};
    const Problem& posed = single ? copies.problem : problem;
    PlannerContext context;
    const double afterwards = kSecondsToJudge * size(attempt);
    context.stop = stop.within((stop.seconds_left() - afterwards) * attempt.share);
    context.progress = progress_;
    context.rng = Rng(request_.options.seed);
    context.bound = bound_;
    context.bound_chunked = chunked;
    if (best.plan && best.chunks == attempt.chunks && !single &&
        best.plan->problem.symmetry == problem.symmetry)
      context.incumbent = &best.plan->sends;
    PlanOptions options = request_.options;
    options.quick = attempt.quick;
    options.threads = request_.planner.empty() ? 1 : options.threads;
    PlannerOutcome outcome = attempt.planner->plan(posed, options, context);
    Candidate result;
    if (!outcome.message.empty()) result.notes.push_back(name + ": " + outcome.message);
    if (outcome.epoch && outcome.epoch->epochs > 0 && outcome.epoch->proven_epochs > 0)
      result.proven = outcome.epoch;
    result.limit = outcome.termination.limit;
    if (!outcome.has_plan()) return result;
    if (!request_.options.store && !has_reductions(problem)) {
      std::optional<Schedule> rigid = without_waiting(posed, outcome.sends);
      if (!rigid) {
        result.notes.push_back(name +
                               ": a chunk would have to leave a node twice at once: no plan "
                               "that stores nothing");
        return result;
      }
      outcome.sends = std::move(*rigid);
    }
    // Baselines send as soon as they can: re-timing would not save them.
    if (attempt.planner->kind == PlannerKind::baseline &&
        latest(finish_times(posed, outcome.sends)) >= best.length) {
      return result;
    }
    Timed timed = time(posed, std::move(outcome.sends));
    if (single) {
      // The length stays that of the plan without copies; on the way one destination's copy may
      // serve another earlier.
      timed.sends = copies.translate(std::move(timed.sends));
      timed.job_finish = finish_times(problem, timed.sends);
      if (!keeps_buffers(problem, timed.sends)) {
        result.notes.push_back(name + ": without copies a transit buffer would overflow");
        return result;
      }
    }
    if (timed.length >= best.length) return result;
    Candidate offered = offer(name, problem, std::move(timed), outcome, chunked);
    result.plan = std::move(offered.plan);
    result.length = offered.length;
    result.notes.insert(result.notes.end(), offered.notes.begin(), offered.notes.end());
    return result;
  }

  /// Re-timed; or, where chunks must not wait or stand for others, and where re-timing takes long
  /// and need not be (copies are planned with their final starts), as planned.
  Timed time(const Problem& posed, Schedule sends) const {
    const bool fixed = !request_.options.store || !posed.symmetry.trivial();
    if (fixed || (sends.size() > kManySends && !has_reductions(posed))) {
      std::vector<Time> finish = finish_times(posed, sends);
      const Time length = latest(finish);
      if (fixed || within_target(length)) return {std::move(sends), std::move(finish), length};
    }
    Simulation simulation = simulate(posed, sends);
    return {std::move(simulation.sends), std::move(simulation.job_finish),
            simulation.transfer_time};
  }

  /// A judged plan of the sends.
  Candidate offer(std::string_view planner, const Problem& problem, Timed timed,
                  const PlannerOutcome& outcome, const Bound& chunked) const {
    Candidate result;
    Plan plan;
    plan.problem = problem;
    plan.sends = std::move(timed.sends);
    sort_sends(problem.topology, plan.sends);
    // Written out while that is cheap, so that every other planner can go on from there.
    if (!problem.symmetry.trivial() && !compressed_) {
      try {
        expand(plan, problem.symmetry.generators);
      } catch (const Error& error) {  // many hops make many sends
        result.notes.push_back(std::string(planner) + ": " + error.what());
        return result;
      }
      plan.problem.symmetry = {};
    }
    Result& record = plan.result;
    record.job_finish = std::move(timed.job_finish);
    record.transfer_time = latest(record.job_finish);
    record.planner = planner;
    record.termination = outcome.termination;
    if (outcome.epoch && outcome.epoch->epochs > 0) record.epoch = outcome.epoch;
    if (!problem.chunks.empty()) {
      record.bound = translated(bound_, *coarse_, plan.problem);
      const bool foreign =
          compressed_ && plan.problem.symmetry.trivial();  // so it is one chunk a block
      record.bound_chunked = foreign ? translated(chunked, *coarse_, plan.problem) : chunked;
    }
    if (const std::optional<std::string> objection = judge_(plan)) {
      // Told not to store, halves of an AllReduce are joined without regard to transit buffers;
      // anything else is a bug.
      result.notes.push_back(std::string(planner) +
                             (has_buffer_limits(problem.topology)
                                  ? ": no plan that keeps the limits: "
                                  : ": invalid plan: ") +
                             *objection);
      return result;
    }
    result.plan = std::move(plan);
    result.length = timed.length;
    return result;
  }

  // --- Stages ---

  /// Keeps the plan if it is the best so far.
  void take(Candidate candidate, int chunks) {
    for (std::string& note : candidate.notes) {
      // The same reason on several chunk counts is said once.
      if (std::find(messages_.begin(), messages_.end(), note) == messages_.end())
        messages_.push_back(std::move(note));
    }
    if (candidate.proven) proven_[chunks] = *candidate.proven;
    // A slice of the time that ran out counts as the limit: more time may give a better plan.
    if (limit_ == Limit::none) limit_ = candidate.limit;
    if (!candidate.plan || candidate.length >= best_.length) return;
    best_.length = candidate.length;
    best_.chunks = chunks;
    best_.plan = std::make_shared<Plan>(std::move(*candidate.plan));
    if (progress_ != nullptr) {
      const Result& result = best_.plan->result;
      progress_->report({result.planner, result.transfer_time, bound_.value});
    }
  }

  /// Runs the attempts until one gives a plan that is good enough or, where `all`, optimal.
  void stage(const std::vector<Attempt>& attempts, bool all = false) {
    const auto over = [&] {
      return all ? best_.plan && (best_.length == bound_.value || time_is_up()) : done();
    };
    if (over()) return;
    const Incumbent before = best_;
    in_order(
        attempts.size(), request_.options.threads, stop_,
        [&](std::size_t i, const StopCondition& stop) {
          const Attempt& attempt = attempts[i];
          if (const Limit limit = limit_ahead(attempt, stop); limit != Limit::none) {
            Candidate none;
            none.limit = limit;
            return none;
          }
          const auto start = std::chrono::steady_clock::now();
          Candidate candidate = try_out(attempt, before, stop);
          if (attempt.quick || attempt.planner->kind == PlannerKind::baseline) {
            remember_pace(
                attempt,
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
          }
          return candidate;
        },
        [&](std::size_t i, Candidate candidate) {
          take(std::move(candidate), attempts[i].chunks);
          return !over();
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
      take(try_out(attempt, best_, stop_), counts[i]);
      if (planner.kind == PlannerKind::baseline && i > 3 && best_.plan && best_.length == before)
        break;
    }
  }

  void everything() {
    representatives(true);
    const bool in_full = family_.deliveries() <= kMostDeliveriesInFull;
    const std::vector<int> counts = in_full ? this->counts(kMostChunks) : std::vector<int>{};
    if (in_full) baselines(counts, 0, kTiny, true);
    representatives(false);
    if (!in_full) return;
    if (request_.options.store && family_.deliveries() <= kFewDeliveries)
      stage({{&find_planner("direct"), 1, 1.0, true}});
    constructions(counts);
    baselines(counts, kTiny, kSmall, false);
    searches(counts, true);
    baselines(counts, kSmall, HUGE_VAL, false);
    searches(counts, false);
    exact_planners(counts);
  }

  /// Planners that work on representatives; at first quickly.
  void representatives(bool quick) {
    if (!family_.symmetric()) return;
    std::vector<Attempt> attempts;
    bool promising = quick;
    for (const int count : counts_of_representatives()) {
      promising = promising || can_reach_target(count);
      if (!promising) continue;
      for (const PlannerRow& planner : planners()) {
        if (planner.compressed) attempts.push_back({&planner, count, quick ? 0.5 : 0.2, quick});
      }
    }
    stage(attempts);
  }

  /// Planners that construct one plan, without a search, one after the other; first on counts that
  /// can reach the target.
  void constructions(const std::vector<int>& counts) {
    const auto promising = std::find_if(counts.begin(), counts.end(),
                                        [&](int count) { return can_reach_target(count); });
    const auto attempt = [&](auto begin, auto end) {
      std::vector<Attempt> attempts;
      for (const PlannerRow& planner : planners()) {
        if (planner.kind != PlannerKind::construction || planner.compressed) continue;
        for (auto count = begin; count != end; ++count) {
          attempts.push_back({&planner, *count, 0.25, true});
        }
      }
      stage(attempts);
    };
    attempt(promising, counts.end());
    attempt(counts.begin(), promising);
  }

  /// Those of more than `least` and up to `most` deliveries: tiny ones `always`, so that the plan is
  /// never worse; the others, which together take a second or more, while it is not good enough.
  void baselines(const std::vector<int>& counts, double least, double most, bool always) {
    if (!request_.options.store) return;  // they do not know how not to store
    std::vector<Attempt> attempts;
    for (const int count : counts) {
      for (const PlannerRow& planner : planners()) {
        if (planner.kind != PlannerKind::baseline) continue;
        // Without copies every destination is a demand of its own, and gets its chunk straight.
        if (!request_.options.copy && planner.name != "direct") continue;
        const Attempt attempt{&planner, count, 0.25, true};
        if (size(attempt) > least && size(attempt) <= most) attempts.push_back(attempt);
      }
    }
    stage(attempts, always);
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
    constexpr double kMostForExact =
        10'000;  // beyond that models are not even written down in time
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
        if (planner.kind != PlannerKind::exact || size(attempt) > kMostForExact) continue;
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

  bool compressed_ =
      false;  ///< too large to be written out: plans by representatives stay as they are
  std::shared_ptr<const Problem> coarse_;  ///< one chunk a block; what `bound_` is of
  Bound bound_;
  std::mutex bounds_mutex_, pace_mutex_;
  std::map<int, Bound> chunked_;             ///< by chunk count
  std::map<std::string_view, double> pace_;  ///< seconds a delivery, by planner

  Incumbent best_;
  Limit limit_ = Limit::none;          ///< that a planner met
  std::map<int, EpochRecord> proven_;  ///< by chunk count
  std::vector<std::string> messages_;
};

}  // namespace

Plan make_plan(PortfolioRequest request, const StopCondition& stop, Progress* progress,
               const Judge& judge) {
  return Portfolio(std::move(request), stop, progress, judge).run();
}

}  // namespace stellwerk
