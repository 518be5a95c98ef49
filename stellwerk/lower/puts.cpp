// Problem: a put overwrites memory of a rank that does not take part, so it must be certain that nobody needs what is there. Idea: places
// of their own. Follow each chunk at each rank in the order of the plan's own times. A finished chunk lands where its
// receiver wants it: there has been nothing, or (in place) the receiver's own addend, which is part of every finished sum
// and so has been read. Addends and data in transit land in scratch, each in a place of its own, and a sum is made in the
// place of its first new addend, which nobody else has read; the last sum where it is wanted. Two cases remain in place, and in both
// the input goes aside before anybody may put: AllToAll, where a chunk arrives in the place of one that may not have
// left, and sums that are shared (exchange algorithms), where a put of the own addend may still be under way when the sum is ready.
// Cost: transfers * log. Held to its word by tests/conformance/programs_test.cpp, whose interpreter looks for races.
#include "stellwerk/lower/puts.hpp"

#include <algorithm>
#include <optional>

#include "stellwerk/graph/union_find.hpp"

namespace stellwerk::lower {
namespace {

constexpr std::int64_t kAtFirst = -1;

class Following {
 public:
  Following(const Problem& problem, const std::vector<Transfer>& transfers, const Buffers& buffers)
      : problem_(problem),
        transfers_(transfers),
        buffers_(buffers),
        sums_(row(problem.jobs.front().collective).reduction),
        landing_(transfers.size()) {
    result_.scratch.resize(problem.jobs.front().ranks.size());
  }

  Puts follow() {
    std::map<std::pair<ChunkId, int>, std::vector<Event>> events;
    for (std::size_t t = 0; t < transfers_.size(); ++t) {
      const Transfer& transfer = transfers_[t];
      events[{transfer.chunk, transfer.from}].push_back({transfer.start.ps, true, t});
      events[{transfer.chunk, transfer.to}].push_back({transfer.arrival.ps, false, t});
    }
    for (auto& [where, list] : events) follow(where.first, where.second, list);
    group();
    return std::move(result_);
  }

 private:
  struct Event {
    std::int64_t time;
    bool leaves;
    std::size_t transfer;
  };
  /// An action of one rank on one chunk; a put knows its transfer, whose landing may not be decided yet.
  struct Entry {
    ChunkId chunk;
    int rank;
    Action action;
    std::optional<std::size_t> transfer;
  };

  Place scratch(int rank) {
    return {Buffer::scratch, result_.scratch[static_cast<std::size_t>(rank)]++};
  }
  const Transfer& transfer(const Event& event) const { return transfers_[event.transfer]; }

  void add(ChunkId chunk, int rank, Action::Kind kind, std::int64_t time,
           std::vector<Place> sources, Place target) {
    Entry entry{chunk, rank, {}, std::nullopt};
    entry.action.kind = kind;
    entry.action.time = time;
    entry.action.sources = std::move(sources);
    entry.action.target = target;
    entries_.push_back(std::move(entry));
  }

  /// Is the own addend shared while it lies where the result will?
  bool shares_own(const std::vector<Event>& events) const {
    for (const Event& event : events) {
      if (!event.leaves) return false;
      if (transfer(event).op == Op::share) return true;
    }
    return false;
  }

  void follow(ChunkId chunk, int rank, std::vector<Event>& events) {
    std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
      return std::pair(a.time, a.leaves) < std::pair(b.time, b.leaves);
    });
    const std::optional<Place> wanted = buffers_.after(chunk, rank);
    const std::optional<Place> before = buffers_.before(chunk, rank);
    std::optional<Place> held = before;
    bool complete = !sums_ && held.has_value();
    const bool alltoall = problem_.jobs.front().collective == Collective::alltoall;
    if (held && buffers_.in_place() && (alltoall || (sums_ && shares_own(events)))) {
      const Place aside = scratch(rank);
      add(chunk, rank, Action::Kind::copy, kAtFirst, {*held}, aside);
      held = aside;
    }
    std::vector<Place> addends;  // that have arrived since the last sum
    for (std::size_t e = 0; e < events.size(); ++e) {
      const Event& event = events[e];
      const Op op = transfer(event).op;
      if (event.leaves) {
        Entry entry{chunk, rank, {}, event.transfer};
        entry.action.kind = Action::Kind::put;
        entry.action.time = event.time;
        entry.action.peer = transfer(event).to;
        entry.action.transfer = event.transfer;
        entry.action.sources = {*held};
        entries_.push_back(std::move(entry));
        if (op == Op::reduce) held.reset();
        continue;
      }
      Entry entry{chunk, rank, {}, std::nullopt};
      entry.action.kind = Action::Kind::await;
      entry.action.time = event.time;
      entry.action.peer = transfer(event).from;
      entry.action.transfer = event.transfer;
      entry.action.put_time = transfer(event).start.ps;
      entries_.push_back(std::move(entry));
      Place& landing = landing_[event.transfer];
      if (op == Op::copy) {
        if (complete) {
          landing = scratch(rank);  // once more; nobody reads it
        } else {
          held = landing = wanted ? *wanted : scratch(rank);
          complete = true;
        }
        continue;
      }
      addends.push_back(landing = scratch(rank));
      const bool more =
          e + 1 < events.size() && !events[e + 1].leaves && transfer(events[e + 1]).op != Op::copy;
      if (more) continue;
      if (held) addends.insert(addends.begin(), *held);
      if (addends.size() == 1) {
        held = addends.front();
      } else {
        const bool last = std::all_of(
            events.begin() + static_cast<std::ptrdiff_t>(e) + 1, events.end(),
            [&](const Event& later) { return later.leaves && transfer(later).op != Op::reduce; });
        const Place room = held ? addends[1] : addends[0];
        const Place target = last && wanted ? *wanted : room;
        add(chunk, rank, Action::Kind::reduce, event.time, addends, target);
        held = target;
        complete = complete || last;
      }
      addends.clear();
    }
    // An own chunk that nobody changed is copied whatever the plan (Buffers::own_copies).
    if (wanted && held && *held != *wanted && held != before)
      add(chunk, rank, Action::Kind::copy, events.back().time, {*held}, *wanted);
  }

  /// Chunks with a place in common at some rank go together.
  void group() {
    graph::UnionFind sets(problem_.chunks.size());
    std::map<std::pair<int, Place>, std::size_t> user;
    const auto use = [&](int rank, const Place& place, ChunkId chunk) {
      const auto [entry, added] = user.emplace(std::pair(rank, place), chunk.index());
      if (!added) sets.join(entry->second, chunk.index());
    };
    for (Entry& entry : entries_) {
      Action& action = entry.action;
      if (entry.transfer) {
        action.target = landing_[*entry.transfer];
        use(action.peer, action.target, entry.chunk);
      } else if (action.kind != Action::Kind::await) {
        use(entry.rank, action.target, entry.chunk);
      }
      for (const Place& source : action.sources) use(entry.rank, source, entry.chunk);
    }
    std::map<std::size_t, ActionGroup> groups;
    for (Entry& entry : entries_)
      groups[sets.root(entry.chunk.index())].of_rank[entry.rank].push_back(std::move(entry.action));
    std::map<std::size_t, std::int64_t> begin;
    for (auto& [set, group] : groups) {
      std::int64_t first = INT64_MAX;
      for (auto& [rank, actions] : group.of_rank) {
        std::stable_sort(actions.begin(), actions.end());
        first = std::min(first, actions.front().time);
      }
      begin[set] = first;
    }
    std::vector<std::size_t> order;
    for (const auto& [set, group] : groups) order.push_back(set);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return begin[a] < begin[b]; });
    for (const std::size_t set : order) result_.groups.push_back(std::move(groups[set]));
  }

  const Problem& problem_;
  const std::vector<Transfer>& transfers_;
  const Buffers& buffers_;
  bool sums_;
  std::vector<Place> landing_;  ///< at the receiver, one a transfer
  std::vector<Entry> entries_;
  Puts result_;
};

}  // namespace

Puts puts(const Problem& problem, const std::vector<Transfer>& transfers, const Buffers& buffers) {
  return Following(problem, transfers, buffers).follow();
}

}  // namespace stellwerk::lower
