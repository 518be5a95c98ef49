// The names under which a model's variables and rows appear in exported files.
#pragma once

#include <string>
#include <vector>

#include "stellwerk/lp/model.hpp"

namespace stellwerk::lp {

struct ExportNames {
  std::vector<std::string> variables;
  std::vector<std::string> rows;
};

/// Unique over variables and rows, and legal in .mps and .lp files: letters, digits, '_' and '.',
/// never the beginning of a number or a keyword. A legal name that the model gives stays as it is;
/// an unnamed variable is "x<index>", an unnamed row "c<index>". Depends on the model only, so that
/// a solution file can be matched to it later.
ExportNames export_names(const Model& model);

}  // namespace stellwerk::lp
