// Orders of sends: topological sorting with a heap, so that the order is the one nearest to the
// starts. O((N + E) log N). Data never run in circles; all dependencies together may (two nodes
// that share their sums with each other: each share starts before the other arrives), so there
// strong components are sorted instead. Test: simulate_test.cpp.
#include "stellwerk/check/send_order.hpp"

#include <algorithm>
#include <cassert>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "stellwerk/graph/digraph.hpp"
#include "stellwerk/graph/shortest_paths.hpp"

namespace stellwerk {
namespace {

std::size_t index(std::int32_t number) { return static_cast<std::size_t>(number); }

/// Vertices in topological order, at each step the one with the least key (then number); `leave` is
/// called for every arc that leaves a vertex that has been put, before its head can be.
template <class Key, class Leave>
std::vector<int> sorted(const graph::Digraph& graph, const Key& key, const Leave& leave) {
  const std::size_t count = index(graph.vertices());
  std::vector<int> entering(count, 0), order;
  order.reserve(count);
  for (int a = 0; a < graph.arcs(); ++a) ++entering[index(graph.arc(a).to)];
  using Entry = std::pair<std::int64_t, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (int v = 0; v < graph.vertices(); ++v) {
    if (entering[index(v)] == 0) ready.emplace(key(v), v);
  }
  while (!ready.empty()) {
    const int v = ready.top().second;
    ready.pop();
    order.push_back(v);
    for (const int a : graph.out(v)) {
      const int head = graph.arc(a).to;
      leave(a);
      if (--entering[index(head)] == 0) ready.emplace(key(head), head);
    }
  }
  assert(order.size() == count);
  return order;
}

}  // namespace

bool keeps_dependencies(const NominalTimes& nominal, const Precedence& precedence) {
  std::vector<std::int64_t> known(nominal.starts);
  known.resize(index(precedence.activities), kNoLowerBound);
  // Joins have dependencies on sends and earlier joins only, and are listed in that order.
  for (const Dependency& dependency : precedence.dependencies) {
    const std::int64_t reached =
        known[index(dependency.from)] + Precedence::lag(dependency, *nominal.shapes);
    std::int64_t& to = known[index(dependency.to)];
    if (index(dependency.to) >= nominal.starts.size()) {
      to = std::max(to, reached);
    } else if (reached > to) {
      return false;
    }
  }
  return true;
}

void rank_by_start(NominalTimes& nominal) {
  const std::vector<std::int64_t>& starts = nominal.starts;
  std::vector<std::int32_t> order(starts.size());
  std::iota(order.begin(), order.end(), 0);
  if (!std::is_sorted(starts.begin(), starts.end())) {
    std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
      return std::pair(starts[index(a)], a) < std::pair(starts[index(b)], b);
    });
  }
  nominal.rank.resize(starts.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    nominal.rank[index(order[i])] = static_cast<std::int32_t>(i);
  }
}

void rank_by_data(const Precedence& precedence, NominalTimes& nominal) {
  const std::size_t sends = nominal.starts.size();
  std::vector<graph::Arc> arcs;
  std::vector<std::int64_t> offset;  // of the event at the head
  for (const Dependency& d : precedence.dependencies) {
    if (!d.data) continue;
    arcs.push_back({d.from, d.to});
    offset.push_back(d.to_event < 0 ? 0 : nominal.shapes->offset(d.to_event));
  }
  const graph::Digraph graph(precedence.activities, std::move(arcs));
  std::vector<std::int64_t> lifted(nominal.starts);
  lifted.resize(index(precedence.activities), kNoLowerBound);
  const std::vector<int> order = sorted(
      graph, [&](int v) { return lifted[index(v)]; },
      [&](int a) {
        const graph::Arc& arc = graph.arc(a);
        std::int64_t& to = lifted[index(arc.to)];
        to = std::max(to, lifted[index(arc.from)] - offset[index(a)]);
      });
  nominal.rank.resize(sends);
  std::int32_t rank = 0;
  for (const int v : order) {
    if (index(v) < sends) nominal.rank[index(v)] = rank++;
  }
  lifted.resize(sends);
  nominal.starts = std::move(lifted);
}

void rank_by_all_dependencies(const Precedence& precedence, NominalTimes& nominal) {
  const std::size_t sends = nominal.starts.size();
  std::vector<graph::Arc> arcs;
  arcs.reserve(precedence.dependencies.size());
  for (const Dependency& d : precedence.dependencies) arcs.push_back({d.from, d.to});
  const std::vector<int> component =
      graph::strong_components(graph::Digraph(precedence.activities, arcs));
  const int components =
      component.empty() ? 0 : *std::max_element(component.begin(), component.end()) + 1;
  std::vector<graph::Arc> between;
  for (const graph::Arc& arc : arcs) {
    const graph::Arc lifted{component[index(arc.from)], component[index(arc.to)]};
    if (lifted.from != lifted.to) between.push_back(lifted);
  }
  std::vector<std::int64_t> first(index(components), kNoLowerBound);  // joins hold nobody up
  std::vector<std::vector<std::int32_t>> members(index(components));
  std::vector<std::int32_t> by_rank(sends);
  for (std::size_t i = 0; i < sends; ++i) {
    by_rank[index(nominal.rank[i])] = static_cast<std::int32_t>(i);
  }
  for (const std::int32_t send : by_rank) {
    const std::size_t c = index(component[index(send)]);
    if (members[c].empty()) first[c] = nominal.rank[index(send)];
    members[c].push_back(send);
  }
  std::int32_t rank = 0;
  for (const int c : sorted(
           graph::Digraph(components, std::move(between)), [&](int v) { return first[index(v)]; },
           [](int) {})) {
    for (const std::int32_t send : members[index(c)]) nominal.rank[index(send)] = rank++;
  }
}

}  // namespace stellwerk
