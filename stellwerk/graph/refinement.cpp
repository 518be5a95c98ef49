// Colour refinement with a worklist of splitter cells. For every splitter the members of the other
// cells are told apart by the sum of the weights (random 64-bit numbers, one a label and direction)
// of their arcs to it; sums do not depend on the order of the arcs. Of the pieces of a cell that was
// not waiting itself the largest need not become a splitter (Hopcroft): O(m log n) in all.
//
// Everything that is decided depends on positions and hashes, never on the names of vertices.
// Hence two partitions that correspond under a symmetry stay so, and the sequence of hashes (the
// trace) of one is that of the other. Different traces prove that no symmetry maps one to the
// other; equal ones prove nothing, and a collision of hashes costs time, not correctness: what the
// search finds is checked arc by arc. (McKay, Piperno, Practical graph isomorphism II, 2014.)
#include "stellwerk/graph/refinement.hpp"

#include <algorithm>
#include <numeric>

namespace stellwerk::graph {

RefinementGraph::RefinementGraph(const ColouredGraph& graph,
                                 const std::vector<VertexPermutation>& generators, Arcs arcs) {
  const int n = graph.vertices();
  std::vector<VertexPermutation> inverses;
  for (const VertexPermutation& g : generators) inverses.push_back(inverse(g));
  const auto weight = [](std::uint64_t label) { return mix(label * 7919 + 13); };
  begin_.reserve(static_cast<std::size_t>(n) + 1);
  begin_.push_back(0);
  for (int v = 0; v < n; ++v) {
    for (const auto& half : graph.out(v)) {
      halves_.push_back({half.vertex, weight(2 * static_cast<std::uint64_t>(half.label))});
    }
    for (const auto& half : graph.in(v)) {
      halves_.push_back({half.vertex, weight(2 * static_cast<std::uint64_t>(half.label) + 1)});
    }
    for (std::size_t g = 0; g < generators.size(); ++g) {
      const std::uint64_t label =
          2 * (static_cast<std::uint64_t>(graph.labels()) + (arcs == Arcs::alike ? 0 : g));
      const std::uint64_t back = label + (arcs == Arcs::directed ? 1 : 0);
      const std::size_t i = static_cast<std::size_t>(v);
      if (generators[g][i] == v) continue;
      halves_.push_back({generators[g][i], weight(label)});
      halves_.push_back({inverses[g][i], weight(back)});
    }
    begin_.push_back(halves_.size());
  }
}

OrderedPartition::OrderedPartition(const ColouredGraph& graph) {
  const int n = graph.vertices();
  element_.resize(at(n));
  std::iota(element_.begin(), element_.end(), 0);
  const auto key = [&](int v) { return std::pair(graph.is_point(v), graph.colour(v)); };
  std::stable_sort(element_.begin(), element_.end(), [&](int a, int b) { return key(a) < key(b); });
  position_.resize(at(n));
  cell_of_.assign(at(n), 0);
  size_.assign(at(n), 0);
  next_large_.assign(at(n) + 1, -1);
  previous_large_.assign(at(n) + 1, -1);
  queued_.assign(at(n), 0);
  weight_.assign(at(n), 0);
  touched_in_.resize(at(n));
  for (int i = 0; i < n; ++i) position_[at(element_[at(i)])] = i;
  for (int begin = 0; begin < n;) {
    int end = begin;
    while (end < n && key(element_[at(end)]) == key(element_[at(begin)])) {
      cell_of_[at(element_[at(end++)])] = begin;
    }
    size_[at(begin)] = end - begin;
    ++cells_;
    if (end - begin > 1) {
      next_large_[at(begin)] = next_large_.back();
      previous_large_[at(begin)] = n;
      if (next_large_.back() >= 0) previous_large_[at(next_large_.back())] = begin;
      next_large_.back() = begin;
    }
    enqueue(begin);
    begin = end;
  }
}

void OrderedPartition::enqueue(int cell) {
  if (queued_[at(cell)] != 0) return;
  queued_[at(cell)] = 1;
  queue_.push_back(cell);
}

void OrderedPartition::swap_positions(int a, int b) {
  std::swap(element_[at(a)], element_[at(b)]);
  position_[at(element_[at(a)])] = a;
  position_[at(element_[at(b)])] = b;
}

// The list of large cells is undone by exactly the reverse steps, so a cell that has left it finds
// its neighbours as they were.
void OrderedPartition::split(int cell, int begin) {
  const int end = cell + size_[at(cell)];
  size_[at(begin)] = end - begin;
  size_[at(cell)] = begin - cell;
  for (int i = begin; i < end; ++i) cell_of_[at(element_[at(i)])] = begin;
  ++cells_;
  splits_.emplace_back(cell, begin);
  if (end - begin > 1) {
    const int next = next_large_[at(cell)];
    next_large_[at(begin)] = next;
    previous_large_[at(begin)] = cell;
    next_large_[at(cell)] = begin;
    if (next >= 0) previous_large_[at(next)] = begin;
  }
  if (begin - cell == 1) {
    const int next = next_large_[at(cell)];
    next_large_[at(previous_large_[at(cell)])] = next;
    if (next >= 0) previous_large_[at(next)] = previous_large_[at(cell)];
  }
}

void OrderedPartition::undo(std::size_t count) {
  while (splits_.size() > count) {
    const auto [cell, begin] = splits_.back();
    splits_.pop_back();
    if (size_[at(cell)] == 1) {
      const int next = next_large_[at(cell)];
      next_large_[at(previous_large_[at(cell)])] = cell;
      if (next >= 0) previous_large_[at(next)] = cell;
    }
    if (size_[at(begin)] > 1) {
      const int next = next_large_[at(begin)];
      next_large_[at(cell)] = next;
      if (next >= 0) previous_large_[at(next)] = cell;
    }
    for (int i = begin; i < begin + size_[at(begin)]; ++i) cell_of_[at(element_[at(i)])] = cell;
    size_[at(cell)] += size_[at(begin)];
    size_[at(begin)] = 0;
    --cells_;
  }
}

void OrderedPartition::individualise(int vertex) {
  const int cell = cell_of_[at(vertex)];
  const int last = cell + size_[at(cell)] - 1;
  if (last == cell) return;
  swap_positions(position_[at(vertex)], last);
  split(cell, last);
  enqueue(last);
}

/// Splits `cell` by the weights of its members `touched` (the others have none).
template <class Emit>
bool OrderedPartition::split_by_weight(int cell, std::vector<int>& touched, Emit emit) {
  const auto weight = [&](int i) { return weight_[at(touched[at(i)])]; };
  std::sort(touched.begin(), touched.end(),
            [&](int a, int b) { return weight_[at(a)] < weight_[at(b)]; });
  const int count = static_cast<int>(touched.size());
  const int size = size_[at(cell)];
  std::uint64_t hash = mix(static_cast<std::uint64_t>(cell));
  std::vector<int> begins;
  const int first = cell + size - count;  // of the touched, once they are at the end
  if (first > cell) begins.push_back(cell);
  for (int i = 0; i < count;) {
    begins.push_back(first + i);
    int j = i;
    while (j < count && weight(j) == weight(i)) ++j;
    hash = mix(hash ^ weight(i)) + static_cast<std::uint64_t>(j - i);
    i = j;
  }
  if (!emit(hash)) return false;
  if (begins.size() == 1) return true;
  for (int i = count - 1; i >= 0; --i) swap_positions(position_[at(touched[at(i)])], first + i);
  const bool waiting = queued_[at(cell)] != 0;
  for (std::size_t i = begins.size(); i-- > 1;) split(cell, begins[i]);
  std::size_t largest = 0;
  for (std::size_t i = 1; i < begins.size(); ++i) {
    if (size_[at(begins[i])] > size_[at(begins[largest])]) largest = i;
  }
  for (std::size_t i = 0; i < begins.size(); ++i) {
    if (waiting || i != largest) enqueue(begins[i]);
  }
  return true;
}

template <class Emit>
bool OrderedPartition::run(const RefinementGraph& graph, std::int64_t& work, Emit emit) {
  bool same = true;
  std::vector<int> splitter, touched, cells;
  while (same && queue_head_ < queue_.size()) {
    const int current = queue_[queue_head_++];
    queued_[at(current)] = 0;
    const auto now = members(current);
    splitter.assign(now.begin(), now.end());  // splitting moves elements
    touched.clear();
    cells.clear();
    std::uint64_t hash = mix(static_cast<std::uint64_t>(current) * 31 + splitter.size());
    for (const int v : splitter) {
      for (const auto& half : graph.around(v)) {
        const int cell = cell_of_[at(half.vertex)];
        hash += mix(half.weight ^ static_cast<std::uint64_t>(cell));
        if (size_[at(cell)] == 1) continue;
        if (weight_[at(half.vertex)] == 0) touched.push_back(half.vertex);
        weight_[at(half.vertex)] += half.weight;
      }
      work += static_cast<std::int64_t>(graph.around(v).size()) + 1;
    }
    same = emit(hash);
    if (same) {
      for (const int v : touched) {
        const int cell = cell_of_[at(v)];
        if (touched_in_[at(cell)].empty()) cells.push_back(cell);
        touched_in_[at(cell)].push_back(v);
      }
      std::sort(cells.begin(), cells.end());
      for (const int cell : cells) {
        same = same && split_by_weight(cell, touched_in_[at(cell)], emit);
        touched_in_[at(cell)].clear();
      }
    }
    for (const int v : touched) weight_[at(v)] = 0;
  }
  for (std::size_t i = queue_head_; i < queue_.size(); ++i) queued_[at(queue_[i])] = 0;
  queue_.clear();
  queue_head_ = 0;
  return same;
}

void OrderedPartition::refine(const RefinementGraph& graph, Trace& trace, std::int64_t& work) {
  run(graph, work, [&](std::uint64_t hash) {
    trace.push_back(hash);
    return true;
  });
}

bool OrderedPartition::refine_like(const RefinementGraph& graph, const Trace& trace,
                                   std::int64_t& work) {
  std::size_t next = 0;
  const bool same = run(graph, work, [&](std::uint64_t hash) {
    if (next == trace.size() || trace[next] != hash) return false;
    ++next;
    return true;
  });
  return same && next == trace.size();
}

}  // namespace stellwerk::graph
