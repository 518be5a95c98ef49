// Fair sharing as an exact plan.
//
// Problem. Give all eligible sends max-min fair rates at every instant (Bertsekas and Gallager, Data
// Networks, 6.5.2), such that what comes out is a plan: pieces of constant integer rates.
//
// Idea. Progressive filling in integers: of all links the one with the least share floor(capacity
// left / sends left) gives that share to its sends, and so on; what the floor leaves is idle. When a
// rate changes after dt the piece has moved floor(rate * dt) bytes (the fraction of a byte is idle,
// too), and the rest goes on as the next piece.
//
// A send that comes or goes can change rates only in its connected component of links and eligible
// sends, so only that is filled anew; everything that happens at one instant is taken together.
//
// Sends may use a link at different offsets after their starts, so what is shared now enters a link
// at different times. A rate that grows therefore takes effect only `slack` later (the most by which
// another send may enter one of the links later), and until then the send is idle: at any time on a
// link every rate is at most the one that was granted at one common instant. On fabrics where every
// link has one offset (most) the slack is 0.
//
// Guarantee. The pieces are valid sends, hence a plan that is fair sharing up to the floors: "never
// worse than fair" can be had by keeping it as a candidate. Cost: per instant the affected component,
// about (sends + links) log links; 896 jobs of 93,000 sends: see docs/benchmarks.md. Tests:
// overlay_test.cpp (against progressive filling of everything at every event; exact small cases).
#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

#include "stellwerk/base/wide.hpp"
#include "stellwerk/plan/overlay.hpp"

namespace stellwerk {
namespace {

using TaskId = SendGraph::TaskId;

std::size_t index(std::int32_t number) { return static_cast<std::size_t>(number); }

class FairRun {
 public:
  explicit FairRun(const SendGraph& graph)
      : graph_(graph), state_(graph.size()), on_link_(graph.links()), link_mark_(graph.links(), 0) {
    for (std::size_t i = 0; i < graph.size(); ++i) {
      const auto id = static_cast<TaskId>(i);
      state_[i].blocked = graph.waits(id) + graph.links_behind(id) + 1;  // the last: its release
      state_[i].rest = graph.task(id).bytes;
      events_.push({graph.ready(id), Event::Kind::released, id, 0});
    }
    share_.resize(graph.links());
    for (const Job& job : graph.problem().jobs) result_.job_finish.push_back(job.start);
  }

  GraphSchedule run(const StopCondition& stop) {
    constexpr int kInstantsPerPoll = 256;
    for (int count = 1; !events_.empty(); ++count) {
      if (count % kInstantsPerPoll == 0 && stop.should_stop()) return std::move(result_);
      now_ = events_.top().at;
      while (!events_.empty() && events_.top().at == now_) {
        const Event event = events_.top();
        events_.pop();
        apply(event);
      }
      share_anew();
    }
    result_.complete = done_ == graph_.size();
    return std::move(result_);
  }

 private:
  struct State {
    std::int32_t blocked = 0;
    std::int32_t version = 0;
    std::int32_t mark = 0;   ///< the last component that it was found in
    std::int64_t rate = 0;   ///< bytes/s from `since` on
    std::int64_t fresh = 0;  ///< in share_anew: the rate to come, -1: not yet known
    Bytes rest;
    Time since;
    Time not_before;  ///< a rate that grew takes effect then
    bool started = false;
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
  /// What a link has left while rates are found.
  struct Share {
    std::int64_t capacity = 0;
    std::int32_t sends = 0;
    std::int64_t value() const { return capacity / sends; }
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
    if (--state_[index(id)].blocked > 0) return;
    for (const SendGraph::Use& use : graph_.uses(id)) {
      on_link_[use.link.index()].push_back(id);
      changed_.push_back(use.link);
    }
  }

  void arrive(TaskId id, std::size_t position) {
    const auto successors = graph_.after_arrival(id);
    const Time lag = successors[position].lag;
    for (; position < successors.size() && successors[position].lag == lag; ++position) {
      unblock(successors[position].task);
    }
    push_arrival(id, position, now_ - lag);
  }

  void push_arrival(TaskId id, std::size_t position, Time ended) {
    const auto successors = graph_.after_arrival(id);
    if (position == successors.size()) return;
    events_.push({ended + successors[position].lag, Event::Kind::arrived, id,
                  static_cast<std::int32_t>(position)});
  }

  void end(TaskId id) {
    State& state = state_[index(id)];
    close_piece(id, state.rest);
    ++state.version;
    for (const SendGraph::Use& use : graph_.uses(id)) {
      std::vector<TaskId>& sends = on_link_[use.link.index()];
      sends.erase(std::find(sends.begin(), sends.end(), id));
      changed_.push_back(use.link);
    }
    const SendGraph::Task& task = graph_.task(id);
    Time& finish = result_.job_finish[task.job.index()];
    finish = std::max(finish, now_ + task.last_arrival);
    ++done_;
    push_arrival(id, 0, now_);
    for (const TaskId next : graph_.next_on_link(id)) {
      if (next >= 0) unblock(next);
    }
  }

  void close_piece(TaskId id, Bytes moved) {
    State& state = state_[index(id)];
    if (moved.value == 0) return;
    const Bytes offset = graph_.task(id).bytes - state.rest;
    if (offset.value == 0) {
      // Whoever must not start before this one may do so from now on: rates are about to be found.
      for (const TaskId next : graph_.after_start(id)) {
        events_.push({now_, Event::Kind::released, next, 0});
      }
    }
    result_.pieces.push_back({id, state.since, Bandwidth{state.rate}, offset, moved});
    state.rest = state.rest - moved;
  }

  /// New rates for all that the changed links can affect.
  void share_anew() {
    for (const LinkId link : changed_) {
      if (link_mark_[link.index()] == round_) continue;
      find_component(link);
      fill();
      for (const TaskId id : component_) set_rate(id, state_[index(id)].fresh);
    }
    changed_.clear();
    ++round_;
  }

  void find_component(LinkId start) {
    component_.clear();
    links_.assign(1, start);
    link_mark_[start.index()] = round_;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const LinkId link = links_[i];
      const std::vector<TaskId>& sends = on_link_[link.index()];
      share_[link.index()] = {graph_.problem().topology.link(link).bandwidth.bytes_per_second,
                              static_cast<std::int32_t>(sends.size())};
      for (const TaskId id : sends) {
        State& state = state_[index(id)];
        if (state.mark == round_) continue;
        state.mark = round_;
        state.fresh = -1;
        component_.push_back(id);
        for (const SendGraph::Use& use : graph_.uses(id)) {
          if (link_mark_[use.link.index()] == round_) continue;
          link_mark_[use.link.index()] = round_;
          links_.push_back(use.link);
        }
      }
    }
  }

  /// Progressive filling. Shares only grow as sends are fixed, so a heap with late corrections does.
  void fill() {
    filling_.clear();
    for (const LinkId link : links_) {
      if (share_[link.index()].sends > 0) {
        filling_.emplace_back(share_[link.index()].value(), link);
      }
    }
    std::make_heap(filling_.begin(), filling_.end(), std::greater<>());
    while (!filling_.empty()) {
      const auto [value, link] = filling_.front();
      std::pop_heap(filling_.begin(), filling_.end(), std::greater<>());
      filling_.pop_back();
      const Share& share = share_[link.index()];
      if (share.sends == 0) continue;
      if (share.value() > value) {
        filling_.emplace_back(share.value(), link);
        std::push_heap(filling_.begin(), filling_.end(), std::greater<>());
        continue;
      }
      for (const TaskId id : on_link_[link.index()]) {
        State& state = state_[index(id)];
        if (state.fresh >= 0) continue;
        state.fresh = value;
        for (const SendGraph::Use& use : graph_.uses(id)) {
          Share& other = share_[use.link.index()];
          other.capacity -= value;
          --other.sends;
        }
      }
    }
  }

  void set_rate(TaskId id, std::int64_t rate) {
    State& state = state_[index(id)];
    if (rate == state.rate && state.started) return;
    if (now_ > state.since && state.rate > 0) {
      constexpr Int128 kPicoseconds = 1'000'000'000'000;
      const Int128 product = Int128{state.rate} * (now_ - state.since).ps;
      const auto moved = static_cast<std::int64_t>(product / kPicoseconds);
      close_piece(id, std::min(Bytes{moved}, state.rest));
    }
    if (rate > state.rate) state.not_before = now_ + graph_.task(id).slack;
    state.rate = rate;
    state.since = std::max(now_, state.not_before);
    state.started = true;
    ++state.version;
    if (rate > 0) {
      events_.push({state.since + transmission_time(state.rest, Bandwidth{rate}),
                    Event::Kind::ended, id, state.version});
    }
  }

  const SendGraph& graph_;
  std::vector<State> state_;
  std::vector<std::vector<TaskId>> on_link_;  // eligible tasks
  std::vector<std::int32_t> link_mark_;
  std::int32_t round_ = 1;
  std::vector<Share> share_;  // by link
  std::vector<LinkId> changed_, links_;
  std::vector<TaskId> component_;
  std::vector<std::pair<std::int64_t, LinkId>> filling_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Time now_;
  std::size_t done_ = 0;
  GraphSchedule result_;
};

}  // namespace

GraphSchedule overlay_fair(const SendGraph& graph, const StopCondition& stop) {
  return FairRun(graph).run(stop);
}

}  // namespace stellwerk
