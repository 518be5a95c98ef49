// Rounding a flow to whole chunks.
//
// Problem: every chunk takes one path, and the fullest resource (a link, or a node's injection or
// ejection cap) should be hardly fuller than in the flow.
//
// Idea: (1) the chunks of one pair go to the pair's paths, each to the path with most flow left
// (largest remainder): exact where the flow is integral. (2) While chunks can be moved off the
// fullest resources, move them: a chunk on one of them is rerouted by Dijkstra under lengths that
// grow exponentially with the load (as in Garg and Koenemann, SIAM J. Comput. 2007), and stays
// there if its new way is less full than the old one.
//
// Guarantee: never fuller than after (1), since a move makes nothing as full as what it relieves;
// that also ends the search.
//
// Cost: one Dijkstra a move. Held to its word by: plan/lp_planner_test.cpp, which compares the
// loads with the flow's.
#include "stellwerk/plan/path_assignment.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <tuple>

namespace stellwerk {
namespace {

constexpr double kSharpness = 40;  // of the exponential lengths
constexpr int kPatience = 3;       // rounds without progress
constexpr double kHot = 1 - 1e-9;  // resources this close to the fullest count as fullest

/// What a route makes busy: links, and the caps of the nodes that send and receive.
class Loads {
 public:
  explicit Loads(const Problem& problem) : topology_(problem.topology) {
    const std::size_t links = topology_.links().size();
    const std::size_t nodes = topology_.nodes().size();
    load_.assign(links + 2 * nodes, 0.0);
  }

  /// Calls visit(resource, seconds) for each resource that the link adds.
  template <class Visit>
  void each(LinkId id, Bytes bytes, Visit visit) const {
    const Link& link = topology_.link(id);
    const auto seconds = [&](Bandwidth rate) {
      return static_cast<double>(bytes.value) / static_cast<double>(rate.bytes_per_second);
    };
    visit(id.index(), seconds(link.bandwidth));
    const std::size_t links = topology_.links().size();
    if (const auto& cap = topology_.node(link.from).injection; cap && topology_.stores(link.from)) {
      visit(links + link.from.index(), seconds(*cap));
    }
    if (const auto& cap = topology_.node(link.to).ejection; cap && topology_.stores(link.to)) {
      visit(links + topology_.nodes().size() + link.to.index(), seconds(*cap));
    }
  }

  void add(const std::vector<LinkId>& links, Bytes bytes, double sign) {
    for (const LinkId id : links) {
      each(id, bytes, [&](std::size_t r, double seconds) { load_[r] += sign * seconds; });
    }
  }
  double fullest() const { return *std::max_element(load_.begin(), load_.end()); }
  double fullest_on(const std::vector<LinkId>& links, Bytes bytes) const {
    double most = 0;
    for (const LinkId id : links) {
      each(id, bytes, [&](std::size_t r, double) { most = std::max(most, load_[r]); });
    }
    return most;
  }
  double at(std::size_t resource) const { return load_[resource]; }

 private:
  const Topology& topology_;
  std::vector<double> load_;
};

using PairKey = std::pair<std::vector<NodeId>, NodeId>;

// Largest remainder: the pair's chunks, largest first, each to the path with most flow left.
void round_commodity(const std::vector<Unicast>& unicasts, const Commodity& commodity,
                     const std::vector<FlowPath>& paths, std::vector<Route>& routes) {
  std::map<PairKey, std::vector<std::size_t>> pairs;
  for (const std::size_t i : commodity.unicasts) {
    pairs[{unicasts[i].sources, unicasts[i].target}].push_back(i);
  }
  std::vector<double> left(paths.size());
  for (std::size_t p = 0; p < paths.size(); ++p) left[p] = paths[p].bytes;
  for (auto& [key, members] : pairs) {
    std::vector<std::size_t> candidates;
    for (std::size_t p = 0; p < paths.size(); ++p) {
      if (paths[p].target == key.second &&
          std::binary_search(key.first.begin(), key.first.end(), paths[p].source)) {
        candidates.push_back(p);
      }
    }
    if (candidates.empty()) continue;
    std::stable_sort(members.begin(), members.end(), [&](std::size_t a, std::size_t b) {
      return unicasts[a].bytes > unicasts[b].bytes;
    });
    for (const std::size_t i : members) {
      const std::size_t best = *std::max_element(
          candidates.begin(), candidates.end(), [&](std::size_t a, std::size_t b) {
            // Half a percent is noise: then the path that starts first, then the shorter one.
            const double slack = 0.005 * static_cast<double>(unicasts[i].bytes.value);
            if (std::abs(left[a] - left[b]) > slack) return left[a] < left[b];
            const auto start = [&](std::size_t p) {
              return paths[p].epochs.empty() ? 0 : paths[p].epochs.front();
            };
            return std::tuple(start(b), paths[b].links.size(), b) <
                   std::tuple(start(a), paths[a].links.size(), a);
          });
      left[best] -= static_cast<double>(unicasts[i].bytes.value);
      routes[i] = {paths[best].links, paths[best].epochs};
    }
  }
}

class Rerouter {
 public:
  Rerouter(const Problem& problem, const std::vector<Unicast>& unicasts,
           const std::vector<Commodity>& commodities, std::vector<Route>& routes)
      : topology_(problem.topology), unicasts_(unicasts), routes_(routes), loads_(problem) {
    commodity_of_.resize(unicasts.size());
    for (std::size_t c = 0; c < commodities.size(); ++c) {
      IdVector<LinkId, char> allowed(topology_.links().size());
      for (const LinkId id : topology_.link_ids()) {
        allowed[id] = may_use(commodities[c], topology_, id) ? 1 : 0;
      }
      allowed_.push_back(std::move(allowed));
      for (const std::size_t i : commodities[c].unicasts) commodity_of_[i] = c;
    }
    for (std::size_t i = 0; i < unicasts.size(); ++i) {
      loads_.add(routes_[i].links, unicasts_[i].bytes, 1);
    }
  }

  // Chunks that got no path at all.
  void fill_in() {
    for (std::size_t i = 0; i < unicasts_.size(); ++i) {
      if (!routes_[i].links.empty()) continue;
      routes_[i].links = shortest(i, std::max(loads_.fullest(), 1e-12));
      loads_.add(routes_[i].links, unicasts_[i].bytes, 1);
    }
  }

  void improve(const StopCondition& stop) {
    double most = loads_.fullest();
    for (int stalled = 0; stalled < kPatience && !stop.should_stop();) {
      bool moved = false;
      for (std::size_t i = 0; i < unicasts_.size() && !stop.should_stop(); ++i) {
        if (loads_.fullest_on(routes_[i].links, unicasts_[i].bytes) < most * kHot) continue;
        moved = move(i, most) || moved;
      }
      if (!moved) return;
      const double now = loads_.fullest();
      stalled = now < most * kHot ? 0 : stalled + 1;
      most = now;
    }
  }

 private:
  bool move(std::size_t i, double most) {
    const Bytes bytes = unicasts_[i].bytes;
    const double before = loads_.fullest_on(routes_[i].links, bytes);
    loads_.add(routes_[i].links, bytes, -1);
    std::vector<LinkId> links = shortest(i, most);
    loads_.add(links, bytes, 1);
    if (!links.empty() && loads_.fullest_on(links, bytes) < before * kHot) {
      routes_[i] = {std::move(links), {}};
      return true;
    }
    loads_.add(links, bytes, -1);
    loads_.add(routes_[i].links, bytes, 1);
    return false;
  }

  double length(LinkId id, Bytes bytes, double most) const {
    double sum = topology_.link(id).latency.seconds();
    loads_.each(id, bytes, [&](std::size_t r, double seconds) {
      const double after = (loads_.at(r) + seconds) / most;
      sum += seconds * std::exp(std::min(300.0, kSharpness * after));
    });
    return sum;
  }

  std::vector<LinkId> shortest(std::size_t i, double most) const {
    const Unicast& unicast = unicasts_[i];
    const IdVector<LinkId, char>& allowed = allowed_[commodity_of_[i]];
    constexpr double kFar = 1e300;
    IdVector<NodeId, double> distance(topology_.nodes().size(), kFar);
    IdVector<NodeId, LinkId> parent(topology_.nodes().size());
    using Entry = std::pair<double, NodeId>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    for (const NodeId node : unicast.sources) {
      distance[node] = 0;
      queue.emplace(0, node);
    }
    while (!queue.empty()) {
      const auto [at, node] = queue.top();
      queue.pop();
      if (at > distance[node]) continue;
      if (node == unicast.target) break;
      for (const LinkId id : topology_.out(node)) {
        if (allowed[id] == 0) continue;
        const NodeId head = topology_.link(id).to;
        const double next = at + length(id, unicast.bytes, most);
        if (next < distance[head]) {
          distance[head] = next;
          parent[head] = id;
          queue.emplace(next, head);
        }
      }
    }
    std::vector<LinkId> links;
    if (distance[unicast.target] >= kFar) return links;
    for (NodeId node = unicast.target; parent[node].valid();
         node = topology_.link(parent[node]).from) {
      links.push_back(parent[node]);
    }
    std::reverse(links.begin(), links.end());
    return links;
  }

  const Topology& topology_;
  const std::vector<Unicast>& unicasts_;
  std::vector<Route>& routes_;
  Loads loads_;
  std::vector<std::size_t> commodity_of_;
  std::vector<IdVector<LinkId, char>> allowed_;
};

}  // namespace

std::vector<Route> assign_paths(const Problem& problem, const std::vector<Unicast>& unicasts,
                                const std::vector<Commodity>& commodities,
                                const std::vector<std::vector<FlowPath>>& paths,
                                const StopCondition& stop) {
  std::vector<Route> routes(unicasts.size());
  for (std::size_t c = 0; c < commodities.size(); ++c) {
    round_commodity(unicasts, commodities[c], paths[c], routes);
  }
  Rerouter rerouter(problem, unicasts, commodities, routes);
  rerouter.fill_in();
  rerouter.improve(stop);
  return routes;
}

Time fullest(const Problem& problem, const std::vector<Unicast>& unicasts,
             const std::vector<Route>& routes) {
  Loads loads(problem);
  for (std::size_t i = 0; i < unicasts.size(); ++i) {
    loads.add(routes[i].links, unicasts[i].bytes, 1);
  }
  return Time{static_cast<std::int64_t>(loads.fullest() * 1e12)};
}

}  // namespace stellwerk
