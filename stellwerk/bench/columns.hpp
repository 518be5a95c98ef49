// Tables for files: one description of the columns, two formats.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace stellwerk {

/// A column of a table over rows of type Row. For people a cell is `text`; for programs it is
/// `value`, a plain number or word under the name `key`.
template <class Row>
struct Column {
  std::string heading;  ///< empty: the column is for programs only
  std::string key;      ///< empty: the column is for people only
  std::function<std::string(const Row&)> text;
  std::function<std::string(const Row&)> value;
};

/// A field of a CSV file: quoted where it has to be (RFC 4180).
std::string csv_field(const std::string& text);
/// A cell of a Markdown table: one line, bars escaped.
std::string markdown_cell(const std::string& text);

template <class Row>
std::string csv_header(const std::vector<Column<Row>>& columns) {
  std::string line;
  for (const Column<Row>& column : columns) {
    if (!column.key.empty()) line += (line.empty() ? "" : ",") + csv_field(column.key);
  }
  return line + "\n";
}

template <class Row>
std::string csv_line(const std::vector<Column<Row>>& columns, const Row& row) {
  std::string line;
  bool first = true;
  for (const Column<Row>& column : columns) {
    if (column.key.empty()) continue;
    if (!first) line += ',';
    first = false;
    line += csv_field((column.value ? column.value : column.text)(row));
  }
  return line + "\n";
}

/// The cells of a line for people; with a null row, the headings.
template <class Row>
std::vector<std::string> cells(const std::vector<Column<Row>>& columns, const Row* row) {
  std::vector<std::string> result;
  for (const Column<Row>& column : columns) {
    if (column.heading.empty()) continue;
    result.push_back(row == nullptr ? column.heading
                                    : (column.text ? column.text : column.value)(*row));
  }
  return result;
}

/// One line of a Markdown table.
std::string markdown_line(const std::vector<std::string>& cells);
/// The line under the headings.
std::string markdown_rule(std::size_t columns);

template <class Row>
std::string markdown(const std::vector<Column<Row>>& columns, const std::vector<Row>& rows) {
  const std::vector<std::string> headings = cells<Row>(columns, nullptr);
  std::string text = markdown_line(headings) + markdown_rule(headings.size());
  for (const Row& row : rows) text += markdown_line(cells(columns, &row));
  return text;
}

template <class Row>
std::string csv(const std::vector<Column<Row>>& columns, const std::vector<Row>& rows) {
  std::string text = csv_header(columns);
  for (const Row& row : rows) text += csv_line(columns, row);
  return text;
}

}  // namespace stellwerk
