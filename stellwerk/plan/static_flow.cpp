// Maximum concurrent flow (Shahrokhi, Matula, J. ACM 1990), one commodity a source or a target.
//
// Problem: move every commodity so that the fullest link is done as early as possible, in the fluid
// sense.
//
// Idea: x[c,e] bytes of commodity c on link e, conservation at every node, and for every link: (sum
// over c of x[c,e]) / bandwidth <= T - (earliest arrival of any byte at its tail) - latency -
// (latency from its head to the nearest sink). The right-hand side makes T a lower bound for
// latencies, too: a link cannot work before something can have reached it, nor so late that nothing
// can get from it to a sink by T. (A link that is farther off than the latency bound itself is
// charged no more than that, so that links which are best left idle do no harm.) Injection and
// ejection caps are rows of the same kind. On a grid, latencies are those of the grid.
//
// Then, with T fixed, the flow of least total work (link time plus latency): short paths, no
// cycles, and chunks that cross a narrow place directly from their source or directly to their
// target where that is possible.
//
// Guarantee: up to the solver's tolerance, `ticks` is a lower bound on any plan with any chunking.
//
// Cost: |commodities| * |links| variables; interior point without crossover for T, simplex for the
// flow. Held to its word by: plan/lp_planner_test.cpp (known optima, every plan).
#include "stellwerk/plan/static_flow.hpp"

#include <algorithm>
#include <cmath>

#include "stellwerk/base/wide.hpp"
#include "stellwerk/lp/model.hpp"
#include "stellwerk/plan/flow_reach.hpp"

namespace stellwerk {
namespace {

struct Unit {
  double bytes;    ///< amounts are counted in this
  double seconds;  ///< times are counted in this
};

Unit choose_unit(const Problem& problem, const std::vector<Commodity>& commodities) {
  Int128 total = 0;
  std::size_t sinks = 0;
  for (const Commodity& commodity : commodities) {
    total += commodity.bytes.value;
    sinks += commodity.unicasts.size();
  }
  const double bytes = static_cast<double>(total) / static_cast<double>(sinks);
  std::int64_t slowest = problem.topology.links().front().bandwidth.bytes_per_second;
  for (const Link& link : problem.topology.links()) {
    slowest = std::min(slowest, link.bandwidth.bytes_per_second);
  }
  return {bytes, bytes / static_cast<double>(slowest)};
}

class Builder {
 public:
  Builder(const Problem& problem, const std::vector<Commodity>& commodities, const FlowClock& clock)
      : topology_(problem.topology),
        commodities_(commodities),
        clock_(clock),
        unit_(choose_unit(problem, commodities)) {
    for (const Commodity& commodity : commodities) {
      reach_.push_back(flow_reach(topology_, commodity, clock));
      connected_ = connected_ && reach_.back().connected;
      least_finish_ = std::max(least_finish_, reach_.back().least_finish);
    }
  }

  bool connected() const { return connected_; }
  double ticks(double time) const { return time * unit_.seconds / clock_.tick_seconds; }
  lp::Model& model() { return model_; }

  void build() {
    time_ = model_.add_variable(in_unit(least_finish_), lp::kInfinity, 1);
    for (std::size_t c = 0; c < commodities_.size(); ++c) add_commodity(c);
    for (const LinkId id : topology_.link_ids()) {
      add_capacity(topology_.link(id).bandwidth, std::span(&id, 1), At::tail);
    }
    for (const NodeId node : topology_.node_ids()) {
      if (!topology_.stores(node)) continue;
      const Node& limits = topology_.node(node);
      if (limits.injection) add_capacity(*limits.injection, topology_.out(node), At::tail);
      if (limits.ejection) add_capacity(*limits.ejection, topology_.in(node), At::head);
    }
  }

  // Keep the time that has been found, within what its solution was exact to, and look for the
  // least work.
  void fix_time(double time) {
    model_.set_bounds(time_, in_unit(least_finish_), time * (1 + 1e-6));
    model_.set_cost(time_, 0);
    for (std::size_t c = 0; c < commodities_.size(); ++c) {
      for (const LinkId id : topology_.link_ids()) {
        if (reach_[c].usable[id] == 0) continue;
        const Link& link = topology_.link(id);
        model_.set_cost(flow_[c][id], duration(link.bandwidth) + in_unit(clock_.length[id]));
      }
    }
  }

  std::vector<LinkFlow> flows(const std::vector<double>& values) const {
    std::vector<LinkFlow> result;
    for (std::size_t c = 0; c < commodities_.size(); ++c) {
      LinkFlow flow(topology_.links().size(), 0.0);
      for (const LinkId id : topology_.link_ids()) {
        if (reach_[c].usable[id] == 0) continue;
        flow[id] = std::max(0.0, values[static_cast<std::size_t>(flow_[c][id])]) * unit_.bytes;
      }
      result.push_back(std::move(flow));
    }
    return result;
  }

 private:
  double in_unit(std::int64_t ticks) const {
    return static_cast<double>(ticks) * clock_.tick_seconds / unit_.seconds;
  }
  /// Of one unit of bytes.
  double duration(Bandwidth rate) const {
    return unit_.bytes / static_cast<double>(rate.bytes_per_second) / unit_.seconds;
  }
  void add_commodity(std::size_t c) {
    const Commodity& commodity = commodities_[c];
    IdVector<NodeId, std::vector<lp::Term>> balance(topology_.nodes().size());
    IdVector<NodeId, double> supply(topology_.nodes().size(), 0.0);
    flow_.emplace_back(topology_.links().size(), -1);
    for (const LinkId id : topology_.link_ids()) {
      if (reach_[c].usable[id] == 0) continue;
      const lp::Variable x = model_.add_variable(0, lp::kInfinity, 0);
      flow_[c][id] = x;
      balance[topology_.link(id).from].push_back({x, 1});
      balance[topology_.link(id).to].push_back({x, -1});
    }
    for (const Commodity::Supply& from : commodity.supplies) {
      const double amount = static_cast<double>(from.bytes.value) / unit_.bytes;
      if (from.nodes.size() == 1) {
        supply[from.nodes.front()] += amount;
        continue;
      }
      std::vector<lp::Term> shares;
      for (const NodeId node : from.nodes) {
        shares.push_back({model_.add_variable(0, amount, 0), 1});
        balance[node].push_back({shares.back().variable, -1});
      }
      model_.add_row(amount, amount, shares);
    }
    for (const Commodity::Sink& sink : commodity.sinks) {
      supply[sink.node] -= static_cast<double>(sink.bytes.value) / unit_.bytes;
    }
    for (const NodeId node : topology_.node_ids()) {
      if (balance[node].empty() && supply[node] == 0) continue;
      model_.add_row(supply[node], supply[node], balance[node]);
    }
  }

  enum class At { tail, head };

  /// What the links carry together at one of their ends: never faster than `rate`, nothing before
  /// the first byte of any commodity can have come there, and nothing so late that no sink can be
  /// reached in time.
  void add_capacity(Bandwidth rate, std::span<const LinkId> links, At end) {
    std::vector<lp::Term> terms;
    std::int64_t before = FlowReach::kNever;
    std::int64_t after = FlowReach::kNever;
    for (const LinkId id : links) {
      const Link& link = topology_.link(id);
      for (std::size_t c = 0; c < commodities_.size(); ++c) {
        if (reach_[c].usable[id] == 0) continue;
        terms.push_back({flow_[c][id], duration(rate)});
        const std::int64_t way = clock_.length[id];
        before = std::min(before, reach_[c].earliest[link.from] + (end == At::head ? way : 0));
        after = std::min(after, reach_[c].remaining[link.to] + (end == At::tail ? way : 0));
      }
    }
    if (terms.empty()) return;
    const std::int64_t idle = std::min(before + after - clock_.shared, least_finish_);
    terms.push_back({time_, -1});
    model_.add_row(-lp::kInfinity, -in_unit(idle), terms);
  }

  const Topology& topology_;
  const std::vector<Commodity>& commodities_;
  const FlowClock& clock_;
  Unit unit_;
  std::vector<FlowReach> reach_;
  bool connected_ = true;
  std::int64_t least_finish_ = 0;
  lp::Model model_;
  lp::Variable time_ = 0;
  std::vector<IdVector<LinkId, lp::Variable>> flow_;
};

}  // namespace

std::optional<StaticFlow> static_flow(const Problem& problem,
                                      const std::vector<Commodity>& commodities,
                                      const FlowClock& clock, const StopCondition& stop,
                                      int threads) {
  Builder builder(problem, commodities, clock);
  if (!builder.connected()) return std::nullopt;
  builder.build();
  lp::SolveOptions options;
  options.stop = stop;
  options.threads = threads;
  options.method = lp::Method::interior_point_no_crossover;
  lp::Solution time = lp::solve(builder.model(), options);
  if (time.status != lp::Status::optimal && time.limit == Limit::none) {
    options.method = lp::Method::simplex;
    time = lp::solve(builder.model(), options);
  }
  if (!time.has_values()) return std::nullopt;
  StaticFlow result{builder.ticks(time.objective), builder.flows(time.values)};
  builder.fix_time(time.objective);
  options.method = lp::Method::simplex;
  const lp::Solution work = lp::solve(builder.model(), options);
  if (work.has_values()) result.flows = builder.flows(work.values);
  return result;
}

}  // namespace stellwerk
