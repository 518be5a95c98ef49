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
#include <numeric>
#include <queue>

#include "stellwerk/bound/least.hpp"
#include "stellwerk/graph/concurrent_flow.hpp"
#include "stellwerk/lp/model.hpp"

namespace stellwerk::bound {
namespace {

using graph::kUnreachable;

constexpr double kScale = 1e7;           // integer lengths: of the longest link
constexpr double kCloseEnough = 1.0005;  // bound and routing so near: no need to try harder
// Sources * links * iterations that the program may take, if there is much or little hope that it
// proves more than a cut.
constexpr std::int64_t kMostWork = 300'000'000;
constexpr std::int64_t kLittleWork = 40'000'000;
constexpr std::int64_t kRound = 250;  // iterations
constexpr int kPoll = 10;
constexpr int kFewestRounds = 4;
constexpr int kMostRounds = 60;
constexpr double kStalled = 1.00001;
constexpr int kPatience = 5;               // rounds that bring less than that, one after the other
constexpr std::int64_t kMuch = 1'000'000;  // sources * links: beyond, a sample of the sources
constexpr std::size_t kSample = 48;
constexpr double kPromising = 0.98;
constexpr std::size_t kFewOrbits = 200;  // of links
constexpr int kMostCuts = 40;
constexpr double kPlayed = 1.00002;

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
  MetricSearch(const Network& network, const Images& images, const StopCondition& stop, Best& best)
      : network_(network), images_(images), stop_(stop), best_(best) {
    std::vector<std::size_t> number(network.nodes(), kNowhere);  // of a source
    for (const Block& block : images.demand().blocks()) {
      if (block.reduction || !block.unicast()) continue;
      const NodeId source = images.base(block.source);
      std::size_t& at = number[source.index()];
      if (at == kNowhere) {
        at = traffic_.size();
        traffic_.push_back({source, {}});
      }
      traffic_[at].to.push_back(
          {images.seen_from(block.source, block.destination), static_cast<double>(block.bytes)});
    }
    for (const Link& link : network.topology().links()) {
      bandwidth_.push_back(static_cast<double>(link.bandwidth.bytes_per_second));
    }
    if (images.compressed()) {
      orbits_ = find_orbits(network.topology(), images.problem().symmetry, images.bases());
    }
  }

  void run() {
    if (traffic_.empty() || bandwidth_.empty()) return;
    const bool many = static_cast<std::int64_t>(traffic_.size() * bandwidth_.size()) > kMuch;
    const std::vector<Source> sources = many ? sample() : traffic_;
    const std::vector<double> plain = plain_lengths();
    Loads loads;
    const double images = static_cast<double>(images_.order());
    const double promise =
        images * route(sources, plain, loads) / static_cast<double>(plain.size());
    const double known = best_.value().seconds();
    if (!many || promise >= kPromising * known) offer(plain);
    // As fast as the bound says? Then there is nothing to find.
    if (seconds(of_all_images(loads)) <= kCloseEnough * best_.value().seconds()) return;
    if (images_.compressed() && orbits_.link_size.size() <= kFewOrbits) {
      play_orbits();
    } else {
      even_out(promise >= kPromising * known ? kMostWork : kLittleWork);
    }
  }

 private:
  using Loads = std::vector<double>;  // bytes, one a link
  struct Target {
    NodeId node;
    double bytes;
  };
  /// What one rank sends; of each orbit only the base.
  struct Source {
    NodeId node;
    std::vector<Target> to;
  };

  void offer(const std::vector<double>& lengths) {
    Certificate certificate;
    certificate.kind = Certificate::Kind::metric;
    certificate.lengths = to_integers(lengths);
    best_.offer(metric_value(certificate.lengths, network_, images_), certificate);
  }

  std::vector<double> plain_lengths() const {
    std::vector<double> lengths;
    for (const double bandwidth : bandwidth_) lengths.push_back(1 / bandwidth);
    return lengths;
  }

  /// Some of the sources, each standing for several.
  std::vector<Source> sample() const {
    std::vector<Source> result;
    for (std::size_t k = 0; k < kSample; ++k) {
      result.push_back(traffic_[k * traffic_.size() / kSample]);
      for (Target& target : result.back().to) {
        target.bytes *= static_cast<double>(traffic_.size()) / kSample;
      }
    }
    return result;
  }

  /// All traffic on shortest paths, in equal parts where several links tie. Returns the sum of bytes
  /// * distance.
  double route(const std::vector<Source>& sources, const std::vector<double>& lengths,
               Loads& loads) const {
    constexpr double kTie = 1 + 1e-9;
    const Topology& topology = network_.topology();
    const std::size_t n = network_.nodes();
    loads.assign(lengths.size(), 0);
    double total = 0;
    std::vector<double> distance(n), through(n);
    std::vector<NodeId> order;
    std::vector<std::size_t> place(n);  // in the order; n: not reached
    std::vector<LinkId> ties;
    for (const Source& source : sources) {
      std::fill(distance.begin(), distance.end(), HUGE_VAL);
      std::fill(through.begin(), through.end(), 0);
      order.clear();
      using Entry = std::pair<double, std::size_t>;
      std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
      distance[source.node.index()] = 0;
      queue.emplace(0, source.node.index());
      std::fill(place.begin(), place.end(), n);
      while (!queue.empty()) {
        const std::size_t v = queue.top().second;
        queue.pop();
        if (place[v] < n) continue;
        place[v] = order.size();
        order.push_back(NodeId(v));
        for (const LinkId id : topology.out(NodeId(v))) {
          const std::size_t w = topology.link(id).to.index();
          const double there = distance[v] + lengths[id.index()];
          if (there >= distance[w]) continue;
          distance[w] = there;
          queue.emplace(there, w);
        }
      }
      for (const Target& target : source.to) {
        if (place[target.node.index()] == n) continue;
        through[target.node.index()] += target.bytes;
        total += target.bytes * distance[target.node.index()];
      }
      for (std::size_t k = order.size(); k-- > 1;) {
        const std::size_t v = order[k].index();
        if (through[v] == 0) continue;
        ties.clear();
        for (const LinkId id : topology.in(order[k])) {
          const std::size_t from = topology.link(id).from.index();
          if (place[from] < k && distance[from] + lengths[id.index()] <= distance[v] * kTie) {
            ties.push_back(id);
          }
        }
        const double part = through[v] / static_cast<double>(ties.size());
        for (const LinkId id : ties) {
          loads[id.index()] += part;
          through[topology.link(id).from.index()] += part;
        }
      }
    }
    return total;
  }

  /// What the images of some paths put on every link, from what the paths do.
  Loads of_all_images(Loads loads) const {
    if (!images_.compressed()) return loads;
    average_over_orbits(loads);
    for (double& load : loads) load *= static_cast<double>(images_.order());
    return loads;
  }

  /// The mean over its orbit for every link.
  void average_over_orbits(std::vector<double>& values) const {
    std::vector<double> sum(orbits_.link_size.size(), 0);
    for (const LinkId id : network_.topology().link_ids()) {
      sum[orbits_.link[id]] += values[id.index()];
    }
    for (const LinkId id : network_.topology().link_ids()) {
      const std::uint32_t orbit = orbits_.link[id];
      values[id.index()] = sum[orbit] / static_cast<double>(orbits_.link_size[orbit]);
    }
  }

  double seconds(const Loads& loads) const {
    double result = 0;
    for (std::size_t e = 0; e < loads.size(); ++e)
      result = std::max(result, loads[e] / bandwidth_[e]);
    return result;
  }

  /// Offers lengths from the dual of the maximum-concurrent-flow program, in rounds, until they get
  /// no better or that much work is done.
  void even_out(std::int64_t most_work) {
    graph::FlowGroups groups;
    std::vector<double> rate;  // of the links of a group
    if (images_.compressed()) {
      // One capacity for an orbit of links: what the bases send over all of them is what all ranks
      // send over one, times the size of the orbit over the order of the group.
      for (const std::uint32_t orbit : orbits_.link)
        groups.of_arc.push_back(static_cast<int>(orbit));
      groups.capacity.assign(orbits_.link_size.size(), 0);
      for (std::size_t e = 0; e < bandwidth_.size(); ++e) {
        groups.capacity[static_cast<std::size_t>(groups.of_arc[e])] +=
            bandwidth_[e] / static_cast<double>(images_.order());
      }
    } else {
      groups.of_arc.resize(bandwidth_.size());
      std::iota(groups.of_arc.begin(), groups.of_arc.end(), 0);
      groups.capacity = bandwidth_;
    }
    std::vector<graph::FlowSource> sources;
    for (const Source& source : traffic_) {
      sources.push_back({source.node.value, {}});
      for (const Target& target : source.to) {
        sources.back().to.emplace_back(target.node.value, target.bytes);
      }
    }
    const std::vector<int> group_of = groups.of_arc;
    const std::int64_t size = static_cast<std::int64_t>(sources.size() * bandwidth_.size());
    if (size * kFewestRounds * kRound > most_work) return;
    graph::ConcurrentFlow program(network_.digraph(), std::move(groups), std::move(sources));
    const double images = static_cast<double>(images_.order());
    Loads loads;
    double last = 0;
    int idle_rounds = 0;
    for (int round = 1; round * kRound * size <= most_work && round <= kMostRounds; ++round) {
      for (int part = 0; part < kRound / kPoll && !stop_.should_stop(); ++part) program.run(kPoll);
      if (stop_.should_stop()) break;
      double found = 0;
      std::vector<double> best_lengths;
      for (const std::vector<double>& by_group : {program.lengths(), program.mean_lengths()}) {
        std::vector<double> lengths;
        double capacity = 0;
        for (std::size_t e = 0; e < bandwidth_.size(); ++e) {
          lengths.push_back(by_group[static_cast<std::size_t>(group_of[e])]);
          capacity += lengths.back() * bandwidth_[e];
        }
        if (capacity <= 0 || stop_.should_stop()) continue;
        const double proven = images * route(traffic_, lengths, loads) / capacity;
        if (proven <= found) continue;
        found = proven;
        best_lengths = std::move(lengths);
      }
      if (round % 2 == 0) program.forget();
      if (found > best_estimate_) {
        best_estimate_ = found;
        best_lengths_ = std::move(best_lengths);
      }
      if (best_estimate_ > last * kStalled) {
        last = best_estimate_;
        idle_rounds = 0;
      } else if (++idle_rounds == kPatience) {
        break;
      }
    }
    if (!best_lengths_.empty()) offer(best_lengths_);
  }

  /// Few orbits of links: a game between lengths, which weigh the orbits, and routings, which answer
  /// with shortest paths. Its value by cutting planes (Kelley 1960), each at a point between the
  /// program's and the best one so far.
  void play_orbits() {
    const std::size_t orbits = orbits_.link_size.size();
    std::vector<double> bandwidth(orbits, 0);
    for (std::size_t e = 0; e < bandwidth_.size(); ++e) {
      bandwidth[orbits_.link[LinkId(e)]] += bandwidth_[e];
    }
    const double unit = best_.value().seconds() > 0 ? best_.value().seconds() : 1;
    lp::Model program;  // most sum of t: t of a base <= weights * seconds of each of its routings
    program.sense = lp::Sense::maximise;
    std::vector<lp::Term> all;
    for (std::size_t j = 0; j < orbits; ++j) {
      all.push_back({program.add_variable(0, 1, 0), 1});
    }
    program.add_row(1, 1, all);
    std::vector<lp::Variable> bound_of;
    for (std::size_t b = 0; b < traffic_.size(); ++b) {
      bound_of.push_back(program.add_variable(0, lp::kInfinity, 1));
    }
    std::vector<double> weights(bandwidth);  // of 1 / bandwidth as lengths
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (double& weight : weights) weight /= sum;
    std::vector<double> best_weights = weights;
    Loads loads;
    for (int step = 0; step < kMostCuts && !stop_.should_stop(); ++step) {
      std::vector<double> lengths;
      for (const std::uint32_t orbit : orbits_.link) {
        lengths.push_back(weights[orbit] / bandwidth[orbit]);
      }
      double value = 0;
      for (std::size_t b = 0; b < traffic_.size(); ++b) {
        value += static_cast<double>(images_.order()) * route({traffic_[b]}, lengths, loads);
        std::vector<double> through(orbits, 0);
        for (std::size_t e = 0; e < loads.size(); ++e) through[orbits_.link[LinkId(e)]] += loads[e];
        std::vector<lp::Term> row = {{bound_of[b], 1}};
        for (std::size_t j = 0; j < orbits; ++j) {
          if (through[j] == 0) continue;
          row.push_back({static_cast<lp::Variable>(j),
                         -static_cast<double>(images_.order()) * through[j] / bandwidth[j] / unit});
        }
        program.add_row(-lp::kInfinity, 0, row);
      }
      if (value > best_estimate_) {
        best_estimate_ = value;
        best_lengths_ = lengths;
        best_weights = weights;
      }
      lp::SolveOptions options;
      options.stop = stop_;
      options.method = lp::Method::simplex;
      const lp::Solution solution = lp::solve(program, options);
      if (!solution.has_values() || solution.objective * unit <= best_estimate_ * kPlayed) break;
      for (std::size_t j = 0; j < orbits; ++j) {
        weights[j] = (best_weights[j] + std::max(0.0, solution.values[j])) / 2;
      }
    }
    if (!best_lengths_.empty()) offer(best_lengths_);
  }

  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  const Network& network_;
  const Images& images_;
  const StopCondition& stop_;
  Best& best_;
  std::vector<Source> traffic_;
  std::vector<double> bandwidth_;
  Orbits orbits_;  // of a compressed problem
  std::vector<double> best_lengths_;
  double best_estimate_ = 0;
};

}  // namespace

std::optional<Time> metric_value(const std::vector<std::int64_t>& lengths, const Network& network,
                                 const Images& images) {
  std::vector<Gate> gates;
  for (const LinkId id : network.topology().link_ids()) {
    const Link& link = network.topology().link(id);
    if (lengths[id.index()] == 0) continue;
    gates.push_back({static_cast<Int128>(lengths[id.index()]) * link.bandwidth.bytes_per_second,
                     link.latency.ps});
  }
  // All images of a chunk are as far from their destinations as the chunk; distances from a rank are
  // those from the base of its orbit.
  std::vector<std::optional<std::vector<std::int64_t>>> from(network.nodes());
  Int128 amount = 0;
  Time ready = Time::max();
  for (const Block& block : images.demand().blocks()) {
    const auto distance = [&](NodeId source, NodeId target) {
      const NodeId base = images.base(source);
      auto& distances = from[base.index()];
      if (!distances) {
        distances =
            graph::distances(network.digraph(), lengths, std::vector{graph::Start{base.value}});
      }
      return (*distances)[images.seen_from(source, target).index()];
    };
    std::int64_t farthest = 0;
    if (block.source.valid() && block.destination.valid()) {
      farthest = distance(block.source, block.destination);
    } else {
      for (const NodeId target : block.chunk->destinations) {
        std::int64_t way = block.reduction ? 0 : kUnreachable;
        for (const NodeId source : block.sources()) {
          way = block.reduction ? std::max(way, distance(source, target))
                                : std::min(way, distance(source, target));
        }
        farthest = std::max(farthest, way);
      }
    }
    if (farthest >= kUnreachable) return std::nullopt;
    if (farthest == 0) continue;
    amount += static_cast<Int128>(block.bytes) * farthest * images.order();
    ready = std::min(ready, block.chunk->ready);
  }
  if (amount == 0) return std::nullopt;
  std::optional<Time> value = least(std::move(gates), amount);
  if (value) *value += ready;
  return value;
}

void search_metric(const Network& network, const Images& images, const StopCondition& stop,
                   Best& best) {
  MetricSearch(network, images, stop, best).run();
}

}  // namespace stellwerk::bound
