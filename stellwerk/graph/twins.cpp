#include "stellwerk/graph/twins.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace stellwerk::graph {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

std::optional<Twins> Twins::find(const ColouredGraph& graph) {
  const int n = graph.vertices();
  std::vector<int> points;
  for (int v = 0; v < n; ++v) {
    if (graph.is_point(v)) points.push_back(v);
  }
  const auto compare = [&](int a, int b) {  // -1, 0, 1
    if (graph.colour(a) != graph.colour(b)) return graph.colour(a) < graph.colour(b) ? -1 : 1;
    for (const auto& [x, y] : {std::pair(graph.out(a), graph.out(b)), {graph.in(a), graph.in(b)}}) {
      const auto order =
          std::lexicographical_compare_three_way(x.begin(), x.end(), y.begin(), y.end());
      if (order != 0) return order < 0 ? -1 : 1;
    }
    return 0;
  };
  std::sort(points.begin(), points.end(), [&](int a, int b) {
    const int order = compare(a, b);
    return order != 0 ? order < 0 : a < b;
  });
  // Neighbours are never twins: one has the other among its arcs and not itself.
  std::vector<std::vector<int>> members;
  std::int64_t period = 0;
  for (std::size_t i = 0; i < points.size();) {
    std::size_t j = i;
    while (j < points.size() && compare(points[i], points[j]) == 0) ++j;
    members.emplace_back(points.begin() + static_cast<std::ptrdiff_t>(i),
                         points.begin() + static_cast<std::ptrdiff_t>(j));
    period = std::gcd(period, static_cast<std::int64_t>(j - i));
    i = j;
  }
  if (period < 2) return std::nullopt;
  for (int v = 0; v < n; ++v) {
    if (!graph.is_point(v)) members.push_back({v});
  }
  std::vector<int> class_of(at(n));
  for (std::size_t c = 0; c < members.size(); ++c) {
    for (const int v : members[c]) class_of[at(v)] = static_cast<int>(c);
  }
  std::map<std::pair<int, std::size_t>, int> colours;
  for (const auto& list : members) colours[{graph.colour(list.front()), list.size()}] = 0;
  int next = 0;
  for (auto& [key, colour] : colours) colour = next++;
  std::vector<int> colour;
  std::vector<char> is_point;
  std::vector<ColouredGraph::Arc> arcs;
  for (std::size_t c = 0; c < members.size(); ++c) {
    const int v = members[c].front();
    colour.push_back(colours[{graph.colour(v), members[c].size()}]);
    is_point.push_back(graph.is_point(v) ? 1 : 0);
    for (const auto& half : graph.out(v)) {
      const int head = class_of[at(half.vertex)];
      if (members[at(head)].front() == half.vertex) {
        arcs.push_back({static_cast<int>(c), head, half.label});
      }
    }
  }
  ColouredGraph reduced(std::move(colour), std::move(is_point), arcs);
  return Twins(std::move(members), std::move(reduced), period);
}

std::size_t Twins::vertices() const {
  std::size_t result = 0;
  for (const auto& list : members_) result += list.size();
  return result;
}

VertexPermutation Twins::lift(const VertexPermutation& p) const {
  VertexPermutation result(vertices());
  for (std::size_t c = 0; c < members_.size(); ++c) {
    for (std::size_t i = 0; i < members_[c].size(); ++i) {
      result[at(members_[c][i])] = members_[at(p[c])][i];
    }
  }
  return result;
}

VertexPermutation Twins::rotation() const {
  VertexPermutation result(vertices());
  const std::size_t p = static_cast<std::size_t>(period_);
  for (std::size_t c = 0; c < members_.size(); ++c) {
    const auto& list = members_[c];
    for (std::size_t i = 0; i < list.size(); ++i) {
      const bool turns = reduced_.is_point(static_cast<int>(c));
      result[at(list[i])] = turns ? list[i / p * p + (i + 1) % p] : list[i];
    }
  }
  return result;
}

}  // namespace stellwerk::graph
