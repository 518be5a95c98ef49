// A block does its actions in the order of time. It begins with signals to all who put into this rank ("I have begun") and waits for all that
// it puts to. A wait holds everything that comes later, and is placed when the plan says that the data arrive; puts and
// signals hold nothing. So blocks never wait in a circle: a wait comes later in time than the put it is for, and the
// earliest wait that is left anywhere has its put among actions that are earlier still.
//
// Signals on a channel are counted, so waits must come in the order of the puts: a chunk that overtakes another one is waited for
// when the other one is (suffix minimum), which is earlier than the plan says and still later than its put.
//
// The threads of a block run ahead of each other: only a sync makes what one has done or learnt hold for all. One stands where an
// operation needs what another since the last sync has written, read or waited for, between a put and its signal, and
// where another thread would use a channel that one has used. Through ports the proxy reads the data some time later;
// whoever puts that way waits for a last signal of its receivers, so that the call does not end before.
#include "stellwerk/lower/put_block.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace stellwerk::lower {
namespace {

/// Uses of a channel that do not disturb each other.
constexpr int kSignals = 0, kWaits = 1;
constexpr Access kAccesses[] = {Access::memory, Access::port};

class Drafting {
 public:
  Drafting(std::vector<Action> actions, const std::vector<Access>& access, bool merged,
           const PutLimits& limits)
      : actions_(std::move(actions)), access_(access), merged_(merged), limits_(limits) {}

  BlockDraft draft() {
    wait_in_the_order_of_puts();
    std::stable_sort(actions_.begin(), actions_.end());
    std::size_t at = begin_call();
    while (at < actions_.size()) {
      const Action& action = actions_[at];
      switch (action.kind) {
        case Action::Kind::await:
          at = awaits(at);
          break;
        case Action::Kind::put:
          at = puts(at);
          break;
        case Action::Kind::reduce:
        case Action::Kind::copy:
          local(actions_[at++]);
          break;
      }
    }
    end_call();
    check();
    return std::move(draft_);
  }

 private:
  void wait_in_the_order_of_puts() {
    std::map<int, std::vector<Action*>> from;
    for (Action& action : actions_) {
      if (action.kind == Action::Kind::await) from[action.peer].push_back(&action);
    }
    for (auto& [peer, waits] : from) {
      std::sort(waits.begin(), waits.end(), [](const Action* a, const Action* b) {
        return std::pair(a->put_time, a->transfer) < std::pair(b->put_time, b->transfer);
      });
      for (std::size_t k = waits.size(); k-- > 1;)
        waits[k - 1]->time = std::min(waits[k - 1]->time, waits[k]->time);
    }
  }

  std::vector<int> peers(Action::Kind kind, Access access) const {
    std::set<int> result;
    for (const Action& action : actions_) {
      if (action.kind == kind && access_of(action.peer) == access) result.insert(action.peer);
    }
    return {result.begin(), result.end()};
  }
  Access access_of(int peer) const { return access_[static_cast<std::size_t>(peer)]; }

  /// What goes aside first, then the signals that say so; returns the first action after that.
  std::size_t begin_call() {
    std::size_t at = 0;
    while (at < actions_.size() && actions_[at].time < 0) local(actions_[at++]);
    const bool aside = at > 0;
    if (aside) sync();
    for (const Access access : kAccesses)
      control(PutOp::Kind::signal, access, peers(Action::Kind::await, access), !aside);
    // Whether the others put things aside is not known here: an acquiring wait serves both.
    for (const Access access : kAccesses)
      control(PutOp::Kind::wait, access, peers(Action::Kind::put, access), false);
    return at;
  }

  void end_call() {
    const std::vector<int> from = peers(Action::Kind::await, Access::port);
    const std::vector<int> to = peers(Action::Kind::put, Access::port);
    // A signal says that what its own channel brought is here: its thread must have waited for that.
    for (std::size_t k = 0; k < from.size(); ++k) {
      const auto waiter = thread_of_.find({Access::port, channel(from[k], Access::port), kWaits});
      const std::size_t self = k % static_cast<std::size_t>(limits_.channels_an_operation);
      if (waiter != thread_of_.end() && waiter->second != self) {
        sync();
        break;
      }
    }
    control(PutOp::Kind::signal, Access::port, from, false);
    control(PutOp::Kind::wait, Access::port, to, false);
  }

  // --- Order among threads -----------------------------------------------------------------------

  void sync() {
    draft_.ops.emplace_back();
    waited_ = false;
    reads_.clear();
    writes_.clear();
    thread_of_.clear();
  }
  void reading(const std::vector<Place>& places) {
    const bool needed = waited_ || std::any_of(places.begin(), places.end(),
                                               [&](const Place& p) { return writes_.contains(p); });
    if (needed) sync();
  }
  void writing(const Place& place) {
    if (reads_.contains(place) || writes_.contains(place)) sync();
  }

  /// A thread for each channel.
  void take_threads(Access access, const std::vector<int>& channels, int what) {
    const auto other = [&](std::size_t k) {
      const auto found = thread_of_.find({access, channels[k], what});
      return found != thread_of_.end() && found->second != k;
    };
    for (std::size_t k = 0; k < channels.size(); ++k) {
      if (!other(k)) continue;
      sync();
      break;
    }
    for (std::size_t k = 0; k < channels.size(); ++k) thread_of_[{access, channels[k], what}] = k;
  }

  // --- Operations --------------------------------------------------------------------------------

  int channel(int peer, Access access) {
    auto& list = draft_.peers[static_cast<std::size_t>(access)];
    const auto found = std::find(list.begin(), list.end(), peer);
    if (found != list.end()) return static_cast<int>(found - list.begin());
    list.push_back(peer);
    return static_cast<int>(list.size()) - 1;
  }
  int buffer(int peer, Buffer which, Access access) {
    auto& list = draft_.buffers[static_cast<std::size_t>(access)];
    const RemoteBuffer wanted{peer, which, access};
    const auto found = std::find(list.begin(), list.end(), wanted);
    if (found != list.end()) return static_cast<int>(found - list.begin());
    list.push_back(wanted);
    return static_cast<int>(list.size()) - 1;
  }

  /// Signals or waits, each channel once an operation.
  void control(PutOp::Kind kind, Access access, const std::vector<int>& peers, bool relaxed) {
    std::vector<PutOp> batches;
    for (const int peer : peers) {
      const int number = channel(peer, access);
      if (batches.empty() || full(batches.back()) || uses(batches.back(), number)) {
        batches.emplace_back();
        batches.back().kind = kind;
        batches.back().access = access;
        batches.back().relaxed = relaxed;
      }
      batches.back().channels.push_back(number);
    }
    for (PutOp& op : batches) {
      take_threads(access, op.channels, kind == PutOp::Kind::wait ? kWaits : kSignals);
      draft_.ops.push_back(std::move(op));
      if (kind == PutOp::Kind::wait) waited_ = true;
    }
  }
  bool full(const PutOp& op) const {
    return static_cast<int>(op.channels.size()) >= limits_.channels_an_operation;
  }
  static bool uses(const PutOp& op, int channel) {
    return std::find(op.channels.begin(), op.channels.end(), channel) != op.channels.end();
  }

  std::size_t awaits(std::size_t at) {
    std::vector<int> by_access[2];
    for (; at < actions_.size() && actions_[at].kind == Action::Kind::await; ++at) {
      const int peer = actions_[at].peer;
      by_access[static_cast<std::size_t>(access_of(peer))].push_back(peer);
    }
    for (const Access access : kAccesses)
      control(PutOp::Kind::wait, access, by_access[static_cast<std::size_t>(access)], false);
    return at;
  }

  std::size_t puts(std::size_t at) {
    const Access access = access_of(actions_[at].peer);
    const std::int64_t begin = actions_[at].time;
    std::vector<PutOp> batches;
    std::vector<int> peers;
    std::vector<Place> sources;
    for (; at < actions_.size(); ++at) {
      const Action& action = actions_[at];
      if (action.kind != Action::Kind::put || access_of(action.peer) != access ||
          (action.time != begin && !merged_)) {
        break;
      }
      const int number = channel(action.peer, access);
      // Threads' own stores read all sources from the buffer of the first.
      if (batches.empty() || full(batches.back()) || uses(batches.back(), number) ||
          batches.back().sources[0].buffer != action.sources[0].buffer) {
        batches.emplace_back();
        batches.back().kind = access == Access::port ? PutOp::Kind::put_signal : PutOp::Kind::put;
        batches.back().access = access;
      }
      PutOp& op = batches.back();
      op.channels.push_back(number);
      op.buffers.push_back(buffer(action.peer, action.target.buffer, access));
      op.sources.push_back(action.sources[0]);
      op.targets.push_back(action.target);
      peers.push_back(action.peer);
      sources.push_back(action.sources[0]);
    }
    reading(sources);
    for (PutOp& op : batches) {
      if (access == Access::port) take_threads(access, op.channels, kSignals);
      draft_.ops.push_back(std::move(op));
    }
    if (access == Access::memory) {
      sync();
      control(PutOp::Kind::signal, access, peers, false);
    } else {
      reads_.insert(sources.begin(), sources.end());
    }
    return at;
  }

  void local(const Action& action) {
    reading(action.sources);
    writing(action.target);
    PutOp op;
    op.kind = action.kind == Action::Kind::copy ? PutOp::Kind::copy : PutOp::Kind::reduce;
    op.targets = {action.target};
    const std::size_t most = static_cast<std::size_t>(limits_.addends);
    std::vector<Place> rest = action.sources;
    // The second place is scratch of this sum's own, see puts.cpp.
    while (rest.size() > most) {
      PutOp part = op;
      part.sources.assign(rest.begin(), rest.begin() + limits_.addends);
      part.targets = {part.sources[1]};
      rest.erase(rest.begin() + 1, rest.begin() + limits_.addends);
      rest[0] = part.targets[0];
      draft_.ops.push_back(std::move(part));
      sync();
    }
    op.sources = rest;
    draft_.ops.push_back(std::move(op));
    reads_.insert(rest.begin(), rest.end());
    writes_.insert(action.target);
  }

  void check() {
    const auto expect = [&](const char* what, std::size_t value, int limit) {
      if (draft_.excess.empty() && value > static_cast<std::size_t>(limit))
        draft_.excess = std::string(what) + ": " + std::to_string(value) + " of at most " +
                        std::to_string(limit);
    };
    expect("operations of a thread block", draft_.ops.size(), limits_.operations);
    for (const Access access : kAccesses) {
      const auto a = static_cast<std::size_t>(access);
      expect("peers of a thread block", draft_.peers[a].size(), limits_.channels);
      expect("remote buffers of a thread block", draft_.buffers[a].size(), limits_.remote_buffers);
    }
  }

  std::vector<Action> actions_;
  const std::vector<Access>& access_;
  bool merged_;
  const PutLimits& limits_;
  BlockDraft draft_;
  // Since the last sync.
  bool waited_ = false;
  std::set<Place> reads_, writes_;
  std::map<std::tuple<Access, int, int>, std::size_t> thread_of_;
};

}  // namespace

BlockDraft draft_block(std::vector<Action> actions, const std::vector<Access>& access, bool merged,
                       const PutLimits& limits) {
  return Drafting(std::move(actions), access, merged, limits).draft();
}

}  // namespace stellwerk::lower
