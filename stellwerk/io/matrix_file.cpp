#include "stellwerk/io/matrix_file.hpp"

#include <algorithm>
#include <cstdint>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/file.hpp"
#include "stellwerk/io/json.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

[[noreturn]] void refuse_row(const std::string& label, std::size_t row, std::size_t entries,
                             const std::string& rows) {
  throw Error(ErrorCode::unreadable_input,
              one_line(label) + ": row " + std::to_string(row) + " has " + std::to_string(entries) +
                  " entries, and there are " + rows + " rows: give one of each for every rank");
}

ByteMatrix parse_json(std::string_view text, const std::string& label) {
  const json::Document document(text, label);
  const json::Place root(document);
  if (root.size() > 0) {
    const json::Place first = root[0];
    if (first.size() != root.size())
      refuse_row(label, 1, first.size(), std::to_string(root.size()));
  }
  ByteMatrix matrix(root.size());
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    const json::Place row = root[i];
    matrix[i].resize(row.size());
    for (std::size_t j = 0; j < matrix[i].size(); ++j) matrix[i][j] = row[j].bytes();
  }
  return matrix;
}

ByteMatrix parse_csv(std::string_view text, const std::string& label) {
  ByteMatrix matrix;
  std::size_t line_number = 0;
  while (!text.empty()) {
    ++line_number;
    std::string_view line = take_line(text);
    line = line.substr(0, line.find('#'));
    std::vector<Bytes> row;
    constexpr std::string_view kApart = ",; \t\r";
    for (std::size_t at = line.find_first_not_of(kApart); at != std::string_view::npos;) {
      const std::size_t stop = std::min(line.find_first_of(kApart, at), line.size());
      const std::string_view word = line.substr(at, stop - at);
      const auto value = whole_number<std::int64_t>(word);
      if (!value || *value < 0) {
        throw Error(ErrorCode::unreadable_input,
                    one_line(label) + ": line " + std::to_string(line_number) + ", entry " +
                        std::to_string(row.size() + 1) + ": " + in_quotes(word) +
                        " is no number of bytes: write whole numbers from 0 on");
      }
      row.push_back(Bytes{*value});
      at = line.find_first_not_of(kApart, stop);
    }
    if (row.empty()) continue;
    // Before memory is filled.
    if (!matrix.empty() && matrix.size() >= matrix[0].size())
      refuse_row(label, 1, matrix[0].size(), "more than " + std::to_string(matrix[0].size()));
    matrix.push_back(std::move(row));
  }
  return matrix;
}

}  // namespace

ByteMatrix parse_matrix(std::string_view text, const std::string& label) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  const bool json = begin != std::string_view::npos && (text[begin] == '[' || text[begin] == '{');
  ByteMatrix matrix = json ? parse_json(text, label) : parse_csv(text, label);
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    if (matrix[i].size() == matrix.size()) continue;
    refuse_row(label, i + 1, matrix[i].size(), std::to_string(matrix.size()));
  }
  if (matrix.empty()) {
    throw Error(ErrorCode::unreadable_input,
                one_line(label) + ": holds no matrix: give a row of bytes for every rank");
  }
  return matrix;
}

ByteMatrix read_matrix(const std::string& path) { return parse_matrix(read_file(path), path); }

}  // namespace stellwerk
