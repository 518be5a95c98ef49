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
// has all constraints of the first, and the first result satisfies it. (Where bytes arrive twice,
// data may now come from the other copy; simulate then repeats itself until nothing changes.)
//
// Otherwise (nominal starts, another network) the constraints may contradict each other: two sends
// may meet on two links in opposite orders. Then one order of sends is used on all resources (by
// start, then by dependencies), and each window waits for earlier ones that it does not fit beside.
// Only the constraints that keep partial sums and transit buffers apart can contradict that order;
// if they do, they are dropped. So the result is always finite and keeps data and capacity, but
// where that last step was needed partial sums may merge early and buffers overflow: the judge has
// the last word on it. (An executor holds back an early arrival, so the times are still its.)
//
// Complexity: O((N + E) log N) for N sends with E uses of links; about 1.5 us a send. Tests:
// simulate_test.cpp holds each rule to a case and the guarantees to random schedules.
#include "stellwerk/check/simulate.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>

#include "stellwerk/check/capacity.hpp"
#include "stellwerk/check/difference_constraints.hpp"
#include "stellwerk/check/precedence.hpp"
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

/// Are the starts in keeping with the data?
bool data_in_time(const NominalTimes& nominal, const Precedence& precedence) {
  std::vector<std::int64_t> known(nominal.starts);
  known.resize(index(precedence.activities), kNoLowerBound);
  // Joins have arcs from sends and earlier joins only, and are listed in that order.
  for (const Dependency& dependency : precedence.dependencies) {
    const std::int64_t reached =
        known[index(dependency.from)] + Precedence::lag(dependency, *nominal.shapes);
    if (index(dependency.to) < nominal.starts.size()) {
      if (reached > known[index(dependency.to)]) return false;
    } else {
      known[index(dependency.to)] = std::max(known[index(dependency.to)], reached);
    }
  }
  return true;
}

/// Ranks by (start, number).
std::vector<std::int32_t> rank_by_start(const std::vector<std::int64_t>& starts) {
  std::vector<std::int32_t> order(starts.size());
  std::iota(order.begin(), order.end(), 0);
  if (!std::is_sorted(starts.begin(), starts.end())) {
    std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
      return std::pair(starts[index(a)], a) < std::pair(starts[index(b)], b);
    });
  }
  std::vector<std::int32_t> rank(starts.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    rank[index(order[i])] = static_cast<std::int32_t>(i);
  return rank;
}

/// Ranks by (start, number) among sends whose data come from sends ranked before; lifts the starts
/// of sends that nominally start before those.
void rank_by_data(const Precedence& precedence, NominalTimes& nominal) {
  const std::size_t activities = index(precedence.activities);
  const std::size_t sends = nominal.starts.size();
  std::vector<std::size_t> first(activities + 1, 0);
  std::vector<std::int32_t> entering(activities, 0);
  for (const Dependency& d : precedence.dependencies) {
    if (!d.data) continue;
    ++first[index(d.from) + 1];
    ++entering[index(d.to)];
  }
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<std::int32_t> arcs(first.back());
  std::vector<std::size_t> next(first.begin(), first.end() - 1);
  for (std::size_t d = 0; d < precedence.dependencies.size(); ++d) {
    const Dependency& dependency = precedence.dependencies[d];
    if (dependency.data) arcs[next[index(dependency.from)]++] = static_cast<std::int32_t>(d);
  }
  std::vector<std::int64_t> lifted(nominal.starts);
  lifted.resize(activities, kNoLowerBound);
  using Entry = std::pair<std::int64_t, std::int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  const auto push = [&](std::int32_t activity) {
    ready.emplace(lifted[index(activity)], activity);
  };
  for (std::size_t i = 0; i < activities; ++i) {
    if (entering[i] == 0) push(static_cast<std::int32_t>(i));
  }
  std::int32_t rank = 0;
  while (!ready.empty()) {
    const std::int32_t from = ready.top().second;
    ready.pop();
    if (index(from) < sends) nominal.rank[index(from)] = rank++;
    for (std::size_t a = first[index(from)]; a < first[index(from) + 1]; ++a) {
      const Dependency& d = precedence.dependencies[index(arcs[a])];
      const std::int64_t offset = d.to_event < 0 ? 0 : nominal.shapes->offset(d.to_event);
      std::int64_t& to = lifted[index(d.to)];
      to = std::max(to, lifted[index(from)] - offset);
      if (--entering[index(d.to)] == 0) push(d.to);
    }
  }
  lifted.resize(sends);
  nominal.starts = std::move(lifted);
}

/// How much of the input's order is kept; tried in turn.
struct Attempt {
  UseOrder order;
  bool keep_apart;  // partial sums and buffers
};
constexpr Attempt kAttempts[] = {
    {UseOrder::by_window, true}, {UseOrder::by_rank, true}, {UseOrder::by_rank, false}};

Simulation simulate_once(const Problem& problem, const Schedule& sends,
                         const SimulateOptions& options, bool& redundant) {
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
  redundant = precedence.redundant;
  NominalTimes nominal{&nominal_shapes, &nominal_uses, {}, {}};
  nominal.starts.reserve(sends.size());
  for (const Send& send : sends) nominal.starts.push_back(send.start.ps);
  nominal.rank = rank_by_start(nominal.starts);
  bool ranked_by_data = !data_in_time(nominal, precedence);
  if (ranked_by_data) rank_by_data(precedence, nominal);
  const auto& nodes = problem.topology.nodes();
  const bool buffers = std::any_of(nodes.begin(), nodes.end(),
                                   [](const Node& node) { return node.buffer.has_value(); });

  std::vector<std::int64_t> starts;
  for (const Attempt& attempt : kAttempts) {
    if (attempt.order == UseOrder::by_rank && !ranked_by_data) {
      rank_by_data(precedence, nominal);
      ranked_by_data = true;
    }
    std::vector<std::int64_t> lower(precedence.earliest);
    lower.resize(index(precedence.activities), kNoLowerBound);
    std::vector<std::int64_t> known(nominal.starts);
    known.resize(lower.size(), kNoLowerBound);
    std::vector<DifferenceArc> arcs;
    arcs.reserve(precedence.dependencies.size() + uses.all().size());
    for (const Dependency& dependency : precedence.dependencies) {
      if (!dependency.data && !attempt.keep_apart) continue;
      arcs.push_back({dependency.from, dependency.to, Precedence::lag(dependency, shapes)});
      if (index(dependency.to) >= sends.size()) {
        std::int64_t& at = known[index(dependency.to)];
        at = std::max(at, known[index(dependency.from)] + arcs.back().lag);
      }
    }
    add_capacity_order(nominal, attempt.order, uses, shapes, arcs, lower, known);
    if (buffers && attempt.keep_apart) {
      add_buffer_order(problem, sends, nominal, shapes, arcs, lower, known);
    }
    if (std::optional<std::vector<std::int64_t>> solution = least_solution(lower, arcs, known)) {
      starts = std::move(*solution);
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
  bool redundant = false;
  Simulation result = simulate_once(problem, sends, options, redundant);
  // Where bytes arrive twice, what came second may now come first, and sends need not wait for the
  // other.
  constexpr int kRounds = 64;
  for (int round = 0; redundant && options.network == nullptr && round < kRounds; ++round) {
    Simulation next = simulate_once(problem, result.sends, options, redundant);
    const bool same = next.sends == result.sends;
    result = std::move(next);
    if (same) break;
  }
  return result;
}

}  // namespace stellwerk
