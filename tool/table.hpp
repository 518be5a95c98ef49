// Plain text tables for people.
#pragma once

#include <string>
#include <vector>

namespace stellwerk::tool {

/// Rows of cells, columns padded to the widest cell (in characters of UTF-8), two blanks between
/// them.
class Table {
 public:
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace stellwerk::tool
