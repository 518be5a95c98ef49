#include "stellwerk/plan/routes.hpp"

#include <algorithm>
#include <queue>
#include <tuple>

namespace stellwerk {
namespace {

/// Depth-first enumeration of the simple switch paths that leave one node.
class HopFinder {
 public:
  HopFinder(const Topology& topology, int max_links)
      : topology_(topology), max_links_(max_links), on_path_(topology.nodes().size(), 0) {}

  std::vector<Hop> from(NodeId source) {
    found_.clear();
    source_ = source;
    on_path_[source.index()] = 1;
    extend(source);
    on_path_[source.index()] = 0;
    return std::move(found_);
  }

 private:
  void extend(NodeId node) {
    for (const LinkId id : topology_.out(node)) {
      const NodeId head = topology_.link(id).to;
      if (on_path_[head.index()] != 0) continue;
      path_.push_back(id);
      if (topology_.stores(head)) {
        record(head);
      } else if (path_.size() < static_cast<std::size_t>(max_links_) && found_.size() < kEnough) {
        on_path_[head.index()] = 1;
        extend(head);
        on_path_[head.index()] = 0;
      }
      path_.pop_back();
    }
  }

  void record(NodeId head) {
    Hop hop{source_, head, path_, Time{0}, topology_.link(path_.front()).bandwidth};
    for (const LinkId id : path_) {
      hop.latency += topology_.link(id).latency;
      hop.bandwidth = std::min(hop.bandwidth, topology_.link(id).bandwidth);
    }
    // A send alone may not be faster than what its ends can put in and take out.
    if (const auto cap = topology_.node(source_).injection)
      hop.bandwidth = std::min(hop.bandwidth, *cap);
    if (const auto cap = topology_.node(head).ejection)
      hop.bandwidth = std::min(hop.bandwidth, *cap);
    found_.push_back(std::move(hop));
  }

  // Meshes of many switches have exponentially many simple paths; the first ones found serve.
  static constexpr std::size_t kEnough = 200000;

  const Topology& topology_;
  int max_links_;
  NodeId source_;
  std::vector<char> on_path_;
  std::vector<LinkId> path_;
  std::vector<Hop> found_;
};

}  // namespace

Routes::Routes(const Topology& topology, int max_links, int max_alternatives) {
  out_.resize(topology.nodes().size());
  in_.resize(topology.nodes().size());
  HopFinder finder(topology, max_links);
  for (const NodeId source : topology.node_ids()) {
    if (!topology.stores(source)) continue;
    std::vector<Hop> found = finder.from(source);
    std::sort(found.begin(), found.end(), [](const Hop& a, const Hop& b) {
      const auto key = [](const Hop& hop) {
        return std::tuple(hop.to, hop.links.size(), -hop.bandwidth.bytes_per_second, hop.latency);
      };
      return key(a) != key(b) ? key(a) < key(b) : a.links < b.links;
    });
    int alternatives = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      alternatives = i > 0 && found[i].to == found[i - 1].to ? alternatives + 1 : 1;
      if (alternatives > max_alternatives) continue;
      const HopId id(hops_.size());
      out_[source].push_back(id);
      in_[found[i].to].push_back(id);
      hops_.push_back(std::move(found[i]));
    }
  }
}

std::vector<HopId> Routes::path(std::span<const NodeId> sources, NodeId to, Bytes bytes,
                                const IdVector<NodeId, char>& allowed) const {
  IdVector<NodeId, Time> distance(out_.size(), Time::max());
  IdVector<NodeId, HopId> parent(out_.size());
  IdVector<NodeId, char> is_source(out_.size(), 0);
  using Entry = std::pair<Time, NodeId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (const NodeId source : sources) {
    distance[source] = Time{0};
    is_source[source] = 1;
    queue.emplace(Time{0}, source);
  }
  while (!queue.empty()) {
    const auto [time, node] = queue.top();
    queue.pop();
    if (time > distance[node]) continue;
    if (node == to) break;
    if (is_source[node] == 0 && allowed[node] == 0) continue;
    for (const HopId id : out_[node]) {
      const Hop& hop = hops_[id];
      const Time arrival = time + hop.latency + transmission_time(bytes, hop.bandwidth);
      if (arrival < distance[hop.to]) {
        distance[hop.to] = arrival;
        parent[hop.to] = id;
        queue.emplace(arrival, hop.to);
      }
    }
  }
  std::vector<HopId> result;
  if (distance[to] == Time::max()) return result;
  for (NodeId node = to; is_source[node] == 0; node = hops_[parent[node]].from)
    result.push_back(parent[node]);
  std::reverse(result.begin(), result.end());
  return result;
}

}  // namespace stellwerk
