#include "stellwerk/plan/clusters.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "stellwerk/graph/digraph.hpp"
#include "stellwerk/graph/shortest_paths.hpp"

namespace stellwerk {
namespace {

/// What one switch can pass from one storing node to another, by its fastest links; 0 for a switch
/// without such neighbours on both sides.
std::int64_t switch_speed(const Topology& topology, NodeId node) {
  std::int64_t in = 0;
  std::int64_t out = 0;
  for (const LinkId id : topology.in(node)) {
    if (topology.stores(topology.link(id).from))
      in = std::max(in, topology.link(id).bandwidth.bytes_per_second);
  }
  for (const LinkId id : topology.out(node)) {
    if (topology.stores(topology.link(id).to))
      out = std::max(out, topology.link(id).bandwidth.bytes_per_second);
  }
  return std::min(in, out);
}

Clustering cluster(const Topology& topology, const Fabrics& fabrics,
                   const IdVector<NodeId, std::int64_t>& speed, std::int64_t threshold) {
  std::vector<graph::Arc> arcs;
  for (const LinkId id : fabrics.direct()) {
    const Link& link = topology.link(id);
    if (link.bandwidth.bytes_per_second >= threshold)
      arcs.push_back({link.from.value, link.to.value});
  }
  Clustering result;
  result.inner.assign(topology.nodes().size(), 0);
  for (const NodeId node : topology.node_ids()) {
    if (topology.stores(node) || speed[node] < threshold) continue;
    result.inner[node] = 1;
    for (const LinkId id : topology.in(node)) {
      if (topology.stores(topology.link(id).from))
        arcs.push_back({topology.link(id).from.value, node.value});
    }
    for (const LinkId id : topology.out(node)) {
      if (topology.stores(topology.link(id).to))
        arcs.push_back({node.value, topology.link(id).to.value});
    }
  }
  const std::vector<int> component = graph::strong_components(
      graph::Digraph(static_cast<int>(topology.nodes().size()), std::move(arcs)));
  result.of.assign(topology.nodes().size(), -1);
  std::vector<int> number(topology.nodes().size(), -1);
  for (const NodeId node : topology.node_ids()) {
    if (!topology.stores(node)) continue;
    int& mine = number[static_cast<std::size_t>(component[node.index()])];
    if (mine < 0) mine = result.count++;
    result.of[node] = mine;
  }
  return result;
}

}  // namespace

std::vector<Clustering> find_clusterings(const Topology& topology, const Fabrics& fabrics,
                                         std::size_t most) {
  IdVector<NodeId, std::int64_t> speed(topology.nodes().size(), 0);
  std::vector<std::int64_t> levels;
  for (const LinkId id : fabrics.direct())
    levels.push_back(topology.link(id).bandwidth.bytes_per_second);
  std::int64_t storing = 0;
  for (const NodeId node : topology.node_ids()) {
    if (topology.stores(node)) {
      ++storing;
      continue;
    }
    speed[node] = switch_speed(topology, node);
    if (speed[node] > 0) levels.push_back(speed[node]);
  }
  std::sort(levels.begin(), levels.end(), std::greater<>());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());

  std::vector<std::pair<double, Clustering>> found;  // with the step below the threshold
  constexpr std::size_t kMostLevels = 16;
  for (std::size_t i = 0; i < levels.size() && i < kMostLevels; ++i) {
    Clustering clustering = cluster(topology, fabrics, speed, levels[i]);
    if (clustering.count == 1) break;
    if (clustering.count == storing) continue;
    const double step = i + 1 < levels.size()
                            ? static_cast<double>(levels[i]) / static_cast<double>(levels[i + 1])
                            : std::numeric_limits<double>::max();
    if (!found.empty() && found.back().second.count == clustering.count) {
      found.back() = {std::max(found.back().first, step), std::move(clustering)};  // the same nodes
    } else {
      found.emplace_back(step, std::move(clustering));
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Clustering> result;
  for (auto& [step, clustering] : found) {
    if (result.size() < most) result.push_back(std::move(clustering));
  }
  return result;
}

}  // namespace stellwerk
