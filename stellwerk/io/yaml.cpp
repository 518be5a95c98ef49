#include "stellwerk/io/yaml.hpp"

#include <algorithm>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk::yaml {
namespace {

constexpr std::string_view kBlanks = " \t\r";

/// Where the quoted text that begins at `at` ends (its closing quote), or npos.
std::size_t closing_quote(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (std::size_t k = at + 1; k < text.size(); ++k) {
    if (quote == '"' && text[k] == '\\') {
      ++k;
    } else if (text[k] == quote) {
      if (quote == '"' || k + 1 >= text.size() || text[k + 1] != '\'') return k;
      ++k;  // '' is an apostrophe
    }
  }
  return std::string_view::npos;
}

/// A quote opens a quoted word only where a word may begin.
bool opens_quote(std::string_view text, std::size_t at) {
  if (text[at] != '"' && text[at] != '\'') return false;
  return at == 0 || std::string_view(" \t[{,:").find(text[at - 1]) != std::string_view::npos;
}

/// Without its comment.
std::string_view without_comment(std::string_view line) {
  for (std::size_t k = 0; k < line.size(); ++k) {
    if (line[k] == '#' && (k == 0 || line[k - 1] == ' ' || line[k - 1] == '\t'))
      return line.substr(0, k);
    if (opens_quote(line, k)) {
      const std::size_t close = closing_quote(line, k);
      if (close == std::string_view::npos) return line;
      k = close;
    }
  }
  return line;
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : rest_(text), file_(file) { advance(); }

  Value parse() {
    if (!ended_ && content_.starts_with("---")) {
      if (content_ != "---") fail("a document's beginning '---' has to stand alone");
      advance();
    }
    if (ended_) fail("there is nothing in it");
    Value value = node(indent_, 0);
    if (!ended_) fail(in_quotes(content_) + " belongs to nothing: look at how it is indented");
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::unreadable_input,
                one_line(file_) + ":" + std::to_string(line_) + ": " + what);
  }

  Value make(Value::Kind kind) {
    if (++values_ > kMaxValues) fail("more than " + std::to_string(kMaxValues) + " values");
    Value value;
    value.kind = kind;
    value.line = line_;
    return value;
  }

  /// To the next line that holds something.
  void advance() {
    while (!rest_.empty()) {
      const std::string_view line = without_comment(take_line(rest_));
      ++line_;
      const std::size_t start = line.find_first_not_of(kBlanks);
      if (start == std::string_view::npos) continue;
      if (line.substr(0, start).find('\t') != std::string_view::npos)
        fail("a tab in the indentation: write blanks");
      indent_ = start;
      content_ = trimmed(line);
      return;
    }
    ended_ = true;
  }

  bool is_item() const { return content_ == "-" || content_.starts_with("- "); }

  /// Where the colon of "key: value" or "key:" is, or npos.
  static std::size_t key_end(std::string_view content) {
    std::size_t k = 0;
    if (!content.empty() && (content[0] == '"' || content[0] == '\'')) {
      k = closing_quote(content, 0);
      if (k == std::string_view::npos) return k;
      ++k;
      return k < content.size() && content[k] == ':' ? k : std::string_view::npos;
    }
    if (!content.empty() && (content[0] == '[' || content[0] == '{')) return std::string_view::npos;
    for (; k < content.size(); ++k) {
      if (content[k] == ':' && (k + 1 == content.size() || content[k + 1] == ' ')) return k;
    }
    return std::string_view::npos;
  }

  /// What begins with the current line, all of whose lines are indented by `indent`.
  Value node(std::size_t indent, std::size_t depth) {
    if (depth > kMaxDepth) fail("nested more than " + std::to_string(kMaxDepth) + " deep");
    if (is_item()) return sequence(indent, depth);
    if (key_end(content_) != std::string_view::npos) return mapping(indent, depth);
    Value value = inline_value(content_, depth);
    advance();
    return value;
  }

  Value sequence(std::size_t indent, std::size_t depth) {
    Value result = make(Value::Kind::sequence);
    while (!ended_ && indent_ == indent && is_item()) {
      const std::string_view rest = trimmed(content_.substr(1));
      if (!rest.empty()) {
        // "- key: 1" is a mapping that is indented as far as its first key.
        indent_ += static_cast<std::size_t>(rest.data() - content_.data());
        content_ = rest;
        result.items.push_back(node(indent_, depth + 1));
      } else {
        advance();
        const bool nested = !ended_ && indent_ > indent;
        result.items.push_back(nested ? node(indent_, depth + 1) : make(Value::Kind::null));
      }
    }
    return result;
  }

  Value mapping(std::size_t indent, std::size_t depth) {
    Value result = make(Value::Kind::mapping);
    while (!ended_ && indent_ == indent && !is_item()) {
      const std::size_t colon = key_end(content_);
      if (colon == std::string_view::npos)
        fail(in_quotes(content_) + " is not of the form 'key: value'");
      std::string key = scalar(trimmed(content_.substr(0, colon))).text;
      const std::string_view rest = trimmed(content_.substr(colon + 1));
      if (!rest.empty()) {
        Value value = inline_value(rest, depth + 1);
        advance();
        result.members.push_back({std::move(key), std::move(value)});
        continue;
      }
      Value value = make(Value::Kind::null);
      advance();
      // The items of a list may stand as far left as its key.
      if (!ended_ && (indent_ > indent || (indent_ == indent && is_item())))
        value = node(indent_, depth + 1);
      result.members.push_back({std::move(key), std::move(value)});
    }
    check_keys(result);
    return result;
  }

  void check_keys(const Value& mapping) {
    std::vector<std::pair<std::string_view, std::size_t>> keys;
    for (const auto& [key, value] : mapping.members) keys.emplace_back(key, value.line);
    std::sort(keys.begin(), keys.end());
    for (std::size_t k = 1; k < keys.size(); ++k) {
      if (keys[k].first != keys[k - 1].first) continue;
      line_ = keys[k].second;
      fail("key " + in_quotes(keys[k].first) + " is there twice");
    }
  }

  /// A word, or a list or a mapping that ends on its line.
  Value inline_value(std::string_view text, std::size_t depth) {
    if (text[0] != '[' && text[0] != '{') return scalar(text);
    std::size_t at = 0;
    Value value = flow(text, at, depth);
    if (at != text.size()) fail(in_quotes(text.substr(at)) + " follows the end of a list");
    return value;
  }

  static void skip_blanks(std::string_view text, std::size_t& at) {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  }

  Value flow(std::string_view text, std::size_t& at, std::size_t depth) {
    if (depth > kMaxDepth) fail("nested more than " + std::to_string(kMaxDepth) + " deep");
    const bool list = text[at] == '[';
    const char close = list ? ']' : '}';
    Value result = make(list ? Value::Kind::sequence : Value::Kind::mapping);
    ++at;
    while (true) {
      skip_blanks(text, at);
      if (at < text.size() && text[at] == close) break;
      if (list) {
        result.items.push_back(flow_value(text, at, depth));
      } else {
        std::string key = flow_value(text, at, depth).text;
        if (at >= text.size() || text[at] != ':')
          fail("a colon is missing after " + in_quotes(key));
        ++at;
        skip_blanks(text, at);
        Value value = flow_value(text, at, depth);
        result.members.push_back({std::move(key), std::move(value)});
      }
      skip_blanks(text, at);
      if (at < text.size() && text[at] == ',') {
        ++at;
      } else if (at >= text.size() || text[at] != close) {
        fail(std::string("'") + close +
             "' is missing: lists and mappings have to end on their line");
      }
    }
    ++at;
    skip_blanks(text, at);
    if (!list) check_keys(result);
    return result;
  }

  Value flow_value(std::string_view text, std::size_t& at, std::size_t depth) {
    if (at >= text.size()) fail("a list or mapping has to end on its line");
    if (text[at] == '[' || text[at] == '{') return flow(text, at, depth + 1);
    std::size_t end = at;
    if (text[at] == '"' || text[at] == '\'') {
      end = closing_quote(text, at);
      if (end == std::string_view::npos) fail("a quote is not closed");
      ++end;
    } else {
      while (end < text.size() &&
             std::string_view(",[]{}").find(text[end]) == std::string_view::npos &&
             !(text[end] == ':' && (end + 1 == text.size() || text[end + 1] == ' ')))
        ++end;
    }
    const std::string_view word = trimmed(text.substr(at, end - at));
    at = end;
    skip_blanks(text, at);
    if (word.empty()) fail("an entry of a list is empty");
    return scalar(word);
  }

  Value scalar(std::string_view text) {
    if (text.empty()) fail("a key is missing before ':'");
    if (text[0] == '"' || text[0] == '\'') return quoted(text);
    if (std::string_view("&*!|>%@`").find(text[0]) != std::string_view::npos)
      fail(
          in_quotes(text) +
          " is YAML that is not read here (anchors, tags, texts over several lines): write it out");
    if (text[0] == '?' && text.size() > 1 && text[1] == ' ')
      fail("'? key' is not read here: write 'key:'");
    const bool null = text == "~" || text == "null";
    Value value = make(null ? Value::Kind::null : Value::Kind::scalar);
    if (!null) value.text = text;
    return value;
  }

  Value quoted(std::string_view text) {
    const std::size_t close = closing_quote(text, 0);
    if (close == std::string_view::npos) fail("a quote is not closed on its line");
    if (close + 1 != text.size())
      fail(in_quotes(text.substr(close + 1)) + " follows a quoted word");
    Value value = make(Value::Kind::scalar);
    for (std::size_t k = 1; k < close; ++k) {
      if (text[0] == '\'') {
        value.text += text[k];
        if (text[k] == '\'') ++k;
      } else if (text[k] != '\\') {
        value.text += text[k];
      } else {
        ++k;
        const std::size_t known = std::string_view("\"\\/nt").find(text[k]);
        if (known == std::string_view::npos)
          fail("'\\" + one_line(text.substr(k, 1)) + "' is not read here");
        value.text += "\"\\/\n\t"[known];
      }
    }
    return value;
  }

  std::string_view rest_;
  const std::string& file_;
  std::size_t line_ = 0, indent_ = 0, values_ = 0;
  std::string_view content_;  // of the current line, trimmed
  bool ended_ = false;
};

}  // namespace

const Value* Value::find(std::string_view key) const {
  const auto found = std::find_if(members.begin(), members.end(),
                                  [&](const Member& member) { return member.key == key; });
  return found == members.end() ? nullptr : &found->value;
}

Value parse(std::string_view text, const std::string& file) { return Parser(text, file).parse(); }

}  // namespace stellwerk::yaml
