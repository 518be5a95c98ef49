// Hundreds of random problems: is the portfolio ever above a baseline, and how far from the bound?
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stellwerk/bench/cells.hpp"

namespace stellwerk {

struct RandomRow {
  MeasuredCase measured;
  std::string demand;  ///< "allgather of 10 MB over 12 GPUs, sendrecv of 1 KB over 2 GPUs"
};

/// Problems `first` to `first` + `count` - 1, each beside the best baseline.
std::vector<RandomRow> random_rows(const Case& common, std::uint64_t first, std::uint64_t count);

const std::vector<Column<RandomRow>>& random_columns();

/// Is a baseline better than the portfolio's plan?
bool above_baseline(const RandomRow& row);

/// The `count` rows with the largest gaps; rows without a plan first.
std::vector<RandomRow> worst(std::vector<RandomRow> rows, std::size_t count);

struct RandomSummary {
  std::size_t problems = 0, plans = 0, optimal = 0;
  std::size_t above_baseline = 0;  ///< should be none
  std::optional<double> median_gap, ninetieth_gap, largest_gap;
  /// Geometric mean of the best baseline's time over ours, where there is both.
  std::optional<double> gain;
};
RandomSummary summarise(const std::vector<RandomRow>& rows);
const std::vector<Column<RandomSummary>>& random_summary_columns();

}  // namespace stellwerk
