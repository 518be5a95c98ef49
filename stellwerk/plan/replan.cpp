// What has happened is cut off (plan/residual.cpp), what is left is planned (plan/rest_plan.cpp), and
// both are put together as one plan together with the events, so that the verifier can
// judge it by the rules of docs/model.md, "Events".
//
// Two ways of planning the rest compete. *Anew*: all of it. *Mended*, where the plan is not too large:
// chunks that the events do not touch keep the sends that they have yet to make, the others are
// planned anew beside them, and everything is placed in order of the old and new starts. Mending wins
// where chunks have little choice (several jobs, AllToAll), planning anew where they have much.
//
// A refusal is proven: either no node has a chunk (or an addend) and none of it is on its way, or
// no path of links leads from any holder to somebody who lacks it.
#include "stellwerk/plan/replan.hpp"

#include <algorithm>
#include <ctime>
#include <memory>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/version.hpp"
#include "stellwerk/bound/bound.hpp"
#include "stellwerk/core/expansion.hpp"
#include "stellwerk/plan/landing.hpp"
#include "stellwerk/plan/passing.hpp"
#include "stellwerk/plan/reachability.hpp"
#include "stellwerk/plan/residual.hpp"
#include "stellwerk/plan/rest_plan.hpp"

namespace stellwerk {
namespace {

constexpr std::uint64_t kChoices = 12;       // of parts of sums that overlap
constexpr std::size_t kMostToMend = 60'000;  // sends that have not started
constexpr std::size_t kFewToMend = 5'000;    // ... where mending hardly ever wins

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorCode::unsolved, "refused: " + why);
}

/// Adds the events, and the jobs that arrive.
void disturb(EventfulPlan& plan, const Disturbance& what) {
  Problem& problem = plan.problem;
  const std::size_t first_arriving = problem.jobs.size();
  for (Job job : what.arriving) {
    job.start = std::max(job.start, what.at);
    problem.jobs.push_back(std::move(job));
  }
  check_jobs(problem.topology, problem.jobs);
  for (std::size_t j = first_arriving; j < problem.jobs.size(); ++j) {
    for (Chunk& chunk : make_chunks(problem.jobs[j], JobId(j))) {
      problem.chunks.push_back(std::move(chunk));
    }
  }
  for (Event event : what.events) {
    event.at = what.at;
    if (event.kind == Event::Kind::job_arrives) {
      event.job = JobId(first_arriving + event.job.index());
    }
    plan.events.push_back(event);
  }
  check_events(problem, plan.events);
}

/// A cut with the sends of the old plan that it drops.
class Rest {
 public:
  Rest(const EventfulPlan& plan, Time at, std::uint64_t choice = 0)
      : problem_(plan.problem),
        events_(plan.events),
        sends_(plan.sends),
        at_(at),
        cut_(cut(problem_, events_, sends_, at, choice)) {
    if (!cut_.lost.empty()) refuse(cut_.lost);
    try {
      require_reachable(cut_.rest.problem, cut_.rest.chunk);
    } catch (const Error& error) {
      refuse(error.what());
    }
    sort_out();
  }

  const Cut& cut_here() const { return cut_; }
  Cut& cut_here() { return cut_; }

  /// The best plan found for the rest; `how` gets its name.
  RestPlan plan(const RestOptions& options, const StopCondition& stop, std::string& how,
                std::string& objection) {
    objection = "parts of a sum overlap";
    if (cut_.incomplete) return {};
    RestPlan anew = plan_rest(cut_.rest, options, stop, objection);
    how = "anew";
    RestPlan mended = mend(options, stop);
    if (mended.finish < anew.finish) {
      how = "mended";
      return mended;
    }
    return anew;
  }

  /// The dropped sends of chunks in the residual, in its numbers; false if they cannot be used as they
  /// are.
  bool dropped(ChunkId id, Schedule& result) const {
    const auto& list = future_[id];
    for (const std::size_t i : list) {
      Send send = sends_[i];
      if (send.op == Op::share || send.bytes != problem_.chunks[send.chunk].bytes) return false;
      send.chunk = id;
      send.start = std::max(Time{0}, send.start - at_);
      for (LinkId& link : send.links) {
        link = cut_.rest.inverse_link[link];
        if (!link.valid()) return false;
        send.rate = std::min(send.rate, cut_.rest.problem.topology.link(link).bandwidth);
      }
      result.push_back(std::move(send));
    }
    return true;
  }

  std::size_t lost_sends() const { return lost_sends_; }
  const IdVector<ChunkId, std::vector<std::size_t>>& lost() const { return lost_; }

 private:
  /// Finds, for every chunk of the residual, what has not started and what is lost in flight.
  void sort_out() {
    const Residual& rest = cut_.rest;
    IdVector<ChunkId, ChunkId> number(problem_.chunks.size());
    for (const ChunkId id : rest.problem.chunk_ids()) number[rest.chunk[id.index()]] = id;
    future_.assign(rest.problem.chunks.size(), {});
    lost_.assign(rest.problem.chunks.size(), {});
    for (std::size_t i = 0; i < sends_.size(); ++i) {
      const ChunkId id = number[sends_[i].chunk];
      if (sends_[i].start >= at_ && id.valid()) future_[id].push_back(i);
    }
    const NetworkState now = after_events(problem_, events_);
    const Landing landing(problem_, cut_.kept, now);
    for (std::size_t i = 0; i < cut_.kept.size(); ++i) {
      if (Time{landing.over(i)} <= at_) continue;
      const SendShapes::Range leaves = landing.shapes().leaves(i);
      bool lost = false;
      for (std::int32_t e = leaves.first; e < leaves.last; ++e) {
        lost = lost || landing.lost(i, e) == at_.ps;
      }
      if (!lost) continue;
      ++lost_sends_;
      const ChunkId id = number[cut_.kept[i].chunk];
      if (id.valid()) lost_[id].push_back(i);
    }
  }
  /// Is a chunk to be had from, or wanted by, many nodes? Then planning anew does not lose to mending.
  bool has_much_choice() const {
    constexpr std::size_t kMany = 8;  // nodes a chunk
    std::size_t ends = 0;
    for (const Chunk& chunk : cut_.rest.problem.chunks) {
      ends += chunk.destinations.size() + chunk.contributors.size();
    }
    return problem_.jobs.size() == 1 && ends > kMany * cut_.rest.problem.chunks.size();
  }

  RestPlan mend(const RestOptions& options, const StopCondition& stop) {
    const Residual& rest = cut_.rest;
    std::size_t future = 0;
    for (const auto& list : future_) future += list.size();
    if (future == 0 || future > (has_much_choice() ? kFewToMend : kMostToMend)) return {};
    for (const Event& event : events_) {
      const bool demand_changes =
          event.kind == Event::Kind::gpu_lost || event.kind == Event::Kind::gpu_back;
      if (event.at == at_ && demand_changes) return {};
    }
    Schedule sends;
    IdVector<ChunkId, char> touched(rest.problem.chunks.size(), 0);
    for (const ChunkId id : rest.problem.chunk_ids()) {
      const std::size_t before = sends.size();
      if (lost_[id].empty() && !future_[id].empty() && dropped(id, sends)) continue;
      sends.resize(before);
      touched[id] = 1;
    }
    if (sends.empty()) return {};  // nothing is kept: that is planning anew
    std::vector<ChunkId> number;
    const Residual part = part_of(rest, touched, number);
    std::string objection;
    RestPlan inserted = plan_rest(part, options, stop, objection);
    if (!inserted.found()) return {};
    for (Send& send : inserted.sends) {
      send.chunk = number[send.chunk.index()];
      sends.push_back(std::move(send));
    }
    return place_in_order(rest, std::move(sends));
  }

  const Problem& problem_;
  const std::vector<Event>& events_;
  const Schedule& sends_;
  const Time at_;
  Cut cut_;
  IdVector<ChunkId, std::vector<std::size_t>> future_;  // by chunk of the residual: positions in
                                                        // `sends`
  IdVector<ChunkId, std::vector<std::size_t>> lost_;    // likewise: positions in the cut's sends
  std::size_t lost_sends_ = 0;
};

/// The sends of the rest in the numbers of the whole.
void append_rest(const Cut& cut, Schedule&& rest, Schedule& sends) {
  sends.reserve(sends.size() + rest.size());
  for (Send& send : rest) {
    send.chunk = cut.rest.chunk[send.chunk.index()];
    send.start += cut.at;
    for (LinkId& link : send.links) link = cut.rest.link[link];
    sends.push_back(std::move(send));
  }
}

/// Finish times of a plan with events.
void record_finish(EventfulPlan& plan) {
  const Problem& problem = plan.problem;
  const NetworkState state = after_events(problem, plan.events);
  const Landing landing(problem, plan.sends, state);
  const IdVector<ChunkId, ChunkState> states = land(problem, plan.sends, landing, state);
  plan.result.job_finish.assign(problem.jobs.size(), Time{0});
  for (const ChunkId id : problem.chunk_ids()) {
    const Chunk& chunk = problem.chunks[id];
    const Time left = state.left[chunk.job.index()];
    Time& finish = plan.result.job_finish[chunk.job.index()];
    const auto& holders = states[id].holders;
    for (const NodeId node : chunk.destinations) {
      if (state.lost[node] != 0) continue;
      const auto found = std::lower_bound(holders.begin(), holders.end(), node,
                                          [](const Holding& a, NodeId b) { return a.node < b; });
      if (found == holders.end() || found->node != node || found->at > left) continue;
      finish = std::max(finish, found->at);
    }
  }
  plan.result.transfer_time = Time{0};
  for (const Time finish : plan.result.job_finish) {
    plan.result.transfer_time = std::max(plan.result.transfer_time, finish);
  }
}

/// Bounds on the finish of any plan for the rest: what is on its way counts as there.
void bound_rest(const Cut& cut, const StopCondition& stop, Replanned& result) {
  result.residual_bound = result.residual_bound_chunked = cut.landed;
  if (cut.rest.problem.chunks.empty()) return;
  const Bound any = lower_bound(cut.rest.problem, stop);
  const Bound chunked = lower_bound_chunked(cut.rest.problem, any, stop);
  result.residual_bound = std::max(cut.landed, cut.at + any.value);
  result.residual_bound_chunked = std::max(cut.landed, cut.at + chunked.value);
}

}  // namespace

Replanned replan(EventfulPlan plan, const Disturbance& what, const ReplanOptions& options,
                 const StopCondition& stop) {
  if (what.at < Time{0}) {
    throw Error(ErrorCode::unreadable_input, "events happen at 0 or later");
  }
  expand(plan);
  Replanned result;
  result.planned_finish = plan.result.transfer_time;
  const double begin = cpu_seconds();
  disturb(plan, what);
  RestOptions rest_options;
  rest_options.seed = options.seed;
  auto rest = std::make_unique<Rest>(plan, what.at);
  std::string objection;
  RestPlan sends = rest->plan(rest_options, stop, result.how, objection);
  for (std::uint64_t choice = 1; !sends.found() && choice <= kChoices; ++choice) {
    if (!rest->cut_here().choices) break;
    rest = std::make_unique<Rest>(plan, what.at, choice);
    sends = rest->plan(rest_options, stop, result.how, objection);
  }
  if (!sends.found()) throw Error(ErrorCode::unsolved, "no plan for the rest: " + objection);
  result.fresh = sends.sends.size();
  result.kept = rest->cut_here().kept.size();
  result.lost = rest->lost_sends();
  Schedule spliced = std::move(rest->cut_here().kept);
  append_rest(rest->cut_here(), std::move(sends.sends), spliced);
  sort_sends(plan.problem.topology, spliced);
  if (has_buffer_limits(plan.problem.topology) && !keeps_buffers(plan.problem, spliced)) {
    throw Error(ErrorCode::unsolved,
                "no plan for the rest: a transit buffer would overflow, and nothing here plans for "
                "buffers: plan anew what is left, or lift the limit");
  }
  const Cut cut = std::move(rest->cut_here());
  plan.sends = std::move(spliced);
  const std::string before = plan.result.planner;
  plan.result = Result{};
  record_finish(plan);
  result.planning_s = cpu_seconds() - begin;

  plan.result.planner = "replan";
  plan.result.options = {{"before", before}, {"at", to_exact_string(what.at)}, {"how", result.how}};
  plan.result.seed = options.seed;
  plan.result.version = kVersion;
  plan.result.termination.reason = Termination::Reason::feasible;
  plan.result.termination.limit = stop.reached();
  plan.result.solver_time_s = plan.result.core_seconds = result.planning_s;
  if (options.bound) bound_rest(cut, stop, result);
  result.plan = std::move(plan);
  return result;
}

std::optional<Time> finish_of_restart(const EventfulPlan& plan, const Disturbance& what,
                                      const StopCondition& stop) {
  EventfulPlan whole = plan;
  expand(whole);
  disturb(whole, what);
  const Cut start = cut(whole.problem, whole.events, {}, what.at);
  if (!start.lost.empty()) return std::nullopt;
  try {
    require_reachable(start.rest.problem);
  } catch (const Error&) {
    return std::nullopt;
  }
  std::string objection;
  const RestPlan rest = plan_rest(start.rest, {}, stop, objection);
  if (!rest.found()) return std::nullopt;
  return what.at + rest.finish;
}

std::optional<Time> finish_of_waiting(const EventfulPlan& plan, const Disturbance& what,
                                      Time outage) {
  EventfulPlan whole = plan;
  expand(whole);
  Disturbance short_outage = what;
  for (const Event& event : what.events) {
    if (event.kind != Event::Kind::link_down) return std::nullopt;
    short_outage.events.push_back({Event::Kind::link_up, what.at, event.link, {}, {}, {}});
  }
  disturb(whole, short_outage);
  Rest rest(whole, what.at);
  Residual& residual = rest.cut_here().rest;
  for (const Event& event : what.events) {
    const LinkId link = residual.inverse_link[event.link];
    residual.busy.push_back({Busy::Kind::link, link.value, Time{0}, outage,
                             residual.problem.topology.link(link).bandwidth.bytes_per_second});
  }
  Schedule sends;
  for (const ChunkId id : residual.problem.chunk_ids()) {
    for (const std::size_t i : rest.lost()[id]) {
      Send again = rest.cut_here().kept[i];
      if (again.bytes != residual.problem.chunks[id].bytes || again.op == Op::share) {
        return std::nullopt;
      }
      again.chunk = id;
      again.start = Time{-1};
      for (LinkId& link : again.links) link = residual.inverse_link[link];
      sends.push_back(std::move(again));
    }
    if (!rest.dropped(id, sends)) return std::nullopt;
  }
  const RestPlan placed = place_in_order(residual, std::move(sends));
  if (!placed.found()) return std::nullopt;
  return std::max(rest.cut_here().landed, what.at + placed.finish);
}

}  // namespace stellwerk
