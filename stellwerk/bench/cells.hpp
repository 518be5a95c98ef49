// Cells that the tables of this folder share.
#pragma once

#include <optional>
#include <string>

#include "stellwerk/bench/columns.hpp"
#include "stellwerk/bench/measurement.hpp"

namespace stellwerk {

/// A row of any table here: a case, and what came of it.
struct MeasuredCase {
  Case what;
  Measurement result;
};

/// "auto", or the planner's name.
std::string planner_label(const Case& what);

// For people; "-" where there is nothing.
std::string time_text(const std::optional<Time>& time);
std::string gap_text(const Measurement& measurement);
std::string rate_text(const std::optional<double>& bytes_per_second);
std::string seconds_text(double seconds);
/// "1.0042", for ratios.
std::string ratio_text(const std::optional<double>& ratio);

/// A double for programs: as short as it can be and still be read back.
std::string number(double value);
std::string number(const std::optional<double>& value);

/// For programs: everything that the row of a MeasuredCase says.
std::vector<Column<MeasuredCase>> plain_columns();

/// The same columns for rows that contain a MeasuredCase.
template <class Row>
std::vector<Column<Row>> lifted(const std::vector<Column<MeasuredCase>>& columns,
                                MeasuredCase Row::* part) {
  std::vector<Column<Row>> result;
  for (const Column<MeasuredCase>& column : columns) {
    Column<Row> copy{column.heading, column.key, nullptr, nullptr};
    if (column.text) copy.text = [f = column.text, part](const Row& row) { return f(row.*part); };
    if (column.value)
      copy.value = [f = column.value, part](const Row& row) { return f(row.*part); };
    result.push_back(std::move(copy));
  }
  return result;
}

}  // namespace stellwerk
