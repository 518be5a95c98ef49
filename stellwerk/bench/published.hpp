// The published results of TE-CCL, and ours beside them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stellwerk/bench/cells.hpp"

namespace stellwerk {

/// One instance: the best of what was published for it.
struct PublishedInstance {
  std::string topology;  ///< as published: "NDv2"
  std::int64_t chassis = 0;
  Collective collective = Collective::allgather;
  std::string label;  ///< the published output size: "64KB"
  double finish_us = 0;
  double solver_s = 0;     ///< of the solver that found it
  std::string epoch_mode;  ///< of its model
};

struct PublishedRow {
  MeasuredCase measured;
  PublishedInstance published;
  std::string group;     ///< "NDv2 x 2 AllGather"
  bool compared = true;  ///< else only reported: the true NDv2 x 2
};

/// The CSV that is carried with the project (data/teccl_published.csv).
std::string_view published_csv();

/// The instances in a CSV with the columns topology, chassis, collective, epoch_mode, output_size,
/// finish_us and solver_s, in its order, each with its least time. The early-stop rows of DGX2 are
/// left out: their chunks are twice those of the label. `name` stands in error messages. Throws
/// Error(unreadable_input) naming the line and the field.
std::vector<PublishedInstance> parse_published(std::string_view csv, const std::string& name);

/// What we plan for them, in the order of planning: as it was published (15 ranks for NDv2 x 2), and
/// the true NDv2 x 2.
std::vector<PublishedRow> published_rows(const std::vector<PublishedInstance>& instances,
                                         const Case& common);

/// Our transfer time over the published one, where both are there.
std::optional<double> published_ratio(const PublishedRow& row);
/// Our transfer time over the bound.
std::optional<double> bound_ratio(const PublishedRow& row);

/// At or below the published time; or, where that is below a valid bound, within 0.05% of the
/// bound.
bool keeps_up(const PublishedRow& row);

const std::vector<Column<PublishedRow>>& published_columns();

/// Geometric means by group, and over the groups of a machine and collective together.
struct PublishedSummary {
  std::string group;
  std::size_t rows = 0;  ///< with a plan
  std::optional<double> to_bound, to_published;
  double worst_to_bound = 0;
  std::size_t behind = 0;    ///< rows that do not keep up
  double solver_time_s = 0;  ///< of all
};
std::vector<PublishedSummary> summarise(const std::vector<PublishedRow>& rows);
const std::vector<Column<PublishedSummary>>& published_summary_columns();

}  // namespace stellwerk
