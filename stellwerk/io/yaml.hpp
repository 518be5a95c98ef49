// The part of YAML that files about clusters are written in: block mappings and sequences, lists in brackets and
// mappings in braces on one line, plain and quoted words, comments.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stellwerk::yaml {

struct Member;

struct Value {
  enum class Kind : unsigned char { null, scalar, sequence, mapping };
  Kind kind = Kind::null;
  std::size_t line = 0;  ///< from 1
  std::string text;      ///< of a scalar, without its quotes
  std::vector<Value> items;
  std::vector<Member> members;  ///< in the order of the file, every key once

  /// The member of a mapping; nullptr if there is none or this is no mapping.
  const Value* find(std::string_view key) const;
};

struct Member {
  std::string key;
  Value value;
};

/// Deeper nesting is refused, and so are files of more values: a value takes some 100 bytes.
inline constexpr std::size_t kMaxDepth = 64;
inline constexpr std::size_t kMaxValues = 2'000'000;

/// Throws Error(unreadable_input) "file:line: what": bad syntax, a repeated key, and what is not in our part of YAML
/// (anchors, aliases, tags, texts over several lines, several documents).
Value parse(std::string_view text, const std::string& file);

}  // namespace stellwerk::yaml
