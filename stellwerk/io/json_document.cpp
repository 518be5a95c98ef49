// Builds a document from the events of RapidJSON.
//
// Every open container gathers its entries in a scratch list of its level; what it closes as is moved to where it is as
// long as it has to be: short lists into one arena, long ones as they are. An array begins as one of integers and becomes a
// general one, or one of rows of integers, when an entry says so. So a hundred megabytes of brackets cost some hundred
// megabytes, and a plan's columns 8 bytes a number.
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/json.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk::json {
namespace {

/// A long list of our own files by its key, and what its entries, if they are objects, must have.
struct LongList {
  std::string_view key;
  std::string_view required;
};
constexpr std::array kLongLists = {LongList{"nodes", "name"}, LongList{"links", "from"},
                                   LongList{"chunks", "bytes"}, LongList{"jobs", "name"},
                                   LongList{"op", ""}};
/// So many faulty entries are not read to the end.
constexpr std::size_t kMostFaulty = 1000;
/// Longer lists keep their own memory, in bytes.
constexpr std::size_t kLong = std::size_t{1} << 20;
/// Fewer rows than this are entries like others.
constexpr std::size_t kFewRows = 256;

Value scalar(Kind kind, std::int64_t integer) {
  Value value;
  value.kind = kind;
  value.integer = integer;
  return value;
}

}  // namespace

template <class T>
const T* Document::keep(std::vector<T>& list, std::deque<std::vector<T>>& long_ones) {
  if (list.empty()) return nullptr;
  if (list.size() * sizeof(T) >= kLong)
    return long_ones.emplace_back(std::exchange(list, {})).data();
  T* const kept = static_cast<T*>(arena_.allocate(list.size() * sizeof(T), alignof(T)));
  std::uninitialized_copy(list.begin(), list.end(), kept);
  list.clear();
  return kept;
}

/// Receives what the parser reads. The names of its events are RapidJSON's; none of them ends the reading but by throwing.
class Builder {
 public:
  Builder(Document& document, std::string_view text, Origin origin)
      : document_(document), text_(text), own_(origin == Origin::own), levels_(kMaxDepth) {}

  bool Null() { return add({}); }
  bool Bool(bool value) { return add(scalar(Kind::boolean, value ? 1 : 0)); }
  // Numbers come as their texts: RapidJSON's own conversion shifts by undefined amounts for some (0e-41).
  bool RawNumber(const char* text, unsigned size, bool /*copy*/) {
    const char* const end = text + size;
    if (std::string_view(text, size).find_first_of(".eE") == std::string_view::npos) {
      std::int64_t whole = 0;
      if (std::from_chars(text, end, whole).ec == std::errc()) return integer(whole);
      Value value;
      value.kind = Kind::large;
      if (*text != '-' && std::from_chars(text, end, value.large).ec == std::errc())
        return add(value);
    }
    Value value;
    value.kind = Kind::fraction;
    if (std::from_chars(text, end, value.fraction).ec != std::errc())
      fail("a number that is too large or too close to 0");
    return add(value);
  }
  bool Int(int /*value*/) { return false; }  // not called, nor are those below
  bool Uint(unsigned /*value*/) { return false; }
  bool Int64(std::int64_t /*value*/) { return false; }
  bool Uint64(std::uint64_t /*value*/) { return false; }
  bool Double(double /*value*/) { return false; }
  bool String(const char* text, unsigned size, bool /*copy*/) {
    if (ignored_ > 0) return true;
    const std::string_view kept = kept_text({text, size});
    Value value;
    value.kind = Kind::text;
    value.size = size;
    value.text = kept.data();
    return add(value);
  }

  bool StartObject() { return open(Form::object); }
  bool StartArray() { return open(Form::integers); }

  bool Key(const char* text, unsigned size, bool /*copy*/) {
    if (ignored_ > 0) return true;
    const std::string_view name(text, size);
    ignore_next_ = name.starts_with("x-");
    Level& level = levels_[depth_ - 1];
    if (level.members.size() >= kMaxKeys)
      fail("more than " + std::to_string(kMaxKeys) +
           " keys in one object: none of our files has them");
    level.members.push_back({kept_text(name), {}});
    return true;
  }

  bool EndObject(unsigned /*size*/) {
    if (leave_ignored()) return true;
    Level& level = levels_[depth_ - 1];
    refuse_repeated_keys(level.members);
    if (const LongList* list = list_of_entry(); list && !has(level.members, list->required))
      count_faulty(*list, "lacks the key '" + std::string(list->required) + "'");
    Value value;
    value.kind = Kind::object;
    value.size = static_cast<std::uint32_t>(level.members.size());
    value.object = document_.keep(level.members, document_.objects_);
    --depth_;
    put(value);
    return true;
  }

  bool EndArray(unsigned /*size*/) {
    if (leave_ignored()) return true;
    Level& level = levels_[depth_ - 1];
    if (const LongList* list = list_of_entry(); list && level.size() == 0)
      count_faulty(*list, "is empty");
    --depth_;
    if (level.form == Form::integers && become_row(level.integers)) return true;
    put(closed(level));
    return true;
  }

  [[noreturn]] void wrong(std::size_t offset, const std::string& what) const {
    const std::string_view before = text_.substr(0, offset);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const std::string_view head = before.substr(before.rfind('\n') + 1);
    // Columns count characters, that is, bytes that do not continue a UTF-8 sequence.
    const auto column = 1 + std::count_if(head.begin(), head.end(), [](char c) {
                          return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
                        });
    throw Error(ErrorCode::unreadable_input, document_.label_ + ": line " + std::to_string(line) +
                                                 ", column " + std::to_string(column) +
                                                 ": this is not JSON: " + what);
  }

 private:
  bool integer(std::int64_t value) {
    if (depth_ == 0 || levels_[depth_ - 1].form != Form::integers || ignored_ > 0)
      return add(scalar(Kind::integer, value));
    append(levels_[depth_ - 1].integers, value);
    return true;
  }

  enum class Form : std::uint8_t { object, integers, rows, array };

  /// An open container.
  struct Level {
    Form form = Form::object;
    const LongList* list = nullptr;  ///< which long list it is
    std::vector<std::int64_t> integers;
    Rows rows;
    std::vector<Value> array;
    std::vector<Member> members;

    std::size_t size() const {
      switch (form) {
        case Form::object:
          return members.size();
        case Form::integers:
          return integers.size();
        case Form::rows:
          return rows.ends.size();
        case Form::array:
          break;
      }
      return array.size();
    }
  };

  std::string_view kept_text(std::string_view text) {
    // RapidJSON lets the second half of a pair pass where the first is missing.
    for (std::size_t at = text.find('\xed'); at != text.npos; at = text.find('\xed', at + 1)) {
      if (static_cast<unsigned char>(text[at + 1]) >= 0xa0)
        fail("half of a surrogate pair (\\uDC00 to \\uDFFF) stands alone in a text");
    }
    char* const kept = static_cast<char*>(document_.arena_.allocate(text.size() + 1, 1));
    std::copy(text.begin(), text.end(), kept);
    return {kept, text.size()};
  }

  bool add(const Value& value) {
    if (ignored_ > 0 || std::exchange(ignore_next_, false)) return true;
    count();
    put(value);
    return true;
  }

  /// Puts a value that is complete into the container around it.
  void put(const Value& value) {
    if (depth_ == 0) {
      document_.root_ = value;
      return;
    }
    Level& level = levels_[depth_ - 1];
    if (level.form == Form::object) {
      level.members.back().value = value;
      return;
    }
    if (level.form == Form::integers && value.kind == Kind::integer) {
      append(level.integers, value.integer);
      return;
    }
    make_general(level);
    append(level.array, value);
  }

  /// Long lists grow fourfold: what is not used of them costs nothing, the old list beside the new one does.
  template <class T>
  static void append(std::vector<T>& list, const T& entry) {
    if (list.size() == list.capacity() && list.size() * sizeof(T) >= kLong)
      list.reserve(4 * list.size());
    list.push_back(entry);
  }

  /// Appends a list of integers to the container around it, if that is a list of such lists.
  bool become_row(std::vector<std::int64_t>& list) {
    // Long ones are moved, not copied.
    if (depth_ == 0 || list.size() * sizeof(std::int64_t) >= kLong) return false;
    Level& level = levels_[depth_ - 1];
    if (level.form == Form::integers && level.integers.empty()) level.form = Form::rows;
    if (level.form != Form::rows) return false;
    for (const std::int64_t integer : list) append(level.rows.values, integer);
    append(level.rows.ends, static_cast<std::uint32_t>(level.rows.values.size()));
    list.clear();
    return true;
  }

  Value closed(Level& level) {
    if (level.form == Form::rows && level.size() < kFewRows) make_general(level);
    Value value;
    value.size = static_cast<std::uint32_t>(level.size());
    if (level.form == Form::integers) {
      value.kind = Kind::integers;
      value.integers = document_.keep(level.integers, document_.integers_);
    } else if (level.form == Form::rows) {
      value.kind = Kind::rows;
      value.rows = &document_.rows_.emplace_back(std::exchange(level.rows, {}));
    } else {
      value.kind = Kind::array;
      value.array = document_.keep(level.array, document_.arrays_);
    }
    return value;
  }

  /// Makes it an array of any values.
  void make_general(Level& level) {
    if (level.form == Form::array) return;
    count(level.size());
    level.array.reserve(level.size() + 1);
    if (level.form == Form::integers) {
      for (const std::int64_t integer : level.integers)
        level.array.push_back(scalar(Kind::integer, integer));
      level.integers.clear();
    } else {
      std::uint32_t begin = 0;
      for (const std::uint32_t end : level.rows.ends) {
        std::vector<std::int64_t> row(level.rows.values.begin() + begin,
                                      level.rows.values.begin() + end);
        begin = end;
        Value value;
        value.kind = Kind::integers;
        value.size = static_cast<std::uint32_t>(row.size());
        value.integers = document_.keep(row, document_.integers_);
        level.array.push_back(value);
      }
      level.rows = {};
    }
    level.form = Form::array;
  }

  bool open(Form form) {
    if (depth_ + ignored_ >= kMaxDepth)
      fail("nested deeper than " + std::to_string(kMaxDepth) + " levels: none of our files is");
    if (ignored_ > 0 || std::exchange(ignore_next_, false)) {
      ++ignored_;
      return true;
    }
    // Rows are no values of their own: they are counted if their list turns out to be a general one.
    if (form == Form::object || depth_ == 0 || !may_hold_rows(levels_[depth_ - 1])) count();
    Level& level = levels_[depth_++];
    level.form = form;
    level.list = list_here();
    return true;
  }
  static bool may_hold_rows(const Level& level) {
    return level.form == Form::rows || (level.form == Form::integers && level.integers.empty());
  }
  bool leave_ignored() {
    if (ignored_ == 0) return false;
    --ignored_;
    return true;
  }

  [[noreturn]] void fail(const std::string& what) const {
    const std::string where = path();
    throw Error(ErrorCode::unreadable_input,
                document_.label_ + ": " + (where.empty() ? "" : where + ": ") + what);
  }

  /// The long list that the container opened last is, by the key before it; nullptr if it is none.
  const LongList* list_here() const {
    if (!own_ || depth_ < 2 || levels_[depth_ - 2].form != Form::object) return nullptr;
    const std::string_view name = levels_[depth_ - 2].members.back().key;
    const auto* list = std::find_if(kLongLists.begin(), kLongLists.end(),
                                    [&](const LongList& row) { return row.key == name; });
    return list == kLongLists.end() ? nullptr : list;
  }
  /// The long list of which the innermost container is an entry.
  const LongList* list_of_entry() const { return depth_ < 2 ? nullptr : levels_[depth_ - 2].list; }
  static bool has(Object object, std::string_view key) {
    return std::any_of(object.begin(), object.end(),
                       [&](const Member& member) { return member.key == key; });
  }
  void count_faulty(const LongList& list, const std::string& what) {
    if (++faulty_ > kMostFaulty)
      fail("this is one of more than " + std::to_string(kMostFaulty) + " entries of '" +
           std::string(list.key) + "' that are wrong: it " + what);
  }
  /// Counts a value outside entries of long lists.
  void count(std::size_t values = 1) {
    if (depth_ > 0 && (levels_[depth_ - 1].list || list_of_entry())) return;
    values_ += values;
    if (values_ > kMaxValues)
      fail("more than " + std::to_string(kMaxValues) + " values: none of our files has them here");
  }

  /// JSON pointer of the innermost open container, cut where it gets long.
  std::string path(std::size_t longest = 8) const {
    std::string result;
    for (std::size_t i = 0; i + 1 < depth_ && i < longest; ++i) {
      const Level& level = levels_[i];
      result += "/" + (level.form == Form::object ? escaped(level.members.back().key)
                                                  : std::to_string(level.size()));
    }
    return depth_ > longest + 1 ? result + "/..." : result;
  }

  void refuse_repeated_keys(Object object) const {
    constexpr std::size_t kFew = 16;
    std::string_view repeated;
    if (object.size() <= kFew) {
      for (std::size_t i = 1; i < object.size(); ++i) {
        if (has(object.first(i), object[i].key)) repeated = object[i].key;
      }
    } else {
      std::vector<std::string_view> keys;
      keys.reserve(object.size());
      for (const Member& member : object) keys.push_back(member.key);
      std::sort(keys.begin(), keys.end());
      const auto twice = std::adjacent_find(keys.begin(), keys.end());
      if (twice != keys.end()) repeated = *twice;
    }
    if (repeated.data() == nullptr) return;
    throw Error(ErrorCode::unreadable_input,
                document_.label_ + ": " + path(kMaxDepth) + "/" + escaped(repeated) +
                    ": the key appears twice in one object: remove one of them");
  }

  Document& document_;
  std::string_view text_;
  bool own_;
  std::vector<Level> levels_;  // the containers around the next value, outermost first
  std::size_t depth_ = 0;      // how many of them are open
  bool ignore_next_ = false;   // the next value belongs to a key "x-..."
  std::size_t ignored_ = 0;    // containers open below such a key
  std::size_t values_ = 0, faulty_ = 0;
};

Document::Document(std::string_view text, const std::string& label, Origin origin)
    : label_(one_line(label)) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    throw Error(ErrorCode::unreadable_input, label_ + ": is empty");
  Builder builder(*this, text, origin);
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  rapidjson::MemoryStream stream(text.data(), text.size());
  rapidjson::Reader reader;
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag |  // depth cannot hurt
                              rapidjson::kParseValidateEncodingFlag |
                              rapidjson::kParseNumbersAsStringsFlag;
  const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, builder);
  if (result.IsError()) {
    std::string_view what = rapidjson::GetParseError_En(result.Code());
    what.remove_suffix(what.ends_with('.') ? 1 : 0);
    builder.wrong(
        result.Offset(),
        std::string(what) + (result.Offset() < text.size() ? "" : " (the text ends here)"));
  }
}

}  // namespace stellwerk::json
