#include "stellwerk/io/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk::json {
namespace {

std::string escaped(std::string_view key) {
  std::string result;
  for (const char c : key) {
    if (c == '~') {
      result += "~0";
    } else if (c == '/') {
      result += "~1";
    } else {
      result += c;
    }
  }
  return one_line(result);
}

/// What the parser says, without its code names and without the text that it had read (which may
/// be all of the file).
std::string reason_of(const std::string& what) {
  std::size_t begin = what.find("parsing ");
  begin = begin == std::string::npos ? 0 : begin + 8;
  const std::string_view rest = std::string_view(what).substr(begin);
  std::string reason(rest.substr(0, std::min(rest.find("; last read"), std::size_t{120})));
  const std::size_t expected = rest.rfind("; expected ");
  if (reason.size() < rest.size() && expected != std::string_view::npos) {
    reason += rest.substr(expected, 60);
  }
  return one_line(reason);
}

}  // namespace

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

/// Receives the parser's events and builds the document. Not recursive, so depth cannot hurt.
class Builder {
 public:
  Builder(Document& document, std::string_view text, Origin origin)
      : document_(document), text_(text), own_(origin == Origin::own) {}

  bool null() { return add({}); }
  bool boolean(bool value) { return add({value}); }
  bool number_integer(std::int64_t value) { return add({value}); }
  bool number_unsigned(std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return add({value});
    }
    return add({static_cast<std::int64_t>(value)});
  }
  bool number_float(double value, const std::string& /*text*/) { return add({value}); }
  bool string(std::string& value) { return add({std::move(value)}); }
  bool binary(std::vector<std::uint8_t>& /*value*/) { return false; }
  bool start_object(std::size_t /*size*/) { return open({Object{}}); }
  bool start_array(std::size_t /*size*/) { return open({Integers{}}); }
  bool end_array() {
    if (ignored_ > 0) return leave_ignored();
    if (const LongList* list = list_of_entry(); list && size_of(open_.back()->data) == 0)
      count_faulty(*list, "is empty");
    close();
    return true;
  }
  bool key(std::string& name) {
    if (ignored_ > 0) return true;
    ignore_next_ = name.starts_with("x-");
    const std::string_view kept = *document_.keys_.insert(std::move(name)).first;
    auto& object = std::get<Object>(open_.back()->data);
    if (object.size() >= kMaxKeys)
      fail(fmt::format("more than {} keys in one object: none of our files has them", kMaxKeys));
    object.push_back({kept, {}});
    return true;
  }
  bool end_object() {
    if (ignored_ > 0) return leave_ignored();
    const auto& object = std::get<Object>(open_.back()->data);
    refuse_repeated_keys(object);
    if (const LongList* list = list_of_entry(); list && !has(object, list->required))
      count_faulty(*list, fmt::format("lacks the key '{}'", list->required));
    close();
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) {
    const std::string_view before =
        text_.substr(0, std::min(text_.size(), position > 0 ? position - 1 : 0));
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const std::size_t newline = before.rfind('\n');
    const std::string_view head = newline == before.npos ? before : before.substr(newline + 1);
    // Columns count characters, that is, bytes that do not continue a UTF-8 sequence.
    const auto column = 1 + std::count_if(head.begin(), head.end(), [](char c) {
                          return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
                        });
    throw Error(ErrorCode::unreadable_input,
                fmt::format("{}: line {}, column {}: this is not JSON: {}", document_.label_, line,
                            column, reason_of(error.what())));
  }

 private:
  Value& add(Value value, bool /*container*/) {
    if (open_.empty()) return document_.root_ = std::move(value);
    auto& parent = open_.back()->data;
    if (auto* object = std::get_if<Object>(&parent)) {
      return object->back().value = std::move(value);
    }
    if (auto* integers = std::get_if<Integers>(&parent)) {
      count(integers->size());
      Array general;
      general.reserve(integers->size() + 1);
      for (const std::int64_t integer : *integers) general.push_back({integer});
      parent = std::move(general);
    }
    return std::get<Array>(parent).emplace_back(std::move(value));
  }

  bool add(Value value) {
    if (ignored_ > 0) return true;
    if (ignore_next_) {
      ignore_next_ = false;
      return true;
    }
    if (!open_.empty() && std::holds_alternative<std::int64_t>(value.data)) {
      if (auto* integers = std::get_if<Integers>(&open_.back()->data)) {
        integers->push_back(std::get<std::int64_t>(value.data));
        return true;
      }
    }
    count();
    add(std::move(value), false);
    return true;
  }

  bool open(Value value) {
    if (open_.size() + ignored_ >= kMaxDepth)
      fail(fmt::format("nested deeper than {} levels: none of our files is", kMaxDepth));
    if (ignore_next_ || ignored_ > 0) {
      ignore_next_ = false;
      ++ignored_;
      return true;
    }
    count();
    open_.push_back(&add(std::move(value), true));
    lists_.push_back(list_here());
    return true;
  }
  void close() {
    open_.pop_back();
    lists_.pop_back();
  }
  bool leave_ignored() {
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
    if (!own_ || open_.size() < 2) return nullptr;
    const auto* parent = std::get_if<Object>(&open_[open_.size() - 2]->data);
    if (!parent) return nullptr;
    const auto list = std::find_if(kLongLists.begin(), kLongLists.end(), [&](const LongList& row) {
      return row.key == parent->back().key;
    });
    return list == kLongLists.end() ? nullptr : &*list;
  }
  /// The long list of which the innermost container is an entry.
  const LongList* list_of_entry() const {
    return lists_.size() < 2 ? nullptr : lists_[lists_.size() - 2];
  }
  static bool has(const Object& object, std::string_view key) {
    return std::any_of(object.begin(), object.end(),
                       [&](const Member& member) { return member.key == key; });
  }
  static std::size_t size_of(const decltype(Value::data)& data) {
    if (const auto* integers = std::get_if<Integers>(&data)) return integers->size();
    return std::get<Array>(data).size();
  }
  void count_faulty(const LongList& list, const std::string& what) {
    if (++faulty_ > kMostFaulty)
      fail(fmt::format("this is one of more than {} entries of '{}' that are wrong: it {}",
                       kMostFaulty, list.key, what));
  }
  /// Counts a value outside entries of long lists.
  void count(std::size_t values = 1) {
    if (!lists_.empty() && (lists_.back() || list_of_entry())) return;
    values_ += values;
    if (values_ > kMaxValues)
      fail(fmt::format("more than {} values: none of our files has them here", kMaxValues));
  }

  /// JSON pointer of the innermost open container, cut where it gets long.
  std::string path() const {
    std::string result;
    for (std::size_t i = 0; i + 1 < open_.size() && i < 8; ++i) {
      const auto& data = open_[i]->data;
      if (const auto* object = std::get_if<Object>(&data)) {
        result += "/" + escaped(object->back().key);
      } else if (const auto* array = std::get_if<Array>(&data)) {
        result += "/" + std::to_string(array->size() - 1);
      }
    }
    return open_.size() > 9 ? result + "/..." : result;
  }

  void refuse_repeated_keys(const Object& object) const {
    std::vector<const char*> keys;
    keys.reserve(object.size());
    for (const Member& member : object) keys.push_back(member.key.data());
    std::sort(keys.begin(), keys.end());
    const auto repeated = std::adjacent_find(keys.begin(), keys.end());
    if (repeated == keys.end()) return;
    std::string place;
    for (std::size_t i = 0; i + 1 < open_.size(); ++i) {
      const auto& data = open_[i]->data;
      if (const auto* parent = std::get_if<Object>(&data)) {
        place += "/" + escaped(parent->back().key);
      } else if (const auto* array = std::get_if<Array>(&data)) {
        place += "/" + std::to_string(array->size() - 1);
      }
    }
    throw Error(ErrorCode::unreadable_input,
                fmt::format("{}: {}/{}: the key appears twice in one object: remove one of them",
                            document_.label_, place, escaped(*repeated)));
  }

  Document& document_;
  std::string_view text_;
  std::vector<Value*> open_;            // the containers around the next value, outermost first
  std::vector<const LongList*> lists_;  // which long list each of them is
  bool own_;
  bool ignore_next_ = false;  // the next value belongs to a key "x-..."
  std::size_t ignored_ = 0;   // containers open below such a key
  std::size_t values_ = 0, faulty_ = 0;
};

Document::Document(std::string_view text, const std::string& label, Origin origin)
    : label_(one_line(label)) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    throw Error(ErrorCode::unreadable_input, label_ + ": is empty");
  Builder builder(*this, text, origin);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
}

void Place::fail(const std::string& what) const {
  const std::string where = pointer();
  throw Error(ErrorCode::unreadable_input,
              document_->label() + ": " + (where.empty() ? "" : where + ": ") + one_line(what));
}

std::string Place::pointer() const {
  if (parent_ == nullptr) return "";
  return parent_->pointer() + "/" +
         (key_.data() != nullptr ? escaped(key_) : std::to_string(index_));
}

std::string Place::kind() const {
  if (value_ == nullptr) return "an integer";
  switch (value_->data.index()) {
    case 0:
      return "null";
    case 1:
      return std::get<bool>(value_->data) ? "true" : "false";
    case 2:
    case 3:
      return "an integer";
    case 4:
      return "a number with a fraction or an exponent";
    case 5:
      return "a string";
    case 6:
    case 7:
      return "an array";
    default:
      return "an object";
  }
}

bool Place::is_null() const {
  return value_ != nullptr && std::holds_alternative<std::monostate>(value_->data);
}
bool Place::is_text() const {
  return value_ != nullptr && std::holds_alternative<std::string>(value_->data);
}
bool Place::is_array() const {
  return value_ != nullptr && (std::holds_alternative<Integers>(value_->data) ||
                               std::holds_alternative<Array>(value_->data));
}
bool Place::is_object() const {
  return value_ != nullptr && std::holds_alternative<Object>(value_->data);
}

const std::string& Place::text() const {
  if (!is_text()) fail("must be a string, not " + kind());
  return std::get<std::string>(value_->data);
}

bool Place::boolean() const {
  if (value_ == nullptr || !std::holds_alternative<bool>(value_->data)) {
    fail("must be true or false, not " + kind());
  }
  return std::get<bool>(value_->data);
}

std::int64_t Place::integer() const {
  if (value_ == nullptr) return number_;
  if (const auto* integer = std::get_if<std::int64_t>(&value_->data)) return *integer;
  if (std::holds_alternative<std::uint64_t>(value_->data)) {
    fail("the number is too large: at most 9223372036854775807");
  }
  fail("must be a whole number, not " + kind());
}

std::int64_t Place::integer(std::int64_t low, std::int64_t high) const {
  const std::int64_t value = integer();
  if (value < low || value > high) {
    if (high == std::numeric_limits<std::int64_t>::max()) {
      fail(fmt::format("is {}, but must be at least {}", value, low));
    }
    fail(fmt::format("is {}, but must be from {} to {}", value, low, high));
  }
  return value;
}

std::uint64_t Place::unsigned_integer() const {
  if (value_ != nullptr) {
    if (const auto* large = std::get_if<std::uint64_t>(&value_->data)) return *large;
  }
  return static_cast<std::uint64_t>(integer(0, std::numeric_limits<std::int64_t>::max()));
}

double Place::number() const {
  if (value_ == nullptr) return static_cast<double>(number_);
  if (const auto* fraction = std::get_if<double>(&value_->data)) return *fraction;
  if (const auto* integer = std::get_if<std::int64_t>(&value_->data)) {
    return static_cast<double>(*integer);
  }
  if (const auto* large = std::get_if<std::uint64_t>(&value_->data)) {
    return static_cast<double>(*large);
  }
  fail("must be a number, not " + kind());
}

namespace {

/// A quantity: text with a unit, or base units.
template <class Parse>
auto quantity(const Place& place, const char* example, const char* base, Parse parse) {
  if (place.is_text()) {
    const std::string& text = place.text();
    if (!text.empty() && text.find_first_not_of("0123456789. ") == text.npos) {
      place.fail(fmt::format("{} has no unit: write it as in \"{}\", or a plain number of {}",
                             in_quotes(text), example, base));
    }
    try {
      return parse(text);
    } catch (const Error& error) {
      place.fail(error.what());
    }
  }
  if (place.kind() != "an integer") {
    place.fail(
        fmt::format("must be a string with a unit, as in \"{}\", or a whole number of {}, not {}",
                    example, base, place.kind()));
  }
  const std::int64_t value = place.integer();
  if (value < 0) place.fail(fmt::format("is {}, but must not be negative", value));
  return decltype(parse(std::string_view())){value};
}

}  // namespace

Time Place::time() const {
  return quantity(*this, "0.7us", "ps", [](std::string_view text) { return parse_time(text); });
}

Bytes Place::bytes() const {
  return quantity(*this, "64MiB", "bytes", [](std::string_view text) { return parse_bytes(text); });
}

Bandwidth Place::bandwidth() const {
  const Bandwidth result = quantity(*this, "50GB/s", "bytes/s",
                                    [](std::string_view text) { return parse_bandwidth(text); });
  if (result.bytes_per_second <= 0) fail("is 0, but a bandwidth must be positive");
  return result;
}

std::size_t Place::size() const {
  if (!is_array()) fail("must be an array, not " + kind());
  if (const auto* integers = std::get_if<Integers>(&value_->data)) return integers->size();
  return std::get<Array>(value_->data).size();
}

Place Place::operator[](std::size_t index) const& {
  if (const auto* integers = std::get_if<Integers>(&value_->data)) {
    Place result(*this, {}, index, nullptr);
    result.number_ = (*integers)[index];
    return result;
  }
  return Place(*this, {}, index, &std::get<Array>(value_->data)[index]);
}

const Integers& Place::integers() const {
  const std::size_t count = size();
  if (const auto* integers = std::get_if<Integers>(&value_->data)) return *integers;
  for (std::size_t i = 0; i < count; ++i) (*this)[i].integer();
  fail("must be an array of integers");
}

const Object& Place::members() const {
  if (!is_object()) fail("must be an object, not " + kind());
  return std::get<Object>(value_->data);
}

void Place::expect_keys(const std::vector<std::string_view>& known) const {
  for (std::size_t i = 0; i < members().size(); ++i) {
    const std::string_view key = members()[i].key;
    if (key.starts_with("x-") || std::find(known.begin(), known.end(), key) != known.end())
      continue;
    std::string remedy = did_you_mean(key, known);
    if (remedy.empty()) remedy = ": known are " + fmt::format("{}", fmt::join(known, ", "));
    member(i).fail("unknown key " + in_quotes(key) + remedy);
  }
}

std::optional<Place> Place::find(std::string_view key) const& {
  const Object& all = members();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].key == key) return member(i);
  }
  return std::nullopt;
}

Place Place::at(std::string_view key) const& {
  if (const auto found = find(key)) return *found;
  fail(fmt::format("the key '{}' is missing: add it", key));
}

Place Place::member(std::size_t index) const& {
  const Member& member = members()[index];
  return Place(*this, member.key, index, &member.value);
}

void expect_format(const Place& root, std::string_view expected) {
  root.members();
  const auto format = root.find("format");
  if (!format) {
    root.fail(fmt::format("the key 'format' is missing: expected \"format\": \"{}\"", expected));
  }
  if (format->text() != expected) {
    format->fail(
        fmt::format("this is {}, but '{}' is expected here", in_quotes(format->text()), expected));
  }
}

std::string quote(std::string_view text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
  });
  if (plain) return "\"" + std::string(text) + "\"";
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string number(double value) {
  if (!std::isfinite(value)) return "null";
  return fmt::format("{}", value);
}

}  // namespace stellwerk::json
