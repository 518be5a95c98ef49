// Maximum concurrent flow: everything moved so that the fullest arc is done as early as possible.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "stellwerk/graph/digraph.hpp"

namespace stellwerk::graph {

/// What one vertex sends, and where to.
struct FlowSource {
  int vertex;
  std::vector<std::pair<int, double>> to;  ///< vertex, amount > 0; not the source itself
};

/// Arcs share the capacities of their groups: the flows of all sources on the arcs of a group sum
/// to at most `capacity` times the length of time.
struct FlowGroups {
  std::vector<int> of_arc;
  std::vector<double> capacity;  ///< > 0, one a group
};

/// An iterative solver whose state approaches an optimal flow and, as its dual, a length for every
/// group. Deterministic for one build. Memory: 4 bytes for each source and arc.
class ConcurrentFlow {
 public:
  ConcurrentFlow(const Digraph& graph, FlowGroups groups, std::vector<FlowSource> sources);

  void run(int iterations);

  /// Steps of work that an iteration takes: sources * arcs.
  std::int64_t work() const { return static_cast<std::int64_t>(sources_.size() * arcs_.size()); }

  /// A length for every group, not negative: now, or the mean since the last call of forget().
  std::vector<double> lengths() const { return length_; }
  std::vector<double> mean_lengths() const;
  void forget();

  /// What a source sends over every arc now; conservation holds approximately.
  std::vector<double> flow(std::size_t source) const;

 private:
  struct OutArc {
    int to;
    int group;
  };

  FlowGroups groups_;
  std::vector<FlowSource> sources_;
  int vertices_;
  std::vector<int> begin_;    // of a vertex' arcs in arcs_
  std::vector<OutArc> arcs_;  // by tail
  std::vector<int> number_;   // of the arc at a place in arcs_
  double unit_ = 1;           // amounts are counted in this
  double scale_ = 1;          // flows over potentials
  double time_ = 0;
  std::vector<float> flow_;       // by source and place in arcs_
  std::vector<float> potential_;  // by source and vertex
  std::vector<float> wanted_;     // by source and vertex
  std::vector<double> length_, sum_of_lengths_;
  std::vector<double> row_;  // entries of a group's row
  std::vector<float> degree_;
  int summed_ = 0;
};

}  // namespace stellwerk::graph
