// JSON as our readers and writers see it: a document whose every value knows its place, so that
// each complaint names the file, the JSON pointer and the remedy in one line.
#pragma once

#include <cstdint>
#include <deque>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stellwerk/base/units.hpp"

namespace stellwerk::json {

struct Value;
struct Member;
using Array = std::span<const Value>;
using Object = std::span<const Member>;
/// An array of nothing but integers, which the columns of a plan are: 8 bytes an entry.
using Integers = std::span<const std::int64_t>;

/// An array of nothing but arrays of integers, which the links of a plan's sends are: 4 bytes an entry more.
struct Rows {
  std::vector<std::int64_t> values;
  std::vector<std::uint32_t> ends;  ///< of each row, in `values`
};

enum class Kind : std::uint8_t {
  null,
  boolean,
  integer,
  large,  ///< an integer beyond int64
  fraction,
  text,
  integers,
  rows,
  array,
  object,
};

/// 16 bytes, without an owner: what it points to lives in the document or in the text.
struct Value {
  Kind kind = Kind::null;
  std::uint32_t size = 0;  ///< of a text or a container
  union {
    std::int64_t integer = 0;  ///< also 1 for true
    std::uint64_t large;
    double fraction;
    const char* text;
    const std::int64_t* integers;
    const Rows* rows;
    const Value* array;
    const Member* object;
  };
};

struct Member {
  std::string_view key;
  Value value;
};

/// Deeper nesting is refused.
inline constexpr std::size_t kMaxDepth = 64;
/// So are texts of more values than this, numbers in arrays of integers and arrays in arrays of such not counted. In our own
/// files what the long lists hold (nodes, links, chunks, sends) is not counted either.
inline constexpr std::size_t kMaxValues = 12'000'000;
/// And objects of more keys.
inline constexpr std::size_t kMaxKeys = 1'000'000;

/// Whose a text is. Of our own it is known which lists may be long, and what their entries must have.
enum class Origin : std::uint8_t { own, foreign };

/// A parsed text, which must outlive it. Throws Error(unreadable_input): bad syntax (with line and column), a repeated
/// key, nesting deeper than kMaxDepth, too many values, long lists of entries that lack what they need (so that a
/// hundred megabytes of nonsense end before they fill the memory). Values of keys that begin with "x-" become null.
class Document {
 public:
  /// `label` is what errors call the text: a file name.
  Document(std::string_view text, const std::string& label, Origin origin = Origin::foreign);
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  const Value& root() const { return root_; }
  const std::string& label() const { return label_; }

 private:
  friend class Builder;
  /// Moves what is in `list` to where it lives as long as the document, and leaves it empty.
  template <class T>
  const T* keep(std::vector<T>& list, std::deque<std::vector<T>>& long_ones);

  Value root_;
  std::string label_;
  std::pmr::monotonic_buffer_resource arena_;  // short lists and texts with escapes
  std::deque<std::vector<std::int64_t>> integers_;
  std::deque<std::vector<Value>> arrays_;
  std::deque<std::vector<Member>> objects_;
  std::deque<Rows> rows_;
};

/// A value and the way to it. A place refers to the place that it was reached from, which must
/// outlive it (so there is no way from a temporary).
class Place {
 public:
  explicit Place(const Document& document) : document_(&document), value_(document.root()) {}

  /// Throws Error(unreadable_input) "label: pointer: what".
  [[noreturn]] void fail(const std::string& what) const;
  std::string pointer() const;
  /// "an integer", "a string", ...
  std::string kind() const;

  bool is_null() const;
  bool is_text() const;
  bool is_array() const;
  bool is_object() const;

  // Typed reads. Each fails, naming what was found, if the value is of another type.
  std::string_view text() const;  ///< lives as long as the document and its text
  bool boolean() const;
  std::int64_t integer() const;
  std::int64_t integer(std::int64_t low, std::int64_t high) const;
  std::uint64_t unsigned_integer() const;
  double number() const;
  /// A whole number of base units that is not negative, or a string with a unit.
  Time time() const;
  Bytes bytes() const;
  Bandwidth bandwidth() const;  ///< positive

  /// Arrays.
  std::size_t size() const;
  Place operator[](std::size_t index) const&;
  Place operator[](std::size_t index) const&& = delete;
  Integers integers() const;

  /// Objects. Fails unless this is one whose keys are all in `known` or begin with "x-".
  void expect_keys(const std::vector<std::string_view>& known) const;
  Object members() const;
  std::optional<Place> find(std::string_view key) const&;  ///< null counts as a value
  Place at(std::string_view key) const&;                   ///< fails if it is missing
  Place member(std::size_t index) const&;
  std::optional<Place> find(std::string_view key) const&& = delete;
  Place at(std::string_view key) const&& = delete;
  Place member(std::size_t index) const&& = delete;

 private:
  Place(const Place& parent, std::string_view key, std::size_t index, const Value& value)
      : document_(parent.document_), parent_(&parent), key_(key), index_(index), value_(value) {}

  const Document* document_;
  const Place* parent_ = nullptr;
  std::string_view key_;   // of a member
  std::size_t index_ = 0;  // of an element
  Value value_;
};

/// A key as it stands in a JSON pointer, on one line.
std::string escaped(std::string_view key);

/// Fails unless the document's "format" is `expected`.
void expect_format(const Place& root, std::string_view expected);

/// A JSON string literal. Bytes that are not UTF-8 become U+FFFD.
std::string quote(std::string_view text);
/// The shortest number that reads back as `value`; null for what JSON cannot say.
std::string number(double value);

}  // namespace stellwerk::json
