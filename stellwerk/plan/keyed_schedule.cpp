// Preemptive list scheduling with fixed keys.
//
// Problem. Tasks (sends) wait for each other and for links; a task holds all its links while it
// runs. Choose who runs when, so that what matters to the objective comes first.
//
// Idea. Every task has a fixed rank. A task that becomes ready takes its links if all that hold one
// of them now are less urgent, and interrupts those: their bytes so far are a piece, the rest goes
// on later. A link that falls free scans the tasks that wait at it, the most urgent first, and stops
// at the first that starts (waking all waiters costs ten times as much where hundreds wait). So at
// every instant each waiting task has a link that is held by a more urgent one. Ranks by eligibility
// and no interruption: first come, first served.
//
// A task uses a link from some offset after its start on. Tasks may start a little in the future, so
// that their bytes enter each link when those of the last holder have: decided now, and until then
// nothing has moved. Integer pieces: an interrupted task has moved floor(rate * time) bytes.
//
// Guarantee. Windows on a link never meet, so the pieces are valid sends (docs/model.md). Cost: one
// event a piece and arrival, and O(waiters) a scan in the worst case: 0.3 s for 100,000 sends of 900
// jobs. Test: keyed_schedule_test.cpp.
#include "stellwerk/plan/keyed_schedule.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>

#include "stellwerk/base/wide.hpp"

namespace stellwerk {
namespace {

using TaskId = SendGraph::TaskId;

std::size_t index(std::int32_t number) { return static_cast<std::size_t>(number); }

class KeyedRun {
 public:
  KeyedRun(const SendGraph& graph, const KeyedRules& rules)
      : graph_(graph),
        rules_(rules),
        by_arrival_(rules.rank.empty()),
        rank_(rules.rank),
        task_at_(graph.size(), -1),
        state_(graph.size()),
        owner_(graph.links(), -1),
        free_at_(graph.links()),
        marked_(graph.links(), 0),
        waiting_(graph.links()) {
    if (by_arrival_) rank_.assign(graph.size(), -1);
    for (std::size_t i = 0; i < graph.size(); ++i) {
      const auto id = static_cast<TaskId>(i);
      if (!by_arrival_) task_at_[index(rank_[i])] = id;
      State& state = state_[i];
      state.blocked = graph.waits(id) + 1;  // the last one: its release
      if (rules.job_queues) state.blocked += graph.links_behind(id);
      state.rest = graph.task(id).bytes;
      events_.push({graph.ready(id), Event::Kind::released, id, 0});
    }
    for (const Job& job : graph.problem().jobs) result_.job_finish.push_back(job.start);
  }

  GraphSchedule run(const StopCondition& stop) {
    constexpr int kEventsPerPoll = 4096;
    for (int count = 1; !events_.empty(); ++count) {
      if (count % kEventsPerPoll == 0 && stop.should_stop()) return std::move(result_);
      now_ = events_.top().at;
      while (!events_.empty() && events_.top().at == now_) {
        const Event event = events_.top();
        events_.pop();
        apply(event);
      }
      start_tasks();
    }
    result_.complete = done_ == graph_.size();
    return std::move(result_);
  }

 private:
  struct State {
    std::int32_t blocked = 0;
    std::int32_t version = 0;  ///< of its end event
    bool running = false;
    bool started = false;
    Bytes rest;
    Time since;  ///< running: start of the piece
  };
  struct Event {
    enum class Kind : std::uint8_t { ended, arrived, released };
    Time at;
    Kind kind;
    std::int32_t task;
    std::int32_t detail;  ///< ended: the version; arrived: the position in after_arrival
    bool operator>(const Event& other) const {
      return std::tie(at, kind, task, detail) >
             std::tie(other.at, other.kind, other.task, other.detail);
    }
  };

  void apply(const Event& event) {
    switch (event.kind) {
      case Event::Kind::released:
        unblock(event.task);
        break;
      case Event::Kind::arrived:
        arrive(event.task, index(event.detail));
        break;
      case Event::Kind::ended:
        if (state_[index(event.task)].version == event.detail) end(event.task);
        break;
    }
  }

  void unblock(TaskId id) {
    if (--state_[index(id)].blocked == 0) fresh_.push_back(id);
  }

  void arrive(TaskId id, std::size_t position) {
    const auto successors = graph_.after_arrival(id);
    const Time lag = successors[position].lag;
    for (; position < successors.size() && successors[position].lag == lag; ++position) {
      unblock(successors[position].task);
    }
    push_arrival(id, position, now_ - lag);
  }

  /// `ended`: when its last byte left.
  void push_arrival(TaskId id, std::size_t position, Time ended) {
    const auto successors = graph_.after_arrival(id);
    if (position == successors.size()) return;
    events_.push({ended + successors[position].lag, Event::Kind::arrived, id,
                  static_cast<std::int32_t>(position)});
  }

  /// Frees the links of a running task; what it has moved since becomes a piece.
  void release_links(TaskId id, Bytes moved) {
    State& state = state_[index(id)];
    const SendGraph::Task& task = graph_.task(id);
    if (moved.value > 0) {
      result_.pieces.push_back({id, state.since, task.full, task.bytes - state.rest, moved});
      state.rest = state.rest - moved;
    }
    for (const SendGraph::Use& use : graph_.uses(id)) {
      owner_[use.link.index()] = -1;
      if (now_ > state.since) free_at_[use.link.index()] = now_ + use.offset;
      mark(use.link);
    }
    state.running = false;
    ++state.version;
  }

  void interrupt(TaskId id) {
    const State& state = state_[index(id)];
    Bytes moved;
    if (now_ > state.since) {
      constexpr Int128 kPicoseconds = 1'000'000'000'000;
      const Int128 product =
          Int128{graph_.task(id).full.bytes_per_second} * (now_ - state.since).ps;
      moved = Bytes{static_cast<std::int64_t>(product / kPicoseconds)};
    }
    release_links(id, moved);
  }

  void end(TaskId id) {
    for (const SendGraph::Use& use : graph_.uses(id)) {
      std::vector<std::int32_t>& queue = waiting_[use.link.index()];
      queue.erase(std::lower_bound(queue.begin(), queue.end(), rank_[index(id)]));
    }
    release_links(id, state_[index(id)].rest);
    const SendGraph::Task& task = graph_.task(id);
    Time& finish = result_.job_finish[task.job.index()];
    finish = std::max(finish, now_ + task.last_arrival);
    ++done_;
    push_arrival(id, 0, now_);
    if (!rules_.job_queues) return;
    for (const TaskId next : graph_.next_on_link(id)) {
      if (next >= 0) unblock(next);
    }
  }

  void mark(LinkId link) {
    if (marked_[link.index()] != 0) return;
    marked_[link.index()] = 1;
    freed_.push_back(link);
  }

  void start_tasks() {
    while (!fresh_.empty() || !freed_.empty()) {
      if (!fresh_.empty()) {
        enter_fresh();
      } else {
        const LinkId link = freed_.back();
        freed_.pop_back();
        marked_[link.index()] = 0;
        if (owner_[link.index()] < 0) scan(link);
      }
    }
  }

  /// Tasks that nothing holds back any more try to start, the most urgent first.
  void enter_fresh() {
    std::vector<TaskId> fresh;
    fresh.swap(fresh_);
    if (by_arrival_) {
      std::sort(fresh.begin(), fresh.end());
      for (const TaskId id : fresh) {
        rank_[index(id)] = next_rank_;
        task_at_[index(next_rank_++)] = id;
      }
    } else {
      std::sort(fresh.begin(), fresh.end(),
                [&](TaskId a, TaskId b) { return rank_[index(a)] < rank_[index(b)]; });
    }
    for (const TaskId id : fresh) {
      for (const SendGraph::Use& use : graph_.uses(id)) {
        std::vector<std::int32_t>& queue = waiting_[use.link.index()];
        queue.insert(std::upper_bound(queue.begin(), queue.end(), rank_[index(id)]),
                     rank_[index(id)]);
      }
    }
    for (const TaskId id : fresh) try_start(id);
  }

  void scan(LinkId link) {
    // Starting a task changes no queue of waiters, only owners.
    for (const std::int32_t rank : waiting_[link.index()]) {
      if (try_start(task_at_[index(rank)])) return;
    }
  }

  bool try_start(TaskId id) {
    State& state = state_[index(id)];
    if (state.running) return false;
    Time start = now_;
    for (const SendGraph::Use& use : graph_.uses(id)) {
      const TaskId owner = owner_[use.link.index()];
      if (owner < 0) continue;
      if (!rules_.interrupt || rank_[index(owner)] < rank_[index(id)]) return false;
    }
    for (const SendGraph::Use& use : graph_.uses(id)) {
      const TaskId owner = owner_[use.link.index()];
      if (owner >= 0) interrupt(owner);
    }
    for (const SendGraph::Use& use : graph_.uses(id)) {
      owner_[use.link.index()] = id;
      start = std::max(start, free_at_[use.link.index()] - use.offset);
    }
    state.running = true;
    state.since = start;
    events_.push({start + transmission_time(state.rest, graph_.task(id).full), Event::Kind::ended,
                  id, state.version});
    if (!state.started) {
      state.started = true;
      for (const TaskId next : graph_.after_start(id)) unblock(next);
    }
    return true;
  }

  const SendGraph& graph_;
  const KeyedRules& rules_;
  const bool by_arrival_;
  std::vector<std::int32_t> rank_;  // by task
  std::vector<TaskId> task_at_;     // by rank
  std::int32_t next_rank_ = 0;
  std::vector<State> state_;
  std::vector<TaskId> owner_;                       // by link
  std::vector<Time> free_at_;                       // by link: end of the last window on it
  std::vector<char> marked_;                        // by link: is it in freed_?
  std::vector<std::vector<std::int32_t>> waiting_;  // by link: ranks of ready tasks, ascending
  std::vector<LinkId> freed_;
  std::vector<TaskId> fresh_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Time now_;
  std::size_t done_ = 0;
  GraphSchedule result_;
};

}  // namespace

std::vector<std::int32_t> ranks_of(const std::vector<std::int64_t>& keys) {
  std::vector<std::int32_t> order(keys.size()), rank(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return std::pair(keys[index(a)], a) < std::pair(keys[index(b)], b);
  });
  for (std::size_t i = 0; i < order.size(); ++i) {
    rank[index(order[i])] = static_cast<std::int32_t>(i);
  }
  return rank;
}

GraphSchedule keyed_schedule(const SendGraph& graph, const KeyedRules& rules,
                             const StopCondition& stop) {
  return KeyedRun(graph, rules).run(stop);
}

}  // namespace stellwerk
