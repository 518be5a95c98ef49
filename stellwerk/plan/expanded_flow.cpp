// Time-expanded multi-commodity flow without copies (Liu et al., TE-CCL, SIGCOMM 2024, their linear
// program).
//
// Problem: can all commodities be moved within K epochs, each link carrying at most bandwidth * tau
// an epoch?
//
// Idea: f[c,e,k] bytes of commodity c enter link e in epoch k; they are usable at the head after
// the link's latency, at a GPU or relay one epoch later still. held[c,n,k] bytes wait at node n
// from epoch k to the next. At every node and epoch, what is held, arrives and becomes ready equals
// what leaves and is held further; after epoch K every sink holds what it wants. Switches hold
// nothing (cut-through, same epoch). No chunk index, and one commodity a source or target: that
// loses nothing, since bytes of one commodity are interchangeable.
//
// Only variables that can matter exist: the commodity can have reached the tail by then, and can
// reach a sink in time. Buffers: what a node holds of commodities, less what it wants itself, stays
// within its limit from epoch to epoch. The objective prefers little work, then early starts: short
// paths without cycles, and an order for the scheduler.
//
// Guarantee: infeasible at K means that no plan on this grid takes K epochs or fewer (a flow
// relaxes chunks).
//
// Cost: commodities * links * K variables at most. plan/lp_planner_test.cpp compares the least K
// with known optima on rings and meshes and with exhaustive search.
#include "stellwerk/plan/expanded_flow.hpp"

#include <algorithm>
#include <cassert>

namespace stellwerk {
namespace {

constexpr double kNegligible = 1e-7;  // of a chunk: what solvers leave behind

double mean_unicast(const std::vector<Commodity>& commodities) {
  double total = 0;
  double count = 0;
  for (const Commodity& commodity : commodities) {
    total += static_cast<double>(commodity.bytes.value);
    count += static_cast<double>(commodity.unicasts.size());
  }
  return total / count;
}

}  // namespace

std::int64_t count_columns(const Problem& problem, const std::vector<Commodity>& commodities,
                           const EpochGrid& grid, std::int64_t epochs) {
  const Topology& topology = problem.topology;
  const FlowClock clock = epoch_clock(topology, grid);
  std::int64_t columns = 0;
  for (const Commodity& commodity : commodities) {
    const FlowReach reach = flow_reach(topology, commodity, clock);
    for (const LinkId id : topology.link_ids()) {
      const Link& link = topology.link(id);
      if (reach.usable[id] == 0) continue;
      columns += std::max<std::int64_t>(
          0, epochs + 1 - clock.length[id] - reach.earliest[link.from] - reach.remaining[link.to]);
    }
    for (const NodeId node : topology.node_ids()) {
      if (!topology.stores(node) || reach.earliest[node] >= FlowReach::kNever ||
          reach.remaining[node] >= FlowReach::kNever)
        continue;
      columns += std::max<std::int64_t>(0, epochs - reach.earliest[node] - reach.remaining[node]);
    }
  }
  return columns;
}

ExpandedModel::ExpandedModel(const Problem& problem, const std::vector<Commodity>& commodities,
                             const EpochGrid& grid, int epochs, bool store)
    : topology_(problem.topology),
      commodities_(commodities),
      clock_(epoch_clock(topology_, grid)),
      epochs_(epochs),
      unit_(mean_unicast(commodities)) {
  std::vector<FlowReach> reach;
  for (const Commodity& commodity : commodities) {
    reach.push_back(flow_reach(topology_, commodity, clock_));
    reachable_ = reachable_ && reach.back().connected && reach.back().least_finish <= epochs;
  }
  if (!reachable_) return;
  const auto length = static_cast<std::size_t>(epochs) + 1;
  entering_.assign(topology_.links().size(), std::vector<std::vector<lp::Variable>>(length));
  in_transit_.assign(topology_.nodes().size(), std::vector<std::vector<lp::Variable>>(length));
  for (std::size_t c = 0; c < commodities.size(); ++c) add_commodity(c, reach[c], store);
  add_capacities(grid);
}

void ExpandedModel::add_commodity(std::size_t c, const FlowReach& reach, bool store) {
  const Commodity& commodity = commodities_[c];
  const auto length = static_cast<std::size_t>(epochs_) + 1;
  // What is available at node n in epoch k (+1) and what leaves it (-1); epoch K is the end.
  IdVector<NodeId, std::vector<std::vector<lp::Term>>> balance(
      topology_.nodes().size(), std::vector<std::vector<lp::Term>>(length));
  IdVector<NodeId, std::vector<double>> ready(topology_.nodes().size(),
                                              std::vector<double>(length, 0.0));
  IdVector<NodeId, char> is_source(topology_.nodes().size(), 0);
  IdVector<NodeId, double> wanted(topology_.nodes().size(), 0.0);

  for (const LinkId id : topology_.link_ids()) {
    if (reach.usable[id] == 0) continue;
    const Link& link = topology_.link(id);
    const auto delay = static_cast<int>(clock_.length[id]);
    const auto first = static_cast<int>(reach.earliest[link.from]);
    const auto last = epochs_ - delay - static_cast<int>(reach.remaining[link.to]);
    for (int k = first; k <= last; ++k) {
      const double work = 1 + 0.01 * static_cast<double>(k) / static_cast<double>(epochs_);
      const lp::Variable x = model_.add_variable(0, lp::kInfinity, work);
      column_.push_back({c, id, k});
      variable_.push_back(x);
      entering_[id][static_cast<std::size_t>(k)].push_back(x);
      balance[link.from][static_cast<std::size_t>(k)].push_back({x, -1});
      balance[link.to][static_cast<std::size_t>(k + delay)].push_back({x, 1});
    }
  }
  for (const Commodity::Supply& supply : commodity.supplies) {
    const auto epoch = static_cast<std::size_t>(clock_.from(supply.ready));
    const double amount = static_cast<double>(supply.bytes.value) / unit_;
    std::vector<lp::Term> shares;
    for (const NodeId node : supply.nodes) {
      is_source[node] = 1;
      if (supply.nodes.size() == 1) {
        ready[node][epoch] += amount;
      } else {
        shares.push_back({model_.add_variable(0, amount, 0), 1});
        balance[node][epoch].push_back(shares.back());
      }
    }
    if (!shares.empty()) model_.add_row(amount, amount, shares);
  }
  for (const Commodity::Sink& sink : commodity.sinks) {
    wanted[sink.node] += static_cast<double>(sink.bytes.value) / unit_;
  }

  for (const NodeId node : topology_.node_ids()) {
    if (reach.earliest[node] > epochs_ || reach.remaining[node] > epochs_) continue;
    const auto first = static_cast<std::size_t>(reach.earliest[node]);
    const auto last = static_cast<std::size_t>(epochs_ - reach.remaining[node]);
    const bool sink = wanted[node] > 0;
    if (topology_.stores(node)) {
      const bool holds = store || is_source[node] != 0;
      const bool limited = topology_.node(node).buffer && is_source[node] == 0;
      std::vector<lp::Term> kept;  // what a sink puts aside for itself, epoch by epoch
      for (std::size_t k = first; k <= last; ++k) {
        if (holds && k < last) {
          const lp::Variable x = model_.add_variable(0, lp::kInfinity, 0);
          balance[node][k].push_back({x, -1});
          balance[node][k + 1].push_back({x, 1});
          if (limited) in_transit_[node][k].push_back(x);
        }
        if (sink && (!holds || limited)) {
          kept.push_back({model_.add_variable(0, wanted[node], 0), 1});
          balance[node][k].push_back({kept.back().variable, -1});
        }
      }
      if (sink && kept.empty()) ready[node][last] -= wanted[node];
      if (!kept.empty()) model_.add_row(wanted[node], wanted[node], kept);
    }
    for (std::size_t k = first; k <= last; ++k) {
      if (balance[node][k].empty() && ready[node][k] == 0) continue;
      model_.add_row(-ready[node][k], -ready[node][k], balance[node][k]);
    }
  }
}

void ExpandedModel::add_capacities(const EpochGrid& grid) {
  const double seconds = grid.duration().seconds();
  const auto add = [&](double bytes, const std::vector<lp::Variable>& variables) {
    if (variables.empty()) return;
    std::vector<lp::Term> terms;
    for (const lp::Variable x : variables) terms.push_back({x, 1});
    model_.add_row(-lp::kInfinity, bytes / unit_, terms);
  };
  const auto amount = [&](Bandwidth rate) {
    return static_cast<double>(rate.bytes_per_second) * seconds;
  };
  for (const LinkId id : topology_.link_ids()) {
    for (const auto& variables : entering_[id])
      add(amount(topology_.link(id).bandwidth), variables);
  }
  for (const NodeId node : topology_.node_ids()) {
    const Node& limits = topology_.node(node);
    if (!limits.stores()) continue;
    for (std::size_t k = 0; k <= static_cast<std::size_t>(epochs_); ++k) {
      std::vector<lp::Variable> leaving, arriving;
      for (const LinkId id : topology_.out(node)) {
        leaving.insert(leaving.end(), entering_[id][k].begin(), entering_[id][k].end());
      }
      for (const LinkId id : topology_.in(node)) {
        // At the head of the link in epoch k: one epoch before it is usable there.
        const std::int64_t entered = static_cast<std::int64_t>(k) + 1 - clock_.length[id];
        if (entered < 0 || entered > epochs_) continue;
        const auto& variables = entering_[id][static_cast<std::size_t>(entered)];
        arriving.insert(arriving.end(), variables.begin(), variables.end());
      }
      if (limits.injection) add(amount(*limits.injection), leaving);
      if (limits.ejection) add(amount(*limits.ejection), arriving);
      if (limits.buffer) add(static_cast<double>(limits.buffer->value), in_transit_[node][k]);
    }
  }
}

ExpandedFlow ExpandedModel::flow(const std::vector<double>& values) const {
  ExpandedFlow result;
  result.flows.resize(commodities_.size());
  for (std::size_t i = 0; i < column_.size(); ++i) {
    const double amount = values[static_cast<std::size_t>(variable_[i])];
    if (amount <= kNegligible) continue;
    const Column& column = column_[i];
    result.flows[column.commodity].push_back({column.link, column.epoch, amount * unit_});
  }
  for (auto& flows : result.flows) {
    std::sort(flows.begin(), flows.end(), [](const EpochFlow& a, const EpochFlow& b) {
      return a.epoch != b.epoch ? a.epoch < b.epoch : a.link < b.link;
    });
  }
  return result;
}

}  // namespace stellwerk
