#include "tool/arguments.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk::tool {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::usage, message); }

std::vector<std::string> split_names(const std::string& names) {
  std::vector<std::string> result;
  std::size_t begin = 0;
  while (begin <= names.size()) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    result.push_back(names.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

/// `text` broken at blanks into lines of at most `width` characters; all but the first begin in
/// `column`.
std::string wrapped(const std::string& text, std::size_t column, std::size_t width) {
  std::string result;
  std::size_t line = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (line > 0 && line + 1 + end - begin > width) {
      result += "\n" + std::string(column, ' ');
      line = 0;
    } else if (line > 0) {
      result += ' ';
      ++line;
    }
    result.append(text, begin, end - begin);
    line += end - begin;
    begin = end + 1;
  }
  return result;
}

/// Stands for the missing value of an option that may stand alone; nobody types it.
constexpr const char* kAlone = "\x01";

/// The part of "--size=64M" before the equals sign.
std::string option_word(const std::string& word) { return word.substr(0, word.find('=')); }

}  // namespace

void Arguments::value(ArgumentRow row, std::optional<std::string>& target) {
  declared_.push_back({.row = std::move(row), .value = &target});
}

void Arguments::optional_value(ArgumentRow row, std::optional<std::string>& target) {
  declared_.push_back({.row = std::move(row), .value = &target, .may_be_empty = true});
}

void Arguments::flag(ArgumentRow row, bool& target) {
  declared_.push_back({.row = std::move(row), .flag = &target});
}

void Arguments::values(ArgumentRow row, std::vector<std::string>& target) {
  declared_.push_back({.row = std::move(row), .values = &target});
}

void Arguments::operand(ArgumentRow row, std::string& target) {
  declared_.push_back({.row = std::move(row), .operand = &target});
}

void Arguments::operands(ArgumentRow row, std::vector<std::string>& target) {
  declared_.push_back({.row = std::move(row), .operands = &target});
}

void Arguments::parse(const std::string& command, const std::vector<std::string>& words) const {
  const std::string see = "; see 'stellwerk " + command + " --help'";
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();  // reported below, with a suggestion, before anything that is missing
  std::vector<std::pair<const Declared*, CLI::Option*>> options;
  for (const Declared& declared : declared_) {
    if (declared.is_operand()) continue;
    const bool valued = declared.value != nullptr || declared.values != nullptr;
    CLI::Option* option =
        valued ? app.add_option(declared.row.names) : app.add_flag(declared.row.names);
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    if (valued) option->type_size(1)->expected(1);
    options.emplace_back(&declared, option);
  }

  // An option that may stand alone takes a value only after an equals sign, never the next word.
  std::vector<std::string> reversed(words.rbegin(), words.rend());
  for (const Declared& declared : declared_) {
    if (!declared.may_be_empty) continue;
    for (const std::string& name : split_names(declared.row.names)) {
      std::replace(reversed.begin(), reversed.end(), name, name + "=" + kAlone);
    }
  }
  try {
    app.parse(reversed);
  } catch (const CLI::ArgumentMismatch& mismatch) {
    // The only mismatch there can be: an option at the very end, without its value.
    const std::string text = mismatch.what();
    const std::string name = text.substr(0, text.find(':'));
    for (const auto& [declared, option] : options) {
      const std::vector<std::string> names = split_names(declared->row.names);
      if (std::find(names.begin(), names.end(), name) != names.end()) {
        refuse(name + " needs a value, as in '" + declared->row.example + "'");
      }
    }
    refuse(text + see);
  } catch (const CLI::ParseError& error) {
    std::string text = error.what();
    std::replace(text.begin(), text.end(), '\n', ' ');
    refuse(text + see);
  }

  std::vector<std::string> operand_words;
  for (const std::string& word : app.remaining()) {
    if (word == "--") continue;
    if (word.size() < 2 || word.front() != '-') {
      operand_words.push_back(word);
      continue;
    }
    std::vector<std::string> known = {"--help"};
    for (const Declared& declared : declared_) {
      if (declared.is_operand()) continue;
      for (std::string& name : split_names(declared.row.names)) known.push_back(std::move(name));
    }
    const std::string unknown = option_word(word);
    const std::string guess = did_you_mean(unknown, {known.begin(), known.end()});
    refuse("unknown option " + in_quotes(unknown) + (guess.empty() ? see : guess));
  }

  for (const auto& [declared, option] : options) {
    const std::string name = split_names(declared->row.names).back();
    if (declared->flag != nullptr) {
      if (option->count() > 0) *declared->flag = true;
      continue;
    }
    const std::vector<std::string>& results = option->results();
    if (declared->values != nullptr) {
      *declared->values = results;
      continue;
    }
    if (results.size() > 1) refuse(name + " is given twice: give it once");
    if (results.empty()) continue;
    if (results.front().empty())
      refuse(name + " needs a value, as in '" + declared->row.example + "'");
    *declared->value = declared->may_be_empty && results.front() == kAlone ? "" : results.front();
  }

  std::size_t next = 0;
  for (const Declared& declared : declared_) {
    if (!declared.is_operand()) continue;
    if (next == operand_words.size()) {
      refuse(in_quotes(command).append(" needs ").append(declared.row.names).append(see));
    }
    if (declared.operand != nullptr) {
      *declared.operand = operand_words[next++];
    } else {
      declared.operands->assign(operand_words.begin() + static_cast<std::ptrdiff_t>(next),
                                operand_words.end());
      next = operand_words.size();
    }
  }
  if (next < operand_words.size())
    refuse("unexpected argument " + in_quotes(operand_words[next]) + see);
}

std::vector<std::pair<std::string, std::string>> Arguments::given() const {
  std::vector<std::pair<std::string, std::string>> result;
  for (const Declared& declared : declared_) {
    const bool found = declared.value != nullptr ? declared.value->has_value()
                                                 : declared.flag != nullptr && *declared.flag;
    if (!found) continue;
    result.emplace_back(split_names(declared.row.names).back(),
                        declared.value != nullptr ? **declared.value : "");
  }
  return result;
}

std::string Arguments::operand_usage() const {
  std::string result;
  for (const Declared& declared : declared_) {
    if (!declared.is_operand()) continue;
    result += " " + declared.row.names + (declared.operands != nullptr ? "..." : "");
  }
  return result;
}

std::string Arguments::help() const {
  constexpr std::size_t kColumn = 28;
  std::string result;
  for (const bool operands : {true, false}) {
    bool first = true;
    for (const Declared& declared : declared_) {
      if (declared.is_operand() != operands) continue;
      if (first) result += operands ? "\nOperands:\n" : "\nOptions:\n";
      first = false;
      std::string left = "  " + declared.row.names;
      for (std::size_t at = left.find(','); at != std::string::npos; at = left.find(',', at + 2)) {
        left.insert(at + 1, " ");
      }
      if (!declared.is_operand() && !declared.row.placeholder.empty()) {
        left += declared.may_be_empty ? "[=" + declared.row.placeholder + "]"
                                      : " " + declared.row.placeholder;
      }
      left += left.size() + 2 > kColumn ? "\n" + std::string(kColumn, ' ')
                                        : std::string(kColumn - left.size(), ' ');
      result += left + wrapped(declared.row.description, kColumn, 100 - kColumn) + "\n";
      result += std::string(kColumn, ' ') + "e.g. " + declared.row.example + "\n";
    }
  }
  return result;
}

}  // namespace stellwerk::tool
