// Problem: a plan speaks of times, a runtime of order. A chunk arrives some time after its send began, and in between the receiver may still
// pass on the partial sum it has had so far; a runtime that receives "into" that sum would pass on too much. Idea: follow what every
// rank holds of every chunk in the order of the plan's own times (a send reads at its start, an arrival writes), and give
// both ends of a transfer the start as key. Where a receive has a smaller key than a send that must not see it, what
// arrives waits in scratch and is added afterwards. Dependencies then follow from places: a reader waits for the last
// writer, a writer for the last writer and all readers since. Cost: operations * log. Held to its word by
// lower_test.cpp, which runs the programs.
#include "stellwerk/lower/operations.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace stellwerk::lower {
namespace {

constexpr std::int64_t kAtFirst = -1;
constexpr int kLocal = 0, kTransfer = 1;

class Lowering {
 public:
  Lowering(const Problem& problem, const std::vector<Transfer>& transfers, const Buffers& buffers)
      : problem_(problem),
        transfers_(transfers),
        buffers_(buffers),
        ranks_(problem.jobs.front().ranks.size()) {}

  std::vector<RankOperations> lower() {
    result_.resize(ranks_);
    for (std::size_t r = 0; r < ranks_; ++r) {
      for (const auto& [from, to] : buffers_.own_copies(static_cast<int>(r)))
        local(r, Operation::Kind::copy, from, to, kAtFirst);
    }
    // What happens to each chunk at each rank.
    std::map<std::pair<std::size_t, ChunkId>, std::vector<Event>> events;
    for (std::size_t t = 0; t < transfers_.size(); ++t) {
      const Transfer& transfer = transfers_[t];
      events[{static_cast<std::size_t>(transfer.from), transfer.chunk}].push_back(
          {transfer.start.ps, true, t});
      events[{static_cast<std::size_t>(transfer.to), transfer.chunk}].push_back(
          {transfer.arrival.ps, false, t});
    }
    for (auto& [where, list] : events) follow(where.first, where.second, list);
    for (RankOperations& rank : result_) {
      std::stable_sort(rank.operations.begin(), rank.operations.end(),
                       [](const Operation& a, const Operation& b) { return a.key < b.key; });
      depend(rank);
    }
    return std::move(result_);
  }

 private:
  struct Event {
    std::int64_t time;
    bool leaves;  ///< a send reads; else an arrival writes
    std::size_t transfer;
  };

  std::tuple<std::int64_t, int, std::size_t> key(std::size_t transfer) const {
    return {transfers_[transfer].start.ps, kTransfer, transfer};
  }

  void local(std::size_t rank, Operation::Kind kind, Place from, Place to, std::int64_t time) {
    Operation operation;
    operation.kind = kind;
    operation.source = from;
    operation.target = to;
    operation.key = {time, kLocal, counter_++};
    result_[rank].operations.push_back(std::move(operation));
  }

  Place scratch(std::size_t rank) { return {Buffer::scratch, result_[rank].scratch++}; }

  /// One chunk at one rank, in the order of time. An arrival at an instant comes before a send at the same.
  void follow(std::size_t rank, ChunkId chunk, std::vector<Event>& events) {
    std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
      return std::pair(a.time, a.leaves) < std::pair(b.time, b.leaves);
    });
    // What arrives between two sends may be added in any order: in that of the keys.
    for (auto begin = events.begin(); begin != events.end();) {
      const auto leaves = [](const Event& event) { return event.leaves; };
      begin = std::find_if_not(begin, events.end(), leaves);
      const auto end = std::find_if(begin, events.end(), leaves);
      std::sort(begin, end,
                [&](const Event& a, const Event& b) { return key(a.transfer) < key(b.transfer); });
      begin = end;
    }
    const int r = static_cast<int>(rank);
    const std::optional<Place> wanted = buffers_.after(chunk, r);
    const std::optional<Place> before = buffers_.before(chunk, r);
    std::optional<Place> held = before;
    if (held && buffers_.in_place() && problem_.jobs.front().collective == Collective::alltoall) {
      // What arrives takes the place of what is still to be sent: that goes aside first.
      const Place aside = scratch(rank);
      local(rank, Operation::Kind::copy, *held, aside, kAtFirst);
      held = aside;
    }
    std::optional<Place> room = wanted;  // where it grows
    std::int64_t last_local = kAtFirst;  // when something was last added from aside
    const auto grow = [&] {
      if (!room) room = scratch(rank);
      return *room;
    };
    for (std::size_t e = 0; e < events.size(); ++e) {
      const Event& event = events[e];
      const Transfer& transfer = transfers_[event.transfer];
      Operation operation;
      operation.transfer = event.transfer;
      operation.key = key(event.transfer);
      if (event.leaves) {
        operation.kind = Operation::Kind::send;
        operation.peer = transfer.to;
        operation.source = *held;
        result_[rank].operations.push_back(std::move(operation));
        if (transfer.op == Op::reduce) {
          held.reset();
        }
        continue;
      }
      operation.peer = transfer.from;
      const bool adds = transfer.op != Op::copy && held.has_value();
      // Sends that have begun before this arrives, though with a larger key, must not see it; and what has
      // been put aside is added first.
      const bool too_early =
          last_local > transfer.start.ps ||
          std::any_of(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(e),
                      [&](const Event& other) {
                        return other.leaves && key(other.transfer) > key(event.transfer);
                      });
      if (!too_early) {
        const Place target = grow();
        operation.kind = adds ? Operation::Kind::receive_reduce : Operation::Kind::receive;
        if (adds) operation.source = *held;
        operation.target = target;
        result_[rank].operations.push_back(std::move(operation));
        held = target;
        continue;
      }
      const Place aside = scratch(rank);
      operation.kind = Operation::Kind::receive;
      operation.target = aside;
      result_[rank].operations.push_back(std::move(operation));
      if (!adds) {
        held = aside;  // the old content is gone, or the same
      } else {
        const Place target = grow();
        if (*held != target) local(rank, Operation::Kind::copy, *held, target, event.time);
        local(rank, Operation::Kind::reduce, aside, target, event.time);
        last_local = event.time;
        held = target;
      }
    }
    // An own chunk that nobody changed is copied whatever the plan (Buffers::own_copies).
    if (wanted && held && *held != *wanted && held != before)
      local(rank, Operation::Kind::copy, *held, *wanted, INT64_MAX);
  }

  /// From places to dependencies.
  static void depend(RankOperations& rank) {
    struct Use {
      std::optional<std::size_t> writer;
      std::vector<std::size_t> readers;
    };
    std::map<Place, Use> uses;
    for (std::size_t k = 0; k < rank.operations.size(); ++k) {
      Operation& operation = rank.operations[k];
      const auto read = [&](const Place& place) {
        Use& use = uses[place];
        if (use.writer) operation.after.push_back(*use.writer);
        use.readers.push_back(k);
      };
      const auto write = [&](const Place& place) {
        Use& use = uses[place];
        if (use.writer) operation.after.push_back(*use.writer);
        for (const std::size_t reader : use.readers) {
          if (reader != k) operation.after.push_back(reader);
        }
        use.readers.clear();
        use.writer = k;
      };
      if (operation.kind != Operation::Kind::receive) read(operation.source);
      if (operation.kind == Operation::Kind::reduce) read(operation.target);
      if (!operation.sends()) write(operation.target);
      std::sort(operation.after.begin(), operation.after.end());
      operation.after.erase(std::unique(operation.after.begin(), operation.after.end()),
                            operation.after.end());
      std::erase(operation.after, k);
    }
  }

  const Problem& problem_;
  const std::vector<Transfer>& transfers_;
  const Buffers& buffers_;
  std::size_t ranks_;
  std::size_t counter_ = 0;
  std::vector<RankOperations> result_;
};

}  // namespace

std::vector<RankOperations> operations(const Problem& problem,
                                       const std::vector<Transfer>& transfers,
                                       const Buffers& buffers) {
  return Lowering(problem, transfers, buffers).lower();
}

}  // namespace stellwerk::lower
