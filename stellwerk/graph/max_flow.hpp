// Maximum flow and minimum cut with integer capacities.
#pragma once

#include <cstdint>
#include <vector>

#include "stellwerk/graph/digraph.hpp"

namespace stellwerk::graph {

/// A network whose capacities can be changed between runs, so that parametric searches build it
/// once.
class MaxFlow {
 public:
  explicit MaxFlow(int vertices);

  /// Returns the arc's number (0, 1, ...). Precondition: capacity >= 0.
  int add_arc(int from, int to, std::int64_t capacity);
  /// All capacities of `graph`'s arcs, in order.
  void add_arcs(const Digraph& graph, const std::vector<std::int64_t>& capacities);
  void set_capacity(int arc, std::int64_t capacity);

  /// The value of a maximum flow; starts afresh from the capacities. `limit`: stop as soon as that
  /// much flows (the result is then `limit`, and there is no cut to ask for). Precondition: source
  /// != sink; the capacities out of the source sum to less than 2^63.
  std::int64_t run(int source, int sink, std::int64_t limit = INT64_MAX);

  /// After a run that met no limit: the vertices on the source's side of the minimum cut that is
  /// nearest to the source / to the sink.
  std::vector<bool> source_side_of_nearest_cut() const;
  std::vector<bool> source_side_of_farthest_cut() const;

  /// After a run: what flows over an arc.
  std::int64_t flow(int arc) const;

  /// How many half arcs all runs so far have looked at: a measure of time that is the same on every
  /// machine.
  std::int64_t work() const { return work_; }

 private:
  struct HalfArc {
    int to;
    std::int64_t residual;
  };
  void index();
  bool label();
  std::int64_t augment(int vertex, std::int64_t amount);

  std::vector<HalfArc> half_;       // 2a: arc a forwards; 2a+1: backwards
  std::vector<int> leaving_;        // half arcs by tail, up to date after index()
  std::vector<std::size_t> begin_;  // where those of a vertex begin
  std::vector<std::int64_t> capacity_;
  std::vector<int> queue_;
  std::vector<int> level_;
  std::vector<std::size_t> next_;
  std::int64_t work_ = 0;
  int source_ = 0;
  int sink_ = 0;
};

}  // namespace stellwerk::graph
