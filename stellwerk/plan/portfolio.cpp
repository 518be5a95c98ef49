// The portfolio: cheap planners first, every chunk count that may pay, exact planners while time
// remains.
//
// With a bound for any chunking at hand, a chunk count whose own bound already misses the gap
// target cannot reach it, so the deeper search starts with counts that can. Every candidate is
// judged by the independent verifier before it counts; the bound never comes from a planner.
#include "stellwerk/plan/portfolio.hpp"

#include <algorithm>
#include <chrono>
#include <map>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/resources.hpp"
#include "stellwerk/base/version.hpp"
#include "stellwerk/bound/bound.hpp"
#include "stellwerk/check/simulate.hpp"
#include "stellwerk/plan/no_copy.hpp"
#include "stellwerk/plan/no_wait.hpp"
#include "stellwerk/plan/passing.hpp"
#include "stellwerk/plan/reachability.hpp"
#include "stellwerk/plan/reversal.hpp"

namespace stellwerk {
namespace {

/// Plans larger than this (chunks times destinations) are not tried by the choice of the chunk
/// count.
constexpr std::int64_t kMostDeliveries = 400'000;
constexpr int kMostChunks = 64;

/// When each job's last demand is met by sends as they are: a copy counts when it first arrives, a sum is complete with the
/// last arrival.
std::vector<Time> finish_times(const Problem& problem, const Schedule& sends) {
  std::map<std::pair<ChunkId, NodeId>, Time> met;
  for (const ChunkId id : problem.chunk_ids()) {  // what is there already counts once it is ready
    const Chunk& chunk = problem.chunks[id];
    const auto& there = chunk.is_reduction() ? chunk.contributors : chunk.origins;
    if (chunk.is_reduction() && there.size() > 1) continue;
    for (const NodeId node : chunk.destinations) {
      if (std::find(there.begin(), there.end(), node) != there.end()) met[{id, node}] = chunk.ready;
    }
  }
  for (const Send& send : sends) {
    const Chunk& chunk = problem.chunks[send.chunk];
    const SendTiming times = timing(problem.topology, send);
    for (std::size_t i = 0; i < times.leaves.size(); ++i) {
      const auto& wanting = chunk.destinations;
      if (std::find(wanting.begin(), wanting.end(), times.leaves[i]) == wanting.end()) continue;
      const Time arrival = send.start + times.arrival[i];
      const auto [known, fresh] = met.emplace(std::pair(send.chunk, times.leaves[i]), arrival);
      if (!fresh && chunk.is_reduction() == (arrival > known->second)) known->second = arrival;
    }
  }
  std::vector<Time> finish(problem.jobs.size(), Time{0});
  for (const auto& [demand, time] : met) {
    Time& job = finish[problem.chunks[demand.first].job.index()];
    job = std::max(job, time);
  }
  return finish;
}

class Portfolio {
 public:
  Portfolio(PortfolioRequest request, const StopCondition& stop, Progress* progress,
            const Judge& judge)
      : request_(std::move(request)), stop_(stop), progress_(progress), judge_(judge) {}

  Plan run() {
    started_ = std::chrono::steady_clock::now();
    cpu_started_ = cpu_seconds();
    const Problem coarse = with_chunks(1);
    if (coarse.chunks.empty()) {
      Plan plan;
      plan.problem = coarse;
      offer("none", coarse, time(coarse, {}), {});
      return complete();
    }
    // Where buffers are small, only small chunks may get through.
    const bool buffers = has_buffer_limits(request_.topology);
    require_reachable(buffers ? with_chunks(chunk_counts(kMostChunks).back()) : coarse);
    bound_ = lower_bound(coarse, stop_);
    if (request_.planner.empty()) {
      everything();
    } else {
      only(find_planner(request_.planner));
    }
    if (!best_) refuse();
    return complete();
  }

 private:
  bool adjustable() const {
    return std::any_of(request_.jobs.begin(), request_.jobs.end(),
                       [](const Job& job) { return job.auto_chunks; });
  }

  Problem with_chunks(int chunks) const {
    std::vector<Job> jobs = request_.jobs;
    for (Job& job : jobs) {
      if (job.auto_chunks) job.chunks = chunks;
    }
    return make_problem(request_.topology, std::move(jobs), request_.relays);
  }

  /// 1, 2, 4, ... as far as the plan does not become too large; 1 alone when the counts are given.
  std::vector<int> chunk_counts(int most) const {
    if (!adjustable()) return {1};
    std::vector<int> counts;
    const Problem coarse = with_chunks(1);
    std::int64_t deliveries = 0;
    for (const Chunk& chunk : coarse.chunks) {
      deliveries +=
          static_cast<std::int64_t>(chunk.destinations.size() + chunk.contributors.size());
    }
    for (int count = 1; count <= most; count *= 2) {
      if (count == 1 || deliveries * count <= kMostDeliveries) counts.push_back(count);
    }
    return counts;
  }

  bool good_enough() const {
    return best_ && static_cast<double>(best_->result.transfer_time.ps) <=
                        static_cast<double>(bound_.value.ps) * (1 + request_.options.gap);
  }
  bool time_is_up() const { return stop_.should_stop(); }

  const Bound& chunked_bound(const Problem& problem, int chunks) {
    const auto known = std::find_if(chunked_.begin(), chunked_.end(),
                                    [&](const auto& x) { return x.first == chunks; });
    if (known != chunked_.end()) return known->second;
    return chunked_.emplace_back(chunks, lower_bound_chunked(problem, bound_, stop_)).second;
  }
  bool can_reach_target(const Problem& problem, int chunks) {
    return static_cast<double>(chunked_bound(problem, chunks).value.ps) <=
           static_cast<double>(bound_.value.ps) * (1 + request_.options.gap);
  }

  /// Runs one planner on one chunk count, with at most `seconds`, and keeps the plan if it is the
  /// best so far.
  /// A planner whose sends make no plan does not cost the plans of the others.
  void attempt(const PlannerRow& planner, int chunks, double seconds, bool quick) {
    try {
      run(planner, chunks, seconds, quick);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::verification_failed) throw;
      note(planner.name, std::string("invalid plan: ") + error.what());
    }
  }

  void run(const PlannerRow& planner, int chunks, double seconds, bool quick) {
    const Problem problem = with_chunks(chunks);
    // Without copies every destination is a demand of its own; planners then need not know.
    const bool single = !request_.options.copy && !has_reductions(problem);
    const NoCopyProblem copies = single ? without_copies(problem) : NoCopyProblem{};
    const Problem& posed = single ? copies.problem : problem;
    PlannerContext context;
    context.stop = stop_.within(seconds);
    context.progress = progress_;
    context.rng = Rng(request_.options.seed);
    context.bound = bound_;
    context.bound_chunked = chunked_bound(problem, chunks);
    if (best_ && best_chunks_ == chunks && !single) context.incumbent = &best_->sends;
    PlanOptions options = request_.options;
    options.quick = quick;
    PlannerOutcome outcome = planner.plan(posed, options, context);
    if (!outcome.message.empty()) note(planner.name, outcome.message);
    if (outcome.epoch && outcome.epoch->epochs > 0 && outcome.epoch->proven_epochs > 0)
      proven_[chunks] = *outcome.epoch;
    // A slice of the time that ran out counts as the limit: more time may give a better plan.
    if (limit_ == Limit::none) limit_ = outcome.termination.limit;
    if (!outcome.has_plan()) return;
    if (!request_.options.store && !has_reductions(problem)) {
      std::optional<Schedule> rigid = without_waiting(posed, outcome.sends);
      if (!rigid) {
        note(planner.name,
             "a chunk would have to leave a node twice at once: no plan that stores nothing");
        return;
      }
      outcome.sends = std::move(*rigid);
    }
    Timed timed = time(posed, std::move(outcome.sends));
    if (single) {
      // The length stays that of the plan without copies; on the way one destination's copy may serve another earlier.
      timed.sends = copies.translate(std::move(timed.sends));
      timed.job_finish = finish_times(problem, timed.sends);
      if (!keeps_buffers(problem, timed.sends)) {
        note(planner.name, "without copies a transit buffer would overflow");
        return;
      }
    }
    offer(planner.name, problem, std::move(timed), outcome);
  }

  struct Timed {
    Schedule sends;
    std::vector<Time> job_finish;
    Time length;  ///< by which plans are compared
  };

  /// Re-timed; or, when chunks must not wait, as planned.
  Timed time(const Problem& posed, Schedule sends) const {
    if (request_.options.store) {
      Simulation simulation = simulate(posed, sends);
      return {std::move(simulation.sends), std::move(simulation.job_finish),
              simulation.transfer_time};
    }
    std::vector<Time> finish = finish_times(posed, sends);
    const Time length = finish.empty() ? Time{0} : *std::max_element(finish.begin(), finish.end());
    return {std::move(sends), std::move(finish), length};
  }

  void offer(std::string_view planner, const Problem& problem, Timed timed,
             const PlannerOutcome& outcome) {
    if (best_ && timed.length >= best_length_) return;
    Plan plan;
    plan.problem = problem;
    plan.sends = std::move(timed.sends);
    sort_sends(problem.topology, plan.sends);
    Result& result = plan.result;
    result.job_finish = std::move(timed.job_finish);
    result.transfer_time = *std::max_element(result.job_finish.begin(), result.job_finish.end());
    result.planner = planner;
    result.termination = outcome.termination;
    if (outcome.epoch && outcome.epoch->epochs > 0) result.epoch = outcome.epoch;
    if (!problem.chunks.empty()) {
      result.bound = bound_;
      result.bound_chunked = chunked_bound(problem, current_chunks(problem));
    }
    if (const std::optional<std::string> objection = judge_(plan)) {
      // Told not to store, halves of an AllReduce are joined without regard to transit buffers;
      // anything else is a bug.
      note(planner, (has_buffer_limits(problem.topology) ? "no plan that keeps the limits: "
                                                         : "invalid plan: ") +
                        *objection);
      return;
    }
    best_ = std::move(plan);
    best_length_ = timed.length;
    best_chunks_ = current_chunks(problem);
    if (progress_ != nullptr)
      progress_->report({std::string(planner), best_->result.transfer_time, bound_.value});
  }

  /// The chunk count by which chunked bounds are remembered.
  int current_chunks(const Problem& problem) const {
    for (std::size_t i = 0; i < problem.jobs.size(); ++i) {
      if (request_.jobs[i].auto_chunks) return problem.jobs[i].chunks;
    }
    return 1;
  }

  void only(const PlannerRow& planner) {
    const std::vector<int> counts = chunk_counts(planner.exact ? 8 : kMostChunks);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (i > 0 && (good_enough() || time_is_up())) break;
      // A count that cannot reach the target is worth a plan, not all the time.
      const bool last =
          i + 1 == counts.size() || can_reach_target(with_chunks(counts[i]), counts[i]);
      const Time before = best_ ? best_->result.transfer_time : Time::max();
      attempt(planner, counts[i], stop_.seconds_left() * (last ? 1.0 : 0.3), false);
      if (planner.baseline && i > 3 && best_ && best_->result.transfer_time == before) break;
    }
  }

  void everything() {
    const std::vector<int> counts = chunk_counts(kMostChunks);
    if (request_.options.store) baselines(counts);  // they do not know how not to store
    searches(counts, true);
    searches(counts, false);
    exact_planners(counts);
  }

  /// Enough is known, or no time is left (the first plan is worth passing the limit by a little).
  bool done() const { return best_ && (good_enough() || time_is_up()); }

  void baselines(const std::vector<int>& counts) {
    constexpr int kMostForBaselines = 16;
    for (const PlannerRow& planner : planners()) {
      if (!planner.baseline || (!request_.options.copy && planner.name == "ring")) continue;
      for (const int count : counts) {
        if (done() || count > kMostForBaselines) break;
        attempt(planner, count, stop_.seconds_left() / 4, true);
      }
    }
  }

  /// Quick passes on every count; deep ones where the target can be met.
  void searches(const std::vector<int>& counts, bool quick) {
    for (const int count : counts) {
      if (done()) return;
      const bool hopeless = counts.size() > 1 && count != best_chunks_ &&
                            !can_reach_target(with_chunks(count), count);
      if (!quick && hopeless) continue;
      attempt(find_planner("search"), count, stop_.seconds_left() / 3, quick);
    }
  }

  /// On the best count so far and on the smallest that can reach the target: few chunks make small
  /// models.
  void exact_planners(const std::vector<int>& counts) {
    std::vector<int> tried;
    const auto reaching = std::find_if(counts.begin(), counts.end(), [&](int count) {
      return can_reach_target(with_chunks(count), count);
    });
    if (reaching != counts.end()) tried.push_back(*reaching);
    const int best = best_ ? best_chunks_ : counts.front();
    if (tried.empty() || tried.front() != best) tried.push_back(best);
    std::vector<std::pair<int, const PlannerRow*>> attempts;
    for (const int count : tried) {
      for (const PlannerRow& planner : planners()) {
        if (planner.exact) attempts.emplace_back(count, &planner);
      }
    }
    for (std::size_t i = 0; i < attempts.size(); ++i) {
      if (done()) return;
      const double share = i + 1 == attempts.size() ? 1.0 : 0.5;
      attempt(*attempts[i].second, attempts[i].first, stop_.seconds_left() * share, false);
    }
  }

  /// Remembers why a planner has no plan; the same reason on several chunk counts is said once.
  void note(std::string_view planner, const std::string& message) {
    std::string text = std::string(planner) + ": " + message;
    if (std::find(messages_.begin(), messages_.end(), text) == messages_.end())
      messages_.push_back(std::move(text));
  }

  [[noreturn]] void refuse() const {
    std::string reasons;
    for (const std::string& message : messages_) reasons += (reasons.empty() ? "" : "; ") + message;
    if (reasons.find("invalid plan") != std::string::npos)
      throw Error(ErrorCode::internal, reasons);
    const Limit limit = stop_.reached();
    if (limit != Limit::none) {
      throw Error(ErrorCode::unsolved, "no plan before the " + std::string(to_string(limit)) +
                                           " limit: raise it" +
                                           (reasons.empty() ? "" : " (" + reasons + ")"));
    }
    throw Error(ErrorCode::unsolved, reasons.empty() ? "no planner can do this" : reasons);
  }

  Plan complete() {
    Result& result = best_->result;
    // Of the chunks as they are only when they were asked for; else another count may be better.
    const bool optimal = (result.bound && result.transfer_time == result.bound->value) ||
                         (!adjustable() && result.bound_chunked &&
                          result.transfer_time == result.bound_chunked->value);
    const Limit limit = stop_.reached() != Limit::none ? stop_.reached() : limit_;
    result.termination = {optimal ? Termination::Reason::optimal : Termination::Reason::feasible,
                          optimal || good_enough() ? Limit::none : limit};
    // Of a plan from elsewhere: what an epoch planner knows about the same chunks.
    const auto proven = proven_.find(best_chunks_);
    if (!result.epoch && proven != proven_.end()) result.epoch = proven->second;
    result.seed = request_.options.seed;
    result.version = kVersion;
    result.options.emplace_back("gap", std::to_string(request_.options.gap));
    result.options.emplace_back("chunks", adjustable() ? "auto" : "given");
    result.options.emplace_back("planner", request_.planner.empty() ? "auto" : request_.planner);
    result.options.emplace_back("copy", request_.options.copy ? "true" : "false");
    if (best_length_ != result.transfer_time) {
      result.options.emplace_back("time_without_copies", to_string(best_length_));
    }
    result.options.emplace_back("store", request_.options.store ? "true" : "false");
    result.solver_time_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
    result.core_seconds = cpu_seconds() - cpu_started_;
    result.peak_rss_bytes = peak_resident_bytes();
    return std::move(*best_);
  }

  PortfolioRequest request_;
  const StopCondition& stop_;
  Progress* progress_;
  const Judge& judge_;
  std::chrono::steady_clock::time_point started_;
  double cpu_started_ = 0;
  Bound bound_;
  std::vector<std::pair<int, Bound>> chunked_;
  std::optional<Plan> best_;
  Time best_length_;
  int best_chunks_ = 0;
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
