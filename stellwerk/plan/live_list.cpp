// Preemptive list scheduling on line.
//
// The rules are those of plan/keyed_schedule.cpp; what is different is that jobs come, go and are
// planned anew while links change, so that places in one fixed list of tasks cannot be: tasks wait at
// their links in the order of their keys. Keys are made of what is known when a job arrives.
//
// Guarantee: at every instant each task that is ready and not sending has a link that is down or held
// by a more urgent one, and windows on a link never meet. Cost: O(log n) an end or arrival, and the
// waiters at a link that falls free. Test: online_test.cpp.
#include "stellwerk/plan/live_list.hpp"

#include <algorithm>

namespace stellwerk {
namespace {

class LiveList : public LiveTasks {
 public:
  explicit LiveList(IdVector<LinkId, Bandwidth> bandwidth)
      : LiveTasks(std::move(bandwidth)),
        owner_(links()),
        free_at_(links()),
        marked_(links(), 0),
        waiting_(links()) {}

 private:
  struct Waiter {
    TaskKey key;
    Ref task;
    friend auto operator<=>(const Waiter&, const Waiter&) = default;
  };

  Waiter waiter(Ref task) const { return {key(task), task}; }

  void added(std::int32_t /*slot*/) override {}
  void became_ready(Ref task) override { fresh_.push_back(waiter(task)); }

  void ended_task(Ref task) override {
    leave_queues(task);
    free_links(task);
  }

  void left(Ref task) override {
    std::erase_if(again_, [&](const Waiter& each) { return each.task == task; });
    const auto found = std::find(fresh_.begin(), fresh_.end(), waiter(task));
    if (found != fresh_.end()) {
      fresh_.erase(found);
    } else {
      leave_queues(task);
    }
  }

  void released(Ref task) override { free_links(task); }
  void changed(LinkId link) override { mark(link); }
  bool keeps_order() const override { return false; }
  std::unique_ptr<LiveTasks> clone() const override {
    auto copy = std::make_unique<LiveList>(*this);
    copy->set_listener(nullptr);
    return copy;
  }

  /// All tasks that wait try again.
  void keys_changed() override {
    for (std::vector<Waiter>& queue : waiting_) {
      for (Waiter& each : queue) {
        each = waiter(each.task);
        if (!state(each.task).sending) again_.push_back(each);
      }
      std::sort(queue.begin(), queue.end());
    }
    for (Waiter& each : fresh_) each = waiter(each.task);
    std::sort(again_.begin(), again_.end());
    again_.erase(std::unique(again_.begin(), again_.end()), again_.end());
  }

  void leave_queues(Ref task) {
    const LiveJob& own = job(task.slot);
    const Waiter entry = waiter(task);
    for (const SendGraph::Use& use : own.graph->uses(task.task)) {
      std::vector<Waiter>& queue = waiting_[link(own, use)];
      queue.erase(std::lower_bound(queue.begin(), queue.end(), entry));
    }
  }

  void free_links(Ref task) {
    const LiveJob& own = job(task.slot);
    const bool moved = now() > state(task).since;
    for (const SendGraph::Use& use : own.graph->uses(task.task)) {
      const LinkId id = link(own, use);
      owner_[id] = Ref{};
      if (moved) free_at_[id] = std::max(free_at_[id], now() + use.offset);
      mark(id);
    }
  }

  void mark(LinkId link) {
    if (marked_[link] != 0) return;
    marked_[link] = 1;
    freed_.push_back(link);
  }

  void decide() override {
    std::vector<Waiter> again;
    again.swap(again_);
    for (const Waiter& entry : again) try_start(entry);
    while (!fresh_.empty() || !freed_.empty()) {
      if (!fresh_.empty()) {
        enter_fresh();
        continue;
      }
      const LinkId link = freed_.back();
      freed_.pop_back();
      marked_[link] = 0;
      if (owner_[link].slot >= 0 || bandwidth(link).bytes_per_second == 0) continue;
      // Starting a task changes no queue of waiters, only owners.
      for (const Waiter& waiter : waiting_[link]) {
        if (try_start(waiter)) break;
      }
    }
  }

  /// Tasks that nothing holds back any more try to start, the most urgent first.
  void enter_fresh() {
    std::vector<Waiter> fresh;
    fresh.swap(fresh_);
    std::sort(fresh.begin(), fresh.end());
    for (const Waiter& entry : fresh) {
      const LiveJob& own = job(entry.task.slot);
      for (const SendGraph::Use& use : own.graph->uses(entry.task.task)) {
        std::vector<Waiter>& queue = waiting_[link(own, use)];
        queue.insert(std::upper_bound(queue.begin(), queue.end(), entry), entry);
      }
    }
    for (const Waiter& entry : fresh) try_start(entry);
  }

  bool try_start(const Waiter& entry) {
    const Ref task = entry.task;
    if (state(task).sending) return false;
    const LiveJob& own = job(task.slot);
    const auto uses = own.graph->uses(task.task);
    for (const SendGraph::Use& use : uses) {
      const LinkId id = link(own, use);
      const Ref owner = owner_[id];
      if (bandwidth(id).bytes_per_second == 0) return false;
      if (owner.slot >= 0 && waiter(owner) < entry) return false;
    }
    for (const SendGraph::Use& use : uses) {
      const Ref owner = owner_[link(own, use)];
      if (owner.slot < 0) continue;
      close(owner);
      free_links(owner);
    }
    Time start = now();
    for (const SendGraph::Use& use : uses) {
      const LinkId id = link(own, use);
      owner_[id] = task;
      start = std::max(start, free_at_[id] - use.offset);
    }
    begin(task, start, full_rate(task));
    return true;
  }

  IdVector<LinkId, Ref> owner_;
  IdVector<LinkId, Time> free_at_;  // end of the last window on it
  IdVector<LinkId, char> marked_;   // is it in freed_?
  IdVector<LinkId, std::vector<Waiter>>
      waiting_;  // ready tasks that are not done, most urgent first
  std::vector<LinkId> freed_;
  std::vector<Waiter> fresh_;
  std::vector<Waiter> again_;  // keys have changed: these are to be looked at
};

}  // namespace

std::unique_ptr<LiveTasks> make_live_list(IdVector<LinkId, Bandwidth> bandwidth) {
  return std::make_unique<LiveList>(std::move(bandwidth));
}

}  // namespace stellwerk
