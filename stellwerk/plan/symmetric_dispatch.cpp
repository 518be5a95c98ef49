#include "stellwerk/plan/symmetric_dispatch.hpp"

#include <algorithm>
#include <functional>

namespace stellwerk::symmetric {

std::int64_t earliest_start(const Shape& shape, const std::vector<ClaimTimeline>& timelines,
                            std::int64_t from) {
  std::int64_t start = from;
  // Settled when every use in turn has agreed to the same start.
  const std::size_t uses = shape.uses.size();
  for (std::size_t agreed = 0, i = 0; agreed < uses; i = i + 1 == uses ? 0 : i + 1) {
    const Use& use = shape.uses[i];
    const std::int64_t fit = timelines[static_cast<std::size_t>(use.resource)].earliest(
                                 start + use.offset, shape.duration, use.room) -
                             use.offset;
    agreed = fit > start ? 1 : agreed + 1;
    start = fit;
  }
  return start;
}

void claim(const Shape& shape, std::vector<ClaimTimeline>& timelines, std::int64_t start) {
  for (const Use& use : shape.uses) {
    timelines[static_cast<std::size_t>(use.resource)].claim(start + use.offset, shape.duration,
                                                            use.amount);
  }
}

Dispatcher::Dispatcher(const std::vector<Shape>& shapes, const std::vector<std::int64_t>& priority,
                       std::vector<ClaimTimeline>& timelines)
    : shapes_(shapes),
      priority_(priority),
      timelines_(timelines),
      ready_(priority.size(), 0),
      groups_(shapes.size()) {}

/// The group's earliest start from `from` on.
void Dispatcher::search(std::size_t shape, std::int64_t from) {
  Group& group = groups_[shape];
  group.start = earliest_start(shapes_[shape], timelines_, from);
  while (!group.pending.empty() && group.pending.front().first <= group.start) {
    const int task = group.pending.front().second;
    std::pop_heap(group.pending.begin(), group.pending.end(), std::greater<>());
    group.pending.pop_back();
    group.available.emplace_back(priority_[static_cast<std::size_t>(task)], task);
    std::push_heap(group.available.begin(), group.available.end(), std::greater<>());
  }
}

void Dispatcher::push(std::size_t shape) {
  Group& group = groups_[shape];
  candidates_.push_back({group.start, group.available.front().first, shape, ++group.stamp});
  std::push_heap(candidates_.begin(), candidates_.end(), std::greater<>());
}

void Dispatcher::add(int task, std::size_t shape, std::int64_t ready) {
  Group& group = groups_[shape];
  const std::int64_t priority = priority_[static_cast<std::size_t>(task)];
  ready_[static_cast<std::size_t>(task)] = ready;
  const auto later = [&](std::vector<Entry>& heap, std::int64_t key) {
    heap.emplace_back(key, task);
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };
  if (group.available.empty()) {  // no candidate
    later(group.pending, ready);
    group.from = ready;
    search(shape, ready);
    push(shape);
  } else if (ready < group.from) {
    // Others may be ready only after the new start.
    later(group.pending, ready);
    for (const Entry& entry : group.available) {
      group.pending.emplace_back(ready_[static_cast<std::size_t>(entry.second)], entry.second);
      std::push_heap(group.pending.begin(), group.pending.end(), std::greater<>());
    }
    group.available.clear();
    group.from = ready;
    search(shape, ready);
    push(shape);
  } else if (ready <= group.start) {
    const bool better = priority < group.available.front().first;
    later(group.available, priority);
    if (better) push(shape);
  } else {
    later(group.pending, ready);
  }
}

Dispatcher::Choice Dispatcher::next() {
  while (!candidates_.empty()) {
    std::pop_heap(candidates_.begin(), candidates_.end(), std::greater<>());
    const Candidate c = candidates_.back();
    candidates_.pop_back();
    Group& group = groups_[c.shape];
    if (c.stamp != group.stamp) continue;
    const std::int64_t before = group.start;
    search(c.shape, group.start);
    if (group.start > before || group.available.front().first < c.priority) {
      push(c.shape);
      continue;
    }
    const int task = group.available.front().second;
    std::pop_heap(group.available.begin(), group.available.end(), std::greater<>());
    group.available.pop_back();
    claim(shapes_[c.shape], timelines_, c.start);
    if (group.available.empty() && !group.pending.empty()) {
      group.from = std::max(c.start, group.pending.front().first);
      search(c.shape, group.from);
      push(c.shape);
    } else if (!group.available.empty()) {
      search(c.shape, c.start);
      push(c.shape);
    } else {
      ++group.stamp;
    }
    return {task, c.shape, c.start};
  }
  return {-1, 0, 0};
}

}  // namespace stellwerk::symmetric
