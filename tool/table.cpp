#include "tool/table.hpp"

#include <algorithm>

namespace stellwerk::tool {
namespace {

std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

}  // namespace

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    // A last cell is not followed by anything, so it may be as long as it likes.
    for (std::size_t i = 0; i + 1 < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string result;
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      result += row[i];
      if (i + 1 < row.size()) result += std::string(widths[i] - width(row[i]) + 2, ' ');
    }
    while (!result.empty() && result.back() == ' ') result.pop_back();
    result += '\n';
  }
  return result;
}

}  // namespace stellwerk::tool
