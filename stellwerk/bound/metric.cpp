// Problem: when every chunk goes to one place (AllToAll, Scatter, ...), no cut need be tight: on a
// torus, or with links missing, many cuts bind together. The fluid optimum is a maximum concurrent
// flow, and the dual of that program gives each link a length; then (bytes * distance) / (bandwidth
// * length) is a bound for any lengths, and the best of them equals the fluid optimum (Shahrokhi
// and Matula, JACM 37, 1990). Idea: (1) lengths 1 / bandwidth: right for symmetric networks. (2)
// Route everything on shortest paths for lengths that grow exponentially with the load of a link,
// average with what was routed so far (Frank and Wolfe 1956 on the exponential potential, as in
// Bienstock, "Potential function methods", 2002); every step yields lengths, and its routing says
// how far they are from the best ones. (3) Still more than kCloseEnough apart and small: solve the
// program, one commodity a source, and take its duals. Whatever the lengths come from, they are
// rounded to integers and evaluated exactly. Cost: one Dijkstra for each source and step, steps
// limited by kMostWork; the program below kLargestProgram variables only. Held to its word by
// metric_test.cpp: tori and degraded tori with known optima, and never above plans by hand.
#include "stellwerk/bound/metric.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <queue>

#include "stellwerk/bound/least.hpp"
#include "stellwerk/lp/model.hpp"

namespace stellwerk::bound {
namespace {

using graph::kUnreachable;

constexpr double kScale = 1e7;                 // integer lengths: of the longest link
constexpr double kCloseEnough = 1.004;         // bound and routing so near: no need to try harder
constexpr std::int64_t kMostWork = 8'000'000;  // sources * links * steps
constexpr int kMostSteps = 400;
constexpr std::size_t kLargestProgram = 40'000;

std::vector<std::int64_t> to_integers(const std::vector<double>& lengths) {
  const double longest = *std::max_element(lengths.begin(), lengths.end());
  std::vector<std::int64_t> result;
  for (const double length : lengths) {
    result.push_back(longest > 0 ? std::llround(length / longest * kScale) : 0);
  }
  return result;
}

class MetricSearch {
 public:
  MetricSearch(const Network& network, const Demand& demand, const StopCondition& stop, Best& best)
      : network_(network), demand_(demand), stop_(stop), best_(best) {
    for (const Block& block : demand.blocks()) {
      const Chunk& chunk = *block.chunk;
      if (chunk.is_reduction() || chunk.destinations.size() != 1 || chunk.origins.size() != 1 ||
          chunk.origins == chunk.destinations) {
        continue;
      }
      traffic_[chunk.origins.front()][chunk.destinations.front()] +=
          static_cast<double>(block.bytes);
    }
    for (const Link& link : network.topology().links()) {
      bandwidth_.push_back(static_cast<double>(link.bandwidth.bytes_per_second));
    }
  }

  void run() {
    if (traffic_.empty() || bandwidth_.empty()) return;
    std::vector<double> lengths;
    for (const double bandwidth : bandwidth_) lengths.push_back(1 / bandwidth);
    offer(lengths);
    even_out();
    if (closed()) return;
    const std::size_t variables = traffic_.size() * bandwidth_.size();
    if (variables <= kLargestProgram) solve_program();
  }

 private:
  using Loads = std::vector<double>;  // bytes, one a link

  void offer(const std::vector<double>& lengths) {
    Certificate certificate;
    certificate.kind = Certificate::Kind::metric;
    certificate.lengths = to_integers(lengths);
    best_.offer(metric_value(certificate.lengths, network_, demand_), certificate);
  }

  /// Is the routing found so far about as fast as the best bound says?
  bool closed() const {
    return routed_seconds_ <= kCloseEnough * best_.value().seconds() || stop_.should_stop();
  }

  /// All traffic on shortest paths. Returns the sum of bytes * distance.
  double route(const std::vector<double>& lengths, Loads& loads) const {
    const Topology& topology = network_.topology();
    const std::size_t n = network_.nodes();
    loads.assign(lengths.size(), 0);
    double total = 0;
    std::vector<double> distance(n), through(n);
    std::vector<LinkId> parent(n);
    std::vector<NodeId> order;
    for (const auto& [source, demands] : traffic_) {
      std::fill(distance.begin(), distance.end(), HUGE_VAL);
      std::fill(through.begin(), through.end(), 0);
      std::fill(parent.begin(), parent.end(), LinkId());
      order.clear();
      using Entry = std::pair<double, std::size_t>;
      std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
      distance[source.index()] = 0;
      queue.emplace(0, source.index());
      std::vector<bool> done(n, false);
      while (!queue.empty()) {
        const std::size_t v = queue.top().second;
        queue.pop();
        if (done[v]) continue;
        done[v] = true;
        order.push_back(NodeId(v));
        for (const LinkId id : topology.out(NodeId(v))) {
          const std::size_t w = topology.link(id).to.index();
          const double there = distance[v] + lengths[id.index()];
          if (there >= distance[w]) continue;
          distance[w] = there;
          parent[w] = id;
          queue.emplace(there, w);
        }
      }
      for (const auto& [target, bytes] : demands) {
        if (!done[target.index()]) continue;
        through[target.index()] += bytes;
        total += bytes * distance[target.index()];
      }
      for (std::size_t k = order.size(); k-- > 1;) {
        const std::size_t v = order[k].index();
        if (through[v] == 0) continue;
        loads[parent[v].index()] += through[v];
        through[topology.link(parent[v]).from.index()] += through[v];
      }
    }
    return total;
  }

  double seconds(const Loads& loads) const {
    double result = 0;
    for (std::size_t e = 0; e < loads.size(); ++e)
      result = std::max(result, loads[e] / bandwidth_[e]);
    return result;
  }

  void even_out() {
    const std::int64_t work = static_cast<std::int64_t>(traffic_.size() * bandwidth_.size());
    const int steps = static_cast<int>(std::min<std::int64_t>(kMostSteps, kMostWork / work + 1));
    std::vector<double> lengths(bandwidth_.size());
    for (std::size_t e = 0; e < lengths.size(); ++e) lengths[e] = 1 / bandwidth_[e];
    Loads average, next;
    std::vector<double> best_lengths;
    double best_bound = 0;
    for (int step = 0; step < steps; ++step) {
      const double total = route(lengths, next);
      double capacity = 0;
      for (std::size_t e = 0; e < lengths.size(); ++e) capacity += lengths[e] * bandwidth_[e];
      if (total / capacity > best_bound) {
        best_bound = total / capacity;
        best_lengths = lengths;
      }
      if (step == 0) {
        average = next;
      } else {
        const double part = 2.0 / (step + 2);
        for (std::size_t e = 0; e < average.size(); ++e) {
          average[e] += part * (next[e] - average[e]);
        }
      }
      const double fullest = seconds(average);
      routed_seconds_ = std::min(routed_seconds_, fullest);
      if (fullest <= kCloseEnough * best_bound || closed()) break;
      const double sharpness = 10 + 0.5 * step;
      for (std::size_t e = 0; e < lengths.size(); ++e) {
        const double load = average[e] / bandwidth_[e] / fullest;
        lengths[e] = std::exp(sharpness * (load - 1)) / bandwidth_[e];
      }
    }
    if (!best_lengths.empty()) offer(best_lengths);
  }

  /// Least T with one flow a source, at most bandwidth * T on each link.
  void solve_program() {
    const Topology& topology = network_.topology();
    // Units: the mean bandwidth, and the bytes that make T about 1.
    const double rate = std::accumulate(bandwidth_.begin(), bandwidth_.end(), 0.0) /
                        static_cast<double>(bandwidth_.size());
    const double unit = rate * routed_seconds_;
    lp::Model model;
    const lp::Variable time = model.add_variable(0, lp::kInfinity, 1);
    std::vector<std::vector<lp::Term>> on_link(bandwidth_.size());
    for (std::size_t e = 0; e < bandwidth_.size(); ++e) {
      on_link[e].push_back({time, -bandwidth_[e] / rate});
    }
    for (const auto& [source, demands] : traffic_) {
      std::vector<std::vector<lp::Term>> balance(network_.nodes());
      for (const LinkId id : topology.link_ids()) {
        const Link& link = topology.link(id);
        if (link.to == source) continue;
        const lp::Variable flow = model.add_variable(0, lp::kInfinity, 0);
        balance[link.to.index()].push_back({flow, 1});
        if (link.from != source) balance[link.from.index()].push_back({flow, -1});
        on_link[id.index()].push_back({flow, 1});
      }
      for (const NodeId node : topology.node_ids()) {
        if (node == source) continue;
        const auto wanted = demands.find(node);
        const double bytes = wanted == demands.end() ? 0 : wanted->second / unit;
        model.add_row(bytes, bytes, balance[node.index()]);
      }
    }
    std::vector<lp::Row> rows;
    for (const auto& terms : on_link) rows.push_back(model.add_row(-lp::kInfinity, 0, terms));
    lp::SolveOptions options;
    options.stop = stop_;
    options.method = lp::Method::interior_point_no_crossover;
    const lp::Solution solution = lp::solve(model, options);
    if (solution.row_duals.empty()) return;
    std::vector<double> lengths;
    for (const lp::Row row : rows) {
      lengths.push_back(std::fabs(solution.row_duals[static_cast<std::size_t>(row)]));
    }
    offer(lengths);
  }

  const Network& network_;
  const Demand& demand_;
  const StopCondition& stop_;
  Best& best_;
  std::map<NodeId, std::map<NodeId, double>> traffic_;  // bytes from, to
  std::vector<double> bandwidth_;
  double routed_seconds_ = HUGE_VAL;  // the fastest fluid routing so far
};

}  // namespace

std::optional<Time> metric_value(const std::vector<std::int64_t>& lengths, const Network& network,
                                 const Demand& demand) {
  std::vector<Gate> gates;
  for (const LinkId id : network.topology().link_ids()) {
    const Link& link = network.topology().link(id);
    if (lengths[id.index()] == 0) continue;
    gates.push_back({static_cast<Int128>(lengths[id.index()]) * link.bandwidth.bytes_per_second,
                     link.latency.ps});
  }
  std::vector<std::optional<std::vector<std::int64_t>>> from(network.nodes());
  Int128 amount = 0;
  Time ready = Time::max();
  for (const Block& block : demand.blocks()) {
    const bool sum = block.chunk->is_reduction();
    std::int64_t farthest = 0;
    for (const NodeId target : block.chunk->destinations) {
      std::int64_t way = sum ? 0 : kUnreachable;
      for (const NodeId source : block.sources()) {
        auto& distances = from[source.index()];
        if (!distances) {
          distances =
              graph::distances(network.digraph(), lengths, std::vector{graph::Start{source.value}});
        }
        const std::int64_t distance = (*distances)[target.index()];
        way = sum ? std::max(way, distance) : std::min(way, distance);
      }
      farthest = std::max(farthest, way);
    }
    if (farthest >= kUnreachable) return std::nullopt;
    if (farthest == 0) continue;
    amount += static_cast<Int128>(block.bytes) * farthest;
    ready = std::min(ready, block.chunk->ready);
  }
  if (amount == 0) return std::nullopt;
  std::optional<Time> value = least(std::move(gates), amount);
  if (value) *value += ready;
  return value;
}

void search_metric(const Network& network, const Demand& demand, const StopCondition& stop,
                   Best& best) {
  MetricSearch(network, demand, stop, best).run();
}

}  // namespace stellwerk::bound
