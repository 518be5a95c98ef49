// Who is urgent: keys when a job arrives, and keys that are chosen every round (plan/online.cpp).
#include <algorithm>

#include "stellwerk/base/wide.hpp"
#include "stellwerk/plan/online_planning.hpp"

namespace stellwerk {
namespace {

std::int64_t saturated(Int128 value) {
  constexpr Int128 kMost = INT64_MAX / 4;
  return static_cast<std::int64_t>(std::min(value, kMost));
}

}  // namespace

TaskKeys OnlinePlanner::Planning::keys_of(const OnlineJob& own, const LiveJob& live,
                                          OnlineKeys rule, Time work, int tenths) {
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

void OnlinePlanner::Planning::advance(Time until) {
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

void OnlinePlanner::Planning::choose_keys() {
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

Time OnlinePlanner::Planning::work_left(const OnlineJob& own) const {
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

}  // namespace stellwerk
