// Reads what solvers write about a solution. The common part of their formats is a line with the
// variable's name and, right after it, its value; what stands before (CBC: a running number) and
// after (reduced costs) differs.
#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>
#include <unordered_map>

#include "stellwerk/base/error.hpp"
#include "stellwerk/lp/names.hpp"

namespace stellwerk::lp {
namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

bool parse_number(const std::string& text, double& value) {
  const char* begin = text.data() + (text[0] == '+' ? 1 : 0);
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  return error == std::errc() && stop == end && std::isfinite(value);
}

}  // namespace

std::vector<double> read_solution(const Model& model, const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    throw Error(ErrorCode::unreadable_input,
                path + ": cannot be opened; name a solution file as HiGHS, CBC or SCIP write it");
  }
  const ExportNames names = export_names(model);
  std::unordered_map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < names.variables.size(); ++i) index.emplace(names.variables[i], i);

  std::vector<double> values(model.variables(), 0.0);
  std::size_t number = 0;
  bool skip = false;        // inside a section that is not about primal column values
  bool in_columns = false;  // inside HiGHS's section of columns, where every line names a variable
  for (std::string line; std::getline(file, line);) {
    ++number;
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    if (words[0] == "#") {
      // HiGHS: "# Primal solution values", "# Columns 3", "# Rows 2", "# Dual solution values", "#
      // Basis".
      if (words.size() > 1 && (words[1] == "Dual" || words[1] == "Basis")) break;
      in_columns = words.size() > 1 && words[1] == "Columns";
      skip = words.size() > 1 && words[1] == "Rows";
      continue;
    }
    if (skip) continue;
    std::size_t at = 0;
    while (at < words.size() && index.count(words[at]) == 0) ++at;
    if (at == words.size()) {
      if (in_columns) {
        throw Error(ErrorCode::unreadable_input,
                    path + ":" + std::to_string(number) + ": '" + words[0] +
                        "' is no variable of this model; the solution belongs to another model");
      }
      continue;
    }
    double value = 0;
    if (at + 1 >= words.size() || !parse_number(words[at + 1], value)) {
      throw Error(ErrorCode::unreadable_input, path + ":" + std::to_string(number) +
                                                   ": no finite number follows variable '" +
                                                   words[at] + "'");
    }
    values[index.at(words[at])] = value;
  }
  return values;
}

}  // namespace stellwerk::lp
