// Execution under noise.
//
// Problem. A runtime does not follow the clock of a plan but its order. How late does a plan end
// when links are slow, sends take longer than planned, or GPUs begin late? Many runs are needed, so
// everything that does not change between runs is prepared once.
//
// Strict order. The order in which windows begin on each link (and node limit) is kept. Together
// with the data dependencies that is an acyclic relation for all but contrived plans (two sends that
// meet on two links, in opposite orders); there data alone orders the sends. A run is one
// pass in that order: a send starts when its data is there and, on each resource, the window before
// it has begun and enough of those before have ended.
//
// Priority. Event by event: a send whose data has arrived goes if its share of every resource is
// free, else it waits at a resource that is not. A resource that falls free offers itself to its
// waiters, those first that the plan starts first, until one does not fit. Not every link that could
// do something does: whoever waits elsewhere is not asked, and windows that lie in the future (links
// behind latency) count as if they overlapped each other.
//
// Guarantee. Without noise the strict run is never later than the plan if the whole order could be
// kept (by induction along it, every send can start by its planned start), and noise never makes it
// earlier. Neither holds for priorities (Graham's anomalies).
//
// Complexity: a strict run is linear in sends, dependencies and uses of links; one with priorities
// needs heaps. Test: executor_test.cpp.
#include "stellwerk/check/executor.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/wide.hpp"
#include "stellwerk/check/byte_coverage.hpp"

namespace stellwerk {
namespace {

std::size_t index(std::int32_t number) { return static_cast<std::size_t>(number); }

std::int64_t stretched(std::int64_t duration, std::int64_t stretch) {
  const Int128 product = static_cast<Int128>(duration) * stretch + (kNoStretch - 1);
  return static_cast<std::int64_t>(product / kNoStretch);
}

/// A share of a resource that is taken for a while.
struct Taken {
  std::int64_t begin, end, amount;
};

}  // namespace

std::string_view to_string(Discipline discipline) {
  return discipline == Discipline::strict ? "strict" : "priority";
}

Discipline parse_discipline(std::string_view text) {
  if (text == "strict") return Discipline::strict;
  if (text == "priority") return Discipline::priority;
  throw Error(ErrorCode::usage,
              "executor '" + std::string(text) + "' is neither 'strict' nor 'priority'");
}

Executor::Executor(const Problem& problem, const Schedule& sends)
    : problem_(problem),
      sends_(sends),
      shapes_(problem.topology, sends),
      uses_(problem.topology, sends, shapes_),
      precedence_(find_precedence(problem, sends, shapes_)) {
  for (const Node& node : problem.topology.nodes()) {
    if (!node.buffer) continue;
    throw Error(ErrorCode::unsolved, "node '" + node.name +
                                         "' has a transit buffer, which runs under noise do not "
                                         "model: take 'buffer' out of the topology");
  }
  collect_waits(precedence_);
  find_order();
}

void Executor::collect_waits(const Precedence& precedence) {
  const std::size_t activities = index(precedence.activities);
  first_wait_.assign(activities + 1, 0);
  for (const Dependency& dependency : precedence.dependencies) {
    if (dependency.data) ++first_wait_[index(dependency.to) + 1];
  }
  std::partial_sum(first_wait_.begin(), first_wait_.end(), first_wait_.begin());
  waits_.resize(first_wait_.back());
  std::vector<std::size_t> next(first_wait_.begin(), first_wait_.end() - 1);
  for (const Dependency& dependency : precedence.dependencies) {
    if (!dependency.data) continue;
    const bool last_byte = dependency.from_event >= 0 && index(dependency.from) < sends_.size() &&
                           dependency.from_event >= shapes_.leaves(index(dependency.from)).first;
    waits_[next[index(dependency.to)]++] = {dependency.from, Precedence::lag(dependency, shapes_),
                                            last_byte};
  }
}

void Executor::find_order() {
  const std::size_t activities = index(precedence_.activities);
  using Arc = std::pair<std::int32_t, std::int32_t>;
  std::vector<Arc> data, resources;
  for (std::size_t to = 0; to < activities; ++to) {
    for (std::size_t k = first_wait_[to]; k < first_wait_[to + 1]; ++k) {
      data.emplace_back(waits_[k].from, static_cast<std::int32_t>(to));
    }
  }
  std::vector<std::size_t> by_begin(uses_.all().size());
  std::iota(by_begin.begin(), by_begin.end(), std::size_t{0});
  const auto key = [&](std::size_t use) {
    const CapacityUse& it = uses_.all()[use];
    return std::tuple(it.resource, sends_[index(it.send)].start.ps + it.begin, it.send);
  };
  std::sort(by_begin.begin(), by_begin.end(),
            [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  for (std::size_t k = 1; k < by_begin.size(); ++k) {
    const CapacityUse& before = uses_.all()[by_begin[k - 1]];
    const CapacityUse& after = uses_.all()[by_begin[k]];
    if (before.resource == after.resource && before.send != after.send) {
      resources.emplace_back(before.send, after.send);
    }
  }
  // Kahn's algorithm; among activities that are free the one that is planned first.
  const auto sorted = [&](const std::vector<Arc>& arcs) {
    std::vector<std::int32_t> missing(activities, 0);
    std::vector<std::size_t> first(activities + 1, 0);
    for (const auto& [from, to] : arcs) {
      ++missing[index(to)];
      ++first[index(from) + 1];
    }
    std::partial_sum(first.begin(), first.end(), first.begin());
    std::vector<std::int32_t> heads(arcs.size());
    std::vector<std::size_t> next(first.begin(), first.end() - 1);
    for (const auto& [from, to] : arcs) heads[next[index(from)]++] = to;
    using Free = std::pair<std::int64_t, std::int32_t>;
    std::priority_queue<Free, std::vector<Free>, std::greater<>> free;
    // Joins go first: they only pass on what they gather.
    const auto add = [&](std::int32_t a) {
      free.emplace(index(a) < sends_.size() ? sends_[index(a)].start.ps : -1, a);
    };
    for (std::size_t a = 0; a < activities; ++a) {
      if (missing[a] == 0) add(static_cast<std::int32_t>(a));
    }
    std::vector<std::int32_t> order;
    order.reserve(activities);
    while (!free.empty()) {
      const std::int32_t a = free.top().second;
      free.pop();
      order.push_back(a);
      for (std::size_t k = first[index(a)]; k < first[index(a) + 1]; ++k) {
        if (--missing[index(heads[k])] == 0) add(heads[k]);
      }
    }
    return order;
  };
  std::vector<Arc> all = data;
  all.insert(all.end(), resources.begin(), resources.end());
  order_ = sorted(all);
  whole_order_ = order_.size() == activities;
  if (!whole_order_) order_ = sorted(data);
}

void Executor::stretch(const NoiseDraw& draw) {
  duration_.resize(sends_.size());
  earliest_.assign(precedence_.earliest.begin(), precedence_.earliest.end());
  start_.assign(index(precedence_.activities), kNoLowerBound);
  for (std::size_t i = 0; i < sends_.size(); ++i) {
    std::int64_t slowest = kNoStretch;
    if (!draw.link.empty()) {
      for (const LinkId link : sends_[i].links) slowest = std::max(slowest, draw.link[link]);
    }
    duration_[i] = stretched(shapes_.duration(i), slowest);
    if (!draw.send.empty()) duration_[i] = stretched(duration_[i], draw.send[i]);
    if (draw.late.empty()) continue;
    const SendShapes::Range sources = shapes_.sources(i);
    for (std::int32_t event = sources.first; event < sources.last; ++event) {
      const std::int64_t late = draw.late[shapes_.node(event)].ps - shapes_.offset(event);
      earliest_[i] = std::max(earliest_[i], late);
    }
  }
}

/// When everything that it waits for has happened.
std::int64_t Executor::ready(std::size_t activity) const {
  std::int64_t time = activity < sends_.size() ? earliest_[activity] : kNoLowerBound;
  for (std::size_t k = first_wait_[activity]; k < first_wait_[activity + 1]; ++k) {
    const Wait& wait = waits_[k];
    const std::size_t from = index(wait.from);
    const std::int64_t longer = wait.after_last_byte ? duration_[from] - shapes_.duration(from) : 0;
    time = std::max(time, start_[from] + wait.lag + longer);
  }
  return time;
}

void Executor::run_strictly() {
  struct Resource {
    std::int64_t last_begin = kNoLowerBound;
    std::vector<Taken> taken;  // those that may go on after last_begin
  };
  std::vector<Resource> resources(uses_.resources());
  for (const std::int32_t activity : order_) {
    const std::size_t i = index(activity);
    std::int64_t start = ready(i);
    if (i >= sends_.size()) {
      start_[i] = start;
      continue;
    }
    // Nothing begins after what has begun, so what is free now stays free: one round suffices.
    for (std::size_t k = uses_.first(i); k < uses_.first(i + 1); ++k) {
      const CapacityUse& use = uses_.all()[k];
      Resource& resource = resources[index(use.resource)];
      start = std::max(start, resource.last_begin - use.begin);
      std::int64_t free = uses_.capacity(index(use.resource)) - use.amount;
      for (const Taken& taken : resource.taken) free -= taken.amount;
      // In order of their ends, until enough is free.
      for (std::size_t next = 0; free < 0 && next < resource.taken.size(); ++next) {
        start = std::max(start, resource.taken[next].end - use.begin);
        free += resource.taken[next].amount;
      }
    }
    start_[i] = start;
    for (std::size_t k = uses_.first(i); k < uses_.first(i + 1); ++k) {
      const CapacityUse& use = uses_.all()[k];
      Resource& resource = resources[index(use.resource)];
      const std::int64_t begin = start + use.begin;
      resource.last_begin = begin;
      std::erase_if(resource.taken, [&](const Taken& taken) { return taken.end <= begin; });
      const Taken mine{begin, begin + duration_[i], use.amount};
      const auto place =
          std::upper_bound(resource.taken.begin(), resource.taken.end(), mine.end,
                           [](std::int64_t end, const Taken& taken) { return end < taken.end; });
      resource.taken.insert(place, mine);
    }
  }
}

void Executor::run_by_priority() {
  const std::size_t count = sends_.size();
  const std::size_t activities = index(precedence_.activities);
  std::vector<std::int32_t> rank(count);  // place in the plan's order of starts
  std::vector<std::int32_t> by_start(count);
  std::iota(by_start.begin(), by_start.end(), 0);
  std::stable_sort(by_start.begin(), by_start.end(), [&](std::int32_t a, std::int32_t b) {
    return sends_[index(a)].start < sends_[index(b)].start;
  });
  for (std::size_t k = 0; k < count; ++k) rank[index(by_start[k])] = static_cast<std::int32_t>(k);

  // Who waits for whose data, and for how many.
  std::vector<std::int32_t> missing(activities, 0);
  std::vector<std::size_t> first(activities + 1, 0);
  for (const Wait& wait : waits_) ++first[index(wait.from) + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<std::int32_t> heads(waits_.size());
  std::vector<std::size_t> next(first.begin(), first.end() - 1);
  for (std::size_t to = 0; to < activities; ++to) {
    missing[to] = static_cast<std::int32_t>(first_wait_[to + 1] - first_wait_[to]);
    for (std::size_t k = first_wait_[to]; k < first_wait_[to + 1]; ++k) {
      heads[next[index(waits_[k].from)]++] = static_cast<std::int32_t>(to);
    }
  }

  using Waiter = std::pair<std::int32_t, std::int32_t>;  // rank, send
  struct Resource {
    std::vector<Taken> taken;
    std::priority_queue<Waiter, std::vector<Waiter>, std::greater<>> waiters;
    std::int64_t wake = std::numeric_limits<std::int64_t>::max();
  };
  std::vector<Resource> resources(uses_.resources());
  struct Event {
    std::int64_t time;
    std::int32_t rank;    // of the send that is concerned
    std::int32_t number;  // a send whose data is there, or -1 - a resource that may be free
    bool operator>(const Event& other) const {
      return std::tie(time, rank, number) > std::tie(other.time, other.rank, other.number);
    }
  };
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;

  // When the use would fit, not before `now`.
  const auto earliest_on = [&](const CapacityUse& use, std::int64_t now) {
    Resource& resource = resources[index(use.resource)];
    std::erase_if(resource.taken, [&](const Taken& taken) { return taken.end <= now; });
    const std::int64_t begin = now + use.begin;
    const std::int64_t end = begin + duration_[index(use.send)];
    std::int64_t free = uses_.capacity(index(use.resource)) - use.amount;
    std::int64_t soonest = std::numeric_limits<std::int64_t>::max();
    for (const Taken& taken : resource.taken) {
      if (taken.end <= begin || taken.begin >= end) continue;
      free -= taken.amount;
      soonest = std::min(soonest, taken.end);
    }
    return free >= 0 ? now : soonest - use.begin;
  };
  const auto wait_at = [&](std::size_t number, const CapacityUse& use, std::int64_t when) {
    Resource& resource = resources[index(use.resource)];
    resource.waiters.emplace(rank[number], static_cast<std::int32_t>(number));
    if (when >= resource.wake) return;
    resource.wake = when;
    events.push({when, resource.waiters.top().first, -1 - use.resource});
  };
  // What has everything it waits for; joins pass on at once.
  std::vector<std::int32_t> complete;
  const auto release_followers = [&](std::size_t activity) {
    complete.push_back(static_cast<std::int32_t>(activity));
    while (!complete.empty()) {
      const std::size_t done = index(complete.back());
      complete.pop_back();
      for (std::size_t k = first[done]; k < first[done + 1]; ++k) {
        const std::size_t to = index(heads[k]);
        if (--missing[to] > 0) continue;
        const std::int64_t when = ready(to);
        if (to < count) {
          events.push({when, rank[to], heads[k]});
        } else {
          start_[to] = when;
          complete.push_back(heads[k]);
        }
      }
    }
  };
  const auto try_start = [&](std::size_t number, std::int64_t now) {
    for (std::size_t k = uses_.first(number); k < uses_.first(number + 1); ++k) {
      const std::int64_t when = earliest_on(uses_.all()[k], now);
      if (when > now) return wait_at(number, uses_.all()[k], when);
    }
    start_[number] = now;
    for (std::size_t k = uses_.first(number); k < uses_.first(number + 1); ++k) {
      const CapacityUse& use = uses_.all()[k];
      const std::int64_t begin = now + use.begin;
      resources[index(use.resource)].taken.push_back(
          {begin, begin + duration_[number], use.amount});
    }
    release_followers(number);
  };

  for (std::size_t a = 0; a < activities; ++a) {
    if (first_wait_[a] != first_wait_[a + 1]) continue;
    if (a < count) {
      events.push({earliest_[a], rank[a], static_cast<std::int32_t>(a)});
    } else {
      start_[a] = kNoLowerBound;
      release_followers(a);
    }
  }
  while (!events.empty()) {
    const Event event = events.top();
    events.pop();
    if (event.number >= 0) {
      try_start(index(event.number), event.time);
      continue;
    }
    Resource& resource = resources[index(-1 - event.number)];
    if (resource.wake != event.time) continue;  // an earlier one came in between
    resource.wake = std::numeric_limits<std::int64_t>::max();
    while (!resource.waiters.empty()) {
      const std::size_t number = index(resource.waiters.top().second);
      std::int64_t when = event.time;
      for (std::size_t k = uses_.first(number); k < uses_.first(number + 1); ++k) {
        const CapacityUse& use = uses_.all()[k];
        if (use.resource == -1 - event.number) when = std::max(when, earliest_on(use, event.time));
      }
      if (when > event.time) {
        if (when < resource.wake) {
          resource.wake = when;
          events.push({when, resource.waiters.top().first, event.number});
        }
        break;
      }
      resource.waiters.pop();
      try_start(number, event.time);
    }
  }
}

Executor::Run Executor::run(Discipline discipline, const NoiseDraw& draw) {
  stretch(draw);
  if (discipline == Discipline::strict) {
    run_strictly();
  } else {
    run_by_priority();
  }
  Run result;
  result.job_finish.resize(problem_.jobs.size());
  std::vector<std::pair<std::int64_t, std::size_t>> arrivals;  // time, send
  for (const Completion& completion : precedence_.completions) {
    const Chunk& chunk = problem_.chunks[completion.chunk];
    Time& finish = result.job_finish[chunk.job.index()];
    finish = std::max(finish, chunk.ready);
    arrivals.clear();
    for (std::int32_t k = completion.first; k < completion.last; ++k) {
      const Arrival& arrival = precedence_.arrivals[index(k)];
      const std::size_t send = index(arrival.send);
      const std::int64_t longer = duration_[send] - shapes_.duration(send);
      arrivals.emplace_back(start_[send] + shapes_.offset(arrival.event) + longer, send);
    }
    if (completion.covering == completion.last) {
      for (const auto& [time, send] : arrivals) finish = std::max(finish, Time{time});
      continue;
    }
    // More arrivals than are needed: whatever covers the bytes first counts.
    std::sort(arrivals.begin(), arrivals.end());
    ByteCoverage coverage(chunk.bytes);
    std::int64_t done = 0;
    for (const auto& [time, send] : arrivals) {
      coverage.add(sends_[send].offset, sends_[send].bytes);
      done = time;
      if (coverage.complete()) break;
    }
    finish = std::max(finish, Time{done});
  }
  for (const Time finish : result.job_finish) result.finish = std::max(result.finish, finish);
  return result;
}

}  // namespace stellwerk
