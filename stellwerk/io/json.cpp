#include "stellwerk/io/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk::json {

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
  switch (value_.kind) {
    case Kind::null:
      return "null";
    case Kind::boolean:
      return value_.integer != 0 ? "true" : "false";
    case Kind::integer:
    case Kind::large:
      return "an integer";
    case Kind::fraction:
      return "a number with a fraction or an exponent";
    case Kind::text:
      return "a string";
    case Kind::integers:
    case Kind::rows:
    case Kind::array:
      return "an array";
    case Kind::object:
      break;
  }
  return "an object";
}

bool Place::is_null() const { return value_.kind == Kind::null; }
bool Place::is_text() const { return value_.kind == Kind::text; }
bool Place::is_array() const {
  return value_.kind == Kind::integers || value_.kind == Kind::rows || value_.kind == Kind::array;
}
bool Place::is_object() const { return value_.kind == Kind::object; }

std::string_view Place::text() const {
  if (!is_text()) fail("must be a string, not " + kind());
  return {value_.text, value_.size};
}

bool Place::boolean() const {
  if (value_.kind != Kind::boolean) fail("must be true or false, not " + kind());
  return value_.integer != 0;
}

std::int64_t Place::integer() const {
  if (value_.kind == Kind::integer) return value_.integer;
  if (value_.kind == Kind::large) fail("the number is too large: at most 9223372036854775807");
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
  if (value_.kind == Kind::large) return value_.large;
  return static_cast<std::uint64_t>(integer(0, std::numeric_limits<std::int64_t>::max()));
}

double Place::number() const {
  if (value_.kind == Kind::fraction) return value_.fraction;
  if (value_.kind == Kind::integer) return static_cast<double>(value_.integer);
  if (value_.kind == Kind::large) return static_cast<double>(value_.large);
  fail("must be a number, not " + kind());
}

namespace {

/// A quantity: text with a unit, or base units.
template <class Parse>
auto quantity(const Place& place, const char* example, const char* base, Parse parse) {
  if (place.is_text()) {
    const std::string_view text = place.text();
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
  return value_.size;
}

Place Place::operator[](std::size_t index) const& {
  Value element;
  if (value_.kind == Kind::array) {
    element = value_.array[index];
  } else if (value_.kind == Kind::rows) {
    const Rows& rows = *value_.rows;
    const std::uint32_t begin = index == 0 ? 0 : rows.ends[index - 1];
    element.kind = Kind::integers;
    element.size = rows.ends[index] - begin;
    element.integers = rows.values.data() + begin;
  } else {
    element.kind = Kind::integer;
    element.integer = value_.integers[index];
  }
  return Place(*this, {}, index, element);
}

Integers Place::integers() const {
  const std::size_t count = size();
  if (value_.kind == Kind::integers) return {value_.integers, count};
  for (std::size_t i = 0; i < count; ++i) (*this)[i].integer();
  fail("must be an array of integers");
}

Object Place::members() const {
  if (!is_object()) fail("must be an object, not " + kind());
  return {value_.object, value_.size};
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
  const Object all = members();
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
  return Place(*this, member.key, index, member.value);
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
