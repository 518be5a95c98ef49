// Problem: candidate_sets.cpp lists every set that may bind, and evaluating thousands of them at a
// thousand GPUs takes seconds. Idea: the few best of the natural sets (natural_sets.cpp), and what
// nature does not offer, by minimum cuts: Newton's method as in candidate_sets.cpp, but from the best
// time known so far, so that a GPU that cannot beat it (nearly) costs a single flow, and for
// representatives only, as long as a fixed amount of work allows. Guarantee: none, these are
// proposals. Cost: that of the natural sets, and kMostFlowWork arcs looked at. Held to its word by
// main_cuts_test.cpp.
#include "stellwerk/bound/main_sets.hpp"

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

#include "stellwerk/bound/natural_sets.hpp"
#include "stellwerk/graph/max_flow.hpp"

namespace stellwerk::bound {
namespace {

constexpr std::size_t kMostSets = 32;
constexpr std::int64_t kMostFlowWork = 12'000'000;  // half arcs looked at, entering and leaving
constexpr int kMostNewtonSteps = 30;
constexpr std::size_t kMostPairs = 12;
constexpr double kNearly = 0.999;  // of the best: still worth having, for its latencies

double rate(const Link& link) { return static_cast<double>(link.bandwidth.bytes_per_second); }

class Proposals {
 public:
  Proposals(const Network& network, const Images& images, std::vector<NodeId> representatives,
            const StopCondition& stop)
      : network_(network),
        images_(images),
        representatives_(std::move(representatives)),
        stop_(stop) {}

  std::vector<MainSet> run() && {
    for (MainSet& set : natural_sets(network_, images_, representatives_, stop_)) {
      best_ = std::max(best_, set.seconds);
      add(std::move(set.set), std::nullopt, set.seconds);
    }
    minimum_cuts(false);
    minimum_cuts(true);
    pairwise_cuts();
    std::vector<std::pair<double, std::size_t>> order;  // of equal ones the first that was added
    for (std::size_t k = 0; k < sets_.size(); ++k) order.emplace_back(-sets_[k].seconds, k);
    std::sort(order.begin(), order.end());
    std::vector<MainSet> result;
    for (std::size_t k = 0; k < std::min(order.size(), kMostSets); ++k) {
      result.push_back(std::move(sets_[order[k].second]));
    }
    return result;
  }

 private:
  const Topology& topology() const { return network_.topology(); }
  const Demand& demand() const { return images_.demand(); }

  void add(NodeSet set, std::optional<NodeId> target, double seconds) {
    const std::ptrdiff_t count = std::count(set.begin(), set.end(), true);
    if (count == 0 || count == static_cast<std::ptrdiff_t>(set.size())) return;
    if (!seen_.insert(set).second) return;
    sets_.push_back({std::move(set), target, seconds});
  }

  /// Bytes for one GPU by who can give them, or of one GPU by who wants them.
  using Supply = std::map<std::vector<NodeId>, std::int64_t>;

  Supply supply_of(NodeId gpu, bool leaving) const {
    Supply supply;
    const auto add_to = [&](std::vector<NodeId> nodes, std::size_t i, std::int64_t count) {
      std::sort(nodes.begin(), nodes.end());
      supply[std::move(nodes)] += demand().block(i).bytes * count;
    };
    if (!leaving) {
      images_.for_each_wanted(gpu, [&](std::size_t i, const Element& element, std::int64_t count) {
        if (demand().block(i).reduction) return;
        std::vector<NodeId> nodes;
        images_.for_each_source(i, element, [&](NodeId node) { nodes.push_back(node); });
        add_to(std::move(nodes), i, count);
      });
      return supply;
    }
    images_.for_each_held(gpu, [&](std::size_t i, const Element& element, std::int64_t count) {
      const Block& block = demand().block(i);
      if (!block.destination.valid() || (!block.reduction && !block.source.valid())) return;
      const NodeId to = element(block.destination);
      if (to != gpu) add_to({to}, i, count);
    });
    return supply;
  }

  void minimum_cuts(bool leaving) {
    // The network, a feeder, an arc from it to every node, and a vertex for each group of holders.
    const int n = static_cast<int>(network_.nodes());
    std::map<std::vector<NodeId>, int> groups;  // arc from the feeder
    if (!leaving) {
      for (const Block& block : demand().blocks()) {
        if (!block.reduction && !block.source.valid()) {
          std::vector<NodeId> nodes = block.chunk->origins;
          std::sort(nodes.begin(), nodes.end());
          groups.try_emplace(std::move(nodes), 0);
        }
      }
      if (images_.compressed() && !groups.empty()) return;  // their images would be needed
    }
    graph::MaxFlow flow(n + 1 + static_cast<int>(groups.size()));
    for (const Link& link : topology().links()) {
      flow.add_arc(leaving ? link.to.value : link.from.value,
                   leaving ? link.from.value : link.to.value, link.bandwidth.bytes_per_second);
    }
    const int first_feed = static_cast<int>(topology().links().size());
    for (int v = 0; v < n; ++v) flow.add_arc(n, v, 0);
    int vertex = n + 1;
    for (auto& [nodes, arc] : groups) {
      constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;
      arc = flow.add_arc(n, vertex, 0);
      for (const NodeId node : nodes) flow.add_arc(vertex, node.value, kUnlimited);
      ++vertex;
    }
    for (const NodeId gpu : representatives_) {
      if (flow.work() > kMostFlowWork || stop_.should_stop()) return;
      const Supply supply = supply_of(gpu, leaving);
      if (supply.empty()) continue;
      std::vector<std::pair<int, std::int64_t>> feeds;
      for (const auto& [nodes, bytes] : supply) {
        feeds.emplace_back(nodes.size() > 1 ? groups.at(nodes) : first_feed + nodes.front().value,
                           bytes);
      }
      newton(gpu, supply, feeds, flow, leaving);
      for (const auto& [arc, bytes] : feeds) flow.set_capacity(arc, 0);
    }
  }

  void newton(NodeId gpu, const Supply& supply,
              const std::vector<std::pair<int, std::int64_t>>& feeds, graph::MaxFlow& flow,
              bool leaving) {
    const int n = static_cast<int>(network_.nodes());
    double ingress = 0, total = 0;
    for (const LinkId id : leaving ? topology().out(gpu) : topology().in(gpu)) {
      ingress += rate(topology().link(id));
    }
    for (const auto& [nodes, bytes] : supply) total += static_cast<double>(bytes);
    if (ingress == 0) return;
    double time = std::max(total / ingress, best_) * kNearly;
    for (int step = 0; step < kMostNewtonSteps && !stop_.should_stop(); ++step) {
      std::int64_t fed = 0;
      for (const auto& [arc, bytes] : feeds) {
        const double per_second = std::min(static_cast<double>(bytes) / time, 1e15);
        flow.set_capacity(arc, static_cast<std::int64_t>(per_second));
        fed += static_cast<std::int64_t>(per_second);
      }
      if (flow.run(n, gpu.value) >= fed) break;
      double longest = time;
      // Both extreme cuts are proposals: on a tie the one may have the better latency.
      for (const bool nearest : {true, false}) {
        const std::vector<bool> feeding =
            nearest ? flow.source_side_of_nearest_cut() : flow.source_side_of_farthest_cut();
        double bytes = 0, capacity = 0;
        for (const auto& [nodes, amount] : supply) {
          // Fed beyond the cut: counted if none of the holders is on the sink's side.
          if (std::all_of(nodes.begin(), nodes.end(),
                          [&](NodeId node) { return feeding[node.index()]; })) {
            bytes += static_cast<double>(amount);
          }
        }
        for (const Link& link : topology().links()) {
          const NodeId from = leaving ? link.to : link.from, to = leaving ? link.from : link.to;
          if (feeding[from.index()] && !feeding[to.index()]) capacity += rate(link);
        }
        if (capacity == 0 || bytes == 0) continue;
        NodeSet set(network_.nodes());
        for (std::size_t v = 0; v < set.size(); ++v) set[v] = feeding[v] == leaving;
        add(std::move(set), leaving ? std::nullopt : std::optional(gpu), bytes / capacity);
        longest = std::max(longest, bytes / capacity);
      }
      if (longest <= time * (1 + 1e-12)) break;
      time = longest;
    }
    best_ = std::max(best_, time);
  }

  /// Sums that all want: any cut between two ranks counts everything.
  void pairwise_cuts() {
    double bytes = 0;
    for (std::size_t i = 0; i < demand().blocks().size(); ++i) {
      const Block& block = demand().block(i);
      if (!block.reduction || block.destination.valid()) continue;
      bytes += static_cast<double>(block.bytes * images_.order());
    }
    std::vector<NodeId> ranks;
    for (const NodeId node : topology().gpus()) {
      if (images_.wanted_images(node) > 0) ranks.push_back(node);
    }
    if (bytes == 0 || ranks.size() < 2) return;
    // Neighbours, far ones, and the representatives.
    std::vector<NodeId> others;
    for (std::size_t k = 0; k < kMostPairs; ++k) {
      others.push_back(ranks[1 + k * (ranks.size() - 1) / kMostPairs]);
    }
    for (std::size_t k = 0; k < std::min(kMostPairs, representatives_.size()); ++k) {
      others.push_back(representatives_[k]);
    }
    std::sort(others.begin(), others.end());
    others.erase(std::unique(others.begin(), others.end()), others.end());
    graph::MaxFlow flow(static_cast<int>(network_.nodes()));
    for (const Link& link : topology().links()) {
      flow.add_arc(link.from.value, link.to.value, link.bandwidth.bytes_per_second);
    }
    const NodeId first = ranks.front();
    for (const NodeId other : others) {
      if (other == first) continue;
      for (const bool forwards : {true, false}) {
        if (flow.work() > kMostFlowWork || stop_.should_stop()) return;
        const std::int64_t capacity =
            flow.run((forwards ? first : other).value, (forwards ? other : first).value);
        if (capacity == 0) continue;
        for (const bool nearest : {true, false}) {
          NodeSet set =
              nearest ? flow.source_side_of_nearest_cut() : flow.source_side_of_farthest_cut();
          set.flip();
          add(std::move(set), std::nullopt, bytes / static_cast<double>(capacity));
        }
      }
    }
  }

  const Network& network_;
  const Images& images_;
  std::vector<NodeId> representatives_;
  const StopCondition& stop_;
  double best_ = 0;  // seconds
  std::unordered_set<NodeSet> seen_;
  std::vector<MainSet> sets_;
};

}  // namespace

std::vector<MainSet> main_sets(const Network& network, const Images& images,
                               const std::vector<NodeId>& representatives,
                               const StopCondition& stop) {
  return Proposals(network, images, representatives, stop).run();
}

}  // namespace stellwerk::bound
