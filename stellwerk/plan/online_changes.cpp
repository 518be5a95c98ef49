// What happens to jobs that are under way when links or GPUs fail, slow down or come back (the rules are
// at the head of plan/online.cpp).
#include <algorithm>
#include <utility>

#include "stellwerk/base/wide.hpp"
#include "stellwerk/plan/online_planning.hpp"

namespace stellwerk {

Bandwidth OnlinePlanner::Planning::bandwidth_now(LinkId id) const {
  const Link& link = topology_.link(id);
  const bool dead = down_[id] != 0 || lost_[link.from] != 0 || lost_[link.to] != 0;
  return dead ? Bandwidth{0} : network_.own[id];
}

void OnlinePlanner::Planning::note_network() {
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

void OnlinePlanner::Planning::change(Event event) {
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

bool OnlinePlanner::Planning::uses(const LiveJob& live, TaskId task,
                                   const std::set<LinkId>& links) const {
  const auto taken = live.graph->uses(task);
  return std::any_of(taken.begin(), taken.end(), [&](const SendGraph::Use& use) {
    return links.contains(live.link[use.link.index()]);
  });
}

void OnlinePlanner::Planning::interrupt_users(const OnlineJob& own, const std::set<LinkId>& slower,
                                              const std::set<LinkId>& dead,
                                              const std::set<LinkId>& faster) {
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

bool OnlinePlanner::Planning::is_hit(const OnlineJob& own, const std::set<LinkId>& dead) const {
  if (dead.empty()) return false;
  if (own.slot >= 0) {
    const LiveJob& live = tasks_->job(own.slot);
    for (std::size_t i = 0; i < tasks_->size(own.slot); ++i) {
      const LiveTasks::Ref task{own.slot, static_cast<TaskId>(i)};
      if (!tasks_->is_done(task) && uses(live, task.task, dead)) return true;
    }
  }
  return std::any_of(own.pieces.begin(), own.pieces.end(), [&](const OnlinePiece& piece) {
    return std::any_of(piece.sends.begin(), piece.sends.end(),
                       [&](const Send& send) { return send.bytes.value > 0 && is_on(send, dead); });
  });
}

bool OnlinePlanner::Planning::is_on(const Send& send, const std::set<LinkId>& links) const {
  const SendTiming times = timing(topology_, send);
  for (std::size_t k = 0; k < send.links.size(); ++k) {
    if (!links.contains(send.links[k])) continue;
    if (send.start + times.entry[k] + times.duration > clock_) return true;
  }
  return false;
}

bool OnlinePlanner::Planning::take_back(OnlineJob& own, const std::set<LinkId>& slower) {
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

void OnlinePlanner::Planning::leave_orphan(OnlineJob& own, const OnlinePiece& piece) const {
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

void OnlinePlanner::Planning::keep_branches(OnlineJob& own, std::size_t p,
                                            const std::set<LinkId>& slower, Bytes kept) {
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

void OnlinePlanner::Planning::stop(OnlineJob& own) {
  if (own.slot < 0) return;
  tasks_->remove(own.slot);
  for (OnlinePiece& piece : own.pieces) piece.task = -1;
  own.slot = -1;
}

void OnlinePlanner::Planning::plan_rest_of(std::int32_t number) {
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

}  // namespace stellwerk
