// Maximum flows in a network that grows and shrinks at its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stellwerk::graph {

/// Dinic's algorithm on a network whose last arcs can be taken away again.
class StackedFlow {
 public:
  explicit StackedFlow(int vertices)
      : first_(static_cast<std::size_t>(vertices), -1),
        level_(first_.size()),
        next_(first_.size()) {}

  /// Returns its number. Precondition: vertices in range, capacity >= 0.
  int add(int from, int to, std::int64_t capacity);
  /// Takes away the arc that was added last.
  void pop();
  std::int64_t& capacity(int arc) { return arcs_[at(arc)].capacity; }
  std::int64_t capacity(int arc) const { return arcs_[at(arc)].capacity; }

  /// The value of a maximum flow, or `limit` if it is larger.
  std::int64_t flow(int source, int sink, std::int64_t limit);
  /// After a flow below its limit: which of the first so many vertices are beyond the minimum cut that is
  /// nearest to the source.
  std::vector<bool> beyond_cut(int vertices) const;

 private:
  struct Half {
    int to;
    int next;
    std::int64_t capacity;
  };
  static std::size_t at(int number) { return static_cast<std::size_t>(number); }
  bool label(int source, int sink);
  std::int64_t augment(int vertex, int sink, std::int64_t amount);

  std::vector<Half> arcs_;
  std::vector<int> first_;
  std::vector<std::int64_t> residual_;
  std::vector<int> level_, next_, queue_;
};

}  // namespace stellwerk::graph
