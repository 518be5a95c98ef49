// Problem: given a set S of nodes, which certificate makes the most of it? Everything that nodes of
// S want from outside has to enter, so the time is at least (bytes) / (bandwidth into S) plus
// latencies. Which bytes to count is a trade: all of them for the bandwidth term, only those that
// come from far away or go far for the latency terms. So sources are taken in the order of their
// distance to the target through the entry links, farthest first, and the bound is evaluated after
// each distance; likewise for destinations. Guarantee: what is offered is evaluated exactly by the
// definitions; the choice of levels is complete for single-origin chunks and one target. With
// potentials that are distances this is the dual of the flow over time of Ford and Fulkerson
// (Operations Research 6, 1958), which the prototype's figures in the tests come from. Cost:
// sources * entry links for each target. Held to its word by cut_test.cpp (values by hand) and
// bound_test.cpp (never above the optimum of an exhaustive search).
#include "stellwerk/bound/cut.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "stellwerk/bound/entries.hpp"
#include "stellwerk/bound/least.hpp"

namespace stellwerk::bound {
namespace {

using graph::kUnreachable;

constexpr std::size_t kMostLevels = 12;  // of destinations; sources are cheap

/// Latency distance from every node to the nearest of `targets`.
std::vector<std::int64_t> distance_to(const std::vector<NodeId>& targets, const Network& network) {
  if (targets.size() == 1) return network.to(targets.front());
  std::vector<graph::Start> starts;
  for (const NodeId node : targets) starts.push_back({node.value});
  return graph::distances(network.digraph(), network.latencies(), starts, true);
}

std::int64_t total_bytes(const BlockList& blocks, const Demand& demand) {
  std::int64_t bytes = 0;
  for (const std::size_t i : blocks) bytes += demand.block(i).bytes;
  return bytes;
}

/// One set of nodes, while certificates into it are tried.
struct Trial {
  const NodeSet& set;
  const std::vector<LinkId>& links;
  const Network& network;
  const Demand& demand;
  Best& best;
  std::optional<Time> latency_bound;  ///< dynamic cuts are wanted
};

/// Far sources first: after each distance, what do the blocks counted so far prove?
void search_sources(const Trial& trial, const Certificate& base, const BlockList& blocks,
                    const std::vector<Entry>& entries) {
  struct Source {
    std::int64_t key;  // distance to a target
    NodeId node;
  };
  std::vector<std::vector<std::size_t>> blocks_of(trial.network.nodes());
  std::vector<std::size_t> missing(blocks.size());  // sources that keep the block from counting
  std::vector<Source> sources;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Block& block = trial.demand.block(blocks[i]);
    std::size_t outside = 0;
    for (const NodeId node : block.sources()) {
      if (trial.set[node.index()]) continue;
      ++outside;
      if (blocks_of[node.index()].empty()) sources.push_back({0, node});
      blocks_of[node.index()].push_back(i);
    }
    missing[i] = block.chunk->is_reduction() ? 1 : outside;
  }
  for (Source& source : sources) {
    const std::vector<std::int64_t>& from = trial.network.from(source.node);
    source.key = kUnreachable;
    for (const Entry& entry : entries) {
      source.key = std::min(source.key, from[entry.tail.index()] + entry.after);
    }
  }
  std::sort(sources.begin(), sources.end(), [](const Source& a, const Source& b) {
    return a.key != b.key ? a.key > b.key : a.node < b.node;
  });

  std::vector<Gate> gates;
  for (const Entry& entry : entries) gates.push_back({entry.bandwidth, kUnreachable});
  const auto open = [&](NodeId source, std::int64_t ready) {
    const std::vector<std::int64_t>& from = trial.network.from(source);
    for (std::size_t e = 0; e < entries.size(); ++e) {
      const std::int64_t there = from[entries[e].tail.index()];
      if (there >= kUnreachable) continue;
      gates[e].opens = std::min(gates[e].opens, ready + there + entries[e].after);
    }
  };
  Int128 amount = 0;
  Time found = trial.best.value();
  std::size_t found_count = 0;
  for (std::size_t s = 0; s < sources.size(); ++s) {
    const NodeId node = sources[s].node;
    std::int64_t ready = std::numeric_limits<std::int64_t>::max();
    for (const std::size_t i : blocks_of[node.index()]) {
      const Block& block = trial.demand.block(blocks[i]);
      if (missing[i] > 0) {
        if (--missing[i] > 0) continue;
        amount += block.bytes;
        if (!block.chunk->is_reduction() && block.chunk->origins.size() > 1) {
          for (const NodeId origin : block.chunk->origins) open(origin, block.chunk->ready.ps);
        }
      }
      ready = std::min(ready, block.chunk->ready.ps);
    }
    if (ready != std::numeric_limits<std::int64_t>::max()) open(node, ready);
    if (s + 1 < sources.size() && sources[s + 1].key == sources[s].key) continue;
    if (amount == 0) continue;
    const std::optional<Time> value = least(gates, amount);
    if (value && *value > found) {
      found = *value;
      found_count = s + 1;
    }
  }
  if (found_count == 0) return;
  Certificate certificate = base;
  certificate.kind = Certificate::Kind::dynamic_cut;
  if (found_count < sources.size()) {
    for (std::size_t s = 0; s < found_count; ++s) certificate.from.push_back(sources[s].node);
    std::sort(certificate.from.begin(), certificate.from.end());
  }
  trial.best.offer(dynamic_cut_value(certificate, trial.network, trial.demand), certificate);
}

/// The plain cut or the dynamic ones for `bytes` that enter for `wanting`, if they may become the
/// best; `find_blocks` says which blocks they are.
template <class FindBlocks>
void search_wanting(const Trial& trial, const Certificate& base, std::int64_t bytes,
                    const std::vector<NodeId>& wanting, const FindBlocks& find_blocks) {
  if (bytes == 0) return;
  const std::vector<Entry> entries =
      entries_towards(trial.links, distance_to(wanting, trial.network), trial.network);
  std::vector<Gate> gates;
  for (const Entry& entry : entries) gates.push_back({entry.bandwidth, entry.after});
  const std::optional<Time> value = least(std::move(gates), bytes);
  if (!value) return;
  if (trial.latency_bound) {
    // Ready times and releases add at most about what the longest way takes.
    if (*value + *trial.latency_bound <= trial.best.value()) return;
    search_sources(trial, base, find_blocks(), entries);
    return;
  }
  if (*value + trial.demand.latest_ready() <= trial.best.value()) return;
  Time ready = Time::max();
  for (const std::size_t i : find_blocks()) {
    ready = std::min(ready, trial.demand.block(i).chunk->ready);
  }
  trial.best.offer(*value + ready, base);
}

void search_any_target(const Trial& trial, const Certificate& base, const Demand::Inflow& inflow) {
  const BlockList& entering = inflow.blocks;
  const std::vector<NodeId>& wanting = inflow.wanting;
  search_wanting(trial, base, total_bytes(entering, trial.demand), wanting,
                 [&] { return entering; });
  if (!trial.latency_bound) return;
  // Far destinations only.
  std::vector<std::pair<std::int64_t, NodeId>> keys;
  for (const NodeId node : wanting) {
    std::int64_t key = kUnreachable;
    const std::vector<std::int64_t>& to = trial.network.to(node);
    for (const LinkId id : trial.links) {
      const Link& link = trial.network.topology().link(id);
      key = std::min(key, link.latency.ps + to[link.to.index()]);
    }
    keys.emplace_back(-key, node);
  }
  std::sort(keys.begin(), keys.end());
  std::size_t levels = 0;
  for (std::size_t k = 1; k < keys.size() && levels < kMostLevels; ++k) {
    if (keys[k].first == keys[k - 1].first) continue;
    ++levels;
    Certificate certificate = base;
    NodeSet far(trial.network.nodes(), false);
    for (std::size_t j = 0; j < k; ++j) {
      certificate.to.push_back(keys[j].second);
      far[keys[j].second.index()] = true;
    }
    std::sort(certificate.to.begin(), certificate.to.end());
    BlockList blocks;
    for (const std::uint32_t i : entering) {
      const std::vector<NodeId>& destinations = trial.demand.block(i).chunk->destinations;
      if (std::any_of(destinations.begin(), destinations.end(),
                      [&](NodeId node) { return far[node.index()]; })) {
        blocks.push_back(i);
      }
    }
    search_wanting(trial, certificate, total_bytes(blocks, trial.demand), certificate.to,
                   [&] { return blocks; });
  }
}

void search_set(const NodeSet& set, std::optional<NodeId> target, const Network& network,
                const Demand& demand, std::optional<Time> latency_bound, Best& best) {
  const std::vector<LinkId> links = network.entries(set);
  if (links.empty()) return;
  const Demand::Inflow inflow = demand.inflow(set, target);
  if (inflow.blocks.empty()) return;
  const Trial trial{set, links, network, demand, best, latency_bound};
  Certificate base;
  base.kind = Certificate::Kind::cut;
  base.set = members(set);
  if (inflow.wanting.size() > 1) search_any_target(trial, base, inflow);
  for (std::size_t k = 0; k < inflow.wanting.size(); ++k) {
    const NodeId node = inflow.wanting[k];
    base.target = node;
    search_wanting(trial, base, inflow.bytes[k], {node}, [&] {
      BlockList blocks;
      const BlockSpan wanted = demand.wanted_by(node);
      std::set_intersection(inflow.blocks.begin(), inflow.blocks.end(), wanted.begin(),
                            wanted.end(), std::back_inserter(blocks));
      return blocks;
    });
  }
}

}  // namespace

Counted counted(const Certificate& certificate, const Demand& demand) {
  Counted result;
  result.set.assign(demand.nodes(), false);
  for (const NodeId node : certificate.set) result.set[node.index()] = true;
  result.outside.assign(demand.nodes(), false);
  if (certificate.from.empty()) {
    for (std::size_t v = 0; v < demand.nodes(); ++v) result.outside[v] = !result.set[v];
  } else {
    for (const NodeId node : certificate.from) result.outside[node.index()] = true;
  }
  NodeSet wanting(demand.nodes(), false), destination(demand.nodes(), false);
  if (certificate.target) {
    wanting[certificate.target->index()] = true;
  } else {
    for (const NodeId node : certificate.to.empty() ? certificate.set : certificate.to) {
      wanting[node.index()] = true;
    }
  }
  const auto is_outside = [&](NodeId node) { return result.outside[node.index()]; };
  for (const std::uint32_t i : demand.entering(wanting)) {
    const Block& block = demand.block(i);
    const std::vector<NodeId>& sources = block.sources();
    if (block.chunk->is_reduction() ? std::none_of(sources.begin(), sources.end(), is_outside)
                                    : !std::all_of(sources.begin(), sources.end(), is_outside)) {
      continue;
    }
    result.blocks.push_back(i);
    for (const NodeId node : block.chunk->destinations) destination[node.index()] = true;
  }
  for (std::size_t v = 0; v < demand.nodes(); ++v) {
    if (wanting[v] && destination[v]) result.wanting.push_back(NodeId(v));
  }
  return result;
}

std::optional<Time> cut_value(const Certificate& certificate, const Network& network,
                              const Demand& demand) {
  const Counted count = counted(certificate, demand);
  if (count.blocks.empty()) return std::nullopt;
  std::vector<Gate> gates;
  for (const Entry& entry :
       entries_towards(network.entries(count.set), distance_to(count.wanting, network), network)) {
    gates.push_back({entry.bandwidth, entry.after});
  }
  Time ready = Time::max();
  for (const std::size_t i : count.blocks) ready = std::min(ready, demand.block(i).chunk->ready);
  std::optional<Time> value = least(std::move(gates), total_bytes(count.blocks, demand));
  if (value) *value += ready;
  return value;
}

std::optional<Time> dynamic_cut_value(const Certificate& certificate, const Network& network,
                                      const Demand& demand) {
  const Counted count = counted(certificate, demand);
  if (count.blocks.empty()) return std::nullopt;
  std::vector<std::int64_t> start(network.nodes(), kUnreachable);
  for (const std::size_t i : count.blocks) {
    const Block& block = demand.block(i);
    for (const NodeId node : block.sources()) {
      if (!count.outside[node.index()]) continue;
      start[node.index()] = std::min(start[node.index()], block.chunk->ready.ps);
    }
  }
  std::vector<graph::Start> starts;
  for (std::size_t v = 0; v < start.size(); ++v) {
    if (start[v] < kUnreachable) starts.push_back({static_cast<int>(v), start[v]});
  }
  const std::vector<std::int64_t> release =
      graph::distances(network.digraph(), network.latencies(), starts);
  std::vector<Gate> gates;
  for (const Entry& entry :
       entries_towards(network.entries(count.set), distance_to(count.wanting, network), network)) {
    if (release[entry.tail.index()] >= kUnreachable) continue;
    gates.push_back({entry.bandwidth, release[entry.tail.index()] + entry.after});
  }
  return least(std::move(gates), total_bytes(count.blocks, demand));
}

void search_cuts(const NodeSet& set, std::optional<NodeId> target, const Network& network,
                 const Demand& demand, Best& best) {
  search_set(set, target, network, demand, std::nullopt, best);
}

void search_dynamic_cuts(const NodeSet& set, std::optional<NodeId> target, const Network& network,
                         const Demand& demand, Time latency_bound, Best& best) {
  search_set(set, target, network, demand, latency_bound, best);
}

}  // namespace stellwerk::bound
