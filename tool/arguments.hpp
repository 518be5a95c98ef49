// What a subcommand accepts, as rows: from them follow parsing, help and suggestions. The one file
// behind this header is the only one that knows the command line library.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stellwerk::tool {

/// One option or operand. Every option shows an example in the help.
struct ArgumentRow {
  std::string names;        ///< "--size", "-o,--output"; for an operand its placeholder: "PLAN"
  std::string placeholder;  ///< "SIZE"; empty for a flag
  std::string description;
  std::string example;  ///< what one would type: "--size 64M"
};

/// The declared arguments of one subcommand; `parse` fills the variables that were bound.
class Arguments {
 public:
  void value(ArgumentRow row, std::optional<std::string>& target);
  /// May stand alone, and is then empty: "--cache", "--cache=FILE".
  void optional_value(ArgumentRow row, std::optional<std::string>& target);
  void flag(ArgumentRow row, bool& target);
  /// An option that may be given several times, in the order of the command line.
  void values(ArgumentRow row, std::vector<std::string>& target);
  /// Operands are taken in the order of declaration; `operands` (one or more) must be the last.
  void operand(ArgumentRow row, std::string& target);
  void operands(ArgumentRow row, std::vector<std::string>& target);

  /// Throws Error(usage): unknown option (with the nearest known one), missing or repeated value,
  /// missing operand.
  void parse(const std::string& command, const std::vector<std::string>& words) const;

  /// The options that parse() found, by their longest names, with their values ("" for flags), in
  /// the order of declaration. The bound variables must still be there.
  std::vector<std::pair<std::string, std::string>> given() const;

  /// The part of the help that lists operands and options.
  std::string help() const;
  /// "PLAN..." as in a usage line.
  std::string operand_usage() const;

 private:
  struct Declared {
    ArgumentRow row;
    std::optional<std::string>* value = nullptr;
    bool may_be_empty = false;
    bool* flag = nullptr;
    std::vector<std::string>* values = nullptr;
    std::string* operand = nullptr;
    std::vector<std::string>* operands = nullptr;

    bool is_operand() const { return operand != nullptr || operands != nullptr; }
  };
  std::vector<Declared> declared_;
};

}  // namespace stellwerk::tool
