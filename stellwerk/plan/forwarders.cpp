#include "stellwerk/plan/forwarders.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "stellwerk/plan/passing.hpp"

namespace stellwerk {
namespace {

class Search {
 public:
  explicit Search(const Problem& problem)
      : problem_(problem),
        topology_(problem.topology),
        room_(topology_.nodes().size(), -1),
        role_(topology_.nodes().size(), Role::stranger),
        reached_(topology_.nodes().size(), 0),
        uses_(topology_.links().size(), 0) {
    for (const NodeId node : topology_.node_ids()) {
      if (topology_.node(node).buffer) room_[node] = topology_.node(node).buffer->value;
    }
  }

  /// The forwarders of one chunk; false if a destination cannot be reached.
  bool find(const Chunk& chunk, std::vector<NodeId>& forwarders,
            const std::vector<NodeId>* barred) {
    barred_ = barred;
    std::fill(role_.begin(), role_.end(), Role::stranger);
    std::fill(reached_.begin(), reached_.end(), 0);
    for (const NodeId node : chunk.destinations) role_[node] = Role::wants;
    missing_ = 0;
    for (const NodeId node : chunk.destinations) missing_ += role_[node] == Role::wants ? 1 : 0;
    for (const NodeId node : chunk.origins) {
      if (role_[node] == Role::wants) --missing_;
      role_[node] = Role::holds;
    }
    for (const NodeId node : chunk.origins) spread(node);
    while (missing_ > 0) {
      if (!join_nearest(chunk, forwarders)) return false;
    }
    std::sort(forwarders.begin(), forwarders.end());
    return true;
  }

 private:
  enum class Role : std::uint8_t { stranger, wants, holds, forwards };

  /// Marks what can be reached from `seed` over nodes that take part, and switches on the way.
  void spread(NodeId seed) {
    if (reached_[seed] != 0) return;
    stack_.assign(1, seed);
    reach(seed);
    while (!stack_.empty()) {
      const NodeId node = stack_.back();
      stack_.pop_back();
      for (const LinkId id : topology_.out(node)) {
        const NodeId next = topology_.link(id).to;
        if (reached_[next] != 0) continue;
        if (topology_.stores(next) && role_[next] == Role::stranger) continue;
        reach(next);
        stack_.push_back(next);
      }
    }
  }
  void reach(NodeId node) {
    reached_[node] = 1;
    if (role_[node] == Role::wants) --missing_;
  }

  /// Dijkstra from all that is reached to the nearest destination that is not.
  bool join_nearest(const Chunk& chunk, std::vector<NodeId>& forwarders) {
    IdVector<NodeId, Time> distance(topology_.nodes().size(), Time::max());
    IdVector<NodeId, LinkId> parent(topology_.nodes().size());
    using Entry = std::pair<Time, NodeId>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    for (const NodeId node : topology_.node_ids()) {
      if (reached_[node] == 0 || !topology_.stores(node)) continue;
      distance[node] = Time{0};
      queue.emplace(Time{0}, node);
    }
    while (!queue.empty()) {
      const auto [time, node] = queue.top();
      queue.pop();
      if (time > distance[node]) continue;
      if (role_[node] == Role::wants && reached_[node] == 0) {
        take_path(chunk, node, parent, forwarders);
        return true;
      }
      for (const LinkId id : topology_.out(node)) {
        const Link& link = topology_.link(id);
        if (topology_.stores(link.to) && role_[link.to] == Role::stranger &&
            !may_forward(chunk, link.to))
          continue;
        const Time cost = link.latency + transmission_time(chunk.bytes, link.bandwidth);
        const Time arrival = time + cost + Time{cost.ps / 8 * uses_[id]};
        if (arrival >= distance[link.to]) continue;
        distance[link.to] = arrival;
        parent[link.to] = id;
        queue.emplace(arrival, link.to);
      }
    }
    return false;
  }

  bool may_forward(const Chunk& chunk, NodeId node) const {
    if (barred_ != nullptr && std::find(barred_->begin(), barred_->end(), node) != barred_->end()) {
      return false;
    }
    return (room_[node] < 0 || room_[node] >= chunk.bytes.value) &&
           problem_.may_forward(node, chunk.job);
  }

  void take_path(const Chunk& chunk, NodeId end, const IdVector<NodeId, LinkId>& parent,
                 std::vector<NodeId>& forwarders) {
    NodeId node = end;
    while (parent[node].valid()) {
      const LinkId id = parent[node];
      constexpr std::int64_t kMost = 1 << 20;
      uses_[id] = std::min(uses_[id] + 1, kMost);
      node = topology_.link(id).from;
      if (!topology_.stores(node) || role_[node] != Role::stranger) continue;
      role_[node] = Role::forwards;
      forwarders.push_back(node);
      if (room_[node] >= 0) room_[node] -= chunk.bytes.value;
    }
    // From the path's first node on everything is in reach.
    std::vector<NodeId> path{end};
    for (NodeId at = end; parent[at].valid(); at = topology_.link(parent[at]).from)
      path.push_back(topology_.link(parent[at]).from);
    for (const NodeId at : path) {
      if (topology_.stores(at)) spread(at);
    }
  }

  const Problem& problem_;
  const Topology& topology_;
  IdVector<NodeId, std::int64_t> room_;  // left in transit buffers; -1: unlimited
  IdVector<NodeId, Role> role_;
  IdVector<NodeId, char> reached_;
  IdVector<LinkId, std::int64_t> uses_;  // by chunks that need forwarders
  std::vector<NodeId> stack_;
  const std::vector<NodeId>* barred_ = nullptr;  // of the chunk in hand
  int missing_ = 0;
};

}  // namespace

Forwarders find_forwarders(const Problem& problem, const StopCondition& stop,
                           const IdVector<ChunkId, std::vector<NodeId>>* barred) {
  constexpr std::size_t kPoll = 64;  // searches from one look at the clock to the next
  Forwarders result;
  result.of.resize(problem.chunks.size());
  Search search(problem);
  const Chunk* last = nullptr;  // whose ends need no forwarders
  std::size_t searches = 0;
  for (const ChunkId id : problem.chunk_ids()) {
    const Chunk& chunk = problem.chunks[id];
    const bool free = barred == nullptr || (*barred)[id].empty();
    if (free && last != nullptr && last->job == chunk.job && last->origins == chunk.origins &&
        last->destinations == chunk.destinations)
      continue;
    if (++searches % kPoll == 0 && stop.should_stop()) {
      result.objection = "no plan before the limit";
      return result;
    }
    if (!search.find(chunk, result.of[id], free ? nullptr : &(*barred)[id])) {
      result.objection = "chunk " + std::to_string(id.value) +
                         " cannot reach all its destinations through nodes with room for it";
      return result;
    }
    last = result.of[id].empty() && free ? &chunk : nullptr;
  }
  return result;
}

}  // namespace stellwerk
