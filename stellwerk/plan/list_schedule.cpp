// Parallel list scheduling with shared rates.
//
// Problem. Trees or paths are chosen; when does each send start? Serial scheduling into gaps
// (serial_schedule.cpp) gives every send its full rate. Where links of different speeds meet in one
// path that wastes the faster ones: behind a halved link a send holds half of a fast link for twice
// the time, and what follows at full rate has to wait for all of it.
//
// Idea. Go along the clock. At every instant at which something changes, look at the sends whose
// data are there, most urgent first; one starts if all links of its path have at least half of the
// rate that the path allows, at the rate that they have. So the other half of a fast link is filled.
// Sends with one path differ only in urgency: they wait in one queue per path, and only paths that
// use something that has just been freed are looked at.
//
// A link that a send enters some time after its start is booked as if all sends entered it with
// the least such delay; one with more books it longer by the difference.
//
// Forward-backward passes (Li and Willis, EJOR 56, 1992): in reversed time a send's finish in the
// forward schedule is its urgency, and the other way round.
//
// Guarantee. Data, links, caps and groups are respected; all sends are scheduled if the waits have
// no cycle. No bound on the finish, but never idle where a send could start (Graham). Cost:
// O(sends x paths through a link) at worst, no logarithm of the number of sends but in the heaps.
// Tests: list_schedule_test.cpp.
#include "stellwerk/plan/list_schedule.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "stellwerk/core/links_hash.hpp"

namespace stellwerk {

std::vector<Wait> find_waits(const Problem& problem, const Schedule& sends) {
  struct Bringer {
    std::int32_t send;
    Time latency;
    Time start;
  };
  const auto key = [](ChunkId chunk, NodeId node) {
    return static_cast<std::uint64_t>(chunk.value) << 32 | static_cast<std::uint32_t>(node.value);
  };
  std::unordered_map<std::uint64_t, Bringer> copies;
  std::unordered_map<std::uint64_t, std::vector<Bringer>> parts;
  copies.reserve(sends.size());
  const auto leaves = [&](const Send& send, const auto& visit) {
    if (send.links.size() == 1) {
      const Link& link = problem.topology.link(send.links.front());
      visit(link.to, link.latency);
      return;
    }
    const SendTiming times = timing(problem.topology, send);
    for (std::size_t i = 0; i < times.leaves.size(); ++i)
      visit(times.leaves[i], times.arrival[i] - times.duration);
  };
  for (std::size_t i = 0; i < sends.size(); ++i) {
    const Send& send = sends[i];
    leaves(send, [&](NodeId leaf, Time latency) {
      const Bringer bringer{static_cast<std::int32_t>(i), latency, send.start};
      if (send.op != Op::copy) {
        parts[key(send.chunk, leaf)].push_back(bringer);
        return;
      }
      const auto [known, fresh] = copies.emplace(key(send.chunk, leaf), bringer);
      if (!fresh && send.start < known->second.start) known->second = bringer;
    });
  }
  std::vector<Wait> waits;
  waits.reserve(sends.size());
  std::vector<NodeId> sources;
  for (std::size_t i = 0; i < sends.size(); ++i) {
    const Send& send = sends[i];
    const Chunk& chunk = problem.chunks[send.chunk];
    sources.assign(1, problem.topology.link(send.links.front()).from);
    if (send.op != Op::copy && send.links.size() > 1)
      sources = timing(problem.topology, send).sources;
    for (const NodeId source : sources) {
      if (std::find(chunk.origins.begin(), chunk.origins.end(), source) != chunk.origins.end())
        continue;
      if (send.op == Op::copy) {
        const auto brought = copies.find(key(send.chunk, source));
        if (brought != copies.end()) {
          waits.push_back(
              {brought->second.send, static_cast<std::int32_t>(i), brought->second.latency});
          continue;
        }
      }
      const auto merged = parts.find(key(send.chunk, source));
      if (merged == parts.end()) continue;
      for (const Bringer& part : merged->second)
        waits.push_back({part.send, static_cast<std::int32_t>(i), part.latency});
    }
  }
  return waits;
}

ListSchedule::ListSchedule(const Topology& topology, const Schedule& sends,
                           const std::vector<Wait>& waits, std::vector<Time> ready)
    : ready_(std::move(ready)) {
  // Resources: links, injections, ejections, groups.
  const std::size_t nodes = topology.nodes().size();
  constexpr std::int64_t kPlenty = std::int64_t{1} << 62;
  for (const Link& link : topology.links()) capacity_.push_back(link.bandwidth.bytes_per_second);
  for (const Node& node : topology.nodes())
    capacity_.push_back(node.injection ? node.injection->bytes_per_second : kPlenty);
  for (const Node& node : topology.nodes())
    capacity_.push_back(node.ejection ? node.ejection->bytes_per_second : kPlenty);
  for (const Node& node : topology.nodes()) capacity_.push_back(node.max_groups.value_or(-1));

  std::unordered_map<std::vector<LinkId>, std::int32_t, LinksHash> known;
  path_of_.reserve(sends.size());
  bytes_.reserve(sends.size());
  full_.reserve(sends.size());
  for (const Send& send : sends) {
    const auto [path, fresh] = known.emplace(send.links, static_cast<std::int32_t>(paths_.size()));
    if (fresh) add_path(topology, send);
    path_of_.push_back(path->second);
    bytes_.push_back(send.bytes);
    const Bandwidth rate = paths_[static_cast<std::size_t>(path->second)].rate;
    const bool same = full_.size() > 0 && bytes_[full_.size() - 1] == send.bytes &&
                      paths_[static_cast<std::size_t>(path_of_[full_.size() - 1])].rate == rate;
    full_.push_back(same ? full_.back() : transmission_time(send.bytes, rate));
  }
  // Delays count from the least one of any path.
  for (const std::size_t way : {std::size_t{0}, std::size_t{1}}) {
    std::vector<Time> least(capacity_.size(), Time::max());
    for (const Need& need : needs_) {
      Time& time = least[static_cast<std::size_t>(need.resource)];
      time = std::min(time, need.delay[way]);
    }
    for (Need& need : needs_) need.delay[way] -= least[static_cast<std::size_t>(need.resource)];
  }
  first_user_.assign(capacity_.size() + 1, 0);
  for (const Need& need : needs_) ++first_user_[static_cast<std::size_t>(need.resource) + 1];
  std::partial_sum(first_user_.begin(), first_user_.end(), first_user_.begin());
  users_.resize(needs_.size());
  std::vector<std::uint32_t> next(first_user_.begin(), first_user_.end() - 1);
  for (std::size_t p = 0; p < paths_.size(); ++p) {
    for (std::uint32_t n = 0; n < paths_[p].needs; ++n) {
      const auto r = static_cast<std::size_t>(needs_[paths_[p].first_need + n].resource);
      users_[next[r]++] = static_cast<std::uint32_t>(p);
    }
  }
  static_cast<void>(nodes);
  link_waits(waits);
}

void ListSchedule::add_path(const Topology& topology, const Send& send) {
  const std::size_t links = topology.links().size();
  const std::size_t nodes = topology.nodes().size();
  const SendTiming times = timing(topology, send);
  Path path;
  path.first_need = static_cast<std::uint32_t>(needs_.size());
  path.rate = topology.link(send.links.front()).bandwidth;
  path.latency = *std::max_element(times.arrival.begin(), times.arrival.end()) - times.duration;
  const auto need = [&](std::size_t resource, bool whole, Time offset) {
    needs_.push_back({static_cast<std::int32_t>(resource), whole, {path.latency - offset, offset}});
    if (!whole) path.rate = std::min(path.rate, Bandwidth{capacity_[resource]});
  };
  std::map<NodeId, std::pair<int, Time>>
      branches;  // links out of a switch, and when they are entered
  for (std::size_t i = 0; i < send.links.size(); ++i) {
    const LinkId id = send.links[i];
    const Link& link = topology.link(id);
    need(id.index(), false, times.entry[i]);
    if (topology.stores(link.from)) {
      if (topology.node(link.from).injection)
        need(links + link.from.index(), false, times.entry[i]);
    } else if (topology.node(link.from).max_groups) {
      auto& branch = branches[link.from];
      ++branch.first;
      branch.second = times.entry[i];
    }
    if (topology.stores(link.to) && topology.node(link.to).ejection)
      need(links + nodes + link.to.index(), false, times.entry[i] + link.latency);
  }
  for (const auto& [node, branch] : branches) {
    if (branch.first > 1) need(links + 2 * nodes + node.index(), true, branch.second);
  }
  path.needs = static_cast<std::uint32_t>(needs_.size()) - path.first_need;
  paths_.push_back(path);
}

void ListSchedule::link_waits(const std::vector<Wait>& waits) {
  first_after_.assign(size() + 1, 0);
  first_before_.assign(size() + 1, 0);
  for (const Wait& wait : waits) {
    ++first_after_[static_cast<std::size_t>(wait.before) + 1];
    ++first_before_[static_cast<std::size_t>(wait.after) + 1];
  }
  std::partial_sum(first_after_.begin(), first_after_.end(), first_after_.begin());
  std::partial_sum(first_before_.begin(), first_before_.end(), first_before_.begin());
  after_.resize(waits.size());
  before_.resize(waits.size());
  std::vector<std::uint32_t> next_after(first_after_.begin(), first_after_.end() - 1);
  std::vector<std::uint32_t> next_before(first_before_.begin(), first_before_.end() - 1);
  for (const Wait& wait : waits) {
    after_[next_after[static_cast<std::size_t>(wait.before)]++] = wait;
    before_[next_before[static_cast<std::size_t>(wait.after)]++] = wait;
  }
}

Time ListSchedule::duration(std::size_t send, Bandwidth rate) const {
  const Path& path = paths_[static_cast<std::size_t>(path_of_[send])];
  return path.latency + (rate == path.rate ? full_[send] : transmission_time(bytes_[send], rate));
}

std::vector<Time> ListSchedule::tails() const {
  // Backwards over the waits, a send when all that wait for it are done.
  std::vector<std::uint32_t> left(size());
  std::vector<std::size_t> done;
  std::vector<Time> tail(size(), Time{0});
  for (std::size_t i = 0; i < size(); ++i) {
    left[i] = first_after_[i + 1] - first_after_[i];
    if (left[i] == 0) done.push_back(i);
  }
  for (std::size_t d = 0; d < done.size(); ++d) {
    const std::size_t i = done[d];
    Time longest = paths_[static_cast<std::size_t>(path_of_[i])].latency;
    for (std::uint32_t w = first_after_[i]; w < first_after_[i + 1]; ++w) {
      longest =
          std::max(longest, after_[w].latency + tail[static_cast<std::size_t>(after_[w].after)]);
    }
    tail[i] = full_[i] + longest;
    for (std::uint32_t w = first_before_[i]; w < first_before_[i + 1]; ++w) {
      const auto before = static_cast<std::size_t>(before_[w].before);
      if (--left[before] == 0) done.push_back(before);
    }
  }
  return tail;
}

/// One pass along the clock.
class ListSchedule::Pass {
 public:
  Pass(const ListSchedule& list, bool forwards, const std::vector<std::int64_t>& key,
       const StopCondition& stop)
      : list_(list),
        way_(forwards ? 1 : 0),
        key_(key),
        stop_(stop),
        residual_(list.capacity_),
        waiting_(list.paths_.size()),
        candidate_(list.paths_.size(), 0),
        changed_(list.capacity_.size(), 0) {}

  Result run() {
    const std::size_t sends = list_.size();
    result_.starts.assign(sends, Time{0});
    result_.rates.assign(sends, Bandwidth{0});
    result_.finish = Time{0};
    const auto& enter = way_ == 1 ? list_.first_before_ : list_.first_after_;
    left_.resize(sends);
    for (std::size_t i = 0; i < sends; ++i) {
      left_[i] = enter[i + 1] - enter[i];
      if (left_[i] == 0) release(i);
    }
    start_what_can();
    constexpr std::int64_t kPoll = 1024;
    for (std::int64_t instant = 1; !events_.empty(); ++instant) {
      if (instant % kPoll == 0 && stop_.should_stop()) return {};
      now_ = events_.top().time;
      while (!events_.empty() && events_.top().time == now_) {
        const Event event = events_.top();
        events_.pop();
        handle(event);
      }
      start_what_can();
    }
    return std::move(result_);
  }

 private:
  using Entry = std::pair<std::int64_t, std::int32_t>;  // key, send: least on top
  enum class What : std::uint8_t { freed, freed_late, arrived, ready };
  struct Event {
    Time time;
    What what;
    std::int32_t send;
    std::int32_t detail;  // freed_late: which need; arrived: which wait
    bool operator<(const Event& other) const {
      return std::tie(other.time, other.what, other.send, other.detail) <
             std::tie(time, what, send, detail);
    }
  };

  /// All that the send waited for is there.
  void release(std::size_t send) {
    if (way_ == 1 && !list_.ready_.empty() && list_.ready_[send] > now_) {
      events_.push({list_.ready_[send], What::ready, static_cast<std::int32_t>(send), 0});
      return;
    }
    enqueue(send);
  }
  void enqueue(std::size_t send) {
    const auto path = static_cast<std::size_t>(list_.path_of_[send]);
    auto& queue = waiting_[path];
    queue.emplace_back(key_[send], static_cast<std::int32_t>(send));
    std::push_heap(queue.begin(), queue.end(), std::greater<>());
    consider(path);
  }
  void consider(std::size_t path) {
    if (candidate_[path] != 0 || waiting_[path].empty()) return;
    candidate_[path] = 1;
    candidates_.push_back(static_cast<std::int32_t>(path));
  }

  void handle(const Event& event) {
    const auto send = static_cast<std::size_t>(event.send);
    const Path& path = list_.paths_[static_cast<std::size_t>(list_.path_of_[send])];
    switch (event.what) {
      case What::freed:
        for (std::uint32_t n = 0; n < path.needs; ++n) {
          const Need& need = list_.needs_[path.first_need + n];
          if (need.delay[way_] == Time{0}) give_back(need, send);
        }
        return;
      case What::freed_late:
        give_back(list_.needs_[static_cast<std::size_t>(event.detail)], send);
        return;
      case What::arrived: {
        const Wait& wait =
            (way_ == 1 ? list_.after_ : list_.before_)[static_cast<std::size_t>(event.detail)];
        const auto next = static_cast<std::size_t>(way_ == 1 ? wait.after : wait.before);
        if (--left_[next] == 0) release(next);
        return;
      }
      case What::ready:
        enqueue(send);
        return;
    }
  }
  void give_back(const Need& need, std::size_t send) {
    const auto r = static_cast<std::size_t>(need.resource);
    residual_[r] += need.whole ? 1 : result_.rates[send].bytes_per_second;
    if (changed_[r] != 0) return;
    changed_[r] = 1;
    freed_.push_back(need.resource);
  }

  /// The rate at which the path can be used now; 0: not.
  std::int64_t possible_rate(const Path& path) const {
    std::int64_t rate = path.rate.bytes_per_second;
    for (std::uint32_t n = 0; n < path.needs; ++n) {
      const Need& need = list_.needs_[path.first_need + n];
      const std::int64_t room = residual_[static_cast<std::size_t>(need.resource)];
      if (!need.whole) {
        rate = std::min(rate, room);
      } else if (room == 0) {
        return 0;
      }
    }
    return rate >= (path.rate.bytes_per_second + 1) / 2 ? rate : 0;
  }

  void start_what_can() {
    for (const std::int32_t resource : freed_) {
      const auto r = static_cast<std::size_t>(resource);
      changed_[r] = 0;
      for (std::uint32_t u = list_.first_user_[r]; u < list_.first_user_[r + 1]; ++u)
        consider(list_.users_[u]);
    }
    freed_.clear();
    // A heap of the paths that can be used, by their most urgent send.
    heap_.clear();
    for (const std::int32_t p : candidates_) {
      const auto path = static_cast<std::size_t>(p);
      candidate_[path] = 0;
      if (possible_rate(list_.paths_[path]) > 0)
        heap_.emplace_back(waiting_[path].front().first, waiting_[path].front().second);
    }
    candidates_.clear();
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      const auto send = static_cast<std::size_t>(heap_.back().second);
      heap_.pop_back();
      const auto path = static_cast<std::size_t>(list_.path_of_[send]);
      const std::int64_t rate = possible_rate(list_.paths_[path]);
      if (rate == 0) continue;
      auto& queue = waiting_[path];
      std::pop_heap(queue.begin(), queue.end(), std::greater<>());
      queue.pop_back();
      start(send, Bandwidth{rate});
      if (!queue.empty()) {
        heap_.push_back(queue.front());
        std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
      }
    }
  }

  void start(std::size_t send, Bandwidth rate) {
    const Path& path = list_.paths_[static_cast<std::size_t>(list_.path_of_[send])];
    const Time whole = list_.duration(send, rate);
    const Time busy = whole - path.latency;
    const auto number = static_cast<std::int32_t>(send);
    result_.starts[send] = now_;
    result_.rates[send] = rate;
    result_.finish = std::max(result_.finish, now_ + whole);
    for (std::uint32_t n = 0; n < path.needs; ++n) {
      const std::size_t at = path.first_need + n;
      const Need& need = list_.needs_[at];
      residual_[static_cast<std::size_t>(need.resource)] -= need.whole ? 1 : rate.bytes_per_second;
      if (need.delay[way_] > Time{0}) {
        events_.push({now_ + busy + need.delay[way_], What::freed_late, number,
                      static_cast<std::int32_t>(at)});
      }
    }
    events_.push({now_ + busy, What::freed, number, 0});
    if (way_ == 1) {
      for (std::uint32_t w = list_.first_after_[send]; w < list_.first_after_[send + 1]; ++w) {
        events_.push({now_ + busy + list_.after_[w].latency, What::arrived, number,
                      static_cast<std::int32_t>(w)});
      }
    } else {
      // Reversed, what this send waited for may leave (arrive) when this one has come back to its
      // start; its other leaves may be farther.
      for (std::uint32_t w = list_.first_before_[send]; w < list_.first_before_[send + 1]; ++w) {
        const Wait& wait = list_.before_[w];
        const Path& other = list_.paths_[static_cast<std::size_t>(
            list_.path_of_[static_cast<std::size_t>(wait.before)])];
        const Time spare = other.latency - wait.latency;
        events_.push({std::max(now_, now_ + whole - spare), What::arrived, number,
                      static_cast<std::int32_t>(w)});
      }
    }
  }

  const ListSchedule& list_;
  std::size_t way_;
  const std::vector<std::int64_t>& key_;
  const StopCondition& stop_;
  std::vector<std::int64_t> residual_;
  std::vector<std::vector<Entry>> waiting_;  // by path: a heap
  std::vector<char> candidate_;
  std::vector<std::int32_t> candidates_;
  std::vector<char> changed_;
  std::vector<std::int32_t> freed_;
  std::vector<Entry> heap_;
  std::vector<std::uint32_t> left_;
  std::priority_queue<Event> events_;
  Time now_;
  Result result_;
};

ListSchedule::Result ListSchedule::run(bool forwards, const std::vector<std::int64_t>& key,
                                       const StopCondition& stop) const {
  return Pass(*this, forwards, key, stop).run();
}

ListSchedule::Result ListSchedule::improve(Result first, int rounds, Time target,
                                           const StopCondition& stop) const {
  Result best = std::move(first);
  if (best.finish == Time::max()) return best;
  Result last = best;
  std::vector<std::int64_t> key(size());
  for (int round = 0; round < rounds && best.finish > target && !stop.should_stop(); ++round) {
    for (std::size_t i = 0; i < size(); ++i)
      key[i] = -(last.starts[i] + duration(i, last.rates[i])).ps;
    const Result back = backwards(key, stop);
    if (back.finish == Time::max()) break;
    for (std::size_t i = 0; i < size(); ++i)
      key[i] = -(back.starts[i] + duration(i, back.rates[i])).ps;
    Result next = forwards(key, stop);
    if (next.finish == Time::max()) break;
    const bool settled = next.starts == last.starts;
    last = std::move(next);
    if (last.finish < best.finish) best = last;
    if (settled) break;
  }
  return best;
}

Schedule with_times(Schedule sends, const ListSchedule::Result& result) {
  for (std::size_t i = 0; i < sends.size(); ++i) {
    sends[i].start = result.starts[i];
    sends[i].rate = result.rates[i];
  }
  return sends;
}

}  // namespace stellwerk
