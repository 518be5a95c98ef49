// An independent judge of plans on an epoch grid, before re-timing: shares no code with the models.
//
// The rules are those of plan/epoch_grid.hpp and docs/model.md ("Epochs"); see the messages.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "stellwerk/plan/epoch_state.hpp"

namespace stellwerk::testing {

class GridCheck {
 public:
  GridCheck(const Problem& problem, const EpochGrid& grid, EpochState state,
            const std::vector<EpochEntry>& entries)
      : problem_(problem), topology_(problem.topology), grid_(grid), state_(std::move(state)) {
    entries_ = entries;
    std::sort(entries_.begin(), entries_.end(), [](const EpochEntry& a, const EpochEntry& b) {
      return std::tie(a.epoch, a.chunk, a.link) < std::tie(b.epoch, b.chunk, b.link);
    });
  }

  /// What is wrong, in one line; empty if nothing is.
  std::string objection() {
    holdings();
    if (!wrong_.empty()) return wrong_;
    links();
    node_caps();
    buffers();
    groups();
    return wrong_;
  }

  /// The length of the plan; -1 if a demand is unmet. After objection().
  int length() const {
    int last = 0;
    for (const ChunkId id : problem_.chunk_ids()) {
      for (const NodeId node : problem_.chunks[id].destinations) {
        const auto held = held_.find({id, node});
        if (held == held_.end()) return -1;
        last = std::max(last, held->second);
      }
    }
    return last;
  }

 private:
  const Bytes& bytes(ChunkId id) const { return problem_.chunks[id].bytes; }
  void complain(const EpochEntry& entry, const std::string& what) {
    if (!wrong_.empty()) return;
    wrong_ = "chunk " + std::to_string(entry.chunk.value) + " enters " +
             topology_.link_name(entry.link) + " in epoch " + std::to_string(entry.epoch) + ": " +
             what;
  }
  /// First epoch from which the head can send on.
  int there(const EpochEntry& entry) const {
    const bool stored = topology_.stores(topology_.link(entry.link).to);
    return entry.epoch + grid_.latency(entry.link) +
           (stored ? grid_.window(entry.link, bytes(entry.chunk)) : 0);
  }

  void holdings() {
    for (const ChunkId id : problem_.chunk_ids()) {
      for (const EpochHolder& holder : state_.holders[id]) held_[{id, holder.node}] = holder.epoch;
    }
    // A switch of latency 0 passes on in the same epoch, and none leads to another in one: entries
    // of storing nodes first.
    std::stable_sort(entries_.begin(), entries_.end(),
                     [&](const EpochEntry& a, const EpochEntry& b) {
                       if (a.epoch != b.epoch) return a.epoch < b.epoch;
                       return topology_.stores(topology_.link(a.link).from) &&
                              !topology_.stores(topology_.link(b.link).from);
                     });
    std::map<std::tuple<ChunkId, NodeId, int>, int> at_switch;  // copies there
    std::map<std::tuple<ChunkId, NodeId, int>, int> left;
    for (const EpochEntry& entry : entries_) {
      const Link& link = topology_.link(entry.link);
      const Chunk& chunk = problem_.chunks[entry.chunk];
      if (entry.epoch < 0) return complain(entry, "before 0");
      if (topology_.stores(link.from)) {
        const auto held = held_.find({entry.chunk, link.from});
        if (held == held_.end() || held->second > entry.epoch) {
          return complain(entry, "its tail does not hold it");
        }
      } else {
        const int here = at_switch[{entry.chunk, link.from, entry.epoch}];
        const int gone = left[{entry.chunk, link.from, entry.epoch}]++;
        if (here == 0) return complain(entry, "the switch does not have it then");
        if (!topology_.node(link.from).multicast && gone >= here) {
          return complain(entry, "the switch would copy");
        }
      }
      const bool wants = std::find(chunk.destinations.begin(), chunk.destinations.end(), link.to) !=
                         chunk.destinations.end();
      if (!wants && !problem_.may_forward(link.to, chunk.job)) {
        return complain(entry, "its head may not forward");
      }
      if (topology_.stores(link.to)) {
        const auto [known, fresh] = held_.emplace(std::pair(entry.chunk, link.to), there(entry));
        if (!fresh) known->second = std::min(known->second, there(entry));
      } else {
        ++at_switch[{entry.chunk, link.to, there(entry)}];
      }
    }
  }

  std::vector<EpochEntry> with_in_flight() const {
    std::vector<EpochEntry> all = entries_;
    all.insert(all.end(), state_.in_flight.begin(), state_.in_flight.end());
    return all;
  }

  void links() {
    std::map<std::pair<LinkId, int>, double> used;
    for (const EpochEntry& entry : with_in_flight()) {
      for (int k = 0; k < grid_.window(entry.link, bytes(entry.chunk)); ++k) {
        double& sum = used[{entry.link, entry.epoch + k}];
        sum += grid_.share(entry.link, bytes(entry.chunk));
        if (entry.epoch + k >= 0 && sum > 1 + kTolerance) complain(entry, "the link is full");
      }
    }
  }

  void node_caps() {
    std::map<std::tuple<NodeId, bool, int>, double> used;
    const auto use = [&](const EpochEntry& entry, NodeId node, bool in, int from, Bandwidth cap) {
      const double rate =
          grid_.share(entry.link, bytes(entry.chunk)) *
          static_cast<double>(topology_.link(entry.link).bandwidth.bytes_per_second) /
          static_cast<double>(cap.bytes_per_second);
      for (int k = 0; k < grid_.window(entry.link, bytes(entry.chunk)); ++k) {
        double& sum = used[{node, in, from + k}];
        sum += rate;
        if (from + k >= 0 && sum > 1 + kTolerance) {
          complain(entry, in ? "ejection is used up" : "injection is used up");
        }
      }
    };
    for (const EpochEntry& entry : with_in_flight()) {
      const Link& link = topology_.link(entry.link);
      const auto& injection = topology_.node(link.from).injection;
      const auto& ejection = topology_.node(link.to).ejection;
      if (injection) use(entry, link.from, false, entry.epoch, *injection);
      if (ejection) use(entry, link.to, true, entry.epoch + grid_.latency(entry.link), *ejection);
    }
  }

  /// A chunk stays from its first byte in to the end of its last send out.
  void buffers() {
    std::map<std::pair<NodeId, ChunkId>, std::pair<int, int>> stays;
    const auto cover = [&](const EpochEntry& entry, NodeId node, int begin, int end) {
      const Chunk& chunk = problem_.chunks[entry.chunk];
      const auto in = [&](const std::vector<NodeId>& list) {
        return std::find(list.begin(), list.end(), node) != list.end();
      };
      if (!topology_.node(node).buffer || in(chunk.origins) || in(chunk.destinations)) return;
      const auto [stay, fresh] = stays.emplace(std::pair(node, entry.chunk), std::pair(begin, end));
      if (fresh) return;
      stay->second.first = std::min(stay->second.first, begin);
      stay->second.second = std::max(stay->second.second, end);
    };
    for (const EpochEntry& entry : entries_) {
      const int window = grid_.window(entry.link, bytes(entry.chunk));
      cover(entry, topology_.link(entry.link).from, entry.epoch, entry.epoch + window);
      if (!topology_.stores(topology_.link(entry.link).to)) continue;
      cover(entry, topology_.link(entry.link).to, there(entry) - window, there(entry));
    }
    std::map<std::pair<NodeId, int>, std::int64_t> used;
    for (const auto& [key, stay] : stays) {
      const auto [node, chunk] = key;
      for (int k = stay.first; k < stay.second; ++k) {
        const std::int64_t sum = used[{node, k}] += bytes(chunk).value;
        if (sum > topology_.node(node).buffer->value && wrong_.empty()) {
          wrong_ = "the buffer of " + topology_.node(node).name + " holds " + std::to_string(sum) +
                   " bytes in epoch " + std::to_string(k);
        }
      }
    }
  }

  void groups() {
    std::map<std::tuple<NodeId, ChunkId, int>, std::pair<int, int>> multicasts;  // ways out, window
    for (const EpochEntry& entry : with_in_flight()) {
      const NodeId node = topology_.link(entry.link).from;
      if (!topology_.node(node).max_groups) continue;
      auto& [ways, window] = multicasts[{node, entry.chunk, entry.epoch}];
      ++ways;
      window = grid_.window(entry.link, bytes(entry.chunk));
    }
    std::map<std::tuple<NodeId, ChunkId, int>, int> ways_in;
    for (const EpochEntry& entry : with_in_flight()) {
      ++ways_in[{topology_.link(entry.link).to, entry.chunk, there(entry)}];
    }
    std::map<std::pair<NodeId, int>, int> used;
    for (const auto& [key, what] : multicasts) {
      if (what.first <= ways_in[key]) continue;  // a way in for each way out
      const auto [node, chunk, epoch] = key;
      for (int k = epoch; k < epoch + what.second; ++k) {
        if (++used[{node, k}] > *topology_.node(node).max_groups && wrong_.empty()) {
          wrong_ =
              topology_.node(node).name + " serves too many groups in epoch " + std::to_string(k);
        }
      }
    }
  }

  static constexpr double kTolerance = 1e-6;

  const Problem& problem_;
  const Topology& topology_;
  const EpochGrid& grid_;
  EpochState state_;
  std::vector<EpochEntry> entries_;
  std::map<std::pair<ChunkId, NodeId>, int> held_;
  std::string wrong_;
};

}  // namespace stellwerk::testing
