// The planning LP of joint in-trees and out-trees.
//
// Problem. An AllReduce as ReduceScatter + AllGather sums every GPU's part at that GPU and spreads it
// from there: all GPUs are roots to the same extent, whatever their links. Which roots, and which
// division of every link between sums and results, are best?
//
// Idea. With the data as unit, let x be what is spread over each link, y what is summed, w the part
// that is rooted at each GPU. Spreading trees exist within x (Edmonds 1973, fractionally) if every
// set A of nodes with a GPU in it is entered by as much as is rooted outside it; for sums the same
// holds backwards. So
//     min T   x + y <= bandwidth T on links (and caps),   sum w = 1,
//             x(into A) + w(A) >= 1,   y(out of A) + w(A) >= 1   for all A with a GPU in it,
//             at switches x(out) <= x(in), y(in) <= y(out), since they neither copy nor sum.
// The sets are found as they are needed: max-flows to (from) every GPU from (to) a node that feeds
// every root its w give the sets whose row is violated most. Optimal corners of such a program are many,
// and each violates other rows, so sets are looked for at a running mean of them: once the mean
// violates none it is optimal, since its objective is at most that of the last corner.
//
// Guarantee. The least time of all trees that use switches to forward only, up to 0.1% that is spent on
// short trees and 0.1% by which rows may be violated. It is not a bound for plans: where a switch
// copies or sums more may be possible. Cost: tens of LPs with 2 variables a link, 2 n max-flows
// each: 0.1 to 2 s at 64 GPUs. Tests: joint_rates_test.cpp.
#include "stellwerk/plan/joint_rates.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "stellwerk/graph/max_flow.hpp"
#include "stellwerk/lp/model.hpp"

namespace stellwerk {
namespace {

constexpr double kUnit = 1 << 30;       // of the max-flows
constexpr double kTolerance = 1e-3;     // by which a row may be violated
constexpr double kForShortness = 1e-3;  // of the length, spent on short trees
constexpr int kMostRounds = 200;

class RateModel {
 public:
  RateModel(const Topology& topology, const std::vector<NodeId>& terminals,
            const IdVector<NodeId, char>& passable)
      : topology_(topology), terminals_(terminals), usable_(passable) {
    for (const NodeId node : terminals) usable_[node] = 1;
    for (const NodeId node : topology.node_ids()) {
      if (!topology.stores(node)) usable_[node] = 1;
    }
    for (const Link& link : topology.links())
      fastest_ = std::max(fastest_, link.bandwidth.bytes_per_second);
    add_variables();
    add_capacities();
    add_balances();
    for (const NodeId node : terminals) {
      std::vector<bool> alone(topology.nodes().size(), false);
      alone[node.index()] = true;
      for (const Way way : {Way::spread, Way::gather}) add_set(alone, way);
    }
  }

  /// The optimal rates; `Time` for so many bytes.
  std::optional<JointRates> solve(Bytes total, const StopCondition& stop) {
    std::vector<double> middle;
    for (int round = 0; round < kMostRounds; ++round) {
      lp::SolveOptions options;
      options.stop = stop;
      const lp::Solution solution = lp::solve(model_, options);
      if (solution.status != lp::Status::optimal) return std::nullopt;
      if (middle.empty()) middle = solution.values;
      for (std::size_t i = 0; i < middle.size(); ++i)
        middle[i] = (middle[i] + solution.values[i]) / 2;
      if (!add_violated(middle)) return rates(middle, total);
      if (stop.should_stop()) return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  enum class Way : std::uint8_t { spread, gather };

  bool usable(const Link& link) const { return usable_[link.from] != 0 && usable_[link.to] != 0; }
  double relative(Bandwidth bandwidth) const {
    return static_cast<double>(bandwidth.bytes_per_second) / static_cast<double>(fastest_);
  }
  lp::Variable variable(Way way, LinkId link) const {
    return way == Way::spread ? spread_[link] : gather_[link];
  }

  void add_variables() {
    // The time is counted in what the fastest link needs for everything.
    time_ = model_.add_variable(0, lp::kInfinity, 1);
    double links = 0;
    for (const Link& link : topology_.links()) links += usable(link) ? 1 : 0;
    for (const Link& link : topology_.links()) {
      const double cost = kForShortness / links / relative(link.bandwidth);
      const double most = usable(link) ? lp::kInfinity : 0;
      spread_.push_back(model_.add_variable(0, most, cost));
      gather_.push_back(model_.add_variable(0, most, cost));
    }
    std::vector<lp::Term> sum;
    for (std::size_t t = 0; t < terminals_.size(); ++t) {
      root_.push_back(model_.add_variable(0, 1, 0));
      sum.push_back({root_.back(), 1});
    }
    model_.add_row(1, 1, sum);
  }

  void add_capacity(std::vector<lp::Term> load, Bandwidth bandwidth) {
    load.push_back({time_, -relative(bandwidth)});
    model_.add_row(-lp::kInfinity, 0, load);
  }
  std::vector<lp::Term> load(const std::vector<LinkId>& links) const {
    std::vector<lp::Term> terms;
    for (const LinkId id : links) {
      terms.push_back({spread_[id], 1});
      terms.push_back({gather_[id], 1});
    }
    return terms;
  }
  void add_capacities() {
    for (const LinkId id : topology_.link_ids())
      add_capacity(load({id}), topology_.link(id).bandwidth);
    for (const NodeId id : topology_.node_ids()) {
      const Node& node = topology_.node(id);
      if (node.injection) add_capacity(load(links(topology_.out(id))), *node.injection);
      if (node.ejection) add_capacity(load(links(topology_.in(id))), *node.ejection);
    }
  }
  template <class Range>
  static std::vector<LinkId> links(const Range& range) {
    return {range.begin(), range.end()};
  }

  /// What leaves a node that is no terminal has come in.
  void add_balances() {
    std::vector<char> terminal(topology_.nodes().size(), 0);
    for (const NodeId node : terminals_) terminal[node.index()] = 1;
    for (const NodeId node : topology_.node_ids()) {
      if (terminal[node.index()] != 0) continue;
      std::vector<lp::Term> spread, gather;
      for (const LinkId id : topology_.in(node)) {
        spread.push_back({spread_[id], 1});
        gather.push_back({gather_[id], -1});
      }
      for (const LinkId id : topology_.out(node)) {
        spread.push_back({spread_[id], -1});
        gather.push_back({gather_[id], 1});
      }
      model_.add_row(0, lp::kInfinity, spread);
      model_.add_row(0, lp::kInfinity, gather);
    }
  }

  /// What has to enter (leave) a set.
  void add_set(const std::vector<bool>& set, Way way) {
    std::vector<lp::Term> terms;
    for (const LinkId id : topology_.link_ids()) {
      const Link& link = topology_.link(id);
      const bool from = set[link.from.index()];
      const bool to = set[link.to.index()];
      if (way == Way::spread ? !from && to : from && !to) terms.push_back({variable(way, id), 1});
    }
    for (std::size_t t = 0; t < terminals_.size(); ++t) {
      if (set[terminals_[t].index()]) terms.push_back({root_[t], 1});
    }
    model_.add_row(1, lp::kInfinity, terms);
  }

  /// Adds the sets that the rates do not serve; false if there are none.
  bool add_violated(const std::vector<double>& values) {
    const int nodes = static_cast<int>(topology_.nodes().size());
    const auto whole = [&](lp::Variable variable) {
      return static_cast<std::int64_t>(
          std::llround(std::max(0.0, values[static_cast<std::size_t>(variable)]) * kUnit));
    };
    bool any = false;
    for (const Way way : {Way::spread, Way::gather}) {
      graph::MaxFlow flow(nodes + 1);
      for (const LinkId id : topology_.link_ids()) {
        const Link& link = topology_.link(id);
        const bool forwards = way == Way::spread;
        flow.add_arc(forwards ? link.from.value : link.to.value,
                     forwards ? link.to.value : link.from.value, whole(variable(way, id)));
      }
      for (std::size_t t = 0; t < terminals_.size(); ++t)
        flow.add_arc(nodes, terminals_[t].value, whole(root_[t]));
      std::set<std::vector<bool>> found;
      for (const NodeId terminal : terminals_) {
        const double value = static_cast<double>(flow.run(nodes, terminal.value));
        if (value >= kUnit * (1 - kTolerance)) continue;
        for (std::vector<bool> side :
             {flow.source_side_of_nearest_cut(), flow.source_side_of_farthest_cut()}) {
          side.resize(static_cast<std::size_t>(nodes));
          side.flip();
          if (found.insert(side).second) add_set(side, way);
        }
        any = true;
      }
    }
    return any;
  }

  JointRates rates(const std::vector<double>& values, Bytes total) const {
    const auto value = [&](lp::Variable variable) {
      return std::max(0.0, values[static_cast<std::size_t>(variable)]);
    };
    JointRates result;
    const double fastest = static_cast<double>(transmission_time(total, Bandwidth{fastest_}).ps);
    result.length = Time{static_cast<std::int64_t>(std::ceil(value(time_) * fastest))};
    for (const LinkId id : topology_.link_ids()) {
      result.spread.push_back(value(spread_[id]));
      result.gather.push_back(value(gather_[id]));
    }
    for (const lp::Variable root : root_) result.root.push_back(value(root));
    return result;
  }

  const Topology& topology_;
  const std::vector<NodeId>& terminals_;
  IdVector<NodeId, char> usable_;
  std::int64_t fastest_ = 1;  // bytes a second
  lp::Model model_;
  lp::Variable time_ = 0;
  IdVector<LinkId, lp::Variable> spread_, gather_;
  std::vector<lp::Variable> root_;  // by terminal
};

}  // namespace

std::optional<JointRates> joint_rates(const Topology& topology,
                                      const std::vector<NodeId>& terminals,
                                      const IdVector<NodeId, char>& passable, Bytes total,
                                      const StopCondition& stop) {
  return RateModel(topology, terminals, passable).solve(total, stop);
}

}  // namespace stellwerk
