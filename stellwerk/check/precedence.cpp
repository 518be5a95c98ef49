// Dependencies of a schedule.
//
// Problem. A schedule says when sends start. To re-time it one must know what must not change:
// which arrivals a send waits for, and, for partial sums, which merges must stay before or after
// which departures.
//
// Copies. The sends of a chunk are gone through in order of (start, number); a send whose sender
// does not hold the chunk yet is set aside until an earlier-numbered or later delivery makes the
// node whole, so that nominal starts (several dependent sends in one epoch, latencies dropped) do
// no harm as long as some order is causal. A send waits for the arrivals that first covered all
// bytes at its sender: one arrival, or for pieces all that brought new bytes.
//
// Reductions. A node's partial sum has a life in *spells*: arrivals merge into it, shares and
// finished copies leave it as it is, a reduce send takes it away and begins the next spell.
// Replaying the events of a chunk in time order gives:
//   - a reduce or share send waits for every arrival of its spell; a copy for what made it full;
//   - an arrival stays after each earlier share of its spell and after the reduce send that began
//     the spell, strictly: at equal instants an arrival counts before a departure;
//   - a reduce send stays after the shares and copies of its spell, and after copies that came in
//     vain; an arriving finished copy strictly after the partial sums that merged before it (they
//     would otherwise be merged twice).
// Arrivals of one spell commute, as do departures that keep the sum. So any starts that satisfy
// these dependencies replay to the same sums at the same departures. Pieces of a reduce send are
// one departure (the first start) and one arrival (the last); with the piece that is first (last)
// in the input standing for the group the conditions are sufficient, and true of the input.
//
// Nominal starts of reductions are ambiguous (did the epoch plan mean this arrival to be merged
// before that send?), so readings are tried in turn, chunk by chunk: exact times; latencies
// dropped; deliveries at the end of the sender's instant; one send after the other; every node's
// sends after all partial sums that ever come to it. The first one in which every send has
// something to send, no contributor counts twice and all destinations end with the full sum is
// taken (failing that, the first without the last condition).
//
// Complexity: O(N log N) for N sends, plus contributors/64 words for each partial sum sent. Joins
// keep the number of dependencies linear in the number of events. Test: simulate_test.cpp
// (rules by hand; valid after re-timing).
#include "stellwerk/check/precedence.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/byte_coverage.hpp"

namespace stellwerk {
namespace {

/// How nominal starts are read (reductions).
enum class Reading : std::uint8_t { exact, without_latency, by_instant, by_order, by_flow };
constexpr Reading kReadings[] = {Reading::exact, Reading::without_latency, Reading::by_instant,
                                 Reading::by_order, Reading::by_flow};

struct TimedArrival {
  Arrival arrival;
  std::int64_t time = 0;  // nominal, by the input's starts
};

/// Events that others wait for together; see Dependency on joins.
struct EventSet {
  std::vector<Arrival> items;
  std::int32_t join = -1;
  std::size_t joined = 0;

  void clear() {
    items.clear();
    join = -1;
    joined = 0;
  }
  void add(Arrival arrival) { items.push_back(arrival); }
  bool empty() const { return items.empty(); }
};

/// What one node knows of the chunk at hand.
struct NodeState {
  bool origin = false;        // holds it (its addend) from `ready`
  bool whole = false;         // copies: all bytes are here; reductions: the full sum is
  std::int64_t received = 0;  // bytes, repeated ones included, since the spell began
  std::int64_t covered_at = 0;
  EventSet covering;                     // copies that first covered all bytes
  std::vector<TimedArrival> deliveries;  // copies: all of them, in the order in which they were met
  std::vector<std::int32_t> waiting;     // sends set aside until the node is whole
  // Reductions only.
  bool full_by_copy = false;
  EventSet merged;                 // partial sums that arrived in this spell
  EventSet shares;                 // share departures of this spell
  std::optional<Arrival> emptied;  // the departure that began the spell
  EventSet kept;                   // departures of this spell that left the sum: shares and copies
  EventSet late;                   // copies that came in vain in this spell
  std::int32_t sum = -1;           // row in the table of sums

  void reset() {
    origin = whole = full_by_copy = false;
    received = covered_at = 0;
    covering.clear();
    deliveries.clear();
    waiting.clear();
    merged.clear();
    shares.clear();
    emptied.reset();
    kept.clear();
    late.clear();
    sum = -1;
  }
};

class PrecedenceFinder {
 public:
  PrecedenceFinder(const Problem& problem, const Schedule& sends, const SendShapes& shapes)
      : problem_(problem),
        sends_(sends),
        shapes_(shapes),
        states_(problem.topology.nodes().size()) {
    result_.activities = static_cast<std::int32_t>(sends.size());
    result_.earliest.assign(sends.size(), 0);
    result_.dependencies.reserve(sends.size() + sends.size() / 4);
  }

  Precedence find() {
    const std::vector<std::int32_t> order = by_chunk_and_start();
    std::size_t begin = 0;
    for (const ChunkId id : problem_.chunk_ids()) {
      std::size_t end = begin;
      while (end < order.size() && sends_[index(order[end])].chunk == id) ++end;
      const std::span<const std::int32_t> own(order.data() + begin, end - begin);
      if (problem_.chunks[id].is_reduction()) {
        reduction_chunk(id, own);
      } else {
        copy_chunk(id, own);
      }
      begin = end;
    }
    return std::move(result_);
  }

 private:
  static std::size_t index(std::int32_t number) { return static_cast<std::size_t>(number); }
  std::int64_t start(std::int32_t send) const { return sends_[index(send)].start.ps; }

  /// Send numbers, by (chunk, start, number).
  std::vector<std::int32_t> by_chunk_and_start() const {
    std::vector<std::int32_t> first(problem_.chunks.size() + 1, 0);
    for (const Send& send : sends_) ++first[send.chunk.index() + 1];
    std::partial_sum(first.begin(), first.end(), first.begin());
    std::vector<std::int32_t> order(sends_.size());
    std::vector<std::int32_t> next(first.begin(), first.end() - 1);
    for (std::size_t i = 0; i < sends_.size(); ++i) {
      order[index(next[sends_[i].chunk.index()]++)] = static_cast<std::int32_t>(i);
    }
    for (std::size_t c = 0; c + 1 < first.size(); ++c) {
      const auto begin = order.begin() + first[c];
      const auto end = order.begin() + first[c + 1];
      const auto less = [&](std::int32_t a, std::int32_t b) {
        return std::pair(start(a), a) < std::pair(start(b), b);
      };
      if (!std::is_sorted(begin, end, less)) std::sort(begin, end, less);
    }
    return order;
  }

  NodeState& touch(NodeId node) {
    touched_.push_back(node);
    return states_[node];
  }
  void reset_states() {
    for (const NodeId node : touched_) states_[node].reset();
    touched_.clear();
  }

  void depend(std::int32_t from, std::int32_t from_event, std::int32_t to, std::int32_t to_event,
              std::int32_t slack, bool data) {
    result_.dependencies.push_back({from, to, from_event, to_event, slack, data});
  }

  /// `to` waits for every event of the set.
  void wait_for(EventSet& set, std::int32_t to, std::int32_t to_event, std::int32_t slack,
                bool data) {
    constexpr std::size_t kDirect = 2;
    if (set.items.size() <= kDirect) {
      for (const Arrival& item : set.items)
        depend(item.send, item.event, to, to_event, slack, data);
      return;
    }
    if (set.joined < set.items.size()) {
      const std::int32_t join = result_.activities++;
      if (set.join >= 0) depend(set.join, -1, join, -1, 0, data);
      for (std::size_t i = set.joined; i < set.items.size(); ++i) {
        depend(set.items[i].send, set.items[i].event, join, -1, 0, data);
      }
      set.join = join;
      set.joined = set.items.size();
    }
    depend(set.join, -1, to, to_event, slack, data);
  }

  [[noreturn]] void not_causal(std::int32_t send, NodeId node, const char* what) const {
    throw Error(ErrorCode::verification_failed,
                "send " + std::to_string(send) + " of chunk " +
                    std::to_string(sends_[index(send)].chunk.value) + ": node '" +
                    problem_.topology.node(node).name + "' " + what +
                    " in any reading of the order of sends");
  }

  // --- copies ------------------------------------------------------------------------------------

  void copy_chunk(ChunkId id, std::span<const std::int32_t> own) {
    const Chunk& chunk = problem_.chunks[id];
    for (const NodeId origin : chunk.origins) touch(origin).origin = true;
    for (const std::int32_t send : own) {
      queue_.push_back(send);
      while (!queue_.empty()) {
        const std::int32_t next = queue_.back();
        queue_.pop_back();
        copy_send(chunk, next);
      }
    }
    for (const NodeId node : touched_) {
      if (!states_[node].waiting.empty()) {
        not_causal(states_[node].waiting.front(), node, "never holds the chunk");
      }
    }
    for (const NodeId node : chunk.destinations) {
      complete_copy(id, node, touch(node));
    }
    reset_states();
  }

  void copy_send(const Chunk& chunk, std::int32_t send) {
    const SendShapes::Range sources = shapes_.sources(index(send));
    for (std::int32_t event = sources.first; event < sources.last; ++event) {
      NodeState& state = touch(shapes_.node(event));
      if (!state.origin && !state.whole) {
        state.waiting.push_back(send);
        return;
      }
    }
    std::int64_t earliest = 0;
    for (std::int32_t event = sources.first; event < sources.last; ++event) {
      NodeState& state = states_[shapes_.node(event)];
      if (state.origin) {
        earliest = std::max(earliest, chunk.ready.ps - shapes_.offset(event));
      } else {
        wait_for(state.covering, send, event, 0, true);
      }
    }
    result_.earliest[index(send)] = earliest;
    const SendShapes::Range leaves = shapes_.leaves(index(send));
    for (std::int32_t event = leaves.first; event < leaves.last; ++event) {
      NodeState& state = touch(shapes_.node(event));
      receive_copy(chunk, state, {{send, event}, start(send) + shapes_.offset(event)});
      if (state.whole && !state.waiting.empty()) {
        queue_.insert(queue_.end(), state.waiting.rbegin(), state.waiting.rend());
        state.waiting.clear();
      }
    }
  }

  /// Adds a delivery of (a piece of) the finished chunk, and keeps `covering` up to date.
  void receive_copy(const Chunk& chunk, NodeState& state, const TimedArrival& delivery) {
    const std::int64_t bytes = sends_[index(delivery.arrival.send)].bytes.value;
    state.deliveries.push_back(delivery);
    state.received += bytes;
    if (state.received > chunk.bytes.value) result_.choices = true;
    if (state.whole && delivery.time >= state.covered_at) return;
    if (bytes >= chunk.bytes.value) {
      state.covering.clear();
      state.covering.add(delivery.arrival);
      state.covered_at = delivery.time;
      state.whole = true;
    } else if (state.received >= chunk.bytes.value) {
      cover(chunk, state);
    }
  }

  /// Finds the arrivals that first cover the chunk, in order of their times.
  void cover(const Chunk& chunk, NodeState& state) {
    std::stable_sort(state.deliveries.begin(), state.deliveries.end(),
                     [](const TimedArrival& a, const TimedArrival& b) { return a.time < b.time; });
    ByteCoverage coverage(chunk.bytes);
    EventSet covering;
    for (const TimedArrival& delivery : state.deliveries) {
      const Send& piece = sends_[index(delivery.arrival.send)];
      if (!coverage.add(piece.offset, piece.bytes)) continue;
      covering.add(delivery.arrival);
      if (coverage.complete()) {
        state.covering = std::move(covering);
        state.covered_at = delivery.time;
        state.whole = true;
        return;
      }
    }
  }

  std::int32_t arrivals() const { return static_cast<std::int32_t>(result_.arrivals.size()); }

  void complete_copy(ChunkId id, NodeId node, const NodeState& state) {
    if (state.origin) {
      result_.completions.push_back({id, node, arrivals(), arrivals(), arrivals()});
    } else if (state.whole) {
      complete_covered(id, node, state);
    }
  }

  /// A destination that got copies: those that covered the chunk first, then the others.
  void complete_covered(ChunkId id, NodeId node, const NodeState& state) {
    Completion completion{id, node, arrivals(), 0, 0};
    for (const Arrival& arrival : state.covering.items) result_.arrivals.push_back(arrival);
    completion.covering = arrivals();
    const auto covers = [&](const Arrival& other) {
      return std::any_of(state.covering.items.begin(), state.covering.items.end(),
                         [&](const Arrival& a) { return a.event == other.event; });
    };
    if (state.deliveries.size() > state.covering.items.size()) {
      for (const TimedArrival& delivery : state.deliveries) {
        if (!covers(delivery.arrival)) result_.arrivals.push_back(delivery.arrival);
      }
    }
    completion.last = arrivals();
    result_.completions.push_back(completion);
  }

  // --- reductions --------------------------------------------------------------------------------

  /// One send, or the pieces of one reduce or share send.
  struct Group {
    std::int32_t first = 0, last = 0;  // range of members_, in order of (start, offset, number)
    Op op = Op::copy;
    std::int64_t bytes = 0;
    std::int32_t sum = -1;       // row of the partial sum under way
    std::int32_t previous = -1;  // the group of pieces on the same links before it
  };

  struct Event {
    std::int64_t time;
    std::int8_t phase;
    std::int32_t rank;  // of the group, by (start, number)
    std::int16_t is_arrival;
    std::int32_t part;  // which source or leaf
    auto key() const { return std::tuple(time, phase, rank, part); }
  };

  void make_groups(const Chunk& chunk, std::span<const std::int32_t> own) {
    groups_.clear();
    members_.clear();
    std::map<std::pair<Op, std::vector<LinkId>>, std::pair<std::size_t, bool>>
        latest;  // group, still open?
    std::vector<std::vector<std::int32_t>> pieces;
    std::vector<std::int32_t> order(own.begin(), own.end());
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
      return std::pair(start(a), sends_[index(a)].offset) <
             std::pair(start(b), sends_[index(b)].offset);
    });
    for (const std::int32_t send : order) {
      const Send& s = sends_[index(send)];
      if (s.op == Op::copy || s.bytes >= chunk.bytes) {
        groups_.push_back({0, 0, s.op, s.bytes.value, -1, -1});
        pieces.push_back({send});
        continue;
      }
      const auto [it, is_new] = latest.try_emplace({s.op, s.links}, groups_.size(), true);
      auto& [number, is_open] = it->second;
      if (is_new || !is_open) {
        const std::int32_t previous = is_new ? -1 : static_cast<std::int32_t>(number);
        number = groups_.size();
        groups_.push_back({0, 0, s.op, 0, -1, previous});
        pieces.emplace_back();
      }
      pieces[number].push_back(send);
      groups_[number].bytes += s.bytes.value;
      is_open = groups_[number].bytes < chunk.bytes.value;
    }
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      result_.choices = result_.choices || pieces[g].size() > 1;
      groups_[g].first = static_cast<std::int32_t>(members_.size());
      members_.insert(members_.end(), pieces[g].begin(), pieces[g].end());
      groups_[g].last = static_cast<std::int32_t>(members_.size());
    }
  }

  /// Reorders groups so that partial sums flow: a reduce or share after all that come to its
  /// sources, copies last, from the nodes that get none outwards. Groups that run in circles keep
  /// their order, at the end.
  void order_groups_by_flow() {
    const std::size_t count = groups_.size();
    std::vector<std::size_t> order;
    std::vector<char> placed(count, 0);
    std::map<NodeId, int> expected;  // partial sums still to come; copies: whether any comes at all
    std::map<NodeId, std::vector<std::size_t>> leaving;
    for (const bool copies : {false, true}) {
      expected.clear();
      leaving.clear();
      const auto each = [&](SendShapes::Range range, const auto& apply) {
        for (std::int32_t event = range.first; event < range.last; ++event)
          apply(shapes_.node(event));
      };
      std::vector<int> waits(count, 0);
      for (std::size_t g = 0; g < count; ++g) {
        if ((groups_[g].op == Op::copy) != copies) continue;
        each(shapes_.leaves(index(first_member(groups_[g]))),
             [&](NodeId node) { ++expected[node]; });
      }
      std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
      for (std::size_t g = 0; g < count; ++g) {
        if ((groups_[g].op == Op::copy) != copies) continue;
        each(shapes_.sources(index(first_member(groups_[g]))), [&](NodeId node) {
          if (expected[node] == 0) return;
          leaving[node].push_back(g);
          ++waits[g];
        });
        if (waits[g] == 0) ready.push(g);
      }
      while (!ready.empty()) {
        const std::size_t g = ready.top();
        ready.pop();
        placed[g] = 1;
        order.push_back(g);
        each(shapes_.leaves(index(first_member(groups_[g]))), [&](NodeId node) {
          int& missing = expected[node];
          if (missing <= 0) return;
          missing = copies ? 0 : missing - 1;
          if (missing > 0) return;
          for (const std::size_t next : leaving[node]) {
            if (--waits[next] == 0) ready.push(next);
          }
        });
      }
      for (std::size_t g = 0; g < count; ++g) {
        if ((groups_[g].op == Op::copy) == copies && placed[g] == 0) order.push_back(g);
      }
    }
    std::vector<Group> groups;
    std::vector<std::int32_t> position(count);
    for (const std::size_t g : order) {
      position[g] = static_cast<std::int32_t>(groups.size());
      groups.push_back(groups_[g]);
    }
    for (Group& group : groups) {
      if (group.previous >= 0) group.previous = position[index(group.previous)];
    }
    groups_ = std::move(groups);
  }

  std::int32_t first_member(const Group& group) const { return members_[index(group.first)]; }

  std::vector<Event> make_events(Reading reading) const {
    std::vector<Event> events;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const Group& group = groups_[g];
      const std::int32_t first = first_member(group);
      const auto rank = static_cast<std::int32_t>(g);
      const bool by_start = reading != Reading::exact && reading != Reading::without_latency;
      const bool by_rank = reading == Reading::by_order || reading == Reading::by_flow;
      const std::int64_t base = by_rank ? rank : start(first);
      const SendShapes::Range sources = shapes_.sources(index(first));
      const auto departure_phase = static_cast<std::int8_t>(group.op == Op::reduce ? 3 : 2);
      for (std::int32_t part = 0; part < sources.size(); ++part) {
        const std::int64_t offset =
            reading == Reading::exact ? shapes_.offset(sources.first + part) : 0;
        events.push_back({base + offset, departure_phase, rank, 0, part});
      }
      const auto arrival_phase =
          static_cast<std::int8_t>((group.op == Op::copy ? 1 : 0) + (by_start ? 4 : 0));
      const SendShapes::Range leaves = shapes_.leaves(index(first));
      for (std::int32_t part = 0; part < leaves.size(); ++part) {
        events.push_back(
            {by_start ? base : arrival_time(group, part, reading), arrival_phase, rank, 1, part});
      }
    }
    std::sort(events.begin(), events.end(),
              [](const Event& a, const Event& b) { return a.key() < b.key(); });
    return events;
  }

  /// When the last byte of a group is at its leaf number `part`.
  std::int64_t arrival_time(const Group& group, std::int32_t part, Reading reading) const {
    std::int64_t latest = std::numeric_limits<std::int64_t>::min();
    for (std::int32_t m = group.first; m < group.last; ++m) {
      latest = std::max(latest, member_arrival(members_[index(m)], part, reading));
    }
    return latest;
  }
  std::int64_t member_arrival(std::int32_t send, std::int32_t part, Reading reading) const {
    const std::int64_t offset = reading == Reading::without_latency
                                    ? shapes_.duration(index(send))
                                    : shapes_.offset(shapes_.leaves(index(send)).first + part);
    return start(send) + offset;
  }

  /// What goes wrong in a reading: the send, and the node at which it does.
  struct Fault {
    std::int32_t send = -1;
    NodeId node;
    const char* what = "";
  };

  void reduction_chunk(ChunkId id, std::span<const std::int32_t> own) {
    const Chunk& chunk = problem_.chunks[id];
    for (const std::int32_t send : own) result_.earliest[index(send)] = chunk.ready.ps;
    make_groups(chunk, own);
    const auto activities = result_.activities;
    const std::size_t dependencies = result_.dependencies.size();
    const std::size_t completions = result_.completions.size();
    const std::size_t arrivals = result_.arrivals.size();
    Fault first_fault;
    std::optional<Reading> incomplete;
    for (const Reading reading : kReadings) {
      if (reading == Reading::by_flow) order_groups_by_flow();
      Fault fault;
      bool complete = false;
      const bool consistent = replay(id, reading, fault, complete);
      if (consistent && complete) return;
      result_.activities = activities;
      result_.dependencies.resize(dependencies);
      result_.completions.resize(completions);
      result_.arrivals.resize(arrivals);
      if (consistent && !incomplete) incomplete = reading;
      if (!consistent && first_fault.send < 0) first_fault = fault;
    }
    if (!incomplete) not_causal(first_fault.send, first_fault.node, first_fault.what);
    if (*incomplete != Reading::by_flow) make_groups(chunk, own);
    Fault fault;
    bool complete = false;
    replay(id, *incomplete, fault, complete);
  }

  // A table of sums: bit sets of contributors.
  std::uint64_t* sum_of(std::int32_t row) { return sums_.data() + index(row) * words_; }
  std::int32_t new_sum() {
    const auto row = static_cast<std::int32_t>(sums_.size() / words_);
    sums_.resize(sums_.size() + words_, 0);
    return row;
  }
  bool sum_empty(std::int32_t row) {
    const std::uint64_t* words = sum_of(row);
    return std::all_of(words, words + words_, [](std::uint64_t word) { return word == 0; });
  }
  bool sum_full(std::int32_t row) { return std::equal(full_.begin(), full_.end(), sum_of(row)); }
  /// Adds `other` to `row`; false if they share a contributor.
  bool merge(std::int32_t row, std::int32_t other) {
    std::uint64_t* to = sum_of(row);
    const std::uint64_t* from = sum_of(other);
    for (std::size_t w = 0; w < words_; ++w) {
      if ((to[w] & from[w]) != 0) return false;
      to[w] |= from[w];
    }
    return true;
  }

  NodeState& touch_sum(NodeId node) {
    NodeState& state = states_[node];
    if (state.sum < 0) {
      touched_.push_back(node);
      state.sum = new_sum();
    }
    return state;
  }

  /// Goes through the events of a chunk and notes dependencies. False, with the fault, if a send
  /// has nothing to send or a contributor is counted twice; `complete` tells whether all
  /// destinations end with the full sum.
  bool replay(ChunkId id, Reading reading, Fault& fault, bool& complete) {
    const Chunk& chunk = problem_.chunks[id];
    words_ = (chunk.contributors.size() + 63) / 64;
    sums_.clear();
    full_.assign(words_, 0);
    for (std::size_t i = 0; i < chunk.contributors.size(); ++i) {
      NodeState& state = touch_sum(chunk.contributors[i]);
      sum_of(state.sum)[i / 64] |= std::uint64_t{1} << (i % 64);
      full_[i / 64] |= std::uint64_t{1} << (i % 64);
    }
    for (const NodeId node : chunk.contributors) states_[node].whole = sum_full(states_[node].sum);
    for (Group& group : groups_) group.sum = -1;
    bool consistent = true;
    for (const Event& event : make_events(reading)) {
      Group& group = groups_[index(event.rank)];
      consistent = event.is_arrival != 0 ? arrive(chunk, group, event, reading, fault)
                                         : depart(group, event, fault);
      if (!consistent) break;
    }
    complete = consistent;
    if (consistent) {
      for (const NodeId node : chunk.destinations) {
        NodeState& state = touch_sum(node);
        complete = complete && state.whole;
        if (state.whole) complete_sum(id, node, state);
      }
    }
    reset_states();
    return consistent;
  }

  bool depart(Group& group, const Event& event, Fault& fault) {
    const std::int32_t first = first_member(group);
    const NodeId node = shapes_.node(shapes_.sources(index(first)).first + event.part);
    NodeState& state = touch_sum(node);
    fault = {first, node, ""};
    if (group.op == Op::copy) {
      if (!state.whole) {
        fault.what = "does not hold the full sum it copies";
        return false;
      }
    } else {
      if (sum_empty(state.sum)) {
        fault.what = "has no partial sum to send";
        return false;
      }
      if (group.sum < 0) group.sum = new_sum();
      if (!merge(group.sum, state.sum)) {
        fault.what = "adds a contributor that another part of the send has";
        return false;
      }
    }
    EventSet pieces_before;  // so that pieces of two sends on the same links do not mix
    std::int32_t apart = 0;
    if (group.previous >= 0 && event.part == 0) {
      const Group& previous = groups_[index(group.previous)];
      apart = start(members_[index(previous.last - 1)]) < start(first) ? 1 : 0;
      for (std::int32_t m = previous.first; m < previous.last; ++m) {
        pieces_before.add({members_[index(m)], shapes_.sources(index(members_[index(m)])).first});
      }
    }
    for (std::int32_t m = group.first; m < group.last; ++m) {
      const std::int32_t send = members_[index(m)];
      const std::int32_t at = shapes_.sources(index(send)).first + event.part;
      wait_for(pieces_before, send, at, apart, false);
      if (group.op == Op::copy && state.full_by_copy) {
        wait_for(state.covering, send, at, 0, true);
      } else {
        wait_for(state.merged, send, at, 0, true);
        if (state.full_by_copy) wait_for(state.covering, send, at, 0, true);
      }
      if (group.op != Op::reduce) continue;
      // What came too late to matter must still not fall into the next spell.
      wait_for(state.late, send, at, 0, false);
      wait_for(state.kept, send, at, 0, false);
    }
    const Arrival here{first, shapes_.sources(index(first)).first + event.part};
    if (group.op == Op::reduce) {
      std::fill_n(sum_of(state.sum), words_, 0);
      if (state.whole) forget_copies(state);
      state.whole = state.full_by_copy = false;
      state.merged.clear();
      state.shares.clear();
      state.kept.clear();
      state.late.clear();
      state.emptied = here;
    } else {
      state.kept.add(here);
      if (group.op == Op::share) state.shares.add(here);
    }
    return true;
  }

  /// Pieces of a copy that came before the sum was full count for nothing afterwards.
  static void forget_copies(NodeState& state) {
    state.received = state.covered_at = 0;
    state.covering.clear();
    state.deliveries.clear();
  }

  bool arrive(const Chunk& chunk, Group& group, const Event& event, Reading reading, Fault& fault) {
    // The member that arrives last in the input stands for the group.
    std::int32_t last = first_member(group);
    for (std::int32_t m = group.first + 1; m < group.last; ++m) {
      const std::int32_t send = members_[index(m)];
      if (member_arrival(send, event.part, reading) >= member_arrival(last, event.part, reading))
        last = send;
    }
    const std::int32_t at = shapes_.leaves(index(last)).first + event.part;
    const NodeId node = shapes_.node(at);
    NodeState& state = touch_sum(node);
    if (!state.shares.empty()) {
      wait_for(state.shares, last, at, 1, false);
    } else if (state.emptied) {
      depend(state.emptied->send, state.emptied->event, last, at, 1, false);
    }
    if (group.op != Op::copy) {
      if (!merge(state.sum, group.sum)) {
        fault = {last, node, "would count a contributor twice"};
        return false;
      }
      for (std::int32_t m = group.first; m < group.last; ++m) {
        const std::int32_t send = members_[index(m)];
        state.merged.add({send, shapes_.leaves(index(send)).first + event.part});
      }
      state.whole = sum_full(state.sum);
      if (state.whole) {
        for (const TimedArrival& piece : state.deliveries) state.late.add(piece.arrival);
        forget_copies(state);
      }
      return true;
    }
    wait_for(state.merged, last, at, 1, false);
    const bool was_whole = state.whole;
    if (was_whole) {
      state.late.add({last, at});
      if (!state.full_by_copy) return true;
    }
    receive_copy(chunk, state, {{last, at}, event.time});
    if (state.whole && !was_whole) {
      state.full_by_copy = true;
      std::copy(full_.begin(), full_.end(), sum_of(state.sum));
    }
    return true;
  }

  void complete_sum(ChunkId id, NodeId node, const NodeState& state) {
    if (state.full_by_copy) {
      complete_covered(id, node, state);
      return;
    }
    Completion completion{id, node, arrivals(), 0,
                          0};  // nothing merged: a sum of one, held from `ready`
    result_.arrivals.insert(result_.arrivals.end(), state.merged.items.begin(),
                            state.merged.items.end());
    completion.covering = completion.last = arrivals();
    result_.completions.push_back(completion);
  }

  const Problem& problem_;
  const Schedule& sends_;
  const SendShapes& shapes_;
  Precedence result_;
  IdVector<NodeId, NodeState> states_;
  std::vector<NodeId> touched_;
  std::vector<std::int32_t> queue_;
  std::vector<Group> groups_;
  std::vector<std::int32_t> members_;
  std::vector<std::uint64_t> sums_, full_;
  std::size_t words_ = 1;
};

}  // namespace

Precedence find_precedence(const Problem& problem, const Schedule& sends,
                           const SendShapes& shapes) {
  return PrecedenceFinder(problem, sends, shapes).find();
}

Time finish_times(const Problem& problem, const Schedule& sends, const SendShapes& shapes,
                  const Precedence& precedence, const std::vector<std::int64_t>& starts,
                  std::vector<Time>& job_finish) {
  const auto arrival_time = [&](const Arrival& arrival) {
    return starts[static_cast<std::size_t>(arrival.send)] + shapes.offset(arrival.event);
  };
  job_finish.assign(problem.jobs.size(), Time{0});
  Time finish{0};
  std::vector<Arrival> sorted;
  for (const Completion& completion : precedence.completions) {
    const std::span<const Arrival> all(precedence.arrivals.data() + completion.first,
                                       precedence.arrivals.data() + completion.last);
    std::int64_t done = problem.chunks[completion.chunk].ready.ps;
    if (completion.covering == completion.last) {
      for (const Arrival& arrival : all) done = std::max(done, arrival_time(arrival));
    } else {
      sorted.assign(all.begin(), all.end());
      std::sort(sorted.begin(), sorted.end(), [&](const Arrival& a, const Arrival& b) {
        return arrival_time(a) < arrival_time(b);
      });
      ByteCoverage coverage(problem.chunks[completion.chunk].bytes);
      for (const Arrival& arrival : sorted) {
        const Send& piece = sends[static_cast<std::size_t>(arrival.send)];
        coverage.add(piece.offset, piece.bytes);
        done = arrival_time(arrival);
        if (coverage.complete()) break;
      }
    }
    Time& of_job = job_finish[problem.chunks[completion.chunk].job.index()];
    of_job = std::max(of_job, Time{done});
    finish = std::max(finish, Time{done});
  }
  return finish;
}

}  // namespace stellwerk
