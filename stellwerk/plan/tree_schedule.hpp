// Chunks on trees, pipelined: from packed trees to sends with times.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stellwerk/base/stop.hpp"
#include "stellwerk/core/problem.hpp"
#include "stellwerk/plan/list_schedule.hpp"
#include "stellwerk/plan/tree_packing.hpp"

namespace stellwerk {

/// Trees of one root, dealt to its chunks: entry j is the number of the tree that the j-th chunk
/// takes. Every tree gets `pieces` chunks a copy, and those of different trees alternate.
std::vector<std::size_t> deal_trees(const std::vector<graph::Arborescence>& trees, int root,
                                    std::int64_t pieces);

/// Collects the sends of chunks along trees, with who waits for whom, and schedules them.
class TreeSchedule {
 public:
  explicit TreeSchedule(const Problem& problem)
      : problem_(problem), holder_(problem.topology.nodes().size(), -1) {}

  /// The chunk spreads along the tree from its root. `position` in [0, 1]: when its turn is. `after`:
  /// sends (with latencies) that the root waits for.
  void spread(ChunkId chunk, const TreePacking& packing, const graph::Arborescence& tree,
              const std::vector<NodeId>& terminals, double position,
              const std::vector<Wait>& after = {});

  /// The chunk's parts are summed towards the root of a tree that was packed in the reversed network.
  /// Returns what the root has to wait for (as for `after`; `Wait::after` is not set).
  std::vector<Wait> gather(ChunkId chunk, const TreePacking& packing,
                           const graph::Arborescence& tree, const std::vector<NodeId>& terminals,
                           double position);

  std::size_t size() const { return sends_.size(); }

  /// What comes first: who has the longest way to go, whose turn it is, or both.
  enum class Order : std::uint8_t { way, turn, both };

  struct Aims {
    Time fluid;          ///< the length that the positions refer to
    Time target;         ///< good enough
    Time known;          ///< of another schedule that is to be beaten
    bool quick = false;  ///< fewer passes
  };

  /// The best schedule over the orders. One that comes near the best of them, and near the known one,
  /// is improved by forward-backward passes. Stops at the target.
  ListSchedule::Result schedule(std::span<const Order> orders, const Aims& aims,
                                const StopCondition& stop) const;
  Schedule with_times(const ListSchedule::Result& result) const;

 private:
  void add_send(ChunkId chunk, Op op, std::vector<LinkId> links, double position);

  const Problem& problem_;
  Schedule sends_;
  std::vector<Wait> waits_;
  std::vector<double> positions_;
  std::vector<std::int32_t> holder_;  // of the tree at hand: which send brings the chunk to a node
};

}  // namespace stellwerk
