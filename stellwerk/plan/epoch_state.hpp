// Where an epoch-based planner starts from, and what it returns: holdings and entries on one grid.
#pragma once

#include <utility>
#include <vector>

#include "stellwerk/base/stop.hpp"
#include "stellwerk/core/problem.hpp"
#include "stellwerk/core/send.hpp"
#include "stellwerk/plan/epoch_grid.hpp"

namespace stellwerk {

/// A node that holds a chunk from the start of `epoch` on.
struct EpochHolder {
  NodeId node;
  int epoch = 0;

  friend bool operator==(const EpochHolder&, const EpochHolder&) = default;
};

/// A chunk enters a link in an epoch.
struct EpochEntry {
  ChunkId chunk;
  LinkId link;
  int epoch = 0;

  friend auto operator<=>(const EpochEntry&, const EpochEntry&) = default;
};

/// The state of all chunks at epoch 0 of a model.
struct EpochState {
  IdVector<ChunkId, std::vector<EpochHolder>> holders;  ///< ascending by node; each node once
  IdVector<ChunkId, std::vector<NodeId>> wanted;        ///< destinations that do not hold it yet
  /// Entries made before epoch 0 whose bytes still move then (a switch may pass one on in an epoch
  /// >= 0).
  std::vector<EpochEntry> in_flight;
};

/// The beginning: origins hold their chunks from their ready epoch on. Precondition: no reductions.
EpochState initial_state(const Problem& problem, const EpochGrid& grid);

/// The state after the first `epochs` epochs of `entries`, with time counted from there.
EpochState advance(const Problem& problem, const EpochGrid& grid, const EpochState& state,
                   const std::vector<EpochEntry>& entries, int epochs);

/// Least epochs from which each node can hold the chunk (kNever: not at all), by links and their
/// transit alone.
inline constexpr int kNever = 1 << 29;
std::vector<int> earliest_epochs(const Problem& problem, const EpochGrid& grid,
                                 const EpochState& state, ChunkId chunk);
/// Least number of epochs from each node to the nearest node of `targets`.
std::vector<int> distance_epochs(const Problem& problem, const EpochGrid& grid, Bytes bytes,
                                 const std::vector<NodeId>& targets, JobId job);

/// The epoch after the last arrival that serves a demand: the length of the plan. kNever when a
/// demand is unmet.
int completion_epoch(const Problem& problem, const EpochGrid& grid, const EpochState& state,
                     const std::vector<EpochEntry>& entries);

/// Places the sends of a schedule on the grid, in order of their starts, each at the earliest epoch
/// at which its data and its links are there: an upper bound on the epochs needed, and a starting
/// solution. Unbounded by any horizon. Keeps all limits but those of buffers. Empty when the sends
/// are pieces of chunks.
std::vector<EpochEntry> epoch_schedule(const Problem& problem, const EpochGrid& grid,
                                       const Schedule& sends);

/// Meets all remaining demands greedily on the grid: shortest paths in epochs from whoever holds
/// the chunk, around what is in use already. Never shorter than need be, but always complete where
/// every demand can be reached; empty otherwise.
std::vector<EpochEntry> greedy_on_grid(const Problem& problem, const EpochGrid& grid,
                                       const EpochState& state);

/// Assembles entries into sends with nominal starts (epoch * tau): chains and trees through
/// switches become one send each; entries that deliver nothing are dropped. What no tree can do
/// (plan/epoch_sends.cpp) is delivered at the end.
Schedule entries_to_sends(const Problem& problem, const EpochGrid& grid, const EpochState& state,
                          std::vector<EpochEntry> entries);

/// The sends of a plan on the grid, re-timed and improved: at full rates or, where that is sooner,
/// at the pace of the grid. No later than the grid has it, but for rounding to ps, dropped
/// latencies, and latencies next to switches that are no whole epochs: they cannot be waited out
/// there, so that sends may meet which do not on the grid. Where transit buffers are limited, rounded
/// latencies count, too: what comes in earlier than on the grid fills them earlier.
Schedule entries_to_plan(const Problem& problem, const EpochGrid& grid, const EpochState& state,
                         const std::vector<EpochEntry>& entries, const StopCondition& stop);

}  // namespace stellwerk
