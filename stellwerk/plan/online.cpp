// Planning on line.
//
// Problem. Jobs arrive, weights and sizes are known only then; links fail, slow down and come back; and
// what has been sent cannot be taken back. Decide what is sent when, such that all that was decided is
// one valid plan for the network as it changed.
//
// Idea. A job that arrives is planned alone, on the network as it is (plan/alone_plans.cpp; jobs that
// look alike once). Its sends then compete with all others by fixed keys (plan/live_list.cpp): `smith`
// is preemptive weighted shortest processing time, with the time alone for the processing time; `edf`
// gives every task the deadline start + lambda * time alone less the longest chain after it. With
// `rounds`, keys are chosen every round: several ways, also by the work that is left, are tried on a
// copy of everything, as if nothing more were to arrive, and the least weighted flow counts.
//
// When something happens at t, everything before t is decided, nothing at t is.
//   - A link slows down: what is being sent over it is cut, and what has left its sender but not entered
//     the link goes back to the task; all goes on at what the link now carries.
//   - A link or GPU fails: jobs that have yet to use it, or lose what is on it, are planned again from
//     the middle (plan/online_job.cpp). Jobs among whose ranks is a GPU that is lost leave. Jobs that
//     cannot be planned wait until something gets better.
//   - Something gets better: jobs that wait are planned again; sends over the link become faster.
//
// Guarantee: the sends of all increments, as far as they were not cut, are a valid plan with these
// events (docs/model.md, "Events"), and each increment depends on the inputs up to its own only. Keys
// have no competitive bound here: sends take several links at once. Cost of a decision: an alone plan of
// a new kind of job (a few ms), and O(log n) an end or arrival of a send since the last input. Tests:
// online_test.cpp, tests/cli/online_test.cpp; figures: docs/benchmarks.md.
#include "stellwerk/plan/online.hpp"

#include <algorithm>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/plan/live_fair.hpp"
#include "stellwerk/plan/live_list.hpp"
#include "stellwerk/plan/network_state.hpp"
#include "stellwerk/plan/online_planning.hpp"

namespace stellwerk {
namespace {

constexpr std::size_t kMostClasses = 4096;  // alone plans that are kept

std::unique_ptr<LiveTasks> make_tasks(const Topology& topology, OnlineMethod method) {
  IdVector<LinkId, Bandwidth> bandwidth;
  for (const Link& link : topology.links()) bandwidth.push_back(link.bandwidth);
  return method == OnlineMethod::fair ? make_live_fair(std::move(bandwidth))
                                      : make_live_list(std::move(bandwidth));
}

[[noreturn]] void reject(const std::string& what) {
  throw Error(ErrorCode::unreadable_input, what);
}

}  // namespace

OnlinePlanner::Planning::Planning(Topology topology, const OnlineOptions& options)
    : topology_(std::move(topology)),
      options_(options),
      tasks_(make_tasks(topology_, options.method)),
      down_(topology_.links().size(), 0),
      lost_(topology_.nodes().size(), 0) {
  if (const std::string why = graph_objection(topology_); !why.empty()) {
    throw Error(ErrorCode::unsolved, why);
  }
  for (const Link& link : topology_.links()) network_.own.push_back(link.bandwidth);
  bare_.topology = topology_;
  note_network();
  tasks_->set_listener(this);
}

OnlineIncrement OnlinePlanner::Planning::apply(const OnlineInput& input) {
  check(input);
  increment_ = {};
  increment_.number = ++inputs_;
  increment_.at = clock_ = input.at;
  advance(input.at);
  find_finished(input.at);
  switch (input.kind) {
    case OnlineInput::Kind::change:
      change(input.change);
      break;
    case OnlineInput::Kind::arrival:
      arrive(input.job);
      break;
    case OnlineInput::Kind::departure:
      if (const auto found = active_by_name(input.name)) leave(*found);
      break;
    case OnlineInput::Kind::tick:
      break;
    case OnlineInput::Kind::end:
      end();
      break;
  }
  tell();
  forget();
  return std::move(increment_);
}

void OnlinePlanner::Planning::check(const OnlineInput& input) const {
  if (ended_) reject("nothing can happen after the end: begin anew");
  if (input.at < clock_) {
    reject("comes before an earlier one (" + to_exact_string(clock_) +
           "): give events in order of time");
  }
  switch (input.kind) {
    case OnlineInput::Kind::change: {
      Event event = input.change;
      event.at = input.at;
      check_events(bare_, {event});
      break;
    }
    case OnlineInput::Kind::arrival:
      if (names_.contains(input.job.name)) {
        reject("there was a job '" + input.job.name + "' already: give every job its own name");
      }
      check_jobs(topology_, {input.job});
      break;
    case OnlineInput::Kind::departure:
      if (!names_.contains(input.name)) reject("there is no job '" + input.name + "'");
      break;
    case OnlineInput::Kind::tick:
    case OnlineInput::Kind::end:
      break;
  }
}

std::optional<std::int32_t> OnlinePlanner::Planning::active_by_name(const std::string& name) const {
  for (const auto& [number, job] : active_) {
    if (job.job().name == name && !job.left) return number;
  }
  return std::nullopt;
}

void OnlinePlanner::Planning::arrive(Job job) {
  job.start = std::max(job.start, clock_);
  if (job.auto_chunks) job.auto_chunks = false;  // one a block
  names_.insert(job.name);
  all_jobs_.push_back(job);
  alone_.emplace_back();
  const auto number = static_cast<std::int32_t>(all_jobs_.size() - 1);
  const std::vector<NodeId> ranks = job.ranks;
  OnlineJob& own = active_[number];
  own.number = number;
  own.base = make_problem(topology_, {std::move(job)}, options_.relays);
  for (const NodeId node : ranks) {
    if (lost_[node] == 0) continue;
    drop(number, "its GPU '" + topology_.node(node).name + "' is lost");
    return;
  }
  plan_first(number);
}

void OnlinePlanner::Planning::plan_first(std::int32_t number) {
  OnlineJob& own = active_.at(number);
  auto live = std::make_shared<LiveJob>();
  if (cache_.size() > kMostClasses) cache_.clear();
  PlanOptions planning;
  planning.seed = options_.seed;
  PlannerContext context;
  try {
    AlonePlans alone;
    // Data stays among the job's GPUs where it can: others have work of their own.
    for (const Relays relays : {Relays::members, Relays::all}) {
      live->problem = make_problem(current_, own.base.jobs, relays);
      try {
        alone = plan_alone(live->problem, planning, context, &cache_, AloneEffort::hasty);
        break;
      } catch (const Error& error) {
        if (error.code() != ErrorCode::unsolved || relays == Relays::all ||
            options_.relays == Relays::members) {
          throw;
        }
      }
    }
    own.alone = alone.best.front().length;
    live->graph.emplace(live->problem, std::vector<Schedule>{alone.best.front().sends});
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsolved) throw;
    wait(number, error.what());
    return;
  }
  live->link = current_link_;
  run(number, std::move(live));
}

void OnlinePlanner::Planning::leave(std::int32_t number) {
  OnlineJob& own = active_.at(number);
  stop(own);
  own.left = true;
  own.waits_for.clear();
}

void OnlinePlanner::Planning::drop(std::int32_t number, const std::string& why) {
  increment_.dropped.push_back({number, why});
  leave(number);
}

void OnlinePlanner::Planning::wait(std::int32_t number, const std::string& why) {
  OnlineJob& own = active_.at(number);
  own.disturbed = true;
  if (own.waits_for == why) return;
  own.waits_for = why;
  increment_.waiting.push_back({number, why});
}

void OnlinePlanner::Planning::end() {
  ended_ = true;
  for (auto& [number, own] : active_) {
    if (!own.waits_for.empty()) drop(number, own.waits_for);
  }
  if (options_.method == OnlineMethod::rounds) {
    while (std::any_of(active_.begin(), active_.end(), [&](const auto& entry) {
      return entry.second.slot >= 0 && !tasks_->is_done(entry.second.slot);
    })) {
      advance(next_round_ + options_.round);
    }
  }
  tasks_->drain();
  find_finished(Time::max());
  for (const auto& [number, own] : active_) {
    if (own.left || own.finished) continue;
    throw Error(ErrorCode::internal, "job '" + own.job().name + "' does not come to its end");
  }
}

void OnlinePlanner::Planning::run(std::int32_t number, std::shared_ptr<const LiveJob> live) {
  OnlineJob& own = active_.at(number);
  if (own.alone.ps == 0) own.alone = longest_chain(*live);
  alone_[static_cast<std::size_t>(number)] = own.alone;
  own.last_piece.assign(live->graph->size(), 0);
  own.slot = static_cast<std::int32_t>(job_of_slot_.size());
  job_of_slot_.push_back(number);
  const TaskKeys keys = keys_of(own, *live, options_.keys, own.alone);
  tasks_->add(std::move(live), keys);
}

Time OnlinePlanner::Planning::longest_chain(const LiveJob& live) {
  Time longest{1};
  for (const Time tail : live.graph->tails()) longest = std::max(longest, tail);
  return longest;
}

void OnlinePlanner::Planning::began(LiveTasks::Ref task, Time start, Bandwidth rate, Bytes offset,
                                    Bytes bytes) {
  const std::int32_t number = job_of_slot_[static_cast<std::size_t>(task.slot)];
  OnlineJob& own = active_.at(number);
  const LiveJob& live = tasks_->job(task.slot);
  OnlinePiece piece;
  piece.task = task.task;
  live.graph->append_piece(task.task, start, rate, offset, bytes, piece.sends);
  for (Send& send : piece.sends) {
    for (LinkId& link : send.links) link = live.link[link.index()];
  }
  own.last_piece[static_cast<std::size_t>(task.task)] = own.pieces.size();
  add_piece(own, std::move(piece));
}

void OnlinePlanner::Planning::cut(LiveTasks::Ref task, Bytes moved) {
  OnlineJob& own = active_.at(job_of_slot_[static_cast<std::size_t>(task.slot)]);
  shrink(own.pieces[own.last_piece[static_cast<std::size_t>(task.task)]], moved);
}

void OnlinePlanner::Planning::add_piece(OnlineJob& own, OnlinePiece piece) {
  fresh_.emplace_back(own.number, own.pieces.size());
  own.pieces.push_back(std::move(piece));
}

void OnlinePlanner::Planning::shrink(OnlinePiece& piece, Bytes bytes) {
  for (std::size_t k = 0; k < piece.sends.size(); ++k) {
    piece.sends[k].bytes = bytes;
    if (piece.number >= 0) cuts_[piece.number + static_cast<std::int64_t>(k)] = bytes;
  }
}

void OnlinePlanner::Planning::tell() {
  for (const auto& [number, bytes] : cuts_) increment_.cuts.push_back({number, bytes});
  cuts_.clear();
  for (const auto& [job, p] : fresh_) {
    OnlinePiece& piece = active_.at(job).pieces[p];
    if (piece.sends.front().bytes.value == 0) continue;
    piece.number = sends_;
    for (const Send& send : piece.sends) increment_.sends.push_back({sends_++, job, send});
  }
  fresh_.clear();
}

void OnlinePlanner::Planning::find_finished(Time by) {
  for (auto& [number, own] : active_) {
    if (own.left || own.finished || !own.waits_for.empty()) continue;
    if (own.slot >= 0 && !tasks_->is_done(own.slot)) continue;
    Time finish = std::max(own.job().start, own.landed);
    if (own.slot >= 0) finish = std::max(finish, tasks_->finish(own.slot));
    if (finish > by) continue;
    if (own.disturbed) finish = online_finish(own, network_, std::max(clock_, finish + Time{1}));
    own.finished = true;
    increment_.finished.push_back({number, finish});
  }
}

void OnlinePlanner::Planning::forget() {
  for (auto job = active_.begin(); job != active_.end();) {
    const OnlineJob& own = job->second;
    const bool over =
        (own.finished || own.left) &&
        (ended_ || std::all_of(own.pieces.begin(), own.pieces.end(),
                               [&](const OnlinePiece& piece) { return has_landed(piece); }));
    if (!over) {
      ++job;
      continue;
    }
    if (own.slot >= 0) tasks_->remove(own.slot);
    job = active_.erase(job);
  }
  if (active_.empty()) forget_failures();
}

bool OnlinePlanner::Planning::has_landed(const OnlinePiece& piece) const {
  return std::all_of(piece.sends.begin(), piece.sends.end(), [&](const Send& send) {
    if (send.bytes.value == 0) return true;
    const SendTiming times = timing(topology_, send);
    return std::all_of(times.arrival.begin(), times.arrival.end(),
                       [&](Time arrival) { return send.start + arrival <= clock_; });
  });
}

void OnlinePlanner::Planning::forget_failures() {
  network_.failures.clear();
  for (const LinkId id : topology_.link_ids()) {
    if (down_[id] == 0) continue;
    network_.failures.push_back({Event::Kind::link_down, clock_, id, {}, {}, {}});
  }
  for (const NodeId id : topology_.node_ids()) {
    if (lost_[id] == 0) continue;
    network_.failures.push_back({Event::Kind::gpu_lost, clock_, {}, id, {}, {}});
  }
}

OnlinePlanner::OnlinePlanner(Topology topology, const OnlineOptions& options)
    : planning_(std::make_unique<Planning>(std::move(topology), options)) {}
OnlinePlanner::~OnlinePlanner() = default;

OnlineIncrement OnlinePlanner::apply(const OnlineInput& input) { return planning_->apply(input); }
const Topology& OnlinePlanner::topology() const { return planning_->topology(); }
const std::vector<Job>& OnlinePlanner::jobs() const { return planning_->jobs(); }
const std::vector<Time>& OnlinePlanner::alone_times() const { return planning_->alone_times(); }

}  // namespace stellwerk
