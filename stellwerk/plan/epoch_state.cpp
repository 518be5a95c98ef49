#include "stellwerk/plan/epoch_state.hpp"

#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include "stellwerk/plan/routes.hpp"

namespace stellwerk {
namespace {

/// Use of links per epoch, for list scheduling on the grid.
class EpochLoads {
 public:
  explicit EpochLoads(const Topology& topology) : used_(topology.links().size()) {}

  bool fits(LinkId link, int epoch, int window, double share) {
    auto& used = used_[link];
    for (int k = epoch; k < epoch + window; ++k) {
      if (static_cast<std::size_t>(k) < used.size() && used[static_cast<std::size_t>(k)] + share > 1 + 1e-9) return false;
    }
    return true;
  }
  void add(LinkId link, int epoch, int window, double share) {
    auto& used = used_[link];
    if (used.size() < static_cast<std::size_t>(epoch + window)) used.resize(static_cast<std::size_t>(epoch + window), 0);
    for (int k = epoch; k < epoch + window; ++k) used[static_cast<std::size_t>(k)] += share;
  }

 private:
  IdVector<LinkId, std::vector<double>> used_;
};

/// Arrivals at storing nodes that entries of one chunk cause, as (node, epoch from which it is held).
void for_each_arrival(const Problem& problem, const EpochGrid& grid, const std::vector<EpochEntry>& entries,
                      const auto& visit) {
  for (const EpochEntry& entry : entries) {
    const NodeId head = problem.topology.link(entry.link).to;
    if (!problem.topology.stores(head)) continue;
    visit(entry.chunk, head, entry.epoch + grid.transit(entry.link, problem.chunks[entry.chunk].bytes));
  }
}

}  // namespace

EpochState initial_state(const Problem& problem, const EpochGrid& grid) {
  EpochState state;
  state.holders.resize(problem.chunks.size());
  state.wanted.resize(problem.chunks.size());
  for (const ChunkId id : problem.chunk_ids()) {
    const Chunk& chunk = problem.chunks[id];
    for (const NodeId origin : chunk.origins) state.holders[id].push_back({origin, grid.epoch_at_or_after(chunk.ready)});
    for (const NodeId node : chunk.destinations) {
      if (std::find(chunk.origins.begin(), chunk.origins.end(), node) == chunk.origins.end()) {
        state.wanted[id].push_back(node);
      }
    }
    std::sort(state.holders[id].begin(), state.holders[id].end(),
              [](const EpochHolder& a, const EpochHolder& b) { return a.node < b.node; });
  }
  return state;
}

EpochState advance(const Problem& problem, const EpochGrid& grid, const EpochState& state,
                   const std::vector<EpochEntry>& entries, int epochs) {
  EpochState next = state;
  for (const ChunkId id : problem.chunk_ids()) {
    for (EpochHolder& holder : next.holders[id]) holder.epoch = std::max(0, holder.epoch - epochs);
  }
  for_each_arrival(problem, grid, entries, [&](ChunkId chunk, NodeId node, int epoch) {
    auto& holders = next.holders[chunk];
    const auto same = std::find_if(holders.begin(), holders.end(), [&](const EpochHolder& h) { return h.node == node; });
    const int from = std::max(0, epoch - epochs);
    if (same == holders.end()) {
      holders.push_back({node, from});
    } else {
      same->epoch = std::min(same->epoch, from);
    }
    auto& wanted = next.wanted[chunk];
    wanted.erase(std::remove(wanted.begin(), wanted.end(), node), wanted.end());
  });
  for (auto& holders : next.holders) {
    std::sort(holders.begin(), holders.end(), [](const EpochHolder& a, const EpochHolder& b) { return a.node < b.node; });
  }
  next.in_flight.clear();
  const auto keep = [&](EpochEntry entry) {
    entry.epoch -= epochs;
    if (entry.epoch + grid.window(entry.link, problem.chunks[entry.chunk].bytes) > 0) next.in_flight.push_back(entry);
  };
  for (const EpochEntry& entry : state.in_flight) keep(entry);
  for (const EpochEntry& entry : entries) keep(entry);
  return next;
}

std::vector<int> earliest_epochs(const Problem& problem, const EpochGrid& grid, const EpochState& state, ChunkId chunk) {
  const Topology& topology = problem.topology;
  const Chunk& what = problem.chunks[chunk];
  std::vector<int> earliest(topology.nodes().size(), kNever);
  std::set<NodeId> wanted(what.destinations.begin(), what.destinations.end());
  using Entry = std::pair<int, NodeId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  const auto reach = [&](NodeId node, int epoch) {
    if (epoch >= earliest[node.index()]) return;
    earliest[node.index()] = epoch;
    queue.emplace(epoch, node);
  };
  for (const EpochHolder& holder : state.holders[chunk]) reach(holder.node, holder.epoch);
  while (!queue.empty()) {
    const auto [epoch, node] = queue.top();
    queue.pop();
    if (epoch > earliest[node.index()]) continue;
    for (const LinkId id : topology.out(node)) {
      const NodeId head = topology.link(id).to;
      if (!wanted.contains(head) && !problem.may_forward(head, what.job)) continue;
      reach(head, epoch + grid.transit(id, what.bytes));
    }
  }
  return earliest;
}

std::vector<int> distance_epochs(const Problem& problem, const EpochGrid& grid, Bytes bytes,
                                 const std::vector<NodeId>& targets, JobId job) {
  const Topology& topology = problem.topology;
  std::vector<int> distance(topology.nodes().size(), kNever);
  using Entry = std::pair<int, NodeId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (const NodeId node : targets) {
    distance[node.index()] = 0;
    queue.emplace(0, node);
  }
  while (!queue.empty()) {
    const auto [epochs, node] = queue.top();
    queue.pop();
    if (epochs > distance[node.index()]) continue;
    if (epochs > 0 && !problem.may_forward(node, job)) continue;  // may hold it, not pass it on
    for (const LinkId id : topology.in(node)) {
      const NodeId tail = topology.link(id).from;
      const int longer = epochs + grid.transit(id, bytes);
      if (longer < distance[tail.index()]) {
        distance[tail.index()] = longer;
        queue.emplace(longer, tail);
      }
    }
  }
  return distance;
}

int completion_epoch(const Problem& problem, const EpochGrid& grid, const EpochState& state,
                     const std::vector<EpochEntry>& entries) {
  std::map<std::pair<ChunkId, NodeId>, int> arrival;
  for_each_arrival(problem, grid, entries, [&](ChunkId chunk, NodeId node, int epoch) {
    const auto [known, fresh] = arrival.emplace(std::pair(chunk, node), epoch);
    if (!fresh) known->second = std::min(known->second, epoch);
  });
  int last = 0;
  for (const ChunkId id : problem.chunk_ids()) {
    for (const NodeId node : state.wanted[id]) {
      const auto known = arrival.find({id, node});
      if (known == arrival.end()) return kNever;
      last = std::max(last, known->second);
    }
    for (const EpochHolder& holder : state.holders[id]) {  // still in flight at the beginning
      const auto& wanting = problem.chunks[id].destinations;
      if (std::find(wanting.begin(), wanting.end(), holder.node) != wanting.end()) last = std::max(last, holder.epoch);
    }
  }
  return last;
}

std::vector<EpochEntry> epoch_schedule(const Problem& problem, const EpochGrid& grid, const Schedule& sends) {
  const Topology& topology = problem.topology;
  std::map<std::pair<ChunkId, NodeId>, int> held;
  for (const ChunkId id : problem.chunk_ids()) {
    for (const NodeId origin : problem.chunks[id].origins) {
      held[{id, origin}] = grid.epoch_at_or_after(problem.chunks[id].ready);
    }
  }
  EpochLoads loads(topology);
  std::vector<EpochEntry> entries;
  for (const Send& send : sends) {
    const Bytes bytes = problem.chunks[send.chunk].bytes;
    const auto holder = held.find({send.chunk, topology.link(send.links.front()).from});
    if (holder == held.end()) continue;  // not causal on the grid: what depends on it falls away too
    std::map<NodeId, int> offset{{topology.link(send.links.front()).from, 0}};
    std::vector<int> entry_offset;
    for (const LinkId id : send.links) {
      const Link& link = topology.link(id);
      entry_offset.push_back(offset[link.from]);
      offset[link.to] = offset[link.from] + grid.latency(id);
    }
    int epoch = holder->second;
    const auto fits = [&] {
      for (std::size_t i = 0; i < send.links.size(); ++i) {
        const LinkId id = send.links[i];
        if (!loads.fits(id, epoch + entry_offset[i], grid.window(id, bytes), grid.share(id, bytes))) return false;
      }
      return true;
    };
    while (!fits()) ++epoch;
    for (std::size_t i = 0; i < send.links.size(); ++i) {
      const LinkId id = send.links[i];
      const int enter = epoch + entry_offset[i];
      loads.add(id, enter, grid.window(id, bytes), grid.share(id, bytes));
      entries.push_back({send.chunk, id, enter});
      const NodeId head = topology.link(id).to;
      if (!topology.stores(head)) continue;
      const int arrival = enter + grid.transit(id, bytes);
      const auto [known, fresh] = held.emplace(std::pair(send.chunk, head), arrival);
      if (!fresh) known->second = std::min(known->second, arrival);
    }
  }
  return entries;
}

std::vector<EpochEntry> greedy_on_grid(const Problem& problem, const EpochGrid& grid, const EpochState& state) {
  const Topology& topology = problem.topology;
  const Routes routes(topology);
  EpochLoads loads(topology);
  for (const EpochEntry& entry : state.in_flight) {
    const Bytes bytes = problem.chunks[entry.chunk].bytes;
    const int from = std::max(0, entry.epoch);
    const int window = entry.epoch + grid.window(entry.link, bytes) - from;
    if (window > 0) loads.add(entry.link, from, window, grid.share(entry.link, bytes));
  }
  std::vector<EpochEntry> entries;
  for (const ChunkId id : problem.chunk_ids()) {
    const Chunk& chunk = problem.chunks[id];
    std::set<NodeId> missing(state.wanted[id].begin(), state.wanted[id].end());
    const std::set<NodeId> destinations(chunk.destinations.begin(), chunk.destinations.end());
    std::map<NodeId, int> held;
    for (const EpochHolder& holder : state.holders[id]) held[holder.node] = holder.epoch;
    const auto earliest_entry = [&](const Hop& hop, int epoch) {
      for (;; ++epoch) {
        int offset = 0;
        bool fits = true;
        for (const LinkId link : hop.links) {
          fits = fits && loads.fits(link, epoch + offset, grid.window(link, chunk.bytes), grid.share(link, chunk.bytes));
          offset += grid.latency(link);
        }
        if (fits) return epoch;
      }
    };
    const auto hop_epochs = [&](const Hop& hop) {
      int total = 0;
      for (const LinkId link : hop.links) total += grid.transit(link, chunk.bytes);
      return total;
    };
    while (!missing.empty()) {
      // Dijkstra from all holders to the nearest missing destination.
      std::map<NodeId, int> arrival(held.begin(), held.end());
      std::map<NodeId, std::pair<HopId, int>> parent;
      std::set<std::pair<int, NodeId>> queue;
      for (const auto& [node, epoch] : held) queue.emplace(epoch, node);
      NodeId reached;
      while (!queue.empty()) {
        const auto [epoch, node] = *queue.begin();
        queue.erase(queue.begin());
        if (missing.contains(node)) {
          reached = node;
          break;
        }
        for (const HopId hop_id : routes.out(node)) {
          const Hop& hop = routes.hop(hop_id);
          if (!destinations.contains(hop.to) && !problem.may_forward(hop.to, chunk.job)) continue;
          const int enter = earliest_entry(hop, epoch);
          const int at = enter + hop_epochs(hop);
          const auto known = arrival.find(hop.to);
          if (known != arrival.end() && known->second <= at) continue;
          if (known != arrival.end()) queue.erase({known->second, hop.to});
          arrival[hop.to] = at;
          parent[hop.to] = {hop_id, enter};
          queue.emplace(at, hop.to);
        }
      }
      if (!reached.valid()) return {};
      for (NodeId node = reached; !held.contains(node);) {
        const auto [hop_id, enter] = parent.at(node);
        int epoch = enter;
        for (const LinkId link : routes.hop(hop_id).links) {
          entries.push_back({id, link, epoch});
          loads.add(link, epoch, grid.window(link, chunk.bytes), grid.share(link, chunk.bytes));
          epoch += grid.latency(link);
        }
        held[node] = arrival[node];
        missing.erase(node);
        node = routes.hop(hop_id).from;
      }
    }
  }
  return entries;
}

Schedule entries_to_sends(const Problem& problem, const EpochGrid& grid, const EpochState& state,
                          std::vector<EpochEntry> entries) {
  const Topology& topology = problem.topology;
  std::sort(entries.begin(), entries.end());
  Schedule result;
  // One chunk at a time; its entries by (epoch, link).
  for (std::size_t begin = 0; begin < entries.size();) {
    std::size_t end = begin;
    while (end < entries.size() && entries[end].chunk == entries[begin].chunk) ++end;
    const ChunkId id = entries[begin].chunk;
    const Chunk& chunk = problem.chunks[id];
    // What waits at a switch: which send brought it there, by (switch, epoch).
    std::map<std::pair<NodeId, int>, std::vector<std::size_t>> at_switch;
    std::map<NodeId, int> held;
    for (const EpochHolder& holder : state.holders[id]) held[holder.node] = holder.epoch;
    std::vector<Send> sends;
    // Entries in order of epoch; between switches time always advances, so within an epoch those that leave storing
    // nodes come first.
    std::vector<EpochEntry> ordered(entries.begin() + static_cast<std::ptrdiff_t>(begin),
                                    entries.begin() + static_cast<std::ptrdiff_t>(end));
    std::stable_sort(ordered.begin(), ordered.end(), [&](const EpochEntry& a, const EpochEntry& b) {
      const auto key = [&](const EpochEntry& e) { return std::pair(e.epoch, !topology.stores(topology.link(e.link).from)); };
      return key(a) < key(b);
    });
    for (const EpochEntry& entry : ordered) {
      const Link& link = topology.link(entry.link);
      std::size_t send = sends.size();
      if (topology.stores(link.from)) {
        const auto holder = held.find(link.from);
        if (holder == held.end() || holder->second > entry.epoch) continue;
        sends.push_back({id, Op::copy, Time{entry.epoch * grid.duration().ps}, link.bandwidth, {entry.link}, Bytes{0},
                         chunk.bytes});
      } else {
        auto& waiting = at_switch[{link.from, entry.epoch}];
        if (waiting.empty()) continue;
        send = waiting.front();
        if (!topology.node(link.from).multicast) waiting.erase(waiting.begin());
        // A tree enters a node once.
        const auto& links = sends[send].links;
        if (std::any_of(links.begin(), links.end(), [&](LinkId other) { return topology.link(other).to == link.to; })) {
          continue;
        }
        sends[send].links.push_back(entry.link);
        sends[send].rate = std::min(sends[send].rate, link.bandwidth);
      }
      if (topology.stores(link.to)) {
        const int arrival = entry.epoch + grid.transit(entry.link, chunk.bytes);
        const auto [known, fresh] = held.emplace(link.to, arrival);
        if (!fresh) known->second = std::min(known->second, arrival);
      } else {
        at_switch[{link.to, entry.epoch + grid.latency(entry.link)}].push_back(send);
      }
    }
    // Branches that end at a switch lead nowhere.
    for (Send& send : sends) {
      for (bool cut = true; cut;) {
        cut = false;
        for (std::size_t i = send.links.size(); i-- > 0;) {
          const NodeId head = topology.link(send.links[i]).to;
          if (topology.stores(head)) continue;
          const bool goes_on = std::any_of(send.links.begin(), send.links.end(),
                                           [&](LinkId other) { return topology.link(other).from == head; });
          if (!goes_on) {
            send.links.erase(send.links.begin() + static_cast<std::ptrdiff_t>(i));
            cut = true;
          }
        }
      }
      if (send.links.empty()) continue;
      send.rate = topology.link(send.links.front()).bandwidth;
      for (const LinkId link : send.links) send.rate = std::min(send.rate, topology.link(link).bandwidth);
      result.push_back(std::move(send));
    }
    begin = end;
  }
  sort_sends(topology, result);
  return result;
}

}  // namespace stellwerk
