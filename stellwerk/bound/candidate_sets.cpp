// Which cuts bind? In a cluster mostly the natural ones: a GPU, a host, a rack, everything behind
// slow links. They are listed, with switches drawn in where that narrows the cut, and so are their
// complements (what must leave). Degraded and irregular fabrics have others, which minimum cuts
// find: for a GPU g the set S with g that maximises bytes(S) / ingress(S), bytes(S) being what g
// wants from outside S, is found by Newton's method (Dinkelbach, Management Science 13, 1967): for
// a time T the minimum cut between a source that feeds every holder h at the rate bytes_h / T and
// g; if it cuts off less than all is fed, its sink side is a set that needs more than T. T grows
// strictly and each T comes from another cut; a handful of flows for each g in practice. The same
// on the reversed network finds what must leave a GPU (single-destination data, and sums: the
// contributors' view). Flows work in floating time, since a set is only a proposal: its value is
// computed exactly by whoever tries it.
#include "stellwerk/bound/candidate_sets.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <unordered_set>

#include "stellwerk/graph/max_flow.hpp"

namespace stellwerk::bound {
namespace {

constexpr std::size_t kMostClusterLevels = 16;
constexpr std::size_t kMostBalls = 6;  // distances from a target
constexpr int kMostNewtonSteps = 30;
constexpr std::size_t kLargeNetwork =
    600;  // GPUs; beyond, only a sample gets flows and balls of its own

class Enumeration {
 public:
  Enumeration(const Network& network, const Demand& demand, const StopCondition& stop)
      : network_(network), demand_(demand), stop_(stop) {}

  std::vector<CandidateSet> run() && {
    for (const NodeSet& group : label_groups()) both_sides(group);
    for (const NodeSet& group : clusters()) both_sides(group);
    for (const NodeId gpu : active()) {
      NodeSet single(network_.nodes(), false);
      single[gpu.index()] = true;
      both_sides(single);
    }
    for (const NodeSet& group : switch_neighbourhoods()) both_sides(group);
    for (const NodeId gpu : sample(demand_.wanting())) balls(gpu);
    minimum_cuts();
    return std::move(found_);
  }

 private:
  const Topology& topology() const { return network_.topology(); }
  bool stopped() const { return stop_.should_stop(); }

  void once(const NodeSet& set, std::optional<NodeId> target = {}) {
    if (stopped()) return;
    const std::ptrdiff_t count = std::count(set.begin(), set.end(), true);
    if (count == 0 || count == static_cast<std::ptrdiff_t>(set.size())) return;
    if (target ? seen_.contains(set) : !seen_.insert(set).second) return;
    found_.push_back({set, target});
  }

  /// The set and its complement, as they are and with switches drawn in.
  void both_sides(const NodeSet& set) {
    NodeSet complement = set;
    complement.flip();
    for (const NodeSet& side : {set, complement}) {
      once(side);
      once(with_switches(side));
    }
  }

  /// Takes in or leaves out each switch and relay so that less bandwidth enters, until nothing
  /// helps.
  NodeSet with_switches(NodeSet set) const {
    for (std::size_t round = 0; round < network_.nodes(); ++round) {
      bool changed = false;
      for (const NodeId node : topology().node_ids()) {
        if (topology().node(node).kind == NodeKind::gpu) continue;
        std::int64_t from_outside = 0, to_inside = 0;
        for (const LinkId id : topology().in(node)) {
          const Link& link = topology().link(id);
          if (!set[link.from.index()]) from_outside += link.bandwidth.bytes_per_second;
        }
        for (const LinkId id : topology().out(node)) {
          const Link& link = topology().link(id);
          if (set[link.to.index()]) to_inside += link.bandwidth.bytes_per_second;
        }
        // Inside, its links from outside enter; outside, its links to inside do.
        if (from_outside != to_inside && set[node.index()] != (from_outside < to_inside)) {
          set[node.index()] = from_outside < to_inside;
          changed = true;
        }
      }
      if (!changed) break;
    }
    return set;
  }

  std::vector<NodeSet> label_groups() const {
    std::map<std::string, NodeSet> groups;
    for (const NodeId id : topology().node_ids()) {
      const Node& node = topology().node(id);
      for (const auto& [kind, label] :
           {std::pair("host ", node.host), std::pair("rack ", node.rack)}) {
        if (label.empty()) continue;
        groups.try_emplace(kind + label, network_.nodes(), false).first->second[id.index()] = true;
      }
    }
    std::vector<NodeSet> result;
    for (auto& [name, group] : groups) result.push_back(std::move(group));
    return result;
  }

  /// What hangs together by links of at least some bandwidth, for each bandwidth.
  std::vector<NodeSet> clusters() const {
    std::vector<NodeSet> result;
    const auto& bandwidths = network_.bandwidths();
    const std::size_t levels = std::min(bandwidths.size(), kMostClusterLevels);
    for (std::size_t k = 0; k < levels; ++k) {
      const std::int64_t threshold = bandwidths[k * bandwidths.size() / levels];
      std::vector<bool> usable;
      for (const Link& link : topology().links()) {
        usable.push_back(link.bandwidth.bytes_per_second >= threshold);
      }
      const std::vector<int> component = graph::strong_components(network_.digraph(), usable);
      std::map<int, NodeSet> sets;
      for (std::size_t v = 0; v < component.size(); ++v) {
        sets.try_emplace(component[v], network_.nodes(), false).first->second[v] = true;
      }
      for (auto& [number, set] : sets) result.push_back(std::move(set));
    }
    return result;
  }

  /// The GPUs at a switch.
  std::vector<NodeSet> switch_neighbourhoods() const {
    std::vector<NodeSet> result;
    for (const NodeId node : topology().node_ids()) {
      if (topology().node(node).kind == NodeKind::gpu) continue;
      NodeSet set(network_.nodes(), false);
      set[node.index()] = true;
      for (const LinkId id : topology().out(node)) {
        if (topology().node(topology().link(id).to).kind == NodeKind::gpu) {
          set[topology().link(id).to.index()] = true;
        }
      }
      result.push_back(std::move(set));
    }
    return result;
  }

  /// GPUs that want or hold something.
  std::vector<NodeId> active() const {
    std::vector<NodeId> result;
    for (const NodeId node : topology().gpus()) {
      if (!demand_.wanted_by(node).empty() || !demand_.held_by(node).empty()) {
        result.push_back(node);
      }
    }
    return result;
  }

  static std::vector<NodeId> sample(std::vector<NodeId> nodes) {
    if (nodes.size() <= kLargeNetwork) return nodes;
    std::vector<NodeId> result;
    for (std::size_t k = 0; k < kLargeNetwork; ++k) {
      result.push_back(nodes[k * nodes.size() / kLargeNetwork]);
    }
    return result;
  }

  /// The nodes within some latency distance of a target.
  void balls(NodeId target) {
    const std::vector<std::int64_t>& to = network_.to(target);
    std::set<std::int64_t> radii;
    for (const std::int64_t distance : to) {
      if (distance < graph::kUnreachable) radii.insert(distance);
    }
    const std::vector<std::int64_t> sorted(radii.begin(), radii.end());
    const std::size_t count = std::min(sorted.size(), kMostBalls);
    for (std::size_t k = 0; k < count; ++k) {
      const std::int64_t radius = sorted[k * sorted.size() / count];
      NodeSet ball(network_.nodes(), false);
      for (std::size_t v = 0; v < to.size(); ++v) ball[v] = to[v] <= radius;
      once(ball, target);
    }
  }

  /// One side of the demand of one GPU: how many bytes come from / go to each node or group of
  /// nodes.
  struct Supply {
    std::map<std::vector<NodeId>, std::int64_t> bytes;
  };

  void minimum_cuts() {
    bool sums_for_all = false;
    for (const Block& block : demand_.blocks()) {
      if (block.chunk->is_reduction() && block.chunk->destinations.size() > 1) sums_for_all = true;
    }
    for (const NodeId gpu : sample(demand_.wanting())) {
      Supply supply;
      for (const std::size_t i : demand_.wanted_by(gpu)) {
        const Block& block = demand_.block(i);
        if (!block.chunk->is_reduction()) supply.bytes[block.chunk->origins] += block.bytes;
      }
      newton(gpu, supply, false);
    }
    for (const NodeId gpu : sample(active())) {
      Supply supply;
      for (const std::size_t i : demand_.held_by(gpu)) {
        const Block& block = demand_.block(i);
        const Chunk& chunk = *block.chunk;
        if (chunk.destinations.size() != 1 || chunk.destinations.front() == gpu) continue;
        if (!chunk.is_reduction() && chunk.origins.size() != 1) continue;
        supply.bytes[chunk.destinations] += block.bytes;
      }
      newton(gpu, supply, true);
    }
    if (sums_for_all) pairwise_cuts();
  }

  /// The network with a feeder (vertex n) and one vertex for each group of several holders.
  void newton(NodeId gpu, const Supply& supply, bool leaving) {
    if (supply.bytes.empty() || stopped()) return;
    const int n = static_cast<int>(network_.nodes());
    graph::MaxFlow flow(n + 1 + static_cast<int>(supply.bytes.size()));
    std::int64_t ingress = 0;
    for (const Link& link : topology().links()) {
      const NodeId from = leaving ? link.to : link.from, to = leaving ? link.from : link.to;
      flow.add_arc(from.value, to.value, link.bandwidth.bytes_per_second);
      if (to == gpu) ingress += link.bandwidth.bytes_per_second;
    }
    constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;
    std::vector<std::pair<int, std::int64_t>> feeds;
    std::int64_t total = 0;
    int group = n + 1;
    for (const auto& [holders, bytes] : supply.bytes) {
      int head = holders.front().value;
      if (holders.size() > 1) {
        head = group++;
        for (const NodeId holder : holders) flow.add_arc(head, holder.value, kUnlimited);
      }
      feeds.emplace_back(flow.add_arc(n, head, 0), bytes);
      total += bytes;
    }
    if (ingress == 0) return;
    double time = static_cast<double>(total) / static_cast<double>(ingress);
    for (int step = 0; step < kMostNewtonSteps && !stopped(); ++step) {
      std::int64_t fed = 0;
      for (const auto& [arc, bytes] : feeds) {
        const double rate = static_cast<double>(bytes) / time;
        const std::int64_t capacity = static_cast<std::int64_t>(std::min(rate, 1e15));
        flow.set_capacity(arc, capacity);
        fed += capacity;
      }
      const std::int64_t value = flow.run(n, gpu.value);
      // Both extreme cuts are proposals: on a tie the one may have the better latency.
      double longest = time;
      for (const bool nearest : {true, false}) {
        const std::vector<bool> feeding =
            nearest ? flow.source_side_of_nearest_cut() : flow.source_side_of_farthest_cut();
        NodeSet set(network_.nodes());
        for (std::size_t v = 0; v < set.size(); ++v) set[v] = feeding[v] == leaving;
        once(set);
        std::int64_t bytes = 0, capacity = 0;
        for (const auto& [holders, amount] : supply.bytes) {
          // Fed beyond the cut: counted if none of the holders is on the sink's side.
          if (std::all_of(holders.begin(), holders.end(),
                          [&](NodeId h) { return feeding[h.index()]; })) {
            bytes += amount;
          }
        }
        for (const Link& link : topology().links()) {
          const NodeId from = leaving ? link.to : link.from, to = leaving ? link.from : link.to;
          if (feeding[from.index()] && !feeding[to.index()]) {
            capacity += link.bandwidth.bytes_per_second;
          }
        }
        if (capacity > 0) {
          longest = std::max(longest, static_cast<double>(bytes) / static_cast<double>(capacity));
        }
      }
      if (value >= fed || longest <= time * (1 + 1e-12)) break;
      time = longest;
    }
  }

  /// Sums that all want: any cut between two ranks counts everything.
  void pairwise_cuts() {
    const std::vector<NodeId> ranks = sample(demand_.wanting());
    graph::MaxFlow flow(static_cast<int>(network_.nodes()));
    for (const Link& link : topology().links()) {
      flow.add_arc(link.from.value, link.to.value, link.bandwidth.bytes_per_second);
    }
    for (std::size_t k = 1; k < ranks.size(); ++k) {
      for (const bool forwards : {true, false}) {
        if (stopped()) return;
        const NodeId from = ranks[forwards ? 0 : k], to = ranks[forwards ? k : 0];
        flow.run(from.value, to.value);
        for (const bool nearest : {true, false}) {
          NodeSet set =
              nearest ? flow.source_side_of_nearest_cut() : flow.source_side_of_farthest_cut();
          set.flip();
          once(set);
        }
      }
    }
  }

  const Network& network_;
  const Demand& demand_;
  const StopCondition& stop_;
  std::unordered_set<NodeSet> seen_;
  std::vector<CandidateSet> found_;
};

}  // namespace

std::vector<CandidateSet> candidate_sets(const Network& network, const Demand& demand,
                                         const StopCondition& stop) {
  return Enumeration(network, demand, stop).run();
}

}  // namespace stellwerk::bound
