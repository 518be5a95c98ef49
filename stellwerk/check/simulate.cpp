// Re-timing and replay.
//
// Problem. A schedule fixes who sends what over which links, and an order; its starts may be late
// (epoch grids, list scheduling), nominal, or promises under another network. Find the earliest
// starts that keep the order.
//
// Idea. What must stay is a system of difference constraints start(B) >= start(A) + c: data
// (precedence.cpp) and the interval order on every link, node limit, multicast group and transit
// buffer (capacity.cpp). Its least solution is the answer.
//
// Guarantee. A schedule that is valid under its own network satisfies its own constraints, hence no
// send becomes later; the result is valid again, since every rule of the page is kept by some
// constraint (transit buffers included); and re-timing twice changes nothing: the second system
// has all constraints of the first, and the first result satisfies it. (Where bytes arrive
// twice, or sums in pieces, another arrival may now be the one that counts; simulate then repeats
// itself until nothing changes.)
//
// Otherwise (nominal starts, another network) the constraints may contradict each other: two sends
// may meet on two links in opposite orders. Then one order of sends is used on all resources (by
// start, then by dependencies), and each window waits for earlier ones that it does not fit beside.
// That order first respects data alone, then everything that keeps partial sums apart, with which
// it fails only if exchanges or transit buffers are in the way. Only then are those constraints
// dropped. So the result is always finite and keeps data and capacity, but where that last step was
// needed partial sums may merge early and buffers overflow: the judge has the last word on it. (An
// executor holds back an early arrival, so the times are still its.)
//
// Complexity: O((N + E) log N) for N sends with E uses of links; about 1.5 us a send. Tests:
// simulate_test.cpp holds each rule to a case and the guarantees to random schedules.
#include "stellwerk/check/simulate.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "stellwerk/check/capacity.hpp"
#include "stellwerk/check/difference_constraints.hpp"
#include "stellwerk/check/precedence.hpp"
#include "stellwerk/check/send_order.hpp"
#include "stellwerk/check/send_shapes.hpp"

namespace stellwerk {
namespace {

std::size_t index(std::int32_t number) { return static_cast<std::size_t>(number); }

/// Rates that links and nodes of `network` can carry.
Schedule slowed_down(const Topology& network, Schedule sends) {
  for (Send& send : sends) {
    for (const LinkId id : send.links) {
      const Link& link = network.link(id);
      send.rate = std::min(send.rate, link.bandwidth);
      const Node& from = network.node(link.from);
      const Node& to = network.node(link.to);
      if (from.injection && from.stores()) send.rate = std::min(send.rate, *from.injection);
      if (to.ejection && to.stores()) send.rate = std::min(send.rate, *to.ejection);
    }
  }
  return sends;
}

/// What to keep of the input's order, from all to little; tried in turn.
enum class Attempt : std::uint8_t {
  windows,         ///< the order of windows on each resource
  rank_by_data,    ///< one order on all resources, in which data come before their use
  rank_by_all,     ///< one order in which partial sums stay apart, too
  without_merges,  ///< partial sums and buffers are left to themselves
};
constexpr Attempt kAttempts[] = {Attempt::windows, Attempt::rank_by_data, Attempt::rank_by_all,
                                 Attempt::without_merges};

Simulation simulate_once(const Problem& problem, const Schedule& sends,
                         const SimulateOptions& options, bool& settled) {
  const bool own_network = options.network == nullptr;
  const Topology& network = own_network ? problem.topology : *options.network;
  Simulation result;
  result.sends = own_network ? sends : slowed_down(network, sends);

  const SendShapes nominal_shapes(problem.topology, sends);
  const CapacityUses nominal_uses(problem.topology, sends, nominal_shapes);
  std::optional<SendShapes> other_shapes;
  std::optional<CapacityUses> other_uses;
  if (!own_network) {
    other_shapes.emplace(network, result.sends);
    other_uses.emplace(network, result.sends, *other_shapes);
  }
  const SendShapes& shapes = own_network ? nominal_shapes : *other_shapes;
  const CapacityUses& uses = own_network ? nominal_uses : *other_uses;

  const Precedence precedence = find_precedence(problem, sends, nominal_shapes);
  NominalTimes nominal{&nominal_shapes, &nominal_uses, {}, {}};
  nominal.starts.reserve(sends.size());
  for (const Send& send : sends) nominal.starts.push_back(send.start.ps);
  rank_by_start(nominal);
  if (!keeps_dependencies(nominal, precedence)) rank_by_data(precedence, nominal);
  const auto& nodes = problem.topology.nodes();
  const bool buffers = std::any_of(nodes.begin(), nodes.end(),
                                   [](const Node& node) { return node.buffer.has_value(); });

  std::vector<std::int64_t> starts;
  for (const Attempt attempt : kAttempts) {
    const bool keep_apart = attempt != Attempt::without_merges;
    if (attempt != Attempt::windows) rank_by_data(precedence, nominal);
    if (attempt == Attempt::rank_by_all) rank_by_all_dependencies(precedence, nominal);
    const UseOrder order = attempt == Attempt::windows ? UseOrder::by_window : UseOrder::by_rank;
    std::vector<std::int64_t> lower(precedence.earliest);
    lower.resize(index(precedence.activities), kNoLowerBound);
    std::vector<std::int64_t> known(nominal.starts);
    known.resize(lower.size(), kNoLowerBound);
    std::vector<DifferenceArc> arcs;
    arcs.reserve(precedence.dependencies.size() + uses.all().size());
    for (const Dependency& dependency : precedence.dependencies) {
      if (!dependency.data && !keep_apart) continue;
      arcs.push_back({dependency.from, dependency.to, Precedence::lag(dependency, shapes)});
      if (index(dependency.to) >= sends.size()) {
        std::int64_t& at = known[index(dependency.to)];
        at = std::max(at, known[index(dependency.from)] + arcs.back().lag);
      }
    }
    add_capacity_order(nominal, order, uses, shapes, arcs, lower, known);
    if (buffers && keep_apart) {
      add_buffer_order(problem, sends, nominal, shapes, arcs, lower, known);
    }
    if (std::optional<std::vector<std::int64_t>> solution = least_solution(lower, arcs, known)) {
      starts = std::move(*solution);
      settled = attempt == Attempt::windows && !precedence.choices;
      break;
    }
  }
  for (std::size_t i = 0; i < sends.size(); ++i) result.sends[i].start = Time{starts[i]};
  result.transfer_time =
      finish_times(problem, result.sends, shapes, precedence, starts, result.job_finish);
  return result;
}

}  // namespace

Simulation simulate(const Problem& problem, const Schedule& sends, const SimulateOptions& options) {
  bool settled = false;
  Simulation result = simulate_once(problem, sends, options, settled);
  // Where bytes arrive twice, or sums in pieces, what came second may now come first, and less need
  // wait for the other; where only some of the input's order could be kept, the result may have
  // less to keep.
  constexpr int kRounds = 64;
  for (int round = 0; !settled && options.network == nullptr && round < kRounds; ++round) {
    Simulation next = simulate_once(problem, result.sends, options, settled);
    settled = settled || next.sends == result.sends;
    result = std::move(next);
  }
  return result;
}

}  // namespace stellwerk
