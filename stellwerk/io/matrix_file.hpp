// Byte matrices of AllToAllV as files: a JSON array of rows, or CSV.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stellwerk/base/units.hpp"

namespace stellwerk {

using ByteMatrix = std::vector<std::vector<Bytes>>;

/// Entry [i][j] goes from rank i to rank j. JSON ("[[0, 4096], [8192, 0]]") or lines of CSV (commas,
/// semicolons, tabs or blanks; '#' begins a comment); entries are bytes, or in JSON strings with a
/// unit. Throws Error(unreadable_input), one line with file and place: a bad entry, rows of unequal
/// length, a matrix that is not square.
ByteMatrix read_matrix(const std::string& path);
/// `label` is what errors call the text.
ByteMatrix parse_matrix(std::string_view text, const std::string& label);

}  // namespace stellwerk
