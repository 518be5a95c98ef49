// Fixed lists of problems: how far it scales, and beside what others publish.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stellwerk/bench/cells.hpp"

namespace stellwerk {

/// 64 to 16,384 GPUs: rails, tori, leaf-spine, fat-tree, dragonfly; AllGather, AllToAll, AllReduce.
/// Nodes are relabelled by `relabel` so that nobody can use their names; without, they are not.
std::vector<MeasuredCase> scale_cases(const Case& common, std::int64_t least_gpus,
                                      std::int64_t most_gpus, std::optional<std::int64_t> relabel);

const std::vector<Column<MeasuredCase>>& scale_columns();

/// A figure of another program: its algorithm bandwidth and the time it takes.
struct PeerFigure {
  double algbw_gb = 0;  ///< GB/s
  double seconds = 0;   ///< CPU
};

/// AllGather, and what SCCL, TACOS and ForestColl reach.
struct PeerRow {
  MeasuredCase measured;
  std::optional<PeerFigure> sccl, tacos, forestcoll;
};

std::vector<PeerRow> peer_rows(const Case& common);

/// Our algbw over the best latency-free optimum that SCCL or ForestColl name.
std::optional<double> share_of_optimum(const PeerRow& row);

const std::vector<Column<PeerRow>>& peer_columns();

}  // namespace stellwerk
