// From entries on the grid to sends.
//
// Problem: a solution of the epoch model says when each chunk enters which link. A send is more: a
// chain or tree of links through switches from one storing node to others, and a tree enters a node
// once.
// Idea: chunk by chunk, follow the copies. Each entry out of a storing node begins a send. At a
// switch, in an epoch, the copies that are there are matched to the ways out so that no copy goes
// where it has been (Kuhn's augmenting paths; the numbers are tiny); what is left over at a
// copying switch branches off one of the copies. Copies that took two ways and meet again become
// two sends.
// Guarantee: every delivery of the entries is made, if need be by a send of its own at the end: the
// model lets a copy wait by circling through three or more switches, which no send can.
// Rates: a send runs as fast as its own links let it. The grid counts on less where links of
// several speeds meet at a switch or sizes differ: there a fast send and a slow one may overlap on
// the grid and collide at full rate. At the pace of the grid, bytes / (window * tau), what fits the
// grid fits in continuous time, to the ps to which rates are rounded. Held to its word by:
// plan/epoch_state_test.cpp, plan/milp_test.cpp, tests/conformance.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "stellwerk/base/wide.hpp"
#include "stellwerk/plan/epoch_state.hpp"
#include "stellwerk/plan/passing.hpp"
#include "stellwerk/plan/polish.hpp"
#include "stellwerk/plan/routes.hpp"

namespace stellwerk {
namespace {

/// The rate at which a send over these links runs alone: the least of the links, and of what its
/// ends can put in and take out.
Bandwidth full_rate(const Topology& topology, const std::vector<LinkId>& links) {
  Bandwidth rate = topology.link(links.front()).bandwidth;
  for (const LinkId id : links) {
    const Link& link = topology.link(id);
    rate = std::min(rate, link.bandwidth);
    if (const auto cap = topology.node(link.from).injection) rate = std::min(rate, *cap);
    if (const auto cap = topology.node(link.to).ejection) rate = std::min(rate, *cap);
  }
  return rate;
}

/// Follows the copies of one chunk.
class ChunkSends {
 public:
  ChunkSends(const Problem& problem, const EpochGrid& grid, const EpochState& state, ChunkId chunk)
      : topology_(problem.topology),
        grid_(grid),
        chunk_(chunk),
        bytes_(problem.chunks[chunk].bytes) {
    for (const EpochHolder& holder : state.holders[chunk]) held_[holder.node] = holder.epoch;
  }

  void add(std::vector<EpochEntry> entries) {
    // Between switches time advances, so within an epoch what leaves storing nodes comes first;
    // what leaves one switch in one epoch is taken together.
    const auto key = [&](const EpochEntry& entry) {
      const NodeId tail = topology_.link(entry.link).from;
      return std::tuple(entry.epoch, !topology_.stores(tail), tail);
    };
    std::stable_sort(entries.begin(), entries.end(),
                     [&](const EpochEntry& a, const EpochEntry& b) { return key(a) < key(b); });
    for (auto begin = entries.begin(); begin != entries.end();) {
      const auto end = std::find_if(
          begin, entries.end(), [&](const EpochEntry& entry) { return key(entry) != key(*begin); });
      if (topology_.stores(topology_.link(begin->link).from)) {
        for (auto entry = begin; entry != end; ++entry) leave_holder(*entry);
      } else {
        leave_switch({begin, end});
      }
      begin = end;
    }
  }

  bool holds(NodeId node) const { return held_.contains(node); }
  const std::map<NodeId, int>& held() const { return held_; }

  Schedule take() {
    Schedule result;
    for (Send& send : sends_) {
      cut_dead_ends(send.links);
      if (send.links.empty()) continue;
      send.rate = full_rate(topology_, send.links);
      result.push_back(std::move(send));
    }
    return result;
  }

 private:
  /// A copy at a switch.
  struct Copy {
    std::size_t send;
    std::vector<LinkId> way;  ///< from the send's source
  };

  void leave_holder(const EpochEntry& entry) {
    const auto holder = held_.find(topology_.link(entry.link).from);
    if (holder == held_.end() || holder->second > entry.epoch) return;
    sends_.push_back(
        {chunk_, Op::copy, entry.epoch * grid_.duration(), Bandwidth{}, {}, Bytes{0}, bytes_});
    go_on({sends_.size() - 1, {}}, entry);
  }

  void leave_switch(const std::vector<EpochEntry>& out) {
    const NodeId node = topology_.link(out.front().link).from;
    const auto here = at_switch_.find({node, out.front().epoch});
    if (here == at_switch_.end()) return;
    const std::vector<Copy> copies = here->second;
    // One copy a way out, as far as that goes.
    std::vector<int> way_out(copies.size(), -1);  // of each copy
    std::vector<char> served(out.size(), 0);
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::vector<char> seen(copies.size(), 0);
      served[i] = static_cast<char>(match(copies, out, i, way_out, seen));
    }
    for (std::size_t c = 0; c < copies.size(); ++c) {
      if (way_out[c] >= 0) go_on(copies[c], out[static_cast<std::size_t>(way_out[c])]);
    }
    if (!topology_.node(node).multicast) return;
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (served[i] == 0) branch_off(copies, out[i]);
    }
  }

  /// Kuhn's step: finds a copy for way out i, moving others if need be.
  bool match(const std::vector<Copy>& copies, const std::vector<EpochEntry>& out, std::size_t i,
             std::vector<int>& way_out, std::vector<char>& seen) const {
    for (std::size_t c = 0; c < copies.size(); ++c) {
      if (seen[c] != 0 || !fits(copies[c], out[i].link)) continue;
      seen[c] = 1;
      const int other = way_out[c];
      if (other >= 0 && !match(copies, out, static_cast<std::size_t>(other), way_out, seen)) {
        continue;
      }
      way_out[c] = static_cast<int>(i);
      return true;
    }
    return false;
  }

  bool enters(const std::vector<LinkId>& links, NodeId node) const {
    return std::any_of(links.begin(), links.end(), [&](LinkId link) {
      return topology_.link(link).to == node || topology_.link(link).from == node;
    });
  }
  /// May the copy's send be continued over the link?
  bool fits(const Copy& copy, LinkId link) const {
    return !enters(sends_[copy.send].links, topology_.link(link).to);
  }

  void branch_off(const std::vector<Copy>& copies, const EpochEntry& entry) {
    const NodeId head = topology_.link(entry.link).to;
    for (const Copy& copy : copies) {
      if (fits(copy, entry.link)) return go_on(copy, entry);
    }
    for (const Copy& copy : copies) {  // two ways meet: a send of its own
      if (enters(copy.way, head)) continue;
      Send send = sends_[copy.send];
      send.links = copy.way;
      sends_.push_back(std::move(send));
      return go_on({sends_.size() - 1, copy.way}, entry);
    }
  }

  void go_on(Copy copy, const EpochEntry& entry) {
    sends_[copy.send].links.push_back(entry.link);
    copy.way.push_back(entry.link);
    const NodeId head = topology_.link(entry.link).to;
    const int there = entry.epoch + grid_.transit(entry.link, bytes_);
    if (!topology_.stores(head)) {
      at_switch_[{head, there}].push_back(std::move(copy));
      return;
    }
    const auto [known, fresh] = held_.emplace(head, there);
    if (!fresh) known->second = std::min(known->second, there);
  }

  /// Branches that end at a switch lead nowhere.
  void cut_dead_ends(std::vector<LinkId>& links) const {
    std::set<NodeId> used;
    for (auto link = links.rbegin(); link != links.rend(); ++link) {
      const NodeId head = topology_.link(*link).to;
      if (topology_.stores(head) || used.contains(head)) used.insert(topology_.link(*link).from);
    }
    std::erase_if(links, [&](LinkId link) {
      const NodeId head = topology_.link(link).to;
      return !topology_.stores(head) && !used.contains(head);
    });
  }

  const Topology& topology_;
  const EpochGrid& grid_;
  ChunkId chunk_;
  Bytes bytes_;
  std::vector<Send> sends_;
  std::map<std::pair<NodeId, int>, std::vector<Copy>> at_switch_;
  std::map<NodeId, int> held_;
};

/// Sends, one after the other from `start` on, that bring the chunk to `missing` from who holds it.
void serve(const Problem& problem, const Routes& routes, ChunkId id, std::vector<NodeId> holders,
           const std::vector<NodeId>& missing, Time start, Schedule& sends) {
  const Chunk& chunk = problem.chunks[id];
  const Topology& topology = problem.topology;
  IdVector<NodeId, char> allowed(topology.nodes().size(), 0);
  for (const NodeId node : topology.node_ids()) {
    allowed[node] = static_cast<char>(may_pass(problem, node, chunk.job, chunk.bytes));
  }
  for (const NodeId node : missing) {
    for (const HopId hop : routes.path(holders, node, chunk.bytes, allowed)) {
      const std::vector<LinkId>& links = routes.hop(hop).links;
      sends.push_back(
          {id, Op::copy, start, full_rate(topology, links), links, Bytes{0}, chunk.bytes});
      const SendTiming times = timing(topology, sends.back());
      start += times.arrival.front();
      holders.push_back(times.leaves.front());
    }
  }
}

/// The rate at which a send takes all of its window, as the grid has it.
Bandwidth grid_rate(const EpochGrid& grid, const Send& send) {
  const Int128 window =
      static_cast<Int128>(grid.window(send.links.front(), send.bytes)) * grid.duration().ps;
  const Int128 rate = static_cast<Int128>(send.bytes.value) * 1'000'000'000'000 / window;
  return std::clamp(Bandwidth{static_cast<std::int64_t>(rate)}, Bandwidth{1}, send.rate);
}

Time finish(const Topology& topology, const Schedule& sends) {
  Time last;
  for (const Send& send : sends) {
    for (const Time arrival : timing(topology, send).arrival) {
      last = std::max(last, send.start + arrival);
    }
  }
  return last;
}

}  // namespace

Schedule entries_to_plan(const Problem& problem, const EpochGrid& grid, const EpochState& state,
                         const std::vector<EpochEntry>& entries, const StopCondition& stop) {
  Schedule sends = entries_to_sends(problem, grid, state, entries);
  Schedule fast = polish(problem, sends, stop);
  const Time promised = completion_epoch(problem, grid, state, entries) * grid.duration();
  const bool fits = keeps_buffers(problem, fast);
  if (fits && finish(problem.topology, fast) <= promised) return fast;
  for (Send& send : sends) send.rate = grid_rate(grid, send);
  Schedule paced = polish(problem, sends, stop);
  if (!keeps_buffers(problem, paced)) {
    if (fits) return fast;
    return polish(problem, one_chunk_after_the_other(problem, std::move(sends)), stop);
  }
  if (!fits) return paced;
  return finish(problem.topology, paced) < finish(problem.topology, fast) ? paced : fast;
}

Schedule entries_to_sends(const Problem& problem, const EpochGrid& grid, const EpochState& state,
                          std::vector<EpochEntry> entries) {
  const Topology& topology = problem.topology;
  std::sort(entries.begin(), entries.end());
  std::optional<Routes> routes;
  int last = 0;
  for (const EpochEntry& entry : entries) {
    last =
        std::max(last, entry.epoch + grid.transit(entry.link, problem.chunks[entry.chunk].bytes));
  }
  Schedule result;
  for (auto begin = entries.begin(); begin != entries.end();) {
    const ChunkId id = begin->chunk;
    const auto end = std::find_if(begin, entries.end(),
                                  [&](const EpochEntry& entry) { return entry.chunk != id; });
    ChunkSends copies(problem, grid, state, id);
    copies.add({begin, end});
    for (Send& send : copies.take()) result.push_back(std::move(send));
    std::vector<NodeId> missing;
    for (const NodeId node : state.wanted[id]) {
      const bool promised = std::any_of(begin, end, [&](const EpochEntry& entry) {
        return topology.link(entry.link).to == node;
      });
      if (promised && !copies.holds(node)) missing.push_back(node);
    }
    if (!missing.empty()) {
      if (!routes) routes.emplace(topology);
      std::vector<NodeId> holders;
      for (const auto& [node, epoch] : copies.held()) holders.push_back(node);
      serve(problem, *routes, id, std::move(holders), missing, last * grid.duration(), result);
    }
    begin = end;
  }
  sort_sends(topology, result);
  return result;
}

}  // namespace stellwerk
