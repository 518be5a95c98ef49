// Max-min fair sharing on line, as an exact plan.
//
// The rules, and why the pieces are valid sends, are those of plan/overlay_fair.cpp: progressive
// filling in integers of the connected component of links and sends around whatever has changed; a
// rate that grows takes effect only `slack` later, so that what enters a link at different times after
// it was decided never adds up to too much. What is different is that jobs come and go while links
// change. A link that is down has nothing to share: sends over it stand still.
//
// Cost: per instant the affected component, about (sends + links) log links. Test: online_test.cpp.
#include "stellwerk/plan/live_fair.hpp"

#include <algorithm>
#include <functional>

namespace stellwerk {
namespace {

class LiveFair : public LiveTasks {
 public:
  explicit LiveFair(IdVector<LinkId, Bandwidth> bandwidth)
      : LiveTasks(std::move(bandwidth)),
        on_link_(links()),
        mark_(links(), 0),
        latest_(links()),
        share_(links()) {}

 private:
  /// What sharing knows of a task.
  struct Sharing {
    std::int32_t mark = 0;   // the last round in which it was found
    std::int64_t fresh = 0;  // the rate to come; -1: not yet known
    std::int64_t rate = 0;   // the last one
    Time not_before;         // a rate that grew takes effect then
  };
  /// What a link has left while rates are found.
  struct Share {
    std::int64_t capacity = 0;
    std::int32_t sends = 0;
    std::int64_t value() const { return capacity / sends; }
  };

  Sharing& sharing(Ref task) { return sharing_[index(task.slot)][index(task.task)]; }

  void added(std::int32_t slot) override {
    const LiveJob& own = job(slot);
    sharing_.resize(index(slot) + 1);
    sharing_[index(slot)].resize(own.graph->size());
    for (std::size_t i = 0; i < own.graph->size(); ++i) {
      for (const SendGraph::Use& use : own.graph->uses(static_cast<TaskId>(i))) {
        Time& latest = latest_[link(own, use)];
        latest = std::max(latest, use.offset);
      }
    }
  }

  template <class Function>
  void for_links(Ref task, const Function& function) {
    const LiveJob& own = job(task.slot);
    for (const SendGraph::Use& use : own.graph->uses(task.task)) function(link(own, use));
  }

  void became_ready(Ref task) override {
    for_links(task, [&](LinkId id) {
      on_link_[id].push_back(task);
      changed(id);
    });
  }
  void ended_task(Ref task) override { left(task); }
  void left(Ref task) override {
    for_links(task, [&](LinkId id) {
      std::vector<Ref>& sends = on_link_[id];
      sends.erase(std::find(sends.begin(), sends.end(), task));
      changed(id);
    });
    sharing(task).rate = 0;
  }
  void released(Ref task) override {
    sharing(task).rate = 0;
    for_links(task, [&](LinkId id) { changed(id); });
  }
  void changed(LinkId link) override { changed_.push_back(link); }
  void keys_changed() override {}
  bool keeps_order() const override { return true; }
  std::unique_ptr<LiveTasks> clone() const override {
    auto copy = std::make_unique<LiveFair>(*this);
    copy->set_listener(nullptr);
    return copy;
  }

  void decide() override {
    ++round_;
    // Tasks that begin can let others become ready, on links that are then shared again.
    while (!changed_.empty()) {
      std::vector<LinkId> changed;
      changed.swap(changed_);
      for (const LinkId link : changed) {
        if (mark_[link] == round_) continue;
        find_component(link);
        fill();
        for (const Ref task : component_) set_rate(task, sharing(task).fresh);
      }
      if (!changed_.empty()) ++round_;
    }
  }

  void find_component(LinkId start) {
    component_.clear();
    links_.assign(1, start);
    mark_[start] = round_;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const LinkId link = links_[i];
      const std::vector<Ref>& sends = on_link_[link];
      share_[link] = {bandwidth(link).bytes_per_second, static_cast<std::int32_t>(sends.size())};
      for (const Ref task : sends) {
        Sharing& own = sharing(task);
        if (own.mark == round_) continue;
        own.mark = round_;
        own.fresh = -1;
        component_.push_back(task);
        for_links(task, [&](LinkId id) {
          if (mark_[id] == round_) return;
          mark_[id] = round_;
          links_.push_back(id);
        });
      }
    }
  }

  /// Progressive filling. Shares only grow as sends are fixed, so a heap with late corrections does.
  void fill() {
    filling_.clear();
    for (const LinkId link : links_) {
      if (share_[link].sends > 0) filling_.emplace_back(share_[link].value(), link);
    }
    std::make_heap(filling_.begin(), filling_.end(), std::greater<>());
    while (!filling_.empty()) {
      const auto [value, link] = filling_.front();
      std::pop_heap(filling_.begin(), filling_.end(), std::greater<>());
      filling_.pop_back();
      if (share_[link].sends == 0) continue;
      if (share_[link].value() > value) {
        filling_.emplace_back(share_[link].value(), link);
        std::push_heap(filling_.begin(), filling_.end(), std::greater<>());
        continue;
      }
      const std::int64_t rate = value;
      for (const Ref task : on_link_[link]) {
        Sharing& own = sharing(task);
        if (own.fresh >= 0) continue;
        own.fresh = rate;
        for_links(task, [&](LinkId id) {
          share_[id].capacity -= rate;
          --share_[id].sends;
        });
      }
    }
  }

  void set_rate(Ref task, std::int64_t rate) {
    Sharing& own = sharing(task);
    if (rate == own.rate) return;
    if (state(task).sending) close(task);
    if (rate > own.rate) own.not_before = now() + slack(task);
    own.rate = rate;
    if (rate > 0) begin(task, std::max(now(), own.not_before), Bandwidth{rate});
  }

  /// The most by which another send may enter one of the task's links later than the task does.
  Time slack(Ref task) const {
    const LiveJob& own = job(task.slot);
    Time most;
    for (const SendGraph::Use& use : own.graph->uses(task.task)) {
      most = std::max(most, latest_[link(own, use)] - use.offset);
    }
    return most;
  }

  IdVector<LinkId, std::vector<Ref>> on_link_;  // ready tasks that are not done
  IdVector<LinkId, std::int32_t> mark_;
  IdVector<LinkId, Time> latest_;  // offset at which anybody has used it so far
  IdVector<LinkId, Share> share_;
  std::vector<std::vector<Sharing>> sharing_;  // by slot and task
  std::int32_t round_ = 0;
  std::vector<LinkId> changed_, links_;
  std::vector<Ref> component_;
  std::vector<std::pair<std::int64_t, LinkId>> filling_;
};

}  // namespace

std::unique_ptr<LiveTasks> make_live_fair(IdVector<LinkId, Bandwidth> bandwidth) {
  return std::make_unique<LiveFair>(std::move(bandwidth));
}

}  // namespace stellwerk
