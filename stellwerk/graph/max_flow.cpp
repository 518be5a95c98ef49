// Dinic's algorithm (Soviet Math. Doklady 11, 1970): label vertices by their distance from the
// source in the residual network, saturate all shortest paths with a depth-first search that never
// looks at a dead half arc twice, repeat. O(V^2 E) in the worst case; on the networks here (a few
// thousand arcs, shallow) a handful of phases. The depth of the search is the length of a shortest
// path, so recursion is safe. Guarantee: value of the flow = capacity of the cut that is returned.
// Held to its word by max_flow_test.cpp, against all cuts of small random graphs.
#include "stellwerk/graph/max_flow.hpp"

#include <algorithm>
#include <cassert>

namespace stellwerk::graph {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

MaxFlow::MaxFlow(int vertices) : begin_(at(vertices) + 1, 0) {}

int MaxFlow::add_arc(int from, int to, std::int64_t capacity) {
  assert(capacity >= 0);
  const int arc = static_cast<int>(capacity_.size());
  half_.push_back({to, 0});
  half_.push_back({from, 0});
  capacity_.push_back(capacity);
  return arc;
}

void MaxFlow::add_arcs(const Digraph& graph, const std::vector<std::int64_t>& capacities) {
  for (int a = 0; a < graph.arcs(); ++a) {
    add_arc(graph.arc(a).from, graph.arc(a).to, capacities[at(a)]);
  }
}

void MaxFlow::set_capacity(int arc, std::int64_t capacity) {
  assert(capacity >= 0);
  capacity_[at(arc)] = capacity;
}

void MaxFlow::index() {
  if (leaving_.size() == half_.size()) return;
  // The tail of a half arc is the head of its partner.
  std::fill(begin_.begin(), begin_.end(), 0);
  for (std::size_t h = 0; h < half_.size(); ++h) ++begin_[at(half_[h ^ 1].to) + 1];
  for (std::size_t v = 1; v < begin_.size(); ++v) begin_[v] += begin_[v - 1];
  leaving_.resize(half_.size());
  next_.assign(begin_.begin(), begin_.end() - 1);
  for (std::size_t h = 0; h < half_.size(); ++h) {
    leaving_[next_[at(half_[h ^ 1].to)]++] = static_cast<int>(h);
  }
}

bool MaxFlow::label() {
  level_.assign(begin_.size() - 1, -1);
  queue_.assign(1, source_);
  level_[at(source_)] = 0;
  for (std::size_t head = 0; head < queue_.size(); ++head) {
    const std::size_t v = at(queue_[head]);
    // Vertices as far away as the sink lead nowhere; when it is out of reach, all are labelled.
    if (level_[at(sink_)] >= 0 && level_[v] >= level_[at(sink_)]) break;
    work_ += static_cast<std::int64_t>(begin_[v + 1] - begin_[v]);
    for (std::size_t i = begin_[v]; i < begin_[v + 1]; ++i) {
      const HalfArc& half = half_[at(leaving_[i])];
      if (half.residual == 0 || level_[at(half.to)] >= 0) continue;
      level_[at(half.to)] = level_[v] + 1;
      queue_.push_back(half.to);
    }
  }
  return level_[at(sink_)] >= 0;
}

std::int64_t MaxFlow::augment(int vertex, std::int64_t amount) {
  if (vertex == sink_) return amount;
  std::int64_t sent = 0;
  const std::size_t end = begin_[at(vertex) + 1];
  for (std::size_t& i = next_[at(vertex)]; i < end; ++i) {
    ++work_;
    const int h = leaving_[i];
    HalfArc& half = half_[at(h)];
    if (half.residual == 0 || level_[at(half.to)] != level_[at(vertex)] + 1) continue;
    const std::int64_t more = augment(half.to, std::min(amount - sent, half.residual));
    half.residual -= more;
    half_[at(h ^ 1)].residual += more;
    sent += more;
    if (sent == amount) break;  // this half arc may have room left: do not step over it
  }
  return sent;
}

std::int64_t MaxFlow::run(int source, int sink, std::int64_t limit) {
  assert(source != sink);
  index();
  source_ = source;
  sink_ = sink;
  for (std::size_t a = 0; a < capacity_.size(); ++a) {
    half_[2 * a].residual = capacity_[a];
    half_[2 * a + 1].residual = 0;
  }
  std::int64_t total = 0;
  while (total < limit && label()) {
    next_.assign(begin_.begin(), begin_.end() - 1);
    total += augment(source, limit - total);
  }
  return total;
}

std::vector<bool> MaxFlow::source_side_of_nearest_cut() const {
  std::vector<bool> side(level_.size());
  for (std::size_t v = 0; v < side.size(); ++v) side[v] = level_[v] >= 0;
  return side;
}

std::vector<bool> MaxFlow::source_side_of_farthest_cut() const {
  // Everything that cannot reach the sink in the residual network.
  std::vector<bool> side(begin_.size() - 1, true);
  std::vector<int> queue{sink_};
  side[at(sink_)] = false;
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const std::size_t v = at(queue[head]);
    for (std::size_t i = begin_[v]; i < begin_[v + 1]; ++i) {
      const int h = leaving_[i];
      const int other = half_[at(h)].to;  // the half arc other -> queue[head] is h ^ 1
      if (half_[at(h ^ 1)].residual == 0 || !side[at(other)]) continue;
      side[at(other)] = false;
      queue.push_back(other);
    }
  }
  return side;
}

std::int64_t MaxFlow::flow(int arc) const { return half_[at(2 * arc + 1)].residual; }

}  // namespace stellwerk::graph
