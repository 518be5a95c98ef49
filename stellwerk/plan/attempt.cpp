// What happens to what a planner returns: re-timing, the judge, the record. Bounds and plans may be
// of different members of the problem's family; certificates are translated.
#include "stellwerk/plan/attempt.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/bound/bound.hpp"
#include "stellwerk/check/simulate.hpp"
#include "stellwerk/core/expansion.hpp"
#include "stellwerk/plan/finish_times.hpp"
#include "stellwerk/plan/no_copy.hpp"
#include "stellwerk/plan/no_wait.hpp"
#include "stellwerk/plan/passing.hpp"
#include "stellwerk/plan/reversal.hpp"

namespace stellwerk {
namespace {

/// Larger plans are not re-timed once they are good enough.
constexpr std::size_t kManySends = 100'000;
/// What it takes to judge a send.
constexpr double kSecondsToJudgeSend = 0.7e-6;
/// What it takes to re-time and judge a delivery.
constexpr double kSecondsToJudge = 1.5e-6;
/// By which a limit may be passed.
constexpr double kGraceSeconds = 0.1;
/// What it takes to hold a plan, and to re-time and judge it.
constexpr double kBytesPerDelivery = 700;
/// Of the time that is left; what has been proven by then is enough to go on with.
constexpr double kShareForBounds = 0.2;

/// Precondition: not empty.
Time latest(const std::vector<Time>& times) {
  return *std::max_element(times.begin(), times.end());
}

/// How long the busiest link takes for all that is sent over it.
Time busiest_link(const Topology& topology, const Schedule& sends) {
  IdVector<LinkId, Bytes> load(topology.links().size());
  for (const Send& send : sends) {
    for (const LinkId id : send.links) load[id] += send.bytes;
  }
  Time most{0};
  for (const LinkId id : topology.link_ids()) {
    most = std::max(most, transmission_time(load[id], topology.link(id).bandwidth));
  }
  return most;
}

}  // namespace

AttemptRunner::AttemptRunner(const PortfolioRequest& request, ProblemFamily& family,
                             bool compressed, const StopCondition& stop, Progress* progress,
                             const Judge& judge)
    : request_(request),
      family_(family),
      compressed_(compressed),
      stop_(stop),
      progress_(progress),
      judge_(judge),
      coarse_(family.problem(1, compressed)) {}

void AttemptRunner::prove_bound() {
  bound_ = lower_bound(*coarse_, stop_.within(stop_.seconds_left() * kShareForBounds));
}

Bound AttemptRunner::chunked_bound(int chunks) {
  const std::lock_guard lock(bounds_mutex_);
  const auto known = chunked_.find(chunks);
  if (known != chunked_.end()) return known->second;
  const std::shared_ptr<const Problem> problem = family_.problem(chunks, compressed_);
  const StopCondition stop = stop_.within(stop_.seconds_left() * kShareForBounds / 2);
  const Bound any = translated(bound_, *coarse_, *problem);
  return chunked_.emplace(chunks, lower_bound_chunked(*problem, any, stop)).first->second;
}

bool AttemptRunner::within_target(Time length) const {
  return static_cast<double>(length.ps) <=
         static_cast<double>(bound_.value.ps) * (1 + request_.options.gap);
}

/// Is the attempt at representatives?
bool AttemptRunner::compressed(const Attempt& attempt) const {
  return attempt.planner->compressed && family_.symmetric();
}

double AttemptRunner::size(const Attempt& attempt) const {
  const bool few = compressed_ && compressed(attempt);
  return static_cast<double>(family_.deliveries(few)) * attempt.chunks;
}

/// Seconds that an attempt will take at least, to construct, re-time and judge a plan.
double AttemptRunner::cost(const Attempt& attempt) {
  constexpr double kSecondsPerDelivery = 1e-6 + kSecondsToJudge;
  const std::lock_guard lock(pace_mutex_);
  const auto known = pace_.find(attempt.planner->name);
  const double pace = known == pace_.end() ? kSecondsPerDelivery : known->second.seconds;
  return pace * size(attempt);
}

/// That of the largest attempt: small ones are slow for what they do.
void AttemptRunner::remember_pace(const Attempt& attempt, double seconds) {
  const std::lock_guard lock(pace_mutex_);
  Pace& pace = pace_[attempt.planner->name];
  if (size(attempt) < pace.size) return;
  pace = {size(attempt), seconds / size(attempt)};
}

Limit AttemptRunner::limit_ahead(const Attempt& attempt, const StopCondition& stop) {
  if (cost(attempt) > stop.seconds_left()) return Limit::time;
  if (kBytesPerDelivery * size(attempt) > stop.bytes_left()) return Limit::memory;
  return Limit::none;
}

Candidate AttemptRunner::run(const Attempt& attempt, const Incumbent& best,
                             const StopCondition& stop) {
  Candidate result;
  result.chunks = attempt.chunks;
  const Bound chunked = chunked_bound(attempt.chunks);
  if (chunked.value >= best.length && attempt.chunks != best.chunks) return result;
  const auto start = std::chrono::steady_clock::now();
  const std::shared_ptr<const Problem> problem =
      family_.problem(attempt.chunks, compressed(attempt));
  try {
    result = plan_with(attempt, *problem, chunked, best, stop);
  } catch (const Error& error) {
    // A planner whose sends make no plan does not cost the plans of the others.
    if (error.code() != ErrorCode::verification_failed) throw;
    result.notes.push_back(std::string(attempt.planner->name) + ": invalid plan: " + error.what());
  }
  result.chunks = attempt.chunks;
  if (attempt.quick) {
    remember_pace(attempt,
                  std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return result;
}

Candidate AttemptRunner::nothing_to_do() const {
  return offer("none", *coarse_, time(*coarse_, {}, true), {}, {});
}

Candidate AttemptRunner::plan_with(const Attempt& attempt, const Problem& problem,
                                   const Bound& chunked, const Incumbent& best,
                                   const StopCondition& stop) {
  const std::string name(attempt.planner->name);
  // Without copies every destination is a demand of its own; planners then need not know.
  const bool single = !request_.options.copy && !has_reductions(problem);
  const NoCopyProblem copies = single ? without_copies(problem) : NoCopyProblem{};
  const Problem& posed = single ? copies.problem : problem;
  PlannerContext context;
  const double afterwards = kSecondsToJudge * size(attempt);
  context.stop = stop.within((stop.seconds_left() - afterwards) * attempt.share);
  context.progress = progress_;
  context.rng = Rng(request_.options.seed + attempt.salt);
  context.memory = &memory_;
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
  result.more_chunks = outcome.more_chunks;
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
  // The first plan is worth passing the limit by a little.
  if (best.plan && !time_to_judge(outcome.sends.size(), has_reductions(problem))) {
    result.limit = Limit::time;
    return result;
  }
  const bool baseline = attempt.planner->kind == PlannerKind::baseline;
  if (baseline) result.least = busiest_link(posed.topology, outcome.sends);
  Timed timed = time(posed, std::move(outcome.sends), baseline);
  result.length = timed.length;
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
  result.notes.insert(result.notes.end(), offered.notes.begin(), offered.notes.end());
  return result;
}

bool AttemptRunner::time_to_judge(std::size_t sends, bool retime) const {
  const double each = kSecondsToJudgeSend + (retime ? kSecondsToRetime : 0);
  return each * static_cast<double>(sends) <= stop_.seconds_left() + kGraceSeconds;
}

/// Re-timed; or as planned: baselines, which send as soon as they can, what must not wait or stands
/// for others, and what takes long to re-time, or longer than is left, and need not be (copies are
/// planned with their final starts).
AttemptRunner::Timed AttemptRunner::time(const Problem& posed, Schedule sends,
                                         bool baseline) const {
  const bool fixed = baseline || !request_.options.store || !posed.symmetry.trivial() ||
                     (!has_reductions(posed) && !time_to_judge(sends.size(), true));
  if (fixed || (sends.size() > kManySends && !has_reductions(posed))) {
    std::vector<Time> finish = finish_times(posed, sends);
    const Time length = latest(finish);
    if (fixed || within_target(length)) return {std::move(sends), std::move(finish), length};
  }
  Simulation simulation = simulate(posed, sends);
  return {std::move(simulation.sends), std::move(simulation.job_finish), simulation.transfer_time};
}

/// A judged plan of the sends.
Candidate AttemptRunner::offer(std::string_view planner, const Problem& problem, Timed timed,
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

}  // namespace stellwerk
