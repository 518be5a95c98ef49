#include "stellwerk/plan/epoch_state.hpp"

#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include "stellwerk/plan/passing.hpp"
#include "stellwerk/plan/routes.hpp"

namespace stellwerk {
namespace {

/// Use of links, of injection and ejection caps and of multicast groups per epoch, for list scheduling on the grid.
class EpochLoads {
 public:
  EpochLoads(const Problem& problem, const EpochGrid& grid)
      : problem_(problem),
        grid_(grid),
        links_(problem.topology.links().size()),
        injection_(problem.topology.nodes().size()),
        ejection_(problem.topology.nodes().size()),
        groups_(problem.topology.nodes().size()) {}

  /// May the chunk enter the link in this epoch, as far as the link and its ends are concerned?
  bool fits(ChunkId chunk, LinkId link, int epoch) const {
    return visit(*this, chunk, link, epoch,
                 [](const Resource& resource, int from, int until, double amount) {
                   const int end = std::min(until, static_cast<int>(resource.size()));
                   for (int k = std::max(0, from); k < end; ++k) {
                     if (resource[static_cast<std::size_t>(k)] + amount > 1 + kTolerance)
                       return false;
                   }
                   return true;
                 });
  }
  void add(ChunkId chunk, LinkId link, int epoch) {
    visit(*this, chunk, link, epoch, [](Resource& resource, int from, int until, double amount) {
      use(resource, from, until, amount);
      return true;
    });
  }

  /// The same for a multicast of a chunk at a switch.
  bool group_fits(NodeId node, int epoch, int window) const {
    const auto& limit = problem_.topology.node(node).max_groups;
    if (!limit) return true;
    for (int k = epoch; k < epoch + window; ++k) {
      const bool used = static_cast<std::size_t>(k) < groups_[node].size();
      if ((used ? groups_[node][static_cast<std::size_t>(k)] : 0) + 1 > *limit + kTolerance)
        return false;
    }
    return true;
  }
  void add_group(NodeId node, int epoch, int window) {
    use(groups_[node], epoch, epoch + window, 1);
  }

 private:
  using Resource = std::vector<double>;  ///< share in use, by epoch
  static constexpr double kTolerance = 1e-9;

  static void use(Resource& resource, int from, int until, double amount) {
    if (until <= 0) return;
    if (resource.size() < static_cast<std::size_t>(until))
      resource.resize(static_cast<std::size_t>(until), 0);
    for (int k = std::max(0, from); k < until; ++k) resource[static_cast<std::size_t>(k)] += amount;
  }

  /// Calls f(resource, first epoch, last epoch + 1, amount) for what an entry uses, until it says false.
  static bool visit(auto& self, ChunkId chunk, LinkId id, int epoch, const auto& f) {
    const Topology& topology = self.problem_.topology;
    const Link& link = topology.link(id);
    const Bytes bytes = self.problem_.chunks[chunk].bytes;
    const double share = self.grid_.share(id, bytes);
    const int until = epoch + self.grid_.window(id, bytes);
    if (!f(self.links_[id], epoch, until, share)) return false;
    const auto part_of = [&](Bandwidth limit) {
      return share * static_cast<double>(link.bandwidth.bytes_per_second) /
             static_cast<double>(limit.bytes_per_second);
    };
    const auto& injection = topology.node(link.from).injection;
    if (injection && !f(self.injection_[link.from], epoch, until, part_of(*injection)))
      return false;
    const auto& ejection = topology.node(link.to).ejection;
    const int later = self.grid_.latency(id);
    return !ejection ||
           f(self.ejection_[link.to], epoch + later, until + later, part_of(*ejection));
  }

  const Problem& problem_;
  const EpochGrid& grid_;
  IdVector<LinkId, Resource> links_;
  IdVector<NodeId, Resource> injection_, ejection_, groups_;
};

/// Arrivals at storing nodes that entries of one chunk cause, as (node, epoch from which it is held).
void for_each_arrival(const Problem& problem, const EpochGrid& grid,
                      const std::vector<EpochEntry>& entries, const auto& visit) {
  for (const EpochEntry& entry : entries) {
    const NodeId head = problem.topology.link(entry.link).to;
    if (!problem.topology.stores(head)) continue;
    visit(entry.chunk, head,
          entry.epoch + grid.transit(entry.link, problem.chunks[entry.chunk].bytes));
  }
}

}  // namespace

EpochState initial_state(const Problem& problem, const EpochGrid& grid) {
  EpochState state;
  state.holders.resize(problem.chunks.size());
  state.wanted.resize(problem.chunks.size());
  for (const ChunkId id : problem.chunk_ids()) {
    const Chunk& chunk = problem.chunks[id];
    for (const NodeId origin : chunk.origins)
      state.holders[id].push_back({origin, grid.epoch_at_or_after(chunk.ready)});
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
    const auto same = std::find_if(holders.begin(), holders.end(),
                                   [&](const EpochHolder& h) { return h.node == node; });
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
    std::sort(holders.begin(), holders.end(),
              [](const EpochHolder& a, const EpochHolder& b) { return a.node < b.node; });
  }
  next.in_flight.clear();
  const auto keep = [&](EpochEntry entry) {
    entry.epoch -= epochs;
    // Until the last byte has left the link: links are in use before that, ejection caps up to then.
    const int in_use =
        grid.latency(entry.link) + grid.window(entry.link, problem.chunks[entry.chunk].bytes);
    if (entry.epoch + in_use > 0) next.in_flight.push_back(entry);
  };
  for (const EpochEntry& entry : state.in_flight) keep(entry);
  for (const EpochEntry& entry : entries) keep(entry);
  return next;
}

std::vector<int> earliest_epochs(const Problem& problem, const EpochGrid& grid,
                                 const EpochState& state, ChunkId chunk) {
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
      if (!wanted.contains(head) && !may_pass(problem, head, what.job, what.bytes)) continue;
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
      if (std::find(wanting.begin(), wanting.end(), holder.node) != wanting.end())
        last = std::max(last, holder.epoch);
    }
  }
  return last;
}

std::vector<EpochEntry> epoch_schedule(const Problem& problem, const EpochGrid& grid,
                                       const Schedule& sends) {
  const Topology& topology = problem.topology;
  std::map<std::pair<ChunkId, NodeId>, int> held;
  for (const ChunkId id : problem.chunk_ids()) {
    for (const NodeId origin : problem.chunks[id].origins) {
      held[{id, origin}] = grid.epoch_at_or_after(problem.chunks[id].ready);
    }
  }
  EpochLoads loads(problem, grid);
  std::vector<EpochEntry> entries;
  for (const Send& send : sends) {
    const Bytes bytes = problem.chunks[send.chunk].bytes;
    if (send.bytes != bytes) return {};  // the grid knows whole chunks only
    const NodeId source = topology.link(send.links.front()).from;
    const auto holder = held.find({send.chunk, source});
    if (holder == held.end())
      continue;  // not causal on the grid: what depends on it falls away too
    std::map<NodeId, int> offset{{source, 0}};
    std::map<NodeId, int> leaving;
    std::vector<int> entry_offset;
    for (const LinkId id : send.links) {
      const Link& link = topology.link(id);
      entry_offset.push_back(offset[link.from]);
      offset[link.to] = offset[link.from] + grid.latency(id);
      ++leaving[link.from];
    }
    for (const auto& [node, count] : leaving) {
      if (count > 1 && topology.node(node).max_groups == 0) return {};  // no such plan
    }
    const int window = grid.window(send.links.front(), bytes);
    int epoch = holder->second;
    const auto fits = [&] {
      for (std::size_t i = 0; i < send.links.size(); ++i) {
        if (!loads.fits(send.chunk, send.links[i], epoch + entry_offset[i])) return false;
      }
      return std::all_of(leaving.begin(), leaving.end(), [&](const auto& node) {
        return node.second < 2 || loads.group_fits(node.first, epoch + offset[node.first], window);
      });
    };
    while (!fits()) ++epoch;
    for (const auto& [node, count] : leaving) {
      if (count > 1) loads.add_group(node, epoch + offset[node], window);
    }
    for (std::size_t i = 0; i < send.links.size(); ++i) {
      const LinkId id = send.links[i];
      const int enter = epoch + entry_offset[i];
      loads.add(send.chunk, id, enter);
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

std::vector<EpochEntry> greedy_on_grid(const Problem& problem, const EpochGrid& grid,
                                       const EpochState& state) {
  const Topology& topology = problem.topology;
  const Routes routes(topology);
  EpochLoads loads(problem, grid);
  for (const EpochEntry& entry : state.in_flight) loads.add(entry.chunk, entry.link, entry.epoch);
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
          fits = fits && loads.fits(id, link, epoch + offset);
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
          if (held.contains(hop.to))
            continue;  // has it or will, and that it comes sooner is not planned for
          if (!destinations.contains(hop.to) && !may_pass(problem, hop.to, chunk.job, chunk.bytes))
            continue;
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
          loads.add(id, link, epoch);
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

}  // namespace stellwerk
