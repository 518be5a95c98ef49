#include "stellwerk/graph/coloured_graph.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace stellwerk::graph {

VertexPermutation product(const VertexPermutation& a, const VertexPermutation& b) {
  VertexPermutation result(a.size());
  for (std::size_t v = 0; v < a.size(); ++v) result[v] = b[static_cast<std::size_t>(a[v])];
  return result;
}

VertexPermutation inverse(const VertexPermutation& p) {
  VertexPermutation result(p.size());
  for (std::size_t v = 0; v < p.size(); ++v) {
    result[static_cast<std::size_t>(p[v])] = static_cast<int>(v);
  }
  return result;
}

VertexPermutation identity(int vertices) {
  VertexPermutation result(static_cast<std::size_t>(vertices));
  std::iota(result.begin(), result.end(), 0);
  return result;
}

VertexPermutation power(const VertexPermutation& p, std::int64_t exponent) {
  VertexPermutation result(p.size(), -1);
  std::vector<int> cycle;
  for (std::size_t v = 0; v < p.size(); ++v) {
    if (result[v] >= 0) continue;
    cycle.clear();
    int w = static_cast<int>(v);
    do {
      cycle.push_back(w);
      w = p[static_cast<std::size_t>(w)];
    } while (w != static_cast<int>(v));
    const std::size_t shift = static_cast<std::size_t>(exponent) % cycle.size();
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      result[static_cast<std::size_t>(cycle[i])] = cycle[(i + shift) % cycle.size()];
    }
  }
  return result;
}

ColouredGraph::ColouredGraph(std::vector<int> colours, std::vector<char> points,
                             const std::vector<Arc>& arcs)
    : colours_(std::move(colours)), points_(std::move(points)) {
  const auto index = [&](std::vector<Half>& halves, std::vector<std::size_t>& begin, auto near,
                         auto far) {
    begin.assign(colours_.size() + 1, 0);
    for (const Arc& arc : arcs) ++begin[static_cast<std::size_t>(near(arc)) + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
    halves.resize(arcs.size());
    for (const Arc& arc : arcs) {
      halves[next[static_cast<std::size_t>(near(arc))]++] = {far(arc), arc.label};
    }
    for (std::size_t v = 0; v + 1 < begin.size(); ++v) {
      std::sort(halves.begin() + static_cast<std::ptrdiff_t>(begin[v]),
                halves.begin() + static_cast<std::ptrdiff_t>(begin[v + 1]));
    }
  };
  const auto tail = [](const Arc& arc) { return arc.from; };
  const auto head = [](const Arc& arc) { return arc.to; };
  index(out_, out_begin_, tail, head);
  index(in_, in_begin_, head, tail);
  for (const Arc& arc : arcs) labels_ = std::max(labels_, arc.label + 1);
}

bool ColouredGraph::is_automorphism(const VertexPermutation& p) const {
  // label[w] = 1 + label of the arc from v's image to w.
  std::vector<int> label(colours_.size(), 0);
  for (int v = 0; v < vertices(); ++v) {
    const int image = p[static_cast<std::size_t>(v)];
    if (colour(v) != colour(image) || is_point(v) != is_point(image) ||
        out(v).size() != out(image).size()) {
      return false;
    }
    for (const Half& half : out(image)) {
      label[static_cast<std::size_t>(half.vertex)] = 1 + half.label;
    }
    bool same = true;
    for (const Half& half : out(v)) {
      const int w = p[static_cast<std::size_t>(half.vertex)];
      same = same && label[static_cast<std::size_t>(w)] == 1 + half.label;
    }
    for (const Half& half : out(image)) label[static_cast<std::size_t>(half.vertex)] = 0;
    if (!same) return false;
  }
  return true;
}

}  // namespace stellwerk::graph
