// Dijkstra (1959) with a binary heap, O((V + E) log V), from several starts at once; and Tarjan's
// strongly connected components (1972) with an explicit stack, O(V + E). Held to their word by
// shortest_paths_test.cpp, against Floyd-Warshall.
#include "stellwerk/graph/shortest_paths.hpp"

#include <algorithm>
#include <functional>
#include <queue>

namespace stellwerk::graph {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

std::vector<std::int64_t> distances(const Digraph& graph, std::span<const std::int64_t> lengths,
                                    std::span<const Start> starts, bool backwards) {
  std::vector<std::int64_t> distance(at(graph.vertices()), kUnreachable);
  using Entry = std::pair<std::int64_t, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (const Start& start : starts) {
    if (start.distance >= distance[at(start.vertex)]) continue;
    distance[at(start.vertex)] = start.distance;
    queue.emplace(start.distance, start.vertex);
  }
  while (!queue.empty()) {
    const auto [so_far, vertex] = queue.top();
    queue.pop();
    if (so_far > distance[at(vertex)]) continue;
    for (const int a : backwards ? graph.in(vertex) : graph.out(vertex)) {
      const int next = backwards ? graph.arc(a).from : graph.arc(a).to;
      const std::int64_t length = so_far + lengths[at(a)];
      if (length >= distance[at(next)]) continue;
      distance[at(next)] = length;
      queue.emplace(length, next);
    }
  }
  return distance;
}

std::vector<bool> reachable(const Digraph& graph, std::span<const int> starts,
                            const std::vector<bool>& usable) {
  std::vector<bool> seen(at(graph.vertices()), false);
  std::vector<int> queue;
  for (const int start : starts) {
    if (seen[at(start)]) continue;
    seen[at(start)] = true;
    queue.push_back(start);
  }
  for (std::size_t head = 0; head < queue.size(); ++head) {
    for (const int a : graph.out(queue[head])) {
      const int next = graph.arc(a).to;
      if ((!usable.empty() && !usable[at(a)]) || seen[at(next)]) continue;
      seen[at(next)] = true;
      queue.push_back(next);
    }
  }
  return seen;
}

std::vector<int> strong_components(const Digraph& graph, const std::vector<bool>& usable) {
  const int n = graph.vertices();
  std::vector<int> order(at(n), -1), low(at(n), 0), root(at(n), -1);
  std::vector<bool> open(at(n), false);  // on Tarjan's stack
  std::vector<int> stack, path;
  std::vector<std::size_t> next(at(n), 0);
  int counter = 0;
  for (int start = 0; start < n; ++start) {
    if (order[at(start)] >= 0) continue;
    path.push_back(start);
    while (!path.empty()) {
      const int v = path.back();
      if (order[at(v)] < 0) {
        order[at(v)] = low[at(v)] = counter++;
        stack.push_back(v);
        open[at(v)] = true;
      }
      bool descended = false;
      const std::span<const int> out = graph.out(v);
      while (next[at(v)] < out.size()) {
        const int a = out[next[at(v)]];
        const int w = graph.arc(a).to;
        if (!usable.empty() && !usable[at(a)]) {
          ++next[at(v)];
          continue;
        }
        if (order[at(w)] < 0) {
          path.push_back(w);  // look at this arc again when w is done
          descended = true;
          break;
        }
        if (open[at(w)]) low[at(v)] = std::min(low[at(v)], low[at(w)]);
        ++next[at(v)];
      }
      if (descended) continue;
      path.pop_back();
      if (low[at(v)] != order[at(v)]) continue;
      for (int w = -1; w != v;) {
        w = stack.back();
        stack.pop_back();
        open[at(w)] = false;
        root[at(w)] = v;
      }
    }
  }
  // Number components by their smallest vertex, which comes first in this order.
  std::vector<int> number(at(n), -1), component(at(n));
  int components = 0;
  for (int v = 0; v < n; ++v) {
    int& of_root = number[at(root[at(v)])];
    if (of_root < 0) of_root = components++;
    component[at(v)] = of_root;
  }
  return component;
}

}  // namespace stellwerk::graph
