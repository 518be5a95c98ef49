// The mixed-integer model of the epoch-based planners: multi-commodity flow with copy and
// store-and-forward on a time-expanded network (docs/planners.md, "milp").
#pragma once

#include <string>
#include <vector>

#include "stellwerk/lp/model.hpp"
#include "stellwerk/plan/epoch_state.hpp"

namespace stellwerk {

struct EpochModelOptions {
  bool store = true;  ///< false: a node that is no holder at the start forwards at once or never
  /// What the objective rewards; `none` is a pure feasibility problem.
  enum class Objective : std::uint8_t { none, deliveries, progress } objective = Objective::none;
  bool all_demands = true;  ///< every demand is met within the horizon (a hard constraint)
  double gamma = 0.1;  ///< progress: worth of a copy that comes nearer to a wanting destination
  bool names =
      false;  ///< F_<chunk>_<link>_<epoch>, B_<chunk>_<node>_<epoch>: for models that are exported
  int last_entry =
      kNever;  ///< GPUs and relays send in epochs up to this one only (a round and its tail)
};

/// Builds the model of `horizon` epochs from `state` and reads solutions back.
class EpochModel {
 public:
  EpochModel(const Problem& problem, const EpochGrid& grid, const EpochState& state, int horizon,
             const EpochModelOptions& options);

  /// False when some demand cannot be met within the horizon whatever the capacities (only with
  /// all_demands).
  bool reachable() const { return reachable_; }
  const lp::Model& model() const { return model_; }

  /// Entries of a solution, in ascending order.
  std::vector<EpochEntry> entries(const std::vector<double>& values) const;
  /// A complete solution from entries, for a hint; empty when an entry has no variable (too late
  /// for the horizon).
  std::vector<double> values(const std::vector<EpochEntry>& entries) const;

 private:
  /// Variables of one chunk at one place, for consecutive epochs.
  struct Range {
    int first = 0;
    int count = 0;
    lp::Variable base = 0;
    lp::Variable at(int epoch) const {
      return epoch < first || epoch >= first + count ? -1 : base + (epoch - first);
    }
  };
  Range& enters(ChunkId chunk, LinkId link) {
    return enters_[chunk.index() * links_ + link.index()];
  }
  const Range& enters(ChunkId chunk, LinkId link) const {
    return enters_[chunk.index() * links_ + link.index()];
  }
  Range& holds(ChunkId chunk, NodeId node) { return holds_[chunk.index() * nodes_ + node.index()]; }
  const Range& holds(ChunkId chunk, NodeId node) const {
    return holds_[chunk.index() * nodes_ + node.index()];
  }
  /// Epoch from which a holder at the start has the chunk; kNever for others.
  int holder_epoch(ChunkId chunk, NodeId node) const;

  double most_entries(ChunkId chunk, LinkId link) const;
  void add_variables(ChunkId chunk);
  std::string name(char letter, ChunkId chunk, std::int32_t place, int epoch) const;
  bool is_unicast(ChunkId chunk) const;
  void add_unicast_rows(ChunkId chunk);
  void add_holding_rows(ChunkId chunk);
  void add_switch_rows(ChunkId chunk);
  void add_cluster_cuts(ChunkId chunk);
  void add_capacity_rows();
  void add_node_caps();
  void add_buffer_rows();
  void add_group_rows();
  void order_equal_chunks();
  void set_objective();
  /// Terms of the arrivals of a chunk at a storing node that are usable from `epoch` on exactly.
  void arrivals(ChunkId chunk, NodeId node, int epoch, std::vector<lp::Term>& terms,
                double factor) const;
  /// Entries of a chunk on a link whose windows include `epoch`.
  void windows(ChunkId chunk, LinkId link, int epoch, std::vector<lp::Term>& terms,
               double factor) const;

  const Problem& problem_;
  const Topology& topology_;
  const EpochGrid& grid_;
  const EpochState& state_;
  int horizon_;
  EpochModelOptions options_;
  std::size_t links_;
  std::size_t nodes_;
  bool reachable_ = true;
  lp::Model model_;
  std::vector<Range> enters_, holds_;
  std::vector<std::vector<NodeId>> clusters_;
};

/// Clusters of nodes joined by fast links, for the cluster cuts: for every distinct bandwidth the
/// components of the links that have at least that much, single nodes and the whole left out.
std::vector<std::vector<NodeId>> fast_clusters(const Topology& topology);

/// Number of entry variables that a model of `horizon` epochs would have, without building it.
std::int64_t count_entries(const Problem& problem, const EpochGrid& grid, const EpochState& state,
                           int horizon);

/// The least horizon that single links, latencies and slot counts into GPUs and clusters allow:
/// never above the length of any plan on the grid.
int least_horizon(const Problem& problem, const EpochGrid& grid, const EpochState& state);

}  // namespace stellwerk
