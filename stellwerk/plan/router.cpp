// Shortest ways without a table of hops.
//
// Problem: planners think in hops, from one storing node through switches to the next, and there may
// be millions of them (every pair of GPUs on a big switch, and again for every spine). Baselines need
// a few ways from each rank.
// Idea: Dijkstra over nodes and links, one search a source, kept. Bandwidth is paid once a hop, at
// its narrowest link, so at a switch the state holds how narrow the hop has been so far; few
// different bandwidths make few states. The time of a whole hop is added when it ends. A search ends
// when all ranks are reached and no further hop could improve any of them. Equally good ways are
// told apart when a way is read backwards: which one is taken depends on a hash of the pair, as
// switches do it (ECMP), so that load spreads over spines and rails.
// Guarantee: the least sum of latencies and of transmission times of hops. Complexity: a search is
// O(L B log) for L links and B different bandwidths; memory for searches stays below kTreeBytes.
// Held to its word by router_test.cpp (equal to the best of all simple ways on random networks).
#include "stellwerk/plan/router.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <queue>

#include "stellwerk/plan/passing.hpp"

namespace stellwerk {
namespace {

constexpr std::size_t kTreeBytes = std::size_t{128} << 20;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::uint32_t kSalts = 8;

std::uint64_t hash(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t z = a * 0x9e3779b97f4a7c15ULL ^
                    (b + 0x632be59bd9b4e019ULL) * 0xbf58476d1ce4e5b9ULL ^
                    (c + 1) * 0x94d049bb133111ebULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

/// Where links cost no time, one of the best ways may lead round in a circle and pass a switch twice:
/// then it is as good without the circle.
std::vector<LinkId> without_circles(const Topology& topology, const std::vector<LinkId>& links) {
  std::vector<LinkId> result;
  for (const LinkId id : links) {
    const auto seen = std::find_if(result.begin(), result.end(), [&](LinkId known) {
      return topology.link(known).from == topology.link(id).from;
    });
    result.erase(seen, result.end());
    result.push_back(id);
  }
  return result;
}

}  // namespace

Router::Router(const Problem& problem, JobId job, Bytes bytes, Ties ties)
    : problem_(problem), job_(job), bytes_(bytes), ties_(ties) {
  const Topology& topology = problem.topology;
  forwards_.resize(topology.nodes().size());
  wanted_.resize(topology.nodes().size());
  for (const NodeId node : topology.node_ids()) {
    forwards_[node.index()] = may_pass(problem, node, job, bytes) ? 1 : 0;
    if (topology.node(node).injection) bands_.push_back(*topology.node(node).injection);
  }
  for (const NodeId rank : problem.jobs[job.index()].ranks) wanted_[rank.index()] = 1;
  for (const Link& link : topology.links()) bands_.push_back(link.bandwidth);
  std::sort(bands_.begin(), bands_.end(), std::greater<>());
  bands_.erase(std::unique(bands_.begin(), bands_.end()), bands_.end());
  cheapest_ = bands_.empty() ? 0 : transmission_time(bytes, bands_.front()).ps;
  const std::size_t states = topology.nodes().size() * std::max<std::size_t>(1, bands_.size());
  most_trees_ = std::max<std::size_t>(4, kTreeBytes / (25 * states + 1));
}

Bandwidth Router::over(const Link& link, Bandwidth have) const {
  Bandwidth bandwidth = std::min(have, link.bandwidth);
  const Node& from = problem_.topology.node(link.from);
  const Node& to = problem_.topology.node(link.to);
  if (from.stores() && from.injection) bandwidth = std::min(bandwidth, *from.injection);
  if (to.stores() && to.ejection) bandwidth = std::min(bandwidth, *to.ejection);
  return bandwidth;
}

std::size_t Router::band(Bandwidth bandwidth) const {
  const auto found = std::lower_bound(bands_.begin(), bands_.end(), bandwidth, std::greater<>());
  return static_cast<std::size_t>(found - bands_.begin());
}

std::pair<Router::State, std::int64_t> Router::step(State from, const Link& link) const {
  const Topology& topology = problem_.topology;
  const bool stored = topology.stores(node_of(from));
  const Bandwidth have = stored ? link.bandwidth : bands_[band_of(from)];
  const Bandwidth left = over(link, have);
  if (!topology.stores(link.to)) return {state(link.to, band(left)), link.latency.ps};
  return {state(link.to, 0), link.latency.ps + transmission_time(bytes_, left).ps};
}

Router::Tree Router::find(NodeId from) const {
  const Topology& topology = problem_.topology;
  const std::size_t states = topology.nodes().size() * bands_.size();
  Tree tree{std::vector<std::int64_t>(states, kNever), std::vector<std::uint32_t>(states, 0),
            std::vector<State>(states, kNone),         std::vector<State>(states, kNone),
            std::vector<std::uint32_t>(states, 0),     std::vector<char>(states, 0)};
  using Entry = std::pair<std::int64_t, State>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  const State start = state(from, 0);
  tree.distance[start] = 0;
  queue.emplace(0, start);
  const std::vector<NodeId>& ranks = problem_.jobs[job_.index()].ranks;
  std::size_t missing = ranks.size() - (wanted_[from.index()] != 0 ? 1 : 0);
  std::int64_t farthest = kNever;
  bool improved = false;
  while (!queue.empty()) {
    const auto [time, at] = queue.top();
    queue.pop();
    if (time > tree.distance[at]) continue;
    const NodeId node = node_of(at);
    if (topology.stores(node)) {
      if (improved && missing == 0) {
        farthest = 0;
        for (const NodeId rank : ranks) {
          farthest = std::max(farthest, tree.distance[state(rank, 0)]);
        }
        improved = false;
      }
      if (farthest != kNever && time > farthest - cheapest_) break;
      if (node != from && forwards_[node.index()] == 0) continue;
    }
    for (const LinkId id : topology.out(node)) {
      const Link& link = topology.link(id);
      const auto [next, cost] = step(at, link);
      const std::int64_t arrival = time + cost;
      if (arrival > tree.distance[next] || next == start) continue;
      if (arrival == tree.distance[next]) {
        tree.several[next] = 1;
        continue;
      }
      if (tree.distance[next] == kNever && wanted_[link.to.index()] != 0) --missing;
      tree.distance[next] = arrival;
      tree.link[next] = static_cast<std::uint32_t>(id.index());
      tree.before[next] = at;
      tree.links[next] = tree.links[at] + 1;
      tree.left[next] = topology.stores(node) ? at : tree.left[at];
      tree.several[next] = 0;
      queue.emplace(arrival, next);
      improved = true;
    }
  }
  return tree;
}

const Router::Tree& Router::tree(NodeId from) {
  std::unique_ptr<Tree>& entry = trees_[from.value];
  if (entry == nullptr) {
    entry = std::make_unique<Tree>(find(from));
    order_.push_back(from.value);
    const Tree& result = *entry;
    if (order_.size() > most_trees_) {
      trees_.erase(order_.front());
      order_.pop_front();
    }
    return result;
  }
  return *entry;
}

Time Router::distance(NodeId from, NodeId to) {
  if (from == to) return Time{0};
  if (bands_.empty()) return Time::max();
  const std::int64_t ps = tree(from).distance[state(to, 0)];
  return ps == kNever ? Time::max() : Time{ps};
}

/// All steps into a state that lie on a best way, in the order of links.
std::vector<Router::Step> Router::steps_into(const Tree& tree, State at) const {
  const Topology& topology = problem_.topology;
  std::vector<Step> result;
  for (const LinkId id : topology.in(node_of(at))) {
    const Link& link = topology.link(id);
    const std::size_t bands = topology.stores(link.from) ? 1 : bands_.size();
    for (std::size_t b = 0; b < bands; ++b) {
      const State before = state(link.from, b);
      if (tree.distance[before] == kNever) continue;
      if (topology.stores(link.from) && tree.distance[before] > 0 &&
          forwards_[link.from.index()] == 0) {
        continue;
      }
      const State left = topology.stores(link.from) ? before : tree.left[before];
      if (ties_ == Ties::one_tree && left != tree.left[at]) continue;
      const auto [next, cost] = step(before, link);
      // Steps that take no time must not lead in a circle.
      const bool nearer = cost > 0 || tree.links[before] < tree.links[at];
      if (next == at && tree.distance[before] + cost == tree.distance[at] && nearer) {
        result.push_back({static_cast<std::uint32_t>(id.index()), before});
      }
    }
  }
  return result;
}

HopId Router::intern(std::vector<LinkId> links) {
  const auto found = known_hops_.find(links);
  if (found != known_hops_.end()) return found->second;
  const Topology& topology = problem_.topology;
  Hop hop;
  hop.from = topology.link(links.front()).from;
  hop.to = topology.link(links.back()).to;
  hop.bandwidth = topology.link(links.front()).bandwidth;
  for (const LinkId id : links) {
    hop.latency += topology.link(id).latency;
    hop.bandwidth = over(topology.link(id), hop.bandwidth);
  }
  hop.links = links;
  const HopId id(hops_.size());
  hops_.push_back(std::move(hop));
  known_hops_.emplace(std::move(links), id);
  return id;
}

const Router::Way& Router::find_way(NodeId from, NodeId to, std::uint32_t salt) {
  const std::uint64_t key = (static_cast<std::uint64_t>(from.index()) << 34) |
                            (static_cast<std::uint64_t>(to.index()) << 4) | salt;
  const auto known = ways_.find(key);
  return known != ways_.end() ? known->second
                              : ways_.emplace(key, read(from, to, salt)).first->second;
}

std::span<const HopId> Router::way(NodeId from, NodeId to, std::uint32_t salt) {
  if (from == to) return {};
  Way way = find_way(from, to, 0);
  if (!way.unique && salt % kSalts != 0) way = find_way(from, to, salt % kSalts);
  return std::span(way_hops_).subspan(way.begin, way.end - way.begin);
}

std::uint32_t Router::salts(NodeId from, NodeId to) {
  return from == to || find_way(from, to, 0).unique ? 1 : kSalts;
}

Router::Way Router::read(NodeId from, NodeId to, std::uint32_t salt) {
  const Tree& best = tree(from);
  const State start = state(from, 0);
  std::vector<HopId> hops;
  std::vector<LinkId> links;
  bool unique = true;
  for (State at = state(to, 0); at != start;) {
    Step step{best.link[at], best.before[at]};
    if (best.several[at] != 0) {
      const std::vector<Step> choices = steps_into(best, at);
      unique = unique && choices.size() == 1;
      step = choices[hash(from.index(), to.index(), node_of(at).index() * kSalts + salt) %
                     choices.size()];
    }
    links.emplace_back(static_cast<std::size_t>(step.link));
    at = step.before;
    if (problem_.topology.stores(node_of(at))) {
      std::reverse(links.begin(), links.end());
      hops.push_back(intern(without_circles(problem_.topology, links)));
      links.clear();
    }
  }
  const auto begin = static_cast<std::uint32_t>(way_hops_.size());
  way_hops_.insert(way_hops_.end(), hops.rbegin(), hops.rend());
  return {begin, static_cast<std::uint32_t>(way_hops_.size()), unique};
}

Router& Routers::of(JobId job, Bytes bytes) {
  const int size = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(bytes.value)));
  std::unique_ptr<Router>& router = routers_[{job, size}];
  if (router == nullptr) router = std::make_unique<Router>(problem_, job, bytes, ties_);
  return *router;
}

}  // namespace stellwerk
