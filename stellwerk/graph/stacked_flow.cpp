// Dinic, Soviet Math. Doklady 11, 1970: level by level, blocking flows. The levels of the last
// search, which fails, are the near side of a minimum cut. Held to its word by
// arborescences_test.cpp, with an enumeration of all sets.
#include "stellwerk/graph/stacked_flow.hpp"

#include <algorithm>

namespace stellwerk::graph {

int StackedFlow::add(int from, int to, std::int64_t capacity) {
  const int arc = static_cast<int>(arcs_.size());
  arcs_.push_back({to, first_[at(from)], capacity});
  first_[at(from)] = arc;
  arcs_.push_back({from, first_[at(to)], 0});
  first_[at(to)] = arc + 1;
  return arc;
}

void StackedFlow::pop() {
  const int arc = static_cast<int>(arcs_.size()) - 2;
  first_[at(arcs_[at(arc)].to)] = arcs_[at(arc + 1)].next;
  first_[at(arcs_[at(arc + 1)].to)] = arcs_[at(arc)].next;
  arcs_.resize(at(arc));
}

std::int64_t StackedFlow::flow(int source, int sink, std::int64_t limit) {
  residual_.resize(arcs_.size());
  for (std::size_t a = 0; a < arcs_.size(); ++a) residual_[a] = arcs_[a].capacity;
  std::int64_t value = 0;
  while (value < limit && label(source, sink)) {
    next_ = first_;
    value += augment(source, sink, limit - value);
  }
  return value;
}

std::vector<bool> StackedFlow::beyond_cut(int vertices) const {
  std::vector<bool> result(at(vertices));
  for (int v = 0; v < vertices; ++v) result[at(v)] = level_[at(v)] < 0;
  return result;
}

bool StackedFlow::label(int source, int sink) {
  std::fill(level_.begin(), level_.end(), -1);
  level_[at(source)] = 0;
  queue_.assign(1, source);
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    const int vertex = queue_[i];
    for (int a = first_[at(vertex)]; a >= 0; a = arcs_[at(a)].next) {
      const int to = arcs_[at(a)].to;
      if (residual_[at(a)] == 0 || level_[at(to)] >= 0) continue;
      level_[at(to)] = level_[at(vertex)] + 1;
      if (to == sink) return true;
      queue_.push_back(to);
    }
  }
  return false;
}

std::int64_t StackedFlow::augment(int vertex, int sink, std::int64_t amount) {
  if (vertex == sink) return amount;
  std::int64_t sent = 0;
  for (int& a = next_[at(vertex)]; a >= 0; a = arcs_[at(a)].next) {
    const int to = arcs_[at(a)].to;
    if (residual_[at(a)] == 0 || level_[at(to)] != level_[at(vertex)] + 1) continue;
    const std::int64_t more = augment(to, sink, std::min(amount - sent, residual_[at(a)]));
    if (more == 0) {
      level_[at(to)] = -1;
      continue;
    }
    residual_[at(a)] -= more;
    residual_[at(a ^ 1)] += more;
    sent += more;
    if (sent == amount) return sent;
  }
  return sent;
}

}  // namespace stellwerk::graph
