#include "stellwerk/lp/names.hpp"

#include <cctype>
#include <set>
#include <unordered_set>

namespace stellwerk::lp {
namespace {

// Words that mean something in .lp files, in lower case.
const std::set<std::string>& keywords() {
  static const std::set<std::string> words = {
      "max",    "maximize", "maximise", "maximum", "min",      "minimize", "minimise", "minimum",
      "obj",    "subject",  "such",     "st",      "s.t.",     "st.",      "bound",    "bounds",
      "binary", "binaries", "bin",      "general", "generals", "gen",      "integer",  "integers",
      "int",    "semi",     "sos",      "sos1",    "sos2",     "free",     "inf",      "infinity",
      "end",    "rhs",      "ranges",   "nan"};
  return words;
}

std::string legal(const std::string& name) {
  std::string result;
  std::string lower;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool keep = byte < 128 && (std::isalnum(byte) || c == '_' || c == '.');
    result += keep ? c : '_';
    lower += static_cast<char>(std::tolower(byte));
  }
  // "e5" can be read as the exponent of the coefficient before it.
  const char first = lower.empty() ? '_' : lower[0];
  if (!std::isalpha(static_cast<unsigned char>(first)) || first == 'e' ||
      keywords().count(lower) > 0) {
    result = "v_" + result;
  }
  return result;
}

std::vector<std::string> make_unique(std::span<const std::string> given, char prefix,
                                     std::unordered_set<std::string>& taken) {
  std::vector<std::string> result;
  result.reserve(given.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string number = std::to_string(i);
    std::string name = given[i].empty() ? prefix + number : legal(given[i]);
    while (!taken.insert(name).second) name += "_" + number;
    result.push_back(std::move(name));
  }
  return result;
}

}  // namespace

ExportNames export_names(const Model& model) {
  std::unordered_set<std::string> taken;
  ExportNames names;
  names.variables = make_unique(model.variable_names(), 'x', taken);
  names.rows = make_unique(model.row_names(), 'c', taken);
  return names;
}

}  // namespace stellwerk::lp
