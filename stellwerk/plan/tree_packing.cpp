// Throughput-optimal tree packing: Zhao et al., "ForestColl", 2024, for the idea of packing into
// switch-free networks; the parts are in logical_links.cpp and graph/arborescences.cpp.
//
// With k copies a root, a link of bandwidth b carries floor(b T k / bytes) of them in time T. The
// floor costs something, most on slow links, so T is raised in small steps from the fluid optimum
// until the packing succeeds. Tests: trees_test.cpp.
#include "stellwerk/plan/tree_packing.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "stellwerk/base/wide.hpp"
#include "stellwerk/graph/max_flow.hpp"

namespace stellwerk {
namespace {

constexpr std::int64_t kPlenty = std::int64_t{1} << 60;

std::int64_t carried(Bandwidth bandwidth, Time time, Bytes copy) {
  const Int128 amount = static_cast<Int128>(bandwidth.bytes_per_second) * time.ps /
                        (static_cast<Int128>(1'000'000'000'000) * copy.value);
  return static_cast<std::int64_t>(std::min(amount, static_cast<Int128>(kPlenty)));
}

/// The network with nodes cut in two where their caps are.
struct CappedNetwork {
  struct Pipe {
    int from;
    int to;
    Bandwidth bandwidth;
  };
  int vertices = 0;
  std::vector<Pipe> pipes;
  IdVector<LinkId, int> of_link;  // -1: not usable
  IdVector<NodeId, int> of_injection, of_ejection;

  CappedNetwork(const Topology& topology, const TreeDemand& demand) {
    vertices = static_cast<int>(topology.nodes().size());
    IdVector<NodeId, char> usable(demand.passable);
    for (const NodeId node : demand.terminals) usable[node] = 1;
    IdVector<NodeId, int> leave, enter;
    of_injection.assign(topology.nodes().size(), -1);
    of_ejection.assign(topology.nodes().size(), -1);
    for (const NodeId node : topology.node_ids()) {
      leave.push_back(node.value);
      enter.push_back(node.value);
      if (!topology.stores(node)) {
        usable[node] = 1;
        continue;
      }
      if (const auto cap = topology.node(node).injection) {
        leave[node] = vertices++;
        of_injection[node] = add(node.value, leave[node], *cap);
      }
      if (const auto cap = topology.node(node).ejection) {
        enter[node] = vertices++;
        of_ejection[node] = add(enter[node], node.value, *cap);
      }
    }
    for (const Link& link : topology.links()) {
      const bool use = usable[link.from] != 0 && usable[link.to] != 0;
      of_link.push_back(use ? add(leave[link.from], enter[link.to], link.bandwidth) : -1);
    }
  }

 private:
  int add(int from, int to, Bandwidth bandwidth) {
    pipes.push_back({from, to, bandwidth});
    return static_cast<int>(pipes.size()) - 1;
  }
};

/// Finds the times level by level.
class Leveller {
 public:
  Leveller(const CappedNetwork& network, const TreeDemand& demand)
      : network_(network),
        demand_(demand),
        flow_(network.vertices + 1),
        fixed_(network.pipes.size(), 0),
        time_(network.pipes.size()) {
    for (const CappedNetwork::Pipe& pipe : network.pipes) flow_.add_arc(pipe.from, pipe.to, 0);
    for (std::size_t t = 0; t < demand.terminals.size(); ++t) {
      flow_.add_arc(network.vertices, demand.terminals[t].value,
                    demand.copies[t] * demand.bytes.value);
      all_ += demand.copies[t] * demand.bytes.value;
    }
    // Rounding down may cost a byte a pipe.
    enough_ = all_ - static_cast<std::int64_t>(network.pipes.size());
  }

  /// Max where somebody cannot be reached.
  Time run() {
    Time longest{0};
    const int levels = demand_.terminals.size() > 128 ? 6 : 12;
    for (int level = 0; level < levels; ++level) {
      const Time time = least_time();
      if (time == Time::max()) return time;
      if (level == 0) longest = time;
      const Time floor{longest.ps / 4 * 3};
      set_time(std::max(time, floor));
      if (time <= floor || !fix_tight_cuts()) break;
    }
    return longest;
  }
  Time time(int pipe) const { return time_[static_cast<std::size_t>(pipe)]; }

 private:
  struct Cut {
    std::int64_t bytes = 0;  // that must enter
    std::int64_t fixed = 0;  // that fixed pipes bring
    Bandwidth rest{0};       // of the others
    std::vector<std::size_t> crossing;
  };

  void set_time(Time time) {
    for (std::size_t p = 0; p < time_.size(); ++p) {
      if (fixed_[p] == 0) set_pipe(p, time);
    }
  }
  void set_pipe(std::size_t p, Time time) {
    time_[p] = time;
    flow_.set_capacity(static_cast<int>(p), carried(network_.pipes[p].bandwidth, time, Bytes{1}));
  }

  bool sated(NodeId terminal) {
    return flow_.run(network_.vertices, terminal.value, all_) >= enough_;
  }

  Cut cut() const {
    Cut result;
    const std::vector<bool> source_side = flow_.source_side_of_nearest_cut();
    for (std::size_t t = 0; t < demand_.terminals.size(); ++t) {
      if (source_side[demand_.terminals[t].index()])
        result.bytes += demand_.copies[t] * demand_.bytes.value;
    }
    for (std::size_t p = 0; p < network_.pipes.size(); ++p) {
      const CappedNetwork::Pipe& pipe = network_.pipes[p];
      if (!source_side[static_cast<std::size_t>(pipe.from)] ||
          source_side[static_cast<std::size_t>(pipe.to)])
        continue;
      result.crossing.push_back(p);
      if (fixed_[p] != 0) {
        result.fixed += carried(pipe.bandwidth, time_[p], Bytes{1});
      } else {
        result.rest = result.rest + pipe.bandwidth;
      }
    }
    return result;
  }

  /// The least time for the pipes that are not fixed.
  Time least_time() {
    Time time{1};
    set_time(time);
    for (const NodeId terminal : demand_.terminals) {
      while (!sated(terminal)) {
        const Cut violated = cut();
        if (violated.rest.bytes_per_second == 0)
          return time == Time{1} && violated.crossing.empty() ? Time::max() : time;
        const Time longer =
            transmission_time(Bytes{violated.bytes - violated.fixed}, violated.rest);
        if (longer <= time) break;  // all but rounding
        time = longer;
        set_time(time);
      }
    }
    return time;
  }

  /// Fixes the pipes into sets that could not do with a little less; false if there are none.
  bool fix_tight_cuts() {
    std::vector<std::pair<std::size_t, Time>> tight;
    std::vector<Time> before(time_);
    for (std::size_t p = 0; p < time_.size(); ++p) {
      if (fixed_[p] == 0) set_pipe(p, Time{time_[p].ps - time_[p].ps / 10000 - 1});
    }
    for (const NodeId terminal : demand_.terminals) {
      if (sated(terminal)) continue;
      for (const std::size_t p : cut().crossing) {
        if (fixed_[p] == 0) tight.emplace_back(p, before[p]);
      }
    }
    for (std::size_t p = 0; p < time_.size(); ++p) {
      if (fixed_[p] == 0) set_pipe(p, before[p]);
    }
    for (const auto& [p, time] : tight) {
      fixed_[p] = 1;
      set_pipe(p, time);
    }
    return !tight.empty();
  }

  const CappedNetwork& network_;
  const TreeDemand& demand_;
  graph::MaxFlow flow_;
  std::vector<char> fixed_;
  std::vector<Time> time_;
  std::int64_t all_ = 0;
  std::int64_t enough_ = 0;
};

/// A switch copies nothing, which cuts do not see: what leaves it has to come in. Where links into a
/// switch were given less time than those out of it need, they get more.
void balance_switches(const Topology& topology, FluidTimes& times) {
  constexpr int kSweeps = 8;  // through fabrics of several layers
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    bool changed = false;
    for (const NodeId node : topology.node_ids()) {
      if (topology.stores(node)) continue;
      Int128 out = 0;
      for (const LinkId id : topology.out(node)) {
        out +=
            static_cast<Int128>(topology.link(id).bandwidth.bytes_per_second) * times.link[id].ps;
      }
      // Lift the least times until it is enough.
      Time low{0};
      Time high = times.longest;
      const auto lifted = [&](Time least) {
        Int128 sum = 0;
        for (const LinkId id : topology.in(node)) {
          sum += static_cast<Int128>(topology.link(id).bandwidth.bytes_per_second) *
                 std::max(times.link[id], least).ps;
        }
        return sum;
      };
      if (lifted(low) >= out) continue;
      while (high.ps - low.ps > 1) {
        const Time middle{low.ps + (high.ps - low.ps) / 2};
        (lifted(middle) >= out ? high : low) = middle;
      }
      for (const LinkId id : topology.in(node)) {
        if (times.link[id] >= high) continue;
        times.link[id] = high;
        changed = true;
      }
    }
    if (!changed) return;
  }
}

}  // namespace

FluidTimes fluid_times(const Topology& topology, const TreeDemand& demand, int slack_percent,
                       bool balanced) {
  const CappedNetwork network(topology, demand);
  Leveller leveller(network, demand);
  FluidTimes result;
  result.longest = leveller.run();
  if (result.longest == Time::max()) return result;
  const auto time = [&](int pipe) { return pipe < 0 ? Time{0} : leveller.time(pipe); };
  for (const int pipe : network.of_link) result.link.push_back(time(pipe));
  for (const int pipe : network.of_injection) result.injection.push_back(time(pipe));
  for (const int pipe : network.of_ejection) result.ejection.push_back(time(pipe));
  if (balanced) balance_switches(topology, result);
  // Not all of the slack: the rounding to whole copies needs some, too.
  for (Time& time_of_link : result.link)
    time_of_link = time_of_link + Time{(result.longest.ps - time_of_link.ps) / 100 * slack_percent};
  return result;
}

Terminals terminals_within(const Topology& topology, const TreeDemand& demand,
                           const FluidTimes& times, int slack_percent_of_percent) {
  const auto prolonged = [&](Time time) {
    return time + Time{static_cast<std::int64_t>(static_cast<Int128>(time.ps) *
                                                 slack_percent_of_percent / 10000) +
                       1};
  };
  Terminals result;
  result.nodes = demand.terminals;
  result.copies = demand.copies;
  result.passable = demand.passable;
  for (const LinkId id : topology.link_ids()) {
    result.capacity.push_back(
        carried(topology.link(id).bandwidth, prolonged(times.link[id]), demand.bytes));
  }
  const auto cap = [&](const std::optional<Bandwidth>& limit, Time time) {
    return limit && time > Time{0} ? carried(*limit, prolonged(time), demand.bytes) : -1;
  };
  for (const NodeId id : topology.node_ids()) {
    const Node& node = topology.node(id);
    result.injection.push_back(cap(node.injection, times.injection[id]));
    result.ejection.push_back(cap(node.ejection, times.ejection[id]));
  }
  return result;
}

std::optional<TreePacking> pack_trees(const Topology& topology, const Terminals& terminals,
                                      int depth_percent, Rng& rng, const StopCondition& stop) {
  std::optional<std::vector<LogicalLink>> links = split_off(topology, terminals, rng, stop);
  if (!links) return std::nullopt;
  std::vector<graph::Arc> arcs;
  std::vector<std::int64_t> capacity, length;
  for (const LogicalLink& link : *links) {
    arcs.push_back({link.from, link.to});
    capacity.push_back(link.copies);
    // Time that a copy takes: whole copies on the slowest link, in parts of a large number.
    Bandwidth slowest = topology.link(link.links.front()).bandwidth;
    for (const LinkId id : link.links) slowest = std::min(slowest, topology.link(id).bandwidth);
    constexpr Bytes kProbe{1'000'000'000};
    length.push_back(transmission_time(kProbe, slowest).ps);
  }
  const std::int64_t longest = length.empty() ? 1 : *std::max_element(length.begin(), length.end());
  for (std::int64_t& each : length) {
    constexpr std::int64_t kScale = 1'000'000'000;
    each = static_cast<std::int64_t>(static_cast<Int128>(each) * kScale / longest);
  }
  const graph::Digraph graph(static_cast<int>(terminals.nodes.size()), std::move(arcs));
  graph::PackingOptions options;
  options.depth_percent = depth_percent;
  std::optional<std::vector<graph::Arborescence>> trees =
      graph::pack_arborescences(graph, capacity, terminals.copies, length, options, rng, stop);
  if (!trees) return std::nullopt;
  return TreePacking{std::move(*links), std::move(*trees)};
}

std::optional<TimedPacking> pack_trees_in_least_time(
    const Topology& topology, const TreeDemand& demand, const FluidTimes& fluid,
    const Partners& partners, int depth_percent, Time most, Rng& rng, const StopCondition& stop) {
  // Above the fluid optimum, in 1/10,000.
  constexpr std::array kSteps = {0,   5,   20,  50,   100,  150,  200,  300,
                                 400, 600, 800, 1200, 2000, 3000, 5000, 10000};
  // Schedules are some times that much longer than the fluid optimum.
  const Time room{most == Time::max() ? most.ps : (most - fluid.longest).ps / 4};
  for (const int step : kSteps) {
    const Time over{
        static_cast<std::int64_t>(static_cast<Int128>(fluid.longest.ps) * step / 10000)};
    if (stop.should_stop() || over > room) break;
    Terminals terminals = terminals_within(topology, demand, fluid, step);
    terminals.partners = partners;
    std::optional<TreePacking> packing = pack_trees(topology, terminals, depth_percent, rng, stop);
    if (!packing) continue;
    return TimedPacking{std::move(*packing), fluid.longest + over};
  }
  return std::nullopt;
}

}  // namespace stellwerk
