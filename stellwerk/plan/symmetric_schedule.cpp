// Serial list scheduling, and forward-backward justification (Li and Willis, EJOR 56, 1992; Valls,
// Ballestin and Quintanilla, EJOR 165, 2005) on link orbits instead of links.
//
// Idea. How late a task starts in a schedule that is packed against its end says how urgent the
// task is. So: pack backwards, by descending arrival; then forwards, by ascending latest start;
// repeat and keep the best. Backwards in time a task that claims [offset, offset + duration) of its
// span claims [span - offset - duration, span - offset), and arcs turn round, so one procedure does
// both. plan/justify.cpp does the same for sends on links; here a resource serves the images of a
// send under the whole group at once, and there are few of them.
//
// Serial generation puts the most urgent task into the first gap that it fits; rigid sends then leave
// gaps that nothing fits. Dispatching never lets resources idle for a task that is yet to come.
// Neither is better always.
//
// Complexity: a pass is tasks * (log tasks + uses * steps of a timeline that are met). Tests:
// symmetric_test.cpp.
#include "stellwerk/plan/symmetric_schedule.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>

#include "stellwerk/plan/symmetric_dispatch.hpp"

namespace stellwerk::symmetric {
namespace {

/// Tasks placed from one look at the clock to the next.
constexpr std::size_t kPoll = 4096;

}  // namespace

/// One direction of time.
struct ListScheduler::View {
  const std::vector<Shape>& shapes;
  const Neighbours& before;
  const Neighbours& after;
  const std::vector<std::int64_t>& releases;
};

ListScheduler::ListScheduler(const Quotient& quotient, const TaskGraph& graph)
    : graph_(graph), mirrored_(graph.shapes) {
  const std::size_t n = graph.tasks.size();
  const auto collect = [&](Neighbours& result, bool by_second) {
    result.first.assign(n + 1, 0);
    result.all.resize(graph.arcs.size());
    for (const auto& [a, b] : graph.arcs)
      ++result.first[static_cast<std::size_t>(by_second ? b : a) + 1];
    for (std::size_t i = 0; i < n; ++i) result.first[i + 1] += result.first[i];
    std::vector<int> next(result.first.begin(), result.first.end() - 1);
    for (const auto& [a, b] : graph.arcs) {
      const auto at = static_cast<std::size_t>(by_second ? b : a);
      result.all[static_cast<std::size_t>(next[at]++)] = by_second ? a : b;
    }
  };
  collect(before_, true);
  collect(after_, false);
  releases_.reserve(n);
  for (const Task& task : graph.tasks) releases_.push_back(task.release);
  no_releases_.assign(n, 0);

  for (Shape& shape : mirrored_) mirror(shape);
  std::vector<std::int64_t> least_amount(quotient.resources(), 1), least_duration(least_amount);
  for (std::size_t i = 0; i < quotient.resources(); ++i) {
    least_amount[i] = least_duration[i] = std::numeric_limits<std::int64_t>::max();
  }
  for (const Shape& shape : graph.shapes) {
    for (const Use& use : shape.uses) {
      const auto r = static_cast<std::size_t>(use.resource);
      least_amount[r] = std::min(least_amount[r], use.amount);
      least_duration[r] = std::min(least_duration[r], shape.duration);
    }
  }
  for (std::size_t i = 0; i < quotient.resources(); ++i) {
    const std::int64_t capacity = quotient.capacity(static_cast<int>(i));
    empty_.emplace_back(capacity, std::min(least_amount[i], capacity), least_duration[i]);
  }

  // Tasks of equal shapes are of one class, named by the first of these shapes.
  std::map<std::pair<std::vector<std::int64_t>, std::int64_t>, std::size_t> known;
  std::vector<std::size_t> first(graph.shapes.size());
  for (std::size_t i = 0; i < graph.shapes.size(); ++i) {
    const Shape& shape = graph.shapes[i];
    std::vector<std::int64_t> claims = {shape.duration};
    for (const Use& use : shape.uses)
      claims.insert(claims.end(), {use.resource, use.offset, use.amount, use.room});
    first[i] = known.try_emplace({std::move(claims), shape.span}, i).first->second;
  }
  class_.reserve(n);
  for (const Task& task : graph.tasks)
    class_.push_back(first[static_cast<std::size_t>(task.shape)]);

  // Longest tails, by descending topological order.
  tails_.assign(n, 0);
  std::vector<int> open(n), ready;
  for (std::size_t i = 0; i < n; ++i) {
    open[i] = after_.first[i + 1] - after_.first[i];
    if (open[i] == 0) ready.push_back(static_cast<int>(i));
  }
  while (!ready.empty()) {
    const auto task = static_cast<std::size_t>(ready.back());
    ready.pop_back();
    tails_[task] += graph.shape(graph.tasks[task]).span;
    for (int k = before_.first[task]; k < before_.first[task + 1]; ++k) {
      const auto other = static_cast<std::size_t>(before_.all[static_cast<std::size_t>(k)]);
      tails_[other] = std::max(tails_[other], tails_[task]);
      if (--open[other] == 0) ready.push_back(static_cast<int>(other));
    }
  }
}

Timing ListScheduler::place(const View& view, const std::vector<std::int64_t>& priority,
                            Generation generation, const StopCondition& stop) const {
  return generation == Generation::serial ? place_serially(view, priority, stop)
                                          : dispatch(view, priority, stop);
}

Timing ListScheduler::dispatch(const View& view, const std::vector<std::int64_t>& priority,
                               const StopCondition& stop) const {
  const std::size_t n = graph_.tasks.size();
  std::vector<ClaimTimeline> timelines = empty_;
  Timing result;
  result.starts = view.releases;
  std::vector<int> open(n);
  Dispatcher dispatcher(view.shapes, priority, timelines);
  for (std::size_t i = 0; i < n; ++i) {
    open[i] = view.before.first[i + 1] - view.before.first[i];
    if (open[i] == 0) dispatcher.add(static_cast<int>(i), class_[i], result.starts[i]);
  }
  std::size_t placed = 0;
  for (Dispatcher::Choice c = dispatcher.next(); c.task >= 0; c = dispatcher.next()) {
    if (++placed % kPoll == 0 && stop.should_stop()) return {{}, kNever};
    const auto task = static_cast<std::size_t>(c.task);
    result.starts[task] = c.start;
    const std::int64_t end = c.start + view.shapes[c.shape].span;
    result.finish = std::max(result.finish, end);
    for (int k = view.after.first[task]; k < view.after.first[task + 1]; ++k) {
      const int other = view.after.all[static_cast<std::size_t>(k)];
      std::int64_t& ready = result.starts[static_cast<std::size_t>(other)];
      ready = std::max(ready, end);
      if (--open[static_cast<std::size_t>(other)] == 0)
        dispatcher.add(other, class_[static_cast<std::size_t>(other)], ready);
    }
  }
  return result;
}

Timing ListScheduler::place_serially(const View& view, const std::vector<std::int64_t>& priority,
                                     const StopCondition& stop) const {
  const std::size_t n = graph_.tasks.size();
  std::vector<ClaimTimeline> timelines = empty_;
  Timing result;
  result.starts = view.releases;
  std::vector<int> open(n);
  using Entry = std::pair<std::int64_t, int>;
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < n; ++i) {
    open[i] = view.before.first[i + 1] - view.before.first[i];
    if (open[i] == 0) entries.emplace_back(priority[i], static_cast<int>(i));
  }
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready(std::greater<>(),
                                                                       std::move(entries));
  std::size_t placed = 0;
  while (!ready.empty()) {
    if (++placed % kPoll == 0 && stop.should_stop()) return {{}, kNever};
    const auto task = static_cast<std::size_t>(ready.top().second);
    ready.pop();
    const Shape& shape = view.shapes[static_cast<std::size_t>(graph_.tasks[task].shape)];
    const std::int64_t start = earliest_start(shape, timelines, result.starts[task]);
    claim(shape, timelines, start);
    result.starts[task] = start;
    const std::int64_t end = start + shape.span;
    result.finish = std::max(result.finish, end);
    for (int k = view.after.first[task]; k < view.after.first[task + 1]; ++k) {
      const auto other = static_cast<std::size_t>(view.after.all[static_cast<std::size_t>(k)]);
      result.starts[other] = std::max(result.starts[other], end);
      if (--open[other] == 0) ready.emplace(priority[other], static_cast<int>(other));
    }
  }
  return result;
}

Timing ListScheduler::forwards(const std::vector<std::int64_t>& priority, Generation generation,
                               const StopCondition& stop) const {
  return place({graph_.shapes, before_, after_, releases_}, priority, generation, stop);
}

Timing ListScheduler::justify(Timing timing, int rounds, Generation generation,
                              std::int64_t good_enough, const StopCondition& stop) const {
  Timing best = timing;
  std::vector<std::int64_t> priority(timing.starts.size());
  for (int round = 0; round < rounds && best.finish > good_enough && !stop.should_stop(); ++round) {
    for (std::size_t i = 0; i < priority.size(); ++i) {
      priority[i] = -(timing.starts[i] + graph_.shape(graph_.tasks[i]).span);
    }
    const Timing back =
        place({mirrored_, after_, before_, no_releases_}, priority, generation, stop);
    if (back.finish == kNever) break;
    for (std::size_t i = 0; i < priority.size(); ++i) {
      priority[i] = -(back.starts[i] + graph_.shape(graph_.tasks[i]).span);
    }
    Timing next = forwards(priority, generation, stop);
    if (next.finish == kNever) break;
    const bool stuck = next.starts == timing.starts;
    timing = std::move(next);
    if (timing.finish < best.finish) best = timing;
    if (stuck) break;
  }
  return best;
}

}  // namespace stellwerk::symmetric
