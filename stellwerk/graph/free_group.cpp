#include "stellwerk/graph/free_group.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "stellwerk/graph/union_find.hpp"

namespace stellwerk::graph {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

constexpr std::int64_t kMostEntries = std::int64_t{1} << 26;  // elements times vertices

/// The orbit of `from` in the order in which a breadth-first search finds it, and how each member
/// was reached.
struct Tree {
  std::vector<int> order;
  std::vector<int> parent;  ///< one a vertex; -1 where it was not reached
  std::vector<int> generator;
};

Tree search(const std::vector<VertexPermutation>& generators, int vertices, int from) {
  Tree tree{{from}, std::vector<int>(at(vertices), -1), std::vector<int>(at(vertices), -1)};
  tree.parent[at(from)] = from;
  for (std::size_t i = 0; i < tree.order.size(); ++i) {
    for (std::size_t g = 0; g < generators.size(); ++g) {
      const int next = generators[g][at(tree.order[i])];
      if (tree.parent[at(next)] >= 0) continue;
      tree.parent[at(next)] = tree.order[i];
      tree.generator[at(next)] = static_cast<int>(g);
      tree.order.push_back(next);
    }
  }
  return tree;
}

}  // namespace

void FreeGroup::extend(VertexPermutation generator, std::int64_t index) {
  generators_.push_back(std::move(generator));
  order_ *= index;
  find_orbits();
}

void FreeGroup::find_orbits() {
  orbit_.assign(at(vertices_), -1);
  std::vector<int> members;
  for (int v = 0; v < vertices_; ++v) {
    if (orbit_[at(v)] >= 0) continue;
    members.assign(1, v);
    orbit_[at(v)] = v;
    for (std::size_t i = 0; i < members.size(); ++i) {
      for (const VertexPermutation& g : generators_) {
        const int next = g[at(members[i])];
        if (orbit_[at(next)] >= 0) continue;
        orbit_[at(next)] = v;
        members.push_back(next);
      }
    }
  }
}

VertexPermutation FreeGroup::element(int from, int to) const {
  const Tree tree = search(generators_, vertices_, from);
  assert(tree.parent[at(to)] >= 0);
  std::vector<int> word;
  for (int v = to; v != from; v = tree.parent[at(v)]) word.push_back(tree.generator[at(v)]);
  VertexPermutation result = identity(vertices_);
  for (std::size_t i = word.size(); i-- > 0;) result = product(result, generators_[at(word[i])]);
  return result;
}

std::optional<std::int64_t> free_order(const ColouredGraph& graph,
                                       const std::vector<VertexPermutation>& generators,
                                       std::int64_t limit) {
  const int n = graph.vertices();
  int point = 0;
  while (!graph.is_point(point)) ++point;
  const Tree tree = search(generators, n, point);
  const std::int64_t order = static_cast<std::int64_t>(tree.order.size());
  if (order > limit || order * n > kMostEntries) return std::nullopt;
  // One element a member w of the orbit, t_w, that takes the point there. They are the whole group
  // if and only if t_w s = t_(w s) for every generator s; and it is free if no t_w fixes a point.
  std::vector<VertexPermutation> transversal(at(n));
  for (const int w : tree.order) {
    const int parent = tree.parent[at(w)];
    transversal[at(w)] =
        w == point ? identity(n)
                   : product(transversal[at(parent)], generators[at(tree.generator[at(w)])]);
    for (int v = 0; v < n; ++v) {
      if (w != point && graph.is_point(v) && transversal[at(w)][at(v)] == v) return std::nullopt;
    }
  }
  for (const int w : tree.order) {
    for (const VertexPermutation& s : generators) {
      const VertexPermutation& other = transversal[at(s[at(w)])];
      for (int v = 0; v < n; ++v) {
        if (s[at(transversal[at(w)][at(v)])] != other[at(v)]) return std::nullopt;
      }
    }
  }
  return order;
}

double free_arcs(const ColouredGraph& graph, const std::vector<VertexPermutation>& generators,
                 std::int64_t order) {
  // An arc with an end at a point is free, since the point is. Orbits of the others by union-find
  // over their numbers; the arcs of a vertex are sorted by their heads.
  const int n = graph.vertices();
  std::vector<std::size_t> begin(at(n) + 1, 0);
  std::vector<std::pair<int, int>> arcs;
  std::size_t all = 0;
  for (int v = 0; v < n; ++v) {
    begin[at(v)] = arcs.size();
    all += graph.out(v).size();
    if (graph.is_point(v)) continue;
    for (const auto& half : graph.out(v)) {
      if (!graph.is_point(half.vertex)) arcs.emplace_back(v, half.vertex);
    }
  }
  begin[at(n)] = arcs.size();
  if (all == 0 || order == 1) return 1;
  UnionFind orbits(arcs.size());
  for (const VertexPermutation& g : generators) {
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      const int tail = g[at(arcs[i].first)];
      const auto first = arcs.begin() + static_cast<std::ptrdiff_t>(begin[at(tail)]);
      const auto last = arcs.begin() + static_cast<std::ptrdiff_t>(begin[at(tail) + 1]);
      const auto found = std::lower_bound(first, last, std::pair(tail, g[at(arcs[i].second)]));
      orbits.join(i, static_cast<std::size_t>(found - arcs.begin()));
    }
  }
  std::vector<std::int64_t> size(arcs.size(), 0);
  for (std::size_t i = 0; i < arcs.size(); ++i) ++size[orbits.root(i)];
  std::size_t fixed = 0;
  for (std::size_t i = 0; i < arcs.size(); ++i) fixed += size[orbits.root(i)] < order ? 1 : 0;
  return 1 - static_cast<double>(fixed) / static_cast<double>(all);
}

}  // namespace stellwerk::graph
