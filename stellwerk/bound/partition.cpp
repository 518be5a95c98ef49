// Problem: a cut counts what must enter one set, once. A sum that all want has to be gathered first
// and spread then, and no single cut sees both. Idea: between k parties, one-way messages that tell
// all to all number at least 2k - 2 (the gossip problem with one-way communication: Harary and
// Schwenk, J. Franklin Institute 297, 1974), and all of them have to enter some part. Guarantee:
// see docs/certificates.md. Which parts to try is a guess: what hangs together by fast links. Cost:
// links + chunks * parts for each of a few partitions. Held to its word by partition_test.cpp.
#include "stellwerk/bound/partition.hpp"

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <tuple>

#include "stellwerk/bound/least.hpp"

namespace stellwerk::bound {
namespace {

constexpr int kNone = -1;
constexpr std::size_t kMostLevels = 16;

/// One part number a node, kNone for nodes that are in no part (yet).
using Labels = std::vector<int>;

bool needs_a_part(const Node& node) { return node.stores() || node.reduce; }

/// Numbers the labels of active GPUs 0, 1, ... and puts the storing nodes that have none with the
/// neighbour they have most bandwidth to.
class Completion {
 public:
  Completion(const Network& network, Labels labels)
      : topology_(network.topology()), labels_(std::move(labels)) {}

  /// Every node gets a part.
  Labels all() && {
    place([](const Node&) { return true; });
    for (int& label : labels_) label = std::max(label, 0);
    return std::move(labels_);
  }

  /// Storing and reducing nodes get a part; others only if less bandwidth enters the parts then.
  Labels few() && {
    place(needs_a_part);
    for (const NodeId id : topology_.node_ids()) {
      int& label = labels_[id.index()];
      if (needs_a_part(topology_.node(id))) label = std::max(label, 0);
    }
    for (std::size_t round = 0; round < labels_.size(); ++round) {
      bool changed = false;
      for (const NodeId id : topology_.node_ids()) {
        if (!needs_a_part(topology_.node(id))) changed = improve(id) || changed;
      }
      if (!changed) break;
    }
    return std::move(labels_);
  }

 private:
  int& label(NodeId id) { return labels_[id.index()]; }

  /// Bandwidth between a node and each part.
  struct Ties {
    std::map<int, std::int64_t> in, out;
    std::int64_t all_in = 0;
  };
  Ties ties(NodeId id) {
    Ties result;
    for (const LinkId link : topology_.in(id)) {
      const std::int64_t bandwidth = topology_.link(link).bandwidth.bytes_per_second;
      result.in[label(topology_.link(link).from)] += bandwidth;
      result.all_in += bandwidth;
    }
    for (const LinkId link : topology_.out(id)) {
      result.out[label(topology_.link(link).to)] += topology_.link(link).bandwidth.bytes_per_second;
    }
    return result;
  }

  /// A node that may join a part; the strongest tie comes first, then the smallest numbers.
  struct Tie {
    std::int64_t bandwidth = 0;
    NodeId node;
    int part = kNone;
    friend bool operator<(const Tie& a, const Tie& b) {
      return std::tie(a.bandwidth, b.node, b.part) < std::tie(b.bandwidth, a.node, a.part);
    }
  };
  Tie strongest_tie(NodeId id) {
    Ties of_node = ties(id);
    for (const auto& [part, bandwidth] : of_node.out) of_node.in[part] += bandwidth;
    Tie best{0, id, kNone};
    for (const auto& [part, bandwidth] : of_node.in) {
      if (part != kNone && bandwidth > best.bandwidth) best = {bandwidth, id, part};
    }
    return best;
  }

  /// One after the other, the unplaced node with the strongest tie joins that part.
  template <class Wanted>
  void place(const Wanted& wanted) {
    std::priority_queue<Tie> queue;
    const auto consider = [&](NodeId id) {
      if (label(id) != kNone || !wanted(topology_.node(id))) return;
      const Tie tie = strongest_tie(id);
      if (tie.part != kNone) queue.push(tie);
    };
    for (const NodeId id : topology_.node_ids()) consider(id);
    while (!queue.empty()) {
      const Tie tie = queue.top();
      queue.pop();
      if (label(tie.node) != kNone) continue;
      // Ties only grow: a stale one has a successor in the queue that came before it.
      label(tie.node) = tie.part;
      for (const LinkId link : topology_.in(tie.node)) consider(topology_.link(link).from);
      for (const LinkId link : topology_.out(tie.node)) consider(topology_.link(link).to);
    }
  }

  /// In part p its links from elsewhere enter p; its links to p no longer do.
  bool improve(NodeId id) {
    const Ties of_node = ties(id);
    int best_part = kNone;
    std::int64_t best_change = 0;
    for (const auto& [part, to_part] : of_node.out) {
      if (part == kNone) continue;
      const auto from_part = of_node.in.find(part);
      const std::int64_t change =
          of_node.all_in - (from_part == of_node.in.end() ? 0 : from_part->second) - to_part;
      if (change < best_change) {
        best_change = change;
        best_part = part;
      }
    }
    if (label(id) == best_part) return false;
    label(id) = best_part;
    return true;
  }

  const Topology& topology_;
  Labels labels_;
};

Certificate to_certificate(Certificate::Kind kind, const Labels& labels) {
  Certificate certificate;
  certificate.kind = kind;
  std::map<int, std::vector<NodeId>> parts;
  for (std::size_t v = 0; v < labels.size(); ++v) {
    if (labels[v] != kNone) parts[labels[v]].push_back(NodeId(v));
  }
  for (auto& [label, part] : parts) certificate.parts.push_back(std::move(part));
  return certificate;
}

/// Starting points: labels on the GPUs that take part.
std::set<Labels> starts(const Network& network, const Images& images) {
  const Topology& topology = network.topology();
  std::vector<NodeId> active;
  for (const NodeId gpu : topology.gpus()) {
    if (images.wanted_images(gpu) > 0 || images.held_images(gpu) > 0) active.push_back(gpu);
  }
  std::set<Labels> result;
  const auto add = [&](const auto& key_of) {
    Labels labels(network.nodes(), kNone);
    std::map<decltype(key_of(active.front())), int> number;
    for (const NodeId gpu : active) {
      labels[gpu.index()] =
          number.try_emplace(key_of(gpu), static_cast<int>(number.size())).first->second;
    }
    if (number.size() > 1) result.insert(std::move(labels));
  };
  if (active.empty()) return result;
  add([](NodeId gpu) { return gpu; });
  add([&](NodeId gpu) { return topology.node(gpu).host; });
  add([&](NodeId gpu) { return topology.node(gpu).rack; });
  const auto& bandwidths = network.bandwidths();
  const std::size_t levels = std::min(bandwidths.size(), kMostLevels);
  for (std::size_t k = 0; k < levels; ++k) {
    const std::int64_t threshold = bandwidths[k * bandwidths.size() / levels];
    std::vector<bool> usable;
    for (const Link& link : topology.links()) {
      usable.push_back(link.bandwidth.bytes_per_second >= threshold);
    }
    const std::vector<int> component = graph::strong_components(network.digraph(), usable);
    add([&](NodeId gpu) { return component[gpu.index()]; });
  }
  return result;
}

}  // namespace

std::optional<Time> partition_value(const Certificate& certificate, const Network& network,
                                    const Images& images) {
  const bool gossip = certificate.kind == Certificate::Kind::gossip;
  const Demand& demand = images.demand();
  Labels part_of(network.nodes(), kNone);
  for (std::size_t p = 0; p < certificate.parts.size(); ++p) {
    for (const NodeId node : certificate.parts[p]) part_of[node.index()] = static_cast<int>(p);
  }
  // All images of a block count the same if they have the same ends, or if the group maps parts to
  // parts.
  if (images.compressed() && !images.keeps(part_of)) {
    for (std::size_t i = 0; i < demand.blocks().size(); ++i) {
      if (!images.all_alike(i)) return std::nullopt;
    }
  }
  std::vector<std::size_t> gives(certificate.parts.size()), wants(certificate.parts.size());
  Int128 amount = 0;
  Time ready = Time::max();
  for (std::size_t i = 0; i < demand.blocks().size(); ++i) {
    const Block& block = demand.block(i);
    const std::size_t mark = i + 1;  // so that the flags need not be cleared
    std::int64_t giving = 0, wanting = 0, both = 0;
    for (const NodeId node : block.sources()) {
      std::size_t& flag = gives[static_cast<std::size_t>(part_of[node.index()])];
      if (flag != mark) ++giving;
      flag = mark;
    }
    for (const NodeId node : block.chunk->destinations) {
      const std::size_t part = static_cast<std::size_t>(part_of[node.index()]);
      if (wants[part] == mark) continue;
      wants[part] = mark;
      ++wanting;
      both += gives[part] == mark;
    }
    const std::int64_t count = !block.reduction ? wanting - both
                               : both > 0       ? giving + wanting - 2
                                                : giving + wanting - 1;
    if (count == 0) continue;
    amount += static_cast<Int128>(count) * block.bytes * images.order();
    ready = std::min(ready, block.chunk->ready);
  }
  if (amount == 0) return std::nullopt;
  // What crosses a link comes from a node that keeps what it has, and has to reach another one.
  std::vector<std::int64_t> approach(network.nodes()), rest(network.nodes());
  if (gossip) {
    std::vector<graph::Start> keepers;
    for (const NodeId node : network.topology().node_ids()) {
      if (needs_a_part(network.topology().node(node))) keepers.push_back({node.value, 0});
    }
    approach = graph::distances(network.digraph(), network.latencies(), keepers);
    rest = graph::distances(network.digraph(), network.latencies(), keepers, true);
  }
  std::vector<Gate> gates;
  for (const Link& link : network.topology().links()) {
    const int entered = part_of[link.to.index()];
    if (entered == kNone || entered == part_of[link.from.index()]) continue;
    const std::int64_t opens =
        gossip ? approach[link.from.index()] + link.latency.ps + rest[link.to.index()] : 0;
    if (opens < graph::kUnreachable) gates.push_back({link.bandwidth.bytes_per_second, opens});
  }
  std::optional<Time> value = least(std::move(gates), amount);
  if (value) *value += ready;
  return value;
}

void search_partitions(const Network& network, const Images& images, Best& best) {
  const Demand& demand = images.demand();
  const bool sums_for_several =
      std::any_of(demand.blocks().begin(), demand.blocks().end(),
                  [](const Block& block) { return block.reduction && !block.destination.valid(); });
  if (!sums_for_several) return;
  std::vector<Certificate> certificates;
  const std::set<Labels> all_starts = starts(network, images);
  for (const Labels& labels : all_starts) {
    certificates.push_back(
        to_certificate(Certificate::Kind::partition, Completion(network, labels).all()));
  }
  for (const Labels& labels : all_starts) {
    certificates.push_back(
        to_certificate(Certificate::Kind::gossip, Completion(network, labels).few()));
  }
  for (const Certificate& certificate : certificates) {
    best.offer(partition_value(certificate, network, images), certificate);
  }
}

}  // namespace stellwerk::bound
