// Small graphs for tests, and their symmetries by brute force.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/graph/coloured_graph.hpp"

namespace stellwerk::graph::testing {

/// A graph that is still being written down.
struct Draft {
  std::vector<int> colours;
  std::vector<char> points;
  std::vector<ColouredGraph::Arc> arcs;

  int add(bool point, int colour = 0) {
    colours.push_back(colour);
    points.push_back(point ? 1 : 0);
    return static_cast<int>(colours.size()) - 1;
  }
  void both(int a, int b, int label = 0) {
    arcs.push_back({a, b, label});
    arcs.push_back({b, a, label});
  }
  ColouredGraph graph() const { return {colours, points, arcs}; }

  /// The same with its vertices and arcs in random order.
  Draft shuffled(Rng& rng) const {
    std::vector<int> number = identity(static_cast<int>(colours.size()));
    rng.shuffle(number);
    Draft result = *this;
    for (std::size_t v = 0; v < colours.size(); ++v) {
      result.colours[static_cast<std::size_t>(number[v])] = colours[v];
      result.points[static_cast<std::size_t>(number[v])] = points[v];
    }
    for (ColouredGraph::Arc& arc : result.arcs) {
      arc.from = number[static_cast<std::size_t>(arc.from)];
      arc.to = number[static_cast<std::size_t>(arc.to)];
    }
    rng.shuffle(result.arcs);
    return result;
  }
};

/// Up to eight vertices, made of orbits of a rotation so that symmetries are likely, some of them no
/// points; colours, labels and one-way arcs; now and then one arc too many.
inline Draft random_draft(Rng& rng) {
  Draft draft;
  const int turn = static_cast<int>(rng.between(2, 5));
  const int orbits = static_cast<int>(rng.between(1, 8 / turn));
  for (int o = 0; o < orbits; ++o) {
    const bool point = o == 0 || rng.below(3) > 0;
    const int colour = static_cast<int>(rng.below(4) == 0);
    for (int i = 0; i < turn; ++i) draft.add(point, colour);
  }
  std::set<std::pair<int, int>> known;
  const auto add = [&](int a, int b, int label) {
    if (a != b && known.emplace(a, b).second) draft.arcs.push_back({a, b, label});
  };
  for (std::uint64_t k = rng.between(1, 4); k > 0; --k) {
    const int a = static_cast<int>(rng.below(static_cast<std::uint64_t>(orbits))) * turn;
    const int b = static_cast<int>(rng.below(static_cast<std::uint64_t>(orbits))) * turn;
    const int shift = static_cast<int>(rng.below(static_cast<std::uint64_t>(turn)));
    const int label = static_cast<int>(rng.below(4) == 0);
    const bool both = rng.below(3) > 0;
    for (int i = 0; i < turn; ++i) {
      add(a + i, b + (i + shift) % turn, label);
      if (both) add(b + (i + shift) % turn, a + i, label);
    }
  }
  if (rng.below(5) == 0) add(0, static_cast<int>(draft.colours.size()) - 1, 0);
  return draft;
}

/// All symmetries of a graph, by trying all permutations vertex by vertex.
inline std::vector<VertexPermutation> all_automorphisms(const ColouredGraph& graph) {
  const int n = graph.vertices();
  const auto label = [&](int a, int b) {
    for (const auto& half : graph.out(a)) {
      if (half.vertex == b) return half.label;
    }
    return -1;
  };
  std::vector<VertexPermutation> result;
  VertexPermutation images;
  std::vector<char> used(static_cast<std::size_t>(n), 0);
  const auto extend = [&](const auto& self) -> void {
    const int v = static_cast<int>(images.size());
    if (v == n) {
      result.push_back(images);
      return;
    }
    for (int w = 0; w < n; ++w) {
      bool fits = used[static_cast<std::size_t>(w)] == 0 && graph.colour(v) == graph.colour(w) &&
                  graph.is_point(v) == graph.is_point(w);
      for (int u = 0; u < v && fits; ++u) {
        const int x = images[static_cast<std::size_t>(u)];
        fits = label(u, v) == label(x, w) && label(v, u) == label(w, x);
      }
      if (!fits) continue;
      used[static_cast<std::size_t>(w)] = 1;
      images.push_back(w);
      self(self);
      images.pop_back();
      used[static_cast<std::size_t>(w)] = 0;
    }
  };
  extend(extend);
  return result;
}

/// The elements that some permutations generate.
inline std::set<VertexPermutation> closure(const std::vector<VertexPermutation>& generators,
                                           int vertices) {
  std::set<VertexPermutation> known = {identity(vertices)};
  std::vector<VertexPermutation> waiting(known.begin(), known.end());
  while (!waiting.empty()) {
    const VertexPermutation element = waiting.back();
    waiting.pop_back();
    for (const VertexPermutation& g : generators) {
      VertexPermutation next = product(element, g);
      if (known.insert(next).second) waiting.push_back(std::move(next));
    }
  }
  return known;
}

/// Whether no element but the identity keeps a point (or, `arcs`: an arc) where it is.
inline bool acts_freely(const ColouredGraph& graph, const std::set<VertexPermutation>& group,
                        bool arcs = false) {
  for (const VertexPermutation& p : group) {
    if (p == identity(graph.vertices())) continue;
    for (int v = 0; v < graph.vertices(); ++v) {
      if (p[static_cast<std::size_t>(v)] != v) continue;
      if (graph.is_point(v)) return false;
      for (const auto& half : graph.out(v)) {
        if (arcs && p[static_cast<std::size_t>(half.vertex)] == half.vertex) return false;
      }
    }
  }
  return true;
}

/// The order of the largest free group of symmetries, by trying all.
inline std::size_t largest_free_order(const ColouredGraph& graph, bool arcs = false) {
  std::vector<VertexPermutation> elements;
  for (const VertexPermutation& p : all_automorphisms(graph)) {
    if (acts_freely(graph, closure({p}, graph.vertices()), arcs)) elements.push_back(p);
  }
  std::set<std::set<VertexPermutation>> known;
  std::size_t largest = 1;
  const auto extend = [&](const auto& self, const std::vector<VertexPermutation>& generators,
                          const std::set<VertexPermutation>& group) -> void {
    largest = std::max(largest, group.size());
    for (const VertexPermutation& p : elements) {
      if (group.contains(p)) continue;
      auto more = generators;
      more.push_back(p);
      auto larger = closure(more, graph.vertices());
      if (!acts_freely(graph, larger, arcs) || !known.insert(larger).second) continue;
      self(self, more, larger);
    }
  };
  extend(extend, {}, closure({}, graph.vertices()));
  return largest;
}

}  // namespace stellwerk::graph::testing
