#include "stellwerk/plan/live_tasks.hpp"

#include <algorithm>
#include <tuple>

#include "stellwerk/base/wide.hpp"

namespace stellwerk {

LiveTasks::LiveTasks(IdVector<LinkId, Bandwidth> bandwidth) : bandwidth_(std::move(bandwidth)) {}

bool LiveTasks::Happening::operator>(const Happening& other) const {
  return std::tie(at, kind, task, position, version) >
         std::tie(other.at, other.kind, other.task, other.position, other.version);
}

std::int32_t LiveTasks::add(std::shared_ptr<const LiveJob> job, TaskKeys keys) {
  const auto slot = static_cast<std::int32_t>(jobs_.size());
  const SendGraph& graph = *job->graph;
  JobState& own = jobs_.emplace_back();
  own.live = std::move(job);
  own.keys = std::move(keys);
  own.state.resize(graph.size());
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const auto id = static_cast<TaskId>(i);
    State& state = own.state[i];
    state.blocked = graph.waits(id) + 1;
    if (keeps_order()) state.blocked += graph.links_behind(id);
    state.rest = graph.task(id).bytes;
  }
  for (const LiveJob::Begun& begun : own.live->begun) {
    State& state = own.state[index(begun.task)];
    state.blocked = 1;
    state.started = true;
    state.rest = state.rest - begun.moved;
  }
  // They have let go whoever had to wait for their start.
  for (const LiveJob::Begun& begun : own.live->begun) {
    for (const TaskId next : graph.after_start(begun.task)) {
      State& state = own.state[index(next)];
      if (!state.started) --state.blocked;
    }
  }
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const auto id = static_cast<TaskId>(i);
    Time ready = graph.ready(id);
    if (!own.live->not_before.empty()) ready = std::max(ready, own.live->not_before[i]);
    happenings_.push(
        {std::max(now_, own.live->zero + ready), Happening::Kind::released, {slot, id}, 0, 0});
  }
  added(slot);
  return slot;
}

void LiveTasks::remove(std::int32_t slot) {
  JobState& own = jobs_[index(slot)];
  for (std::size_t i = 0; i < own.state.size(); ++i) {
    const Ref task{slot, static_cast<TaskId>(i)};
    interrupt(task);
    if (own.state[i].blocked <= 0 && !own.state[i].done) left(task);
  }
  own = {};
  pending_ = true;
}

void LiveTasks::advance(Time until) {
  while (true) {
    if (pending_ && now_ < until) {
      pending_ = false;
      decide();
      continue;
    }
    if (happenings_.empty() || happenings_.top().at > until) break;
    now_ = happenings_.top().at;
    while (!happenings_.empty() && happenings_.top().at == now_) {
      const Happening next = happenings_.top();
      happenings_.pop();
      apply(next);
    }
    pending_ = true;
  }
  now_ = std::max(now_, until);
}

void LiveTasks::drain() {
  while (pending_ || !happenings_.empty()) {
    if (pending_) {
      pending_ = false;
      decide();
    } else {
      advance(happenings_.top().at);
    }
  }
}

void LiveTasks::apply(const Happening& happening) {
  const JobState& own = jobs_[index(happening.task.slot)];
  if (!own.live) return;
  switch (happening.kind) {
    case Happening::Kind::released:
      unblock(happening.task);
      break;
    case Happening::Kind::arrived:
      if (state(happening.task).version == happening.version) arrive(happening);
      break;
    case Happening::Kind::ended:
      if (state(happening.task).version == happening.version) end(happening.task);
      break;
  }
}

void LiveTasks::unblock(Ref task) {
  if (--state(task).blocked == 0) became_ready(task);
}

void LiveTasks::arrive(const Happening& happening) {
  const auto successors = job(happening.task.slot).graph->after_arrival(happening.task.task);
  std::size_t position = happening.position;
  const Time lag = successors[position].lag;
  for (; position < successors.size() && successors[position].lag == lag; ++position) {
    unblock({happening.task.slot, successors[position].task});
  }
  push_arrival(happening.task, position);
}

void LiveTasks::push_arrival(Ref task, std::size_t position) {
  const auto successors = job(task.slot).graph->after_arrival(task.task);
  if (position == successors.size()) return;
  const State& own = state(task);
  happenings_.push({own.since + successors[position].lag, Happening::Kind::arrived, task,
                    own.version, static_cast<std::uint32_t>(position)});
}

void LiveTasks::begin(Ref task, Time start, Bandwidth rate) {
  State& own = state(task);
  own.sending = true;
  own.since = start;
  own.rate = rate;
  ++own.version;
  happenings_.push(
      {start + transmission_time(own.rest, rate), Happening::Kind::ended, task, own.version, 0});
  if (listener_ != nullptr) listener_->began(task, start, rate, moved(task), own.rest);
}

void LiveTasks::has_started(Ref task) {
  if (state(task).started) return;
  state(task).started = true;
  for (const TaskId next : job(task.slot).graph->after_start(task.task)) {
    unblock({task.slot, next});
  }
}

void LiveTasks::close(Ref task) {
  State& own = state(task);
  Bytes moved;
  if (now_ > own.since) {
    constexpr Int128 kPicoseconds = 1'000'000'000'000;
    const Int128 product = Int128{own.rate.bytes_per_second} * (now_ - own.since).ps;
    moved = std::min(own.rest, Bytes{static_cast<std::int64_t>(product / kPicoseconds)});
  }
  own.sending = false;
  ++own.version;
  own.rest = own.rest - moved;
  if (listener_ != nullptr) listener_->cut(task, moved);
  if (moved.value > 0) has_started(task);
}

void LiveTasks::interrupt(Ref task) {
  if (!state(task).sending) return;
  close(task);
  released(task);
  pending_ = true;
}

void LiveTasks::end(Ref task) {
  ended_task(task);
  State& own = state(task);
  own.sending = false;
  own.done = true;
  own.rest = Bytes{0};
  own.since = now_;
  ++own.version;
  ++jobs_[index(task.slot)].done;
  push_arrival(task, 0);
  has_started(task);
  if (!keeps_order()) return;
  for (const TaskId next : job(task.slot).graph->next_on_link(task.task)) {
    if (next >= 0) unblock({task.slot, next});
  }
}

void LiveTasks::set_bandwidth(LinkId link, Bandwidth bandwidth) {
  if (bandwidth_[link] == bandwidth) return;
  bandwidth_[link] = bandwidth;
  changed(link);
  pending_ = true;
}

void LiveTasks::set_keys(const std::vector<TaskKeys>& keys) {
  for (std::size_t slot = 0; slot < std::min(keys.size(), jobs_.size()); ++slot) {
    if (keys[slot] && jobs_[slot].live) jobs_[slot].keys = keys[slot];
  }
  keys_changed();
  pending_ = true;
}

void LiveTasks::take_back(Ref task, Bytes bytes) {
  State& own = state(task);
  if (own.done) {
    own.done = false;
    --jobs_[index(task.slot)].done;
    ++own.version;
    own.rest = bytes;
    became_ready(task);
  } else {
    own.rest += bytes;
  }
  pending_ = true;
}

Bytes LiveTasks::moved(Ref task) const {
  return job(task.slot).graph->task(task.task).bytes - state(task).rest;
}

bool LiveTasks::is_done(std::int32_t slot) const {
  const JobState& own = jobs_[index(slot)];
  return own.done == own.state.size();
}

Time LiveTasks::finish(std::int32_t slot) const {
  const JobState& own = jobs_[index(slot)];
  Time finish;
  for (std::size_t i = 0; i < own.state.size(); ++i) {
    const SendGraph::Task& task = own.live->graph->task(static_cast<TaskId>(i));
    finish = std::max(finish, own.state[i].since + task.last_arrival);
  }
  return finish;
}

Bandwidth LiveTasks::full_rate(Ref task) const {
  const LiveJob& own = job(task.slot);
  Bandwidth rate{INT64_MAX};
  for (const SendGraph::Use& use : own.graph->uses(task.task)) {
    rate = std::min(rate, bandwidth_[link(own, use)]);
  }
  return rate;
}

}  // namespace stellwerk
