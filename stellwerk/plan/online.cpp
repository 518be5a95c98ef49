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
#include <map>
#include <set>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/wide.hpp"
#include "stellwerk/plan/alone_plans.hpp"
#include "stellwerk/plan/live_fair.hpp"
#include "stellwerk/plan/live_list.hpp"
#include "stellwerk/plan/network_state.hpp"
#include "stellwerk/plan/online_job.hpp"

namespace stellwerk {
namespace {

constexpr std::size_t kMostClasses = 4096;  // alone plans that are kept

using TaskId = SendGraph::TaskId;

std::unique_ptr<LiveTasks> make_tasks(const Topology& topology, OnlineMethod method) {
  IdVector<LinkId, Bandwidth> bandwidth;
  for (const Link& link : topology.links()) bandwidth.push_back(link.bandwidth);
  return method == OnlineMethod::fair ? make_live_fair(std::move(bandwidth))
                                      : make_live_list(std::move(bandwidth));
}

[[noreturn]] void reject(const std::string& what) {
  throw Error(ErrorCode::unreadable_input, what);
}

std::int64_t saturated(Int128 value) {
  constexpr Int128 kMost = INT64_MAX / 4;
  return static_cast<std::int64_t>(std::min(value, kMost));
}

}  // namespace

class OnlinePlanner::Planning : private LiveTasks::Listener {
 public:
  Planning(Topology topology, const OnlineOptions& options)
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

  OnlineIncrement apply(const OnlineInput& input) {
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

  const Topology& topology() const { return topology_; }
  const std::vector<Job>& jobs() const { return all_jobs_; }
  const std::vector<Time>& alone_times() const { return alone_; }

 private:
  // --- Inputs -------------------------------------------------------------------------------------

  void check(const OnlineInput& input) const {
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

  std::optional<std::int32_t> active_by_name(const std::string& name) const {
    for (const auto& [number, job] : active_) {
      if (job.job().name == name && !job.left) return number;
    }
    return std::nullopt;
  }

  void arrive(Job job) {
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

  /// By itself, on what there is of the network.
  void plan_first(std::int32_t number) {
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

  void leave(std::int32_t number) {
    OnlineJob& own = active_.at(number);
    stop(own);
    own.left = true;
    own.waits_for.clear();
  }

  void drop(std::int32_t number, const std::string& why) {
    increment_.dropped.push_back({number, why});
    leave(number);
  }

  void wait(std::int32_t number, const std::string& why) {
    OnlineJob& own = active_.at(number);
    own.disturbed = true;
    if (own.waits_for == why) return;
    own.waits_for = why;
    increment_.waiting.push_back({number, why});
  }

  void end() {
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

  // --- The network --------------------------------------------------------------------------------

  Bandwidth bandwidth_now(LinkId id) const {
    const Link& link = topology_.link(id);
    const bool dead = down_[id] != 0 || lost_[link.from] != 0 || lost_[link.to] != 0;
    return dead ? Bandwidth{0} : network_.own[id];
  }

  /// What new jobs are planned on.
  void note_network() {
    IdVector<LinkId, Link> links;
    current_link_.clear();
    for (const LinkId id : topology_.link_ids()) {
      if (bandwidth_now(id).bytes_per_second == 0) continue;
      Link link = topology_.link(id);
      link.bandwidth = bandwidth_now(id);
      links.push_back(std::move(link));
      current_link_.push_back(id);
    }
    current_ = Topology(topology_.name(), topology_.note(), topology_.nodes(), std::move(links));
  }

  void change(Event event) {
    event.at = clock_;
    std::vector<LinkId> touched;
    bool failure = true;
    switch (event.kind) {
      case Event::Kind::link_down:
        down_[event.link] = 1;
        touched = {event.link};
        break;
      case Event::Kind::link_up:
      case Event::Kind::link_bandwidth:
        failure = down_[event.link] != 0;
        down_[event.link] = 0;
        network_.own[event.link] = event.kind == Event::Kind::link_up
                                       ? topology_.link(event.link).bandwidth
                                       : event.bandwidth;
        event.kind = Event::Kind::link_up;
        touched = {event.link};
        break;
      case Event::Kind::gpu_lost:
      case Event::Kind::gpu_back:
        lost_[event.node] = event.kind == Event::Kind::gpu_lost ? 1 : 0;
        for (const LinkId id : topology_.out(event.node)) touched.push_back(id);
        for (const LinkId id : topology_.in(event.node)) touched.push_back(id);
        break;
      case Event::Kind::job_arrives:
      case Event::Kind::job_leaves:
        return;
    }
    if (failure) network_.failures.push_back(event);
    bool better = false;
    std::set<LinkId> slower, dead, faster;
    for (const LinkId id : touched) {
      const Bandwidth old = tasks_->bandwidth(id);
      const Bandwidth now = bandwidth_now(id);
      if (now == old) continue;
      (now < old ? (now.bytes_per_second == 0 ? dead : slower) : faster).insert(id);
      better = better || now > old;
    }
    note_network();
    std::vector<std::int32_t> again;
    for (auto& [number, own] : active_) {
      if (own.finished) continue;
      interrupt_users(own, slower, dead, faster);
      const bool broken = take_back(own, slower) || is_hit(own, dead);
      const bool can_go_on = better && !own.waits_for.empty();
      if (!own.left && (broken || can_go_on)) again.push_back(number);
    }
    for (const LinkId id : touched) {
      tasks_->set_bandwidth(id, bandwidth_now(id));
    }
    if (event.kind == Event::Kind::gpu_lost) {
      for (auto& [number, own] : active_) {
        const std::vector<NodeId>& ranks = own.job().ranks;
        if (own.left || own.finished) continue;
        if (std::find(ranks.begin(), ranks.end(), event.node) == ranks.end()) continue;
        drop(number, "its GPU '" + topology_.node(event.node).name + "' is lost");
      }
    }
    for (const std::int32_t number : again) {
      if (!active_.at(number).left) plan_rest_of(number);
    }
  }

  bool uses(const LiveJob& live, TaskId task, const std::set<LinkId>& links) const {
    const auto taken = live.graph->uses(task);
    return std::any_of(taken.begin(), taken.end(), [&](const SendGraph::Use& use) {
      return links.contains(live.link[use.link.index()]);
    });
  }

  void interrupt_users(const OnlineJob& own, const std::set<LinkId>& slower,
                       const std::set<LinkId>& dead, const std::set<LinkId>& faster) {
    if (own.slot < 0) return;
    const LiveJob& live = tasks_->job(own.slot);
    for (std::size_t i = 0; i < tasks_->size(own.slot); ++i) {
      const LiveTasks::Ref task{own.slot, static_cast<TaskId>(i)};
      if (!tasks_->is_sending(task)) continue;
      if (uses(live, task.task, slower) || uses(live, task.task, dead) ||
          uses(live, task.task, faster)) {
        tasks_->interrupt(task);
      }
    }
  }

  /// Does the job lose something by links that are dead now, or has it yet to use them?
  bool is_hit(const OnlineJob& own, const std::set<LinkId>& dead) const {
    if (dead.empty()) return false;
    if (own.slot >= 0) {
      const LiveJob& live = tasks_->job(own.slot);
      for (std::size_t i = 0; i < tasks_->size(own.slot); ++i) {
        const LiveTasks::Ref task{own.slot, static_cast<TaskId>(i)};
        if (!tasks_->is_done(task) && uses(live, task.task, dead)) return true;
      }
    }
    return std::any_of(own.pieces.begin(), own.pieces.end(), [&](const OnlinePiece& piece) {
      return std::any_of(piece.sends.begin(), piece.sends.end(), [&](const Send& send) {
        return send.bytes.value > 0 && is_on(send, dead);
      });
    });
  }

  /// Has some of the send yet to enter one of the links?
  bool is_on(const Send& send, const std::set<LinkId>& links) const {
    const SendTiming times = timing(topology_, send);
    for (std::size_t k = 0; k < send.links.size(); ++k) {
      if (!links.contains(send.links[k])) continue;
      if (send.start + times.entry[k] + times.duration > clock_) return true;
    }
    return false;
  }

  /// Takes what has not entered links that are slower now from what was sent; true: the job has to be
  /// planned again, as somebody counts on it already.
  bool take_back(OnlineJob& own, const std::set<LinkId>& slower) {
    if (slower.empty()) return false;
    bool broken = false;
    for (std::size_t p = 0; p < own.pieces.size(); ++p) {
      const OnlinePiece& piece = own.pieces[p];
      const Bytes bytes = piece.sends.front().bytes;
      Bytes kept = bytes;
      Time first_arrival = Time::max();
      if (bytes.value == 0) continue;
      for (const Send& send : piece.sends) {
        const SendTiming times = timing(topology_, send);
        for (const Time arrival : times.arrival) {
          first_arrival = std::min(first_arrival, send.start + arrival);
        }
        for (std::size_t k = 0; k < send.links.size(); ++k) {
          if (!slower.contains(send.links[k])) continue;
          const Time entry = send.start + times.entry[k];
          if (entry + times.duration <= clock_) continue;
          constexpr Int128 kPicoseconds = 1'000'000'000'000;
          const std::int64_t since = std::max<std::int64_t>(0, (clock_ - entry).ps);
          const Int128 entered = Int128{send.rate.bytes_per_second} * since / kPicoseconds;
          kept = std::min(kept, Bytes{static_cast<std::int64_t>(entered)});
        }
      }
      if (kept == bytes) continue;
      const Send first = piece.sends.front();
      const TaskId task = piece.task;
      if (first_arrival <= clock_) {
        keep_branches(own, p, slower, kept);
        broken = true;
        continue;
      }
      shrink(own.pieces[p], kept);
      if (own.left) continue;
      if (task < 0 || own.slot < 0) {
        broken = true;  // sent before the job was planned again
        leave_orphan(own, own.pieces[p]);
        continue;
      }
      const bool nothing = kept.value == 0 && first.offset.value == 0;
      const LiveJob& live = tasks_->job(own.slot);
      if (nothing && first.op != Op::copy && !live.graph->after_start(task).empty()) broken = true;
      tasks_->take_back({own.slot, task}, bytes - kept);
    }
    return broken;
  }

  /// The rest of a piece that no task has any more is to be sent again.
  void leave_orphan(OnlineJob& own, const OnlinePiece& piece) const {
    const Bytes moved = piece.sends.front().offset + piece.sends.front().bytes;
    if (moved.value == 0) return;
    OnlineBegun orphan{piece.sends, moved};
    for (Send& send : orphan.sends) {
      send.offset = Bytes{0};
      send.bytes = own.base.chunks[send.chunk].bytes;
    }
    for (OnlineBegun& other : own.orphans) {
      const bool same = other.sends.front().chunk == orphan.sends.front().chunk &&
                        other.sends.front().op == orphan.sends.front().op &&
                        other.sends.front().links == orphan.sends.front().links;
      if (!same) continue;
      other.moved = std::min(other.moved, moved);
      return;
    }
    own.orphans.push_back(std::move(orphan));
  }

  /// Some leaves have all of a piece already: the branches to them stay as they are.
  void keep_branches(OnlineJob& own, std::size_t p, const std::set<LinkId>& slower, Bytes kept) {
    OnlinePiece rest = own.pieces[p];
    rest.number = -1;
    rest.task = -1;
    const Bytes bytes = rest.sends.front().bytes;
    shrink(own.pieces[p], kept);
    for (Send& send : rest.sends) {
      // Links behind a slow one, and those that lead to nothing else.
      std::set<NodeId> cut_off, needed;
      std::vector<LinkId> links;
      for (const LinkId id : send.links) {
        const Link& link = topology_.link(id);
        if (slower.contains(id) || cut_off.contains(link.from)) {
          cut_off.insert(link.to);
        } else {
          links.push_back(id);
        }
      }
      std::vector<LinkId> useful;
      for (std::size_t k = links.size(); k-- > 0;) {
        const Link& link = topology_.link(links[k]);
        if (!topology_.stores(link.to) && !needed.contains(link.to)) continue;
        needed.insert(link.from);
        useful.push_back(links[k]);
      }
      std::reverse(useful.begin(), useful.end());
      send.links = std::move(useful);
      if (kept.value > 0) send.start += transmission_time(kept, send.rate);
      send.offset += kept;
      send.bytes = bytes - kept;
    }
    std::erase_if(rest.sends, [](const Send& send) { return send.links.empty(); });
    if (!rest.sends.empty()) add_piece(own, std::move(rest));
  }

  // --- Jobs in the middle ---------------------------------------------------------------------------

  void stop(OnlineJob& own) {
    if (own.slot < 0) return;
    tasks_->remove(own.slot);
    for (OnlinePiece& piece : own.pieces) piece.task = -1;
    own.slot = -1;
  }

  /// What is left of the job is planned anew.
  void plan_rest_of(std::int32_t number) {
    OnlineJob& own = active_.at(number);
    own.disturbed = true;
    std::vector<OnlineBegun> begun = std::move(own.orphans);
    own.orphans.clear();
    std::vector<TaskId> old_task(begun.size(), -1);
    if (own.slot >= 0) {
      const LiveJob& live = tasks_->job(own.slot);
      for (std::size_t i = 0; i < tasks_->size(own.slot); ++i) {
        const LiveTasks::Ref task{own.slot, static_cast<TaskId>(i)};
        tasks_->interrupt(task);
        const Bytes moved = tasks_->moved(task);
        if (tasks_->is_done(task) || moved.value == 0) continue;
        OnlineBegun entry{{}, moved};
        const SendGraph::Task& what = live.graph->task(task.task);
        live.graph->append_piece(task.task, Time{0}, what.full, Bytes{0}, what.bytes, entry.sends);
        for (Send& send : entry.sends) {
          for (LinkId& link : send.links) link = live.link[link.index()];
        }
        begun.push_back(std::move(entry));
        old_task.push_back(task.task);
      }
    }
    std::vector<std::vector<std::size_t>> pieces(begun.size());
    for (std::size_t k = 0; k < begun.size(); ++k) {
      // Over a link that is dead nothing goes on.
      std::erase_if(begun[k].sends, [&](const Send& send) {
        return std::any_of(send.links.begin(), send.links.end(),
                           [&](LinkId link) { return bandwidth_now(link).bytes_per_second == 0; });
      });
      for (Send& send : begun[k].sends) {
        for (const LinkId link : send.links) send.rate = std::min(send.rate, network_.own[link]);
      }
      for (std::size_t p = 0; p < own.pieces.size() && old_task[k] >= 0; ++p) {
        if (own.pieces[p].task == old_task[k]) pieces[k].push_back(p);
      }
    }
    stop(own);
    OnlineRest rest = plan_online_rest(own, begun, network_, clock_, options_.seed);
    own.landed = rest.landed;
    if (!rest.lost.empty()) {
      drop(number, rest.lost);
      return;
    }
    if (rest.live) {
      const std::vector<LiveJob::Begun> go_on = rest.live->begun;
      run(number, std::move(rest.live));
      for (const LiveJob::Begun& each : go_on) {
        for (const std::size_t p : pieces[each.source]) own.pieces[p].task = each.task;
      }
    }
    if (!rest.objection.empty()) {
      wait(number, rest.objection);
    } else {
      own.waits_for.clear();
    }
  }

  void run(std::int32_t number, std::shared_ptr<const LiveJob> live) {
    OnlineJob& own = active_.at(number);
    if (own.alone.ps == 0) own.alone = longest_chain(*live);
    alone_[static_cast<std::size_t>(number)] = own.alone;
    own.last_piece.assign(live->graph->size(), 0);
    own.slot = static_cast<std::int32_t>(job_of_slot_.size());
    job_of_slot_.push_back(number);
    const TaskKeys keys = keys_of(own, *live, options_.keys, own.alone);
    tasks_->add(std::move(live), keys);
  }

  static Time longest_chain(const LiveJob& live) {
    Time longest{1};
    for (const Time tail : live.graph->tails()) longest = std::max(longest, tail);
    return longest;
  }

  /// `work`: how long what is left takes alone.
  static TaskKeys keys_of(const OnlineJob& own, const LiveJob& live, OnlineKeys rule, Time work,
                          int tenths = 30) {
    auto keys = std::make_shared<std::vector<TaskKey>>();
    const std::vector<Time> tails = live.graph->tails();
    keys->reserve(tails.size());
    const Job& job = own.job();
    if (rule == OnlineKeys::smith) {
      constexpr Int128 kFine = 1024;
      const std::int64_t first = saturated(Int128{work.ps} * kFine / job.weight);
      for (const Time tail : tails) keys->emplace_back(first, -tail.ps);
    } else {
      const std::int64_t deadline = job.start.ps + own.alone.ps / 10 * tenths;
      for (const Time tail : tails) keys->emplace_back(deadline - tail.ps, 0);
    }
    return keys;
  }

  // --- Time -----------------------------------------------------------------------------------------

  void advance(Time until) {
    if (options_.method == OnlineMethod::rounds) {
      const bool idle = std::none_of(active_.begin(), active_.end(),
                                     [](const auto& entry) { return entry.second.slot >= 0; });
      if (idle) next_round_ = std::max(next_round_, until);
      while (next_round_ < until) {
        tasks_->advance(next_round_);
        choose_keys();
        next_round_ += options_.round;
      }
    }
    tasks_->advance(until);
  }

  /// The keys of the round that begins: the best of several ways, if nothing else were to arrive.
  void choose_keys() {
    std::vector<std::int32_t> running;
    for (const auto& [number, own] : active_) {
      if (own.slot >= 0 && !tasks_->is_done(own.slot)) running.push_back(number);
    }
    if (running.size() < 2) return;
    enum class Way : std::uint8_t { as_it_was, left, whole, deadline };
    std::vector<TaskKeys> best;
    Way best_way = Way::as_it_was;
    Int128 least = -1;
    for (const Way way : {Way::as_it_was, Way::left, Way::whole, Way::deadline}) {
      std::vector<TaskKeys> keys(job_of_slot_.size());
      for (const std::int32_t number : running) {
        if (way == Way::as_it_was) continue;
        const OnlineJob& own = active_.at(number);
        const LiveJob& live = tasks_->job(own.slot);
        const Time work = way == Way::left ? work_left(own) : own.alone;
        const OnlineKeys rule = way == Way::deadline ? OnlineKeys::edf : OnlineKeys::smith;
        keys[static_cast<std::size_t>(own.slot)] = keys_of(own, live, rule, work);
      }
      const std::unique_ptr<LiveTasks> trial = tasks_->clone();
      if (way != Way::as_it_was) trial->set_keys(keys);
      trial->drain();
      Int128 flow = 0;
      for (const std::int32_t number : running) {
        const OnlineJob& own = active_.at(number);
        flow += Int128{own.job().weight} * (trial->finish(own.slot) - own.job().start).ps;
      }
      if (least >= 0 && flow >= least) continue;
      least = flow;
      best = std::move(keys);
      best_way = way;
    }
    if (best_way != Way::as_it_was) tasks_->set_keys(best);
  }

  /// The part of the time alone that the bytes to be moved are of all.
  Time work_left(const OnlineJob& own) const {
    const LiveJob& live = tasks_->job(own.slot);
    Int128 all = 0, left = 0;
    for (std::size_t i = 0; i < tasks_->size(own.slot); ++i) {
      const LiveTasks::Ref task{own.slot, static_cast<TaskId>(i)};
      const Bytes bytes = live.graph->task(task.task).bytes;
      all += bytes.value;
      left += (bytes - tasks_->moved(task)).value;
    }
    if (all == 0) return own.alone;
    return Time{static_cast<std::int64_t>(Int128{own.alone.ps} * left / all)};
  }

  // --- What is told ---------------------------------------------------------------------------------

  void began(LiveTasks::Ref task, Time start, Bandwidth rate, Bytes offset, Bytes bytes) override {
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

  void cut(LiveTasks::Ref task, Bytes moved) override {
    OnlineJob& own = active_.at(job_of_slot_[static_cast<std::size_t>(task.slot)]);
    shrink(own.pieces[own.last_piece[static_cast<std::size_t>(task.task)]], moved);
  }

  void add_piece(OnlineJob& own, OnlinePiece piece) {
    fresh_.emplace_back(own.number, own.pieces.size());
    own.pieces.push_back(std::move(piece));
  }

  /// No more than the first `bytes` of a piece.
  void shrink(OnlinePiece& piece, Bytes bytes) {
    for (std::size_t k = 0; k < piece.sends.size(); ++k) {
      piece.sends[k].bytes = bytes;
      if (piece.number >= 0) cuts_[piece.number + static_cast<std::int64_t>(k)] = bytes;
    }
  }

  void tell() {
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

  /// Jobs that are done by then.
  void find_finished(Time by) {
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

  /// Jobs of which nothing is on its way any more.
  void forget() {
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

  bool has_landed(const OnlinePiece& piece) const {
    return std::all_of(piece.sends.begin(), piece.sends.end(), [&](const Send& send) {
      if (send.bytes.value == 0) return true;
      const SendTiming times = timing(topology_, send);
      return std::all_of(times.arrival.begin(), times.arrival.end(),
                         [&](Time arrival) { return send.start + arrival <= clock_; });
    });
  }

  /// Nobody is there for whom it matters when something failed.
  void forget_failures() {
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

  const Topology topology_;
  const OnlineOptions options_;
  std::unique_ptr<LiveTasks> tasks_;
  Problem bare_;  // the network without jobs, to check events
  Time clock_;
  bool ended_ = false;
  Time next_round_;
  // The network now.
  OnlineNetwork network_;
  IdVector<LinkId, char> down_;
  IdVector<NodeId, char> lost_;
  Topology current_;
  std::vector<LinkId> current_link_;  // of its links: the network's
  // Jobs.
  std::vector<Job> all_jobs_;
  std::vector<Time> alone_;  // times
  std::set<std::string> names_;
  std::map<std::int32_t, OnlineJob> active_;
  std::vector<std::int32_t> job_of_slot_;
  AloneCache cache_;
  // What is to be told.
  OnlineIncrement increment_;
  std::vector<std::pair<std::int32_t, std::size_t>> fresh_;  // pieces, with their jobs
  std::map<std::int64_t, Bytes> cuts_;
  std::int64_t inputs_ = 0;
  std::int64_t sends_ = 0;
};

OnlinePlanner::OnlinePlanner(Topology topology, const OnlineOptions& options)
    : planning_(std::make_unique<Planning>(std::move(topology), options)) {}
OnlinePlanner::~OnlinePlanner() = default;

OnlineIncrement OnlinePlanner::apply(const OnlineInput& input) { return planning_->apply(input); }
const Topology& OnlinePlanner::topology() const { return planning_->topology(); }
const std::vector<Job>& OnlinePlanner::jobs() const { return planning_->jobs(); }
const std::vector<Time>& OnlinePlanner::alone_times() const { return planning_->alone_times(); }

}  // namespace stellwerk
