// Problem: cut.cpp tries every target, source and destination level of every set, from shortest
// paths between all pairs; at a thousand GPUs that is seconds. Idea: few sets (main_sets.cpp), few
// targets, and searches that start from whole sets of nodes: the distance of all sources to a target
// through the entry links is one search, the releases of what is farther than a level another. So a
// dynamic cut costs about two searches a level instead of one for each source. Guarantee: what is
// offered is evaluated exactly by the definitions of docs/certificates.md; nothing here can make a
// bound wrong, only weak. Cost: at most kMostWork nodes, links and images looked at. Held to its
// word by main_cuts_test.cpp, against the exhaustive search and the checker.
#include "stellwerk/bound/main_cuts.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "stellwerk/bound/entries.hpp"
#include "stellwerk/bound/least.hpp"
#include "stellwerk/bound/representatives.hpp"

namespace stellwerk::bound {
namespace {

using graph::kUnreachable;

constexpr std::int64_t kMostWork = 6'000'000;
constexpr std::int64_t kLeastSearches = 60;  // even where a single one takes long
constexpr std::int64_t kMostEffort = 1'000'000;
constexpr std::size_t kLeastSets = 4;
constexpr std::size_t kMostTargets = 3;
constexpr std::size_t kMostSourceLevels = 40;
constexpr std::size_t kMostTargetLevels = 8;
constexpr std::size_t kMostLatencyTargets = 256;

std::vector<std::int64_t> spread(const Network& network, const std::vector<graph::Start>& starts,
                                 bool backwards) {
  return graph::distances(network.digraph(), network.latencies(), starts, backwards);
}

std::vector<std::int64_t> distance_to(const std::vector<NodeId>& targets, const Network& network) {
  std::vector<graph::Start> starts;
  for (const NodeId node : targets) starts.push_back({node.value});
  return spread(network, starts, true);
}

std::optional<Time> plain_value(const std::vector<Entry>& entries, const Tally& tally) {
  std::vector<Gate> gates;
  for (const Entry& entry : entries) gates.push_back({entry.bandwidth, entry.after});
  std::optional<Time> value = least(std::move(gates), tally.bytes);
  if (value) *value += tally.ready;
  return value;
}

std::optional<Time> dynamic_value(const std::vector<Entry>& entries, const Tally& tally,
                                  const Network& network) {
  std::vector<graph::Start> starts;
  for (std::size_t v = 0; v < tally.start.size(); ++v) {
    if (tally.start[v] < kUnreachable) starts.push_back({static_cast<int>(v), tally.start[v]});
  }
  const std::vector<std::int64_t> release = spread(network, starts, false);
  std::vector<Gate> gates;
  for (const Entry& entry : entries) {
    if (release[entry.tail.index()] >= kUnreachable) continue;
    gates.push_back({entry.bandwidth, release[entry.tail.index()] + entry.after});
  }
  return least(std::move(gates), tally.bytes);
}

/// Distinct values, largest first, thinned out to at most `most`; the largest and the smallest
/// stay.
std::vector<std::int64_t> levels(std::vector<std::int64_t> values, std::size_t most) {
  std::sort(values.begin(), values.end(), std::greater<>());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() <= most) return values;
  std::vector<std::int64_t> result;
  for (std::size_t k = 0; k < most; ++k) {
    result.push_back(values[k * (values.size() - 1) / (most - 1)]);
  }
  return result;
}

}  // namespace

MainCuts::MainCuts(const Network& network, const Images& images, const StopCondition& stop)
    : network_(network),
      images_(images),
      stop_(stop),
      representatives_(bound::representatives(network, images)),
      sets_(main_sets(network, images, representatives_, stop)) {}

void MainCuts::search_latency(Best& best) const {
  const Demand& demand = images_.demand();
  // Sums that all want: the first of their contributors is as good as any.
  for (std::size_t k = 0; k < std::min(representatives_.size(), kMostLatencyTargets); ++k) {
    if (k > 0 && stop_.should_stop()) return;
    const NodeId target = representatives_[k];
    std::vector<std::int64_t> to;
    images_.for_each_wanted(target, [&](std::size_t i, const Element& element, std::int64_t) {
      if (to.empty()) to = distance_to({target}, network_);
      const Block& block = demand.block(i);
      std::int64_t nearest = kUnreachable, farthest = 0;
      images_.for_each_source(i, element, [&](NodeId source) {
        nearest = std::min(nearest, to[source.index()]);
        farthest = std::max(farthest, to[source.index()]);
      });
      const std::int64_t distance = block.reduction ? farthest : nearest;
      if (distance >= kUnreachable || block.chunk->ready + Time{distance} <= best.value()) return;
      Certificate certificate;
      certificate.kind = Certificate::Kind::latency;
      certificate.chunk = demand.block(i).id;
      certificate.target = element.inverse(target);
      best.offer(block.chunk->ready + Time{distance}, certificate);
    });
  }
}

std::vector<std::int64_t> MainCuts::beyond_entries(const MainSet& set) const {
  std::vector<graph::Start> starts;
  for (const LinkId id : network_.entries(set.set)) {
    const Link& link = network_.topology().link(id);
    starts.push_back({link.to.value, link.latency.ps});
  }
  return spread(network_, starts, false);
}

std::vector<NodeId> MainCuts::targets(const MainSet& set) const {
  if (set.target) return {*set.target};
  const std::vector<std::int64_t> distance = beyond_entries(set);
  std::vector<std::pair<std::int64_t, NodeId>> order;
  for (std::size_t v = 0; v < set.set.size(); ++v) {
    if (!set.set[v] || images_.wanted_images(NodeId(v)) == 0) continue;
    if (distance[v] < kUnreachable) order.emplace_back(-distance[v], NodeId(v));
  }
  std::sort(order.begin(), order.end());
  std::vector<NodeId> result;
  for (std::size_t k = 0; k < std::min(order.size(), kMostTargets); ++k) {
    result.push_back(order[k].second);
  }
  return result;
}

std::vector<std::vector<NodeId>> MainCuts::far_targets(const MainSet& set,
                                                       const std::vector<NodeId>& wanting) const {
  const std::vector<std::int64_t> distance = beyond_entries(set);
  std::vector<std::int64_t> keys;
  for (const NodeId node : wanting) keys.push_back(distance[node.index()]);
  std::vector<std::vector<NodeId>> result;
  for (const std::int64_t level : levels(keys, kMostTargetLevels)) {
    std::vector<NodeId>& far = result.emplace_back();
    for (std::size_t k = 0; k < wanting.size(); ++k) {
      if (keys[k] >= level) far.push_back(wanting[k]);
    }
  }
  return result;
}

bool MainCuts::affordable(const Selection& selection) const {
  const std::int64_t effort = images_.effort(selection);
  work_ += effort;
  return effort <= kMostEffort;
}

void MainCuts::search_cuts(Best& best) const {
  for (std::size_t k = 0; k < sets_.size(); ++k) {
    // The most promising ones whatever the clock says: a plan without a bound is worth little.
    if (k >= kLeastSets && stop_.should_stop()) return;
    const MainSet& set = sets_[k];
    const std::vector<LinkId> links = network_.entries(set.set);
    Certificate certificate;
    certificate.kind = Certificate::Kind::cut;
    certificate.set = members(set.set);
    const auto offer = [&](std::optional<NodeId> target) {
      const Selection selection{&set.set, target, nullptr, nullptr};
      if (!affordable(selection)) return;
      const Tally tally = images_.tally(selection);
      if (tally.bytes == 0) return;
      certificate.target = target;
      best.offer(plain_value(entries_towards(links, distance_to(tally.wanting, network_), network_),
                             tally),
                 certificate);
    };
    const std::vector<NodeId> targets = this->targets(set);
    if (!set.target && targets.size() > 1) offer(std::nullopt);
    for (const NodeId target : targets) offer(target);
  }
}

void MainCuts::search_dynamic_cuts(Time latency_bound, Best& best) const {
  const std::int64_t a_search =
      static_cast<std::int64_t>(network_.nodes() + network_.latencies().size());
  const std::int64_t most = work_ + std::max(kMostWork, kLeastSearches * a_search);
  for (const MainSet& set : sets_) {
    const double hope =
        set.seconds + latency_bound.seconds() + images_.demand().latest_ready().seconds();
    if (hope < best.value().seconds()) continue;
    const std::vector<NodeId> targets = this->targets(set);
    Certificate certificate;
    certificate.set = members(set.set);
    for (const NodeId target : targets) {
      if (work_ > most || stop_.should_stop()) return;
      certificate.target = target;
      search_levels(set, certificate, latency_bound, best);
    }
    certificate.target.reset();
    if (set.target || targets.size() < 2) continue;
    // For all targets, and for the far ones only.
    const Selection all{&set.set, {}, nullptr, nullptr};
    if (!affordable(all)) continue;
    const std::vector<NodeId> wanting = images_.tally(all).wanting;
    for (std::vector<NodeId>& far : far_targets(set, wanting)) {
      if (work_ > most || stop_.should_stop()) return;
      certificate.to = std::move(far);
      if (certificate.to.size() == wanting.size()) certificate.to.clear();
      search_levels(set, certificate, latency_bound, best);
    }
  }
}

void MainCuts::search_levels(const MainSet& set, Certificate certificate, Time latency_bound,
                             Best& best) const {
  NodeSet to(network_.nodes(), false);
  for (const NodeId node : certificate.to) to[node.index()] = true;
  Selection selection{&set.set, certificate.target, nullptr,
                      certificate.to.empty() ? nullptr : &to};
  if (!affordable(selection)) return;
  const auto search = [&](const std::vector<graph::Start>& starts, bool backwards) {
    work_ += static_cast<std::int64_t>(network_.nodes() + network_.latencies().size());
    return spread(network_, starts, backwards);
  };
  const auto towards = [&](const std::vector<NodeId>& wanting) {
    std::vector<graph::Start> starts;
    for (const NodeId node : wanting) starts.push_back({node.value});
    return search(starts, true);
  };
  const std::vector<LinkId> links = network_.entries(set.set);
  Tally tally = images_.tally(selection);
  if (tally.bytes == 0) return;
  std::vector<NodeId> wanting = tally.wanting;
  std::vector<Entry> entries = entries_towards(links, towards(wanting), network_);
  const std::optional<Time> plain = plain_value(entries, tally);
  if (!plain || *plain + latency_bound + images_.demand().latest_ready() <= best.value()) return;

  // How far sources are from a target, through the entry links.
  std::vector<graph::Start> starts;
  for (const Entry& entry : entries) starts.push_back({entry.tail.value, entry.after});
  const std::vector<std::int64_t> away = search(starts, true);
  std::vector<std::int64_t> keys;
  for (std::size_t v = 0; v < tally.start.size(); ++v) {
    if (tally.start[v] < kUnreachable) keys.push_back(std::min(away[v], kUnreachable));
  }
  if (keys.empty()) return;
  const std::int64_t nearest = *std::min_element(keys.begin(), keys.end());
  certificate.kind = Certificate::Kind::dynamic_cut;
  NodeSet from(network_.nodes());
  for (const std::int64_t level : levels(keys, kMostSourceLevels)) {
    if (stop_.should_stop()) return;
    certificate.from.clear();
    if (level > nearest) {
      for (std::size_t v = 0; v < from.size(); ++v) from[v] = !set.set[v] && away[v] >= level;
      selection.from = &from;
      if (!affordable(selection)) return;
      tally = images_.tally(selection);
      for (std::size_t v = 0; v < from.size(); ++v) {
        if (tally.start[v] < kUnreachable) certificate.from.push_back(NodeId(v));
      }
    } else {
      selection.from = nullptr;
      tally = images_.tally(selection);
    }
    if (tally.bytes == 0) continue;
    if (tally.wanting != wanting) {
      wanting = tally.wanting;
      entries = entries_towards(links, towards(wanting), network_);
    }
    work_ += static_cast<std::int64_t>(network_.nodes() + network_.latencies().size());
    best.offer(dynamic_value(entries, tally, network_), certificate);
  }
}

std::optional<Time> cut_value(const Certificate& certificate, const Network& network,
                              const Images& images) {
  NodeSet set(network.nodes(), false), from(network.nodes(), false), to(network.nodes(), false);
  for (const NodeId node : certificate.set) set[node.index()] = true;
  for (const NodeId node : certificate.from) from[node.index()] = true;
  for (const NodeId node : certificate.to) to[node.index()] = true;
  const Tally tally =
      images.tally({&set, certificate.target, certificate.from.empty() ? nullptr : &from,
                    certificate.to.empty() ? nullptr : &to});
  if (tally.bytes == 0) return std::nullopt;
  const std::vector<Entry> entries =
      entries_towards(network.entries(set), distance_to(tally.wanting, network), network);
  return certificate.kind == Certificate::Kind::dynamic_cut ? dynamic_value(entries, tally, network)
                                                            : plain_value(entries, tally);
}

}  // namespace stellwerk::bound
