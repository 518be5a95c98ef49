// Problem: paths for up to a million parcels that even out the time that links are busy: integral
// multicommodity flow with the least congestion, NP-hard.
//
// Idea: what makes an FPTAS for the fractional problem (exponential penalties: Plotkin, Shmoys,
// Tardos, Math. Oper. Res. 20, 1995; Awerbuch and Leighton, STOC 1994) is also a good local search:
// take some parcels of one source off their paths, price every link at exp(beta * load / fullest),
// and put them on cheapest paths, one Dijkstra for all of them. Sweeps over all sources raise beta
// until a unit more on the fullest link costs more than any detour. Then single parcels on the
// fullest links are moved one by one. Parcels of one source that are moved together stay on one
// shortest-path tree, so a path is a tree's number, not a list.
//
// Guarantee: none for the integral problem; the planner compares with the bound. Cost: one Dijkstra
// for each of kGroups groups of a source and sweep; on 1,024 GPUs on rails about 0.1 ms each. Held
// to its word by parcel_routing_test.cpp: known optima of tori, rails and random graphs.
#include "stellwerk/plan/parcel_routing.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

namespace stellwerk {
namespace {

constexpr std::size_t kGroups = 4;         // trees of a source, if there are many sources
constexpr std::size_t kFewestTrees = 256;  // of all sources, as far as there are parcels
constexpr std::size_t kFewParcels = 4096;  // each gets its own tree
constexpr std::size_t kMostTreeNodes = 20'000'000;
constexpr double kGentlest = 4, kFirst = 8, kGrowth = 1.35, kSharpest = 400;
constexpr int kMostStalledSweeps = 5;
constexpr std::size_t kMostMoves = 30'000;  // of single parcels, at the end
constexpr double kIdlePrice = 0.02;         // of a link that is far from full

class Router {
 public:
  Router(const Topology& topology, const ParcelDemand& demand, const RoutingOptions& options,
         Rng& rng, const StopCondition& stop)
      : topology_(topology),
        demand_(demand),
        options_(options),
        rng_(rng),
        stop_(stop),
        nodes_(topology.nodes().size()),
        per_second_(topology.links().size()),
        load_(topology.links().size(), 0),
        cost_(topology.links().size(), 0),
        fixed_cost_(topology.links().size(), 0),
        tree_of_(demand.parcels.size(), 0),
        distance_(nodes_),
        parent_(nodes_) {
    for (const NodeId node : topology.node_ids()) {
      arc_begin_.push_back(arcs_.size());
      for (const LinkId id : topology.out(node)) {
        arcs_.push_back({topology.link(id).to.value, id.value});
      }
    }
    arc_begin_.push_back(arcs_.size());
    double bytes = 0;
    for (const Parcel& parcel : demand.parcels) bytes += static_cast<double>(parcel.bytes.value);
    mean_bytes_ = bytes / static_cast<double>(std::max<std::size_t>(1, demand.parcels.size()));
    for (const LinkId id : topology.link_ids()) {
      const Link& link = topology.link(id);
      per_second_[id.index()] = static_cast<double>(link.bandwidth.bytes_per_second);
      fixed_cost_[id.index()] = options.latency_weight * link.latency.seconds() +
                                kIdlePrice * mean_bytes_ / per_second_[id.index()];
    }
    group_by_source();
  }

  ParcelPaths run() && {
    if (!first_sweep()) return {};
    double best = fullest();
    std::vector<std::int32_t> best_trees = trees_;
    std::vector<std::uint32_t> best_tree_of = tree_of_;
    int stalled = 0;
    for (int sweep = 1; sweep < options_.sweeps && !good(best) && stalled < kMostStalledSweeps;
         ++sweep) {
      beta_ = std::min(kSharpest, kFirst * std::pow(kGrowth, sweep));
      scale_ = fullest();
      if (!this->sweep()) break;
      const double now = fullest();
      // While prices are gentle, loads may well get worse for a while.
      stalled = now < best || beta_ < kSharpest / 8 ? 0 : stalled + 1;
      if (now >= best) continue;
      best = now;
      best_trees = trees_;
      best_tree_of = tree_of_;
    }
    trees_ = std::move(best_trees);
    tree_of_ = std::move(best_tree_of);
    write_down();
    move_single_parcels();
    return flatten();
  }

 private:
  struct Arc {
    std::int32_t to;
    std::int32_t link;
  };
  /// The parcels of one source and passing class, and where their trees are.
  struct Source {
    NodeId node;
    std::int32_t passing;
    std::vector<std::uint32_t> parcels;
    std::size_t groups;
    std::size_t first_tree;
  };

  void group_by_source() {
    std::vector<std::vector<std::uint32_t>> by_source(nodes_ * demand_.may_pass.size());
    for (std::uint32_t i = 0; i < demand_.parcels.size(); ++i) {
      const Parcel& parcel = demand_.parcels[i];
      by_source[parcel.from.index() * demand_.may_pass.size() +
                static_cast<std::size_t>(parcel.passing)]
          .push_back(i);
    }
    std::size_t count = 0;
    for (const auto& parcels : by_source) count += !parcels.empty();
    const std::size_t wished =
        std::max(kGroups, (kFewestTrees + count - 1) / std::max<std::size_t>(1, count));
    std::size_t trees = 0;
    for (std::size_t s = 0; s < by_source.size(); ++s) {
      if (by_source[s].empty()) continue;
      const std::size_t parcels = by_source[s].size();
      const std::size_t groups =
          demand_.parcels.size() <= kFewParcels && demand_.parcels.size() * nodes_ <= kMostTreeNodes
              ? parcels
              : std::min(parcels, wished);
      sources_.push_back({NodeId(s / demand_.may_pass.size()),
                          static_cast<std::int32_t>(s % demand_.may_pass.size()),
                          std::move(by_source[s]), groups, trees});
      trees += groups;
    }
    trees_.assign(trees * nodes_, -1);
  }

  bool good(double seconds) const { return seconds <= options_.target_seconds; }

  double fullest() const {
    double result = 0;
    for (std::size_t e = 0; e < load_.size(); ++e) {
      result = std::max(result, load_[e] / per_second_[e]);
    }
    return result;
  }

  void price(std::size_t link) {
    const double load = load_[link] / per_second_[link];
    cost_[link] = fixed_cost_[link] + mean_bytes_ / per_second_[link] *
                                          std::exp(std::min(600.0, beta_ * (load / scale_ - 1)));
  }

  bool first_sweep() {
    beta_ = kGentlest;
    // What the fullest link would carry at the very least.
    scale_ = options_.target_seconds;
    if (scale_ <= 0) {
      double all = 0, rate = 0;
      for (const Parcel& parcel : demand_.parcels) all += static_cast<double>(parcel.bytes.value);
      for (const double r : per_second_) rate += r;
      scale_ = all / rate;
    }
    fresh_ = true;
    const bool complete = sweep();
    fresh_ = false;
    return complete;
  }

  /// All sources in random order. False if the time ran out: then what was not reached stays as it
  /// was.
  bool sweep() {
    for (std::size_t e = 0; e < cost_.size(); ++e) price(e);
    std::vector<std::uint32_t> order(sources_.size());
    std::iota(order.begin(), order.end(), 0);
    rng_.shuffle(order);
    for (const std::uint32_t s : order) {
      if (stop_.should_stop()) return false;
      reroute(sources_[s]);
    }
    return true;
  }

  template <class Visit>
  void along(const std::int32_t* tree, NodeId source, NodeId target, const Visit& visit) const {
    for (NodeId v = target; v != source;) {
      const LinkId link(tree[v.index()]);
      visit(link);
      v = topology_.link(link).from;
    }
  }

  void shift(LinkId link, double bytes) {
    load_[link.index()] += bytes;
    price(link.index());
  }

  void reroute(Source& source) {
    rng_.shuffle(source.parcels);
    fresh_trees_.resize(source.groups * nodes_);
    const std::size_t size = (source.parcels.size() + source.groups - 1) / source.groups;
    for (std::size_t g = 0; g < source.groups; ++g) {
      const std::size_t begin = std::min(g * size, source.parcels.size());
      const std::size_t end = std::min(begin + size, source.parcels.size());
      if (begin == end) break;
      for (std::size_t k = begin; k < end && !fresh_; ++k) {
        const Parcel& parcel = demand_.parcels[source.parcels[k]];
        const std::int32_t* tree = &trees_[tree_of_[source.parcels[k]] * nodes_];
        along(tree, source.node, parcel.to,
              [&](LinkId link) { shift(link, -static_cast<double>(parcel.bytes.value)); });
      }
      const NodeId only = end - begin == 1 ? demand_.parcels[source.parcels[begin]].to : NodeId();
      grow(source.node, source.passing, only);
      std::int32_t* tree = &fresh_trees_[g * nodes_];
      std::copy(parent_.begin(), parent_.end(), tree);
      for (std::size_t k = begin; k < end; ++k) {
        const Parcel& parcel = demand_.parcels[source.parcels[k]];
        along(tree, source.node, parcel.to,
              [&](LinkId link) { shift(link, static_cast<double>(parcel.bytes.value)); });
      }
    }
    std::copy(fresh_trees_.begin(), fresh_trees_.end(),
              trees_.begin() + static_cast<std::ptrdiff_t>(source.first_tree * nodes_));
    for (std::size_t k = 0; k < source.parcels.size(); ++k) {
      tree_of_[source.parcels[k]] = static_cast<std::uint32_t>(source.first_tree + k / size);
    }
  }

  /// Dijkstra over cost_, into parent_ (links); `only`: as far as this target.
  void grow(NodeId source, std::int32_t passing, NodeId only) {
    const IdVector<NodeId, char>& may_pass = demand_.may_pass[static_cast<std::size_t>(passing)];
    std::fill(distance_.begin(), distance_.end(), HUGE_VAL);
    heap_.clear();
    distance_[source.index()] = 0;
    heap_.emplace_back(0, source.value);
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      const auto [so_far, at] = heap_.back();
      heap_.pop_back();
      const std::size_t v = static_cast<std::size_t>(at);
      if (so_far > distance_[v]) continue;
      if (at == only.value) return;
      if (may_pass[NodeId(at)] == 0 && at != source.value) continue;
      for (std::size_t a = arc_begin_[v]; a < arc_begin_[v + 1]; ++a) {
        const Arc& arc = arcs_[a];
        const double there = so_far + cost_[static_cast<std::size_t>(arc.link)];
        const std::size_t w = static_cast<std::size_t>(arc.to);
        if (there >= distance_[w]) continue;
        distance_[w] = there;
        parent_[w] = arc.link;
        heap_.emplace_back(there, arc.to);
        std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
      }
    }
  }

  /// Paths instead of trees, links in order, with room to change single ones; loads afresh.
  void write_down() {
    std::fill(load_.begin(), load_.end(), 0);
    paths_.begin.assign(1, 0);
    paths_.begin.reserve(demand_.parcels.size() + 1);
    for (std::size_t i = 0; i < demand_.parcels.size(); ++i) {
      const Parcel& parcel = demand_.parcels[i];
      const std::size_t first = paths_.links.size();
      along(&trees_[tree_of_[i] * nodes_], parcel.from, parcel.to, [&](LinkId link) {
        paths_.links.push_back(link);
        load_[link.index()] += static_cast<double>(parcel.bytes.value);
      });
      std::reverse(paths_.links.begin() + static_cast<std::ptrdiff_t>(first), paths_.links.end());
      paths_.begin.push_back(static_cast<std::uint32_t>(paths_.links.size()));
    }
    trees_ = {};
    moved_.assign(demand_.parcels.size(), -1);
  }

  std::span<const LinkId> path(std::size_t parcel) const {
    if (moved_[parcel] < 0) return paths_.of(parcel);
    return moves_[static_cast<std::size_t>(moved_[parcel])];
  }

  void move_single_parcels() {
    beta_ = kSharpest;
    std::size_t moves = 0;
    int stalled = 0;
    while (moves < kMostMoves && stalled < 3 && !stop_.should_stop()) {
      const double before = fullest();
      if (good(before)) return;
      scale_ = before;
      for (std::size_t e = 0; e < cost_.size(); ++e) price(e);
      const auto is_hot = [&](LinkId link) {
        return load_[link.index()] / per_second_[link.index()] > before * 0.999999;
      };
      std::vector<std::uint32_t> candidates;
      for (std::uint32_t i = 0; i < demand_.parcels.size(); ++i) {
        const auto links = path(i);
        if (std::any_of(links.begin(), links.end(), is_hot)) candidates.push_back(i);
      }
      rng_.shuffle(candidates);
      for (const std::uint32_t i : candidates) {
        if (moves >= kMostMoves || stop_.should_stop()) break;
        const auto links = path(i);
        if (!std::any_of(links.begin(), links.end(), is_hot)) continue;  // relieved meanwhile
        move(i);
        ++moves;
      }
      stalled = fullest() < before * (1 - 1e-12) ? 0 : stalled + 1;
    }
  }

  void move(std::uint32_t i) {
    const Parcel& parcel = demand_.parcels[i];
    const double bytes = static_cast<double>(parcel.bytes.value);
    for (const LinkId link : path(i)) shift(link, -bytes);
    grow(parcel.from, parcel.passing, parcel.to);
    std::vector<LinkId> links;
    for (NodeId v = parcel.to; v != parcel.from;) {
      links.push_back(LinkId(parent_[v.index()]));
      v = topology_.link(links.back()).from;
    }
    std::reverse(links.begin(), links.end());
    for (const LinkId link : links) shift(link, bytes);
    if (moved_[i] < 0) {
      moved_[i] = static_cast<std::int32_t>(moves_.size());
      moves_.emplace_back();
    }
    moves_[static_cast<std::size_t>(moved_[i])] = std::move(links);
  }

  ParcelPaths flatten() {
    ParcelPaths result;
    if (moves_.empty()) {
      result = std::move(paths_);
    } else {
      result.begin.reserve(demand_.parcels.size() + 1);
      result.links.reserve(paths_.links.size());
      result.begin.push_back(0);
      for (std::size_t i = 0; i < demand_.parcels.size(); ++i) {
        const auto links = path(i);
        result.links.insert(result.links.end(), links.begin(), links.end());
        result.begin.push_back(static_cast<std::uint32_t>(result.links.size()));
      }
    }
    result.fullest_seconds = fullest();
    return result;
  }

  const Topology& topology_;
  const ParcelDemand& demand_;
  const RoutingOptions& options_;
  Rng& rng_;
  const StopCondition& stop_;
  std::size_t nodes_;
  std::vector<Arc> arcs_;  // by tail
  std::vector<std::size_t> arc_begin_;
  std::vector<double> per_second_;  // bytes, by link
  std::vector<double> load_;        // bytes
  std::vector<double> cost_, fixed_cost_;
  double mean_bytes_ = 0;
  double beta_ = 0, scale_ = 0;
  bool fresh_ = false;  // nothing has a path yet
  std::vector<Source> sources_;
  std::vector<std::int32_t> trees_;  // the link into every node, tree after tree
  std::vector<std::int32_t> fresh_trees_;
  std::vector<std::uint32_t> tree_of_;  // a parcel
  std::vector<double> distance_;
  std::vector<std::int32_t> parent_;
  std::vector<std::pair<double, std::int32_t>> heap_;
  ParcelPaths paths_;
  std::vector<std::int32_t> moved_;  // a parcel's place in moves_, or -1
  std::vector<std::vector<LinkId>> moves_;
};

}  // namespace

ParcelPaths route_parcels(const Topology& topology, const ParcelDemand& demand,
                          const RoutingOptions& options, Rng& rng, const StopCondition& stop) {
  return Router(topology, demand, options, rng, stop).run();
}

}  // namespace stellwerk
