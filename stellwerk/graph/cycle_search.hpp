// Searches for one symmetry of a graph that takes a given point to another and permutes the orbits
// of a known free group in cycles of one length, as long as possible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/graph/coloured_graph.hpp"
#include "stellwerk/graph/free_group.hpp"
#include "stellwerk/graph/refinement.hpp"

namespace stellwerk::graph {

/// How much work a search may still do: a count, so that the same input gives the same result, and
/// somebody who may ask it to end.
struct SearchBudget {
  std::int64_t work = 0;  ///< arcs looked at so far
  std::int64_t most = 0;
  std::function<bool()> should_stop;

  /// Cheap enough to ask for every step.
  bool exhausted();

 private:
  std::int64_t next_poll_ = 0;
  bool stopped_ = false;
};

struct CycleSearchOptions {
  bool displacement = true;  ///< every point must lie to its image as the first one does
  int turn = 0;              ///< which kind of second step to take, see `turns`
  int tries = 3;             ///< candidates a choice
  int failures = 3;          ///< dead ends before the search gives up
  bool shuffle = false;
  bool rotate_others = true;      ///< prefer long cycles for vertices that are no points, too
  bool any_automorphism = false;  ///< whether the group grows freely is for the caller to see
};

class CycleSearch {
 public:
  /// Symmetries of `graph` that permute the orbits of `group` and look at arcs from every vertex to
  /// its images under `neighbours`, as `arcs` says. `most`: the order that the group may reach, a
  /// multiple of its order. What is passed must outlive it.
  CycleSearch(const ColouredGraph& graph, const FreeGroup& group,
              const std::vector<VertexPermutation>& neighbours, RefinementGraph::Arcs arcs,
              int start, std::int64_t most, SearchBudget& budget, Rng& rng);
  ~CycleSearch();

  /// Cells of points that `start`'s individualisation leaves: two points in one of them look alike
  /// from there.
  const OrderedPartition& seen_from_start() const;
  /// Whether a symmetry may take `start` to `to`, by its trace.
  bool possible(int to);

  struct Found {
    VertexPermutation symmetry;
    std::int64_t index;  ///< by how much the group grows (any_automorphism: 0)
  };
  std::optional<Found> run(int to, const CycleSearchOptions& options);

  /// How many kinds of second step the last run could choose from: the images of `to`, by how they
  /// look from `start`.
  int turns() const { return turns_; }

 private:
  class Run;

  const ColouredGraph& graph_;
  const FreeGroup& group_;
  RefinementGraph refinement_;
  int start_;
  std::int64_t most_;
  SearchBudget& budget_;
  Rng& rng_;
  OrderedPartition base_, one_, two_;
  Trace start_trace_;
  std::size_t one_mark_, two_mark_;
  int turns_ = 0;
};

}  // namespace stellwerk::graph
