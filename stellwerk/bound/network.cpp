// Whole-chunk times by Dijkstra on layers, one for each distinct bandwidth B: in layer B a chunk is
// on its way over switches at the rate B, using only links of at least that bandwidth. A storing
// node lets go of the chunk into any layer; between storing nodes the transmission time of the
// layer is paid once. Held to its word by network_test.cpp, against an enumeration of all paths of
// small random networks.
#include "stellwerk/bound/network.hpp"

#include <algorithm>
#include <functional>
#include <queue>

#include "stellwerk/base/wide.hpp"

namespace stellwerk::bound {

std::vector<NodeId> members(const NodeSet& set) {
  std::vector<NodeId> result;
  for (std::size_t v = 0; v < set.size(); ++v) {
    if (set[v]) result.push_back(NodeId(v));
  }
  return result;
}

Network::Network(const Topology& topology)
    : topology_(topology), from_(topology.nodes().size()), to_(topology.nodes().size()) {
  std::vector<graph::Arc> arcs;
  arcs.reserve(topology.links().size());
  for (const Link& link : topology.links()) {
    arcs.push_back({link.from.value, link.to.value});
    latency_.push_back(link.latency.ps);
    bandwidths_.push_back(link.bandwidth.bytes_per_second);
  }
  digraph_ = graph::Digraph(static_cast<int>(topology.nodes().size()), std::move(arcs));
  std::sort(bandwidths_.begin(), bandwidths_.end());
  bandwidths_.erase(std::unique(bandwidths_.begin(), bandwidths_.end()), bandwidths_.end());
  if (bandwidths_.empty()) bandwidths_.push_back(1);  // so that there is a layer to keep times in
}

const std::vector<std::int64_t>& Network::from(NodeId node) const {
  auto& entry = from_[node.index()];
  if (!entry) entry = graph::distances(digraph_, latency_, std::vector{graph::Start{node.value}});
  return *entry;
}

const std::vector<std::int64_t>& Network::to(NodeId node) const {
  auto& entry = to_[node.index()];
  if (!entry) {
    entry = graph::distances(digraph_, latency_, std::vector{graph::Start{node.value}}, true);
  }
  return *entry;
}

std::vector<LinkId> Network::entries(const NodeSet& set) const {
  std::vector<LinkId> result;
  for (const LinkId id : topology_.link_ids()) {
    const Link& link = topology_.link(id);
    if (!set[link.from.index()] && set[link.to.index()]) result.push_back(id);
  }
  return result;
}

WholeChunkTimes::WholeChunkTimes(const Network& network, Bytes bytes)
    : network_(network), first_(network.nodes()), last_(network.nodes()) {
  for (const std::int64_t b : network.bandwidths()) {
    const Int128 time = (static_cast<Int128>(bytes.value) * 1'000'000'000'000 + b - 1) / b;
    transmission_.push_back(static_cast<std::int64_t>(std::min<Int128>(time, graph::kUnreachable)));
  }
}

const std::vector<std::int64_t>& WholeChunkTimes::first(NodeId source) const {
  auto& entry = first_[source.index()];
  if (!entry) entry = search({source}, false);
  return *entry;
}

const std::vector<std::int64_t>& WholeChunkTimes::last(NodeId target) const {
  auto& entry = last_[target.index()];
  if (!entry) entry = search({target}, true);
  return *entry;
}

std::vector<std::int64_t> WholeChunkTimes::last(const std::vector<NodeId>& targets) const {
  return search(targets, true);
}

std::vector<std::int64_t> WholeChunkTimes::through(NodeId tail,
                                                   const std::vector<std::int64_t>& cost) const {
  const Topology& topology = network_.topology();
  const std::vector<std::int64_t>& bandwidths = network_.bandwidths();
  const std::size_t n = network_.nodes();
  // Against the links. A hop's transmission time is paid at its end, so a search that starts at a
  // switch charges nothing for the hop that it is part of: `cost` has it.
  std::vector<std::int64_t> time(bandwidths.size() * n, graph::kUnreachable);
  using Entry = std::pair<std::int64_t, std::size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  const auto reach = [&](NodeId node, std::size_t layer, std::int64_t when) {
    const std::size_t place = (topology.stores(node) ? 0 : layer * n) + node.index();
    if (when >= time[place]) return;
    time[place] = when;
    queue.emplace(when, place);
  };
  for (std::size_t k = 0; k < cost.size(); ++k) {
    if (cost[k] < graph::kUnreachable) reach(tail, k, cost[k]);
  }
  while (!queue.empty()) {
    const auto [now, place] = queue.top();
    queue.pop();
    if (now > time[place]) continue;
    const NodeId v(place % n);
    const bool stores = topology.stores(v);
    for (const LinkId id : topology.in(v)) {
      const Link& link = topology.link(id);
      for (std::size_t k = stores ? 0 : place / n; k < bandwidths.size(); ++k) {
        if (link.bandwidth.bytes_per_second < bandwidths[k]) break;
        reach(link.from, k, now + link.latency.ps + (stores ? transmission_[k] : 0));
        if (!stores) break;  // a switch cannot change the rate
      }
    }
  }
  time.resize(n);
  for (std::size_t v = 0; v < n; ++v) {
    if (!topology.stores(NodeId(v))) time[v] = graph::kUnreachable;
  }
  return time;
}

std::vector<std::int64_t> WholeChunkTimes::search(const std::vector<NodeId>& starts,
                                                  bool backwards) const {
  const Topology& topology = network_.topology();
  const std::vector<std::int64_t>& bandwidths = network_.bandwidths();
  const std::size_t n = network_.nodes();
  const std::size_t layers = bandwidths.size();
  // Storing nodes have one value, kept in layer 0 until the end; switches have one in each layer.
  std::vector<std::int64_t> time(layers * n, graph::kUnreachable);
  using Entry = std::pair<std::int64_t, std::size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (const NodeId start : starts) {
    time[start.index()] = 0;
    queue.emplace(0, start.index());
  }
  while (!queue.empty()) {
    const auto [now, place] = queue.top();
    queue.pop();
    if (now > time[place]) continue;
    const NodeId v(place % n);
    const bool stores = topology.stores(v);
    for (const LinkId id : backwards ? topology.in(v) : topology.out(v)) {
      const Link& link = topology.link(id);
      const NodeId w = backwards ? link.from : link.to;
      for (std::size_t k = stores ? 0 : place / n; k < layers; ++k) {
        if (link.bandwidth.bytes_per_second < bandwidths[k]) break;
        const std::int64_t there =
            now + link.latency.ps + (topology.stores(w) ? transmission_[k] : 0);
        std::int64_t& best = time[topology.stores(w) ? w.index() : k * n + w.index()];
        if (there < best) {
          best = there;
          queue.emplace(there, topology.stores(w) ? w.index() : k * n + w.index());
        }
        if (!stores) break;  // a switch cannot change the rate
      }
    }
  }
  for (std::size_t v = 0; v < n; ++v) {
    if (!topology.stores(NodeId(v))) continue;
    for (std::size_t k = 1; k < layers; ++k) time[k * n + v] = time[v];
  }
  return time;
}

}  // namespace stellwerk::bound
