#include "tool/parse.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "stellwerk/base/error.hpp"

namespace stellwerk::tool {
namespace {

[[noreturn]] void refuse(const std::string& option, const std::string& text,
                         const std::string& remedy) {
  throw Error(ErrorCode::usage, option + ": '" + text + "' " + remedy);
}

}  // namespace

std::int64_t parse_integer(const std::string& option, const std::string& text, std::int64_t least,
                           std::int64_t most) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [position, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || position != end) refuse(option, text, "is not an integer");
  if (value < least) refuse(option, text, "is too small: the least is " + std::to_string(least));
  if (value > most) refuse(option, text, "is too large: the most is " + std::to_string(most));
  return value;
}

double parse_ratio(const std::string& option, const std::string& text) {
  const bool percent = !text.empty() && text.back() == '%';
  double value = 0;
  const char* end = text.data() + text.size() - (percent ? 1 : 0);
  const auto [position, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (error != std::errc{} || position != end || !std::isfinite(value) || value < 0) {
    refuse(option, text, "is not a ratio: write a fraction (0.01) or a percentage (1%)");
  }
  return percent ? value / 100 : value;
}

Factor parse_factor(const std::string& option, const std::string& text) {
  constexpr std::string_view kRemedy = "is not a factor: write x and a positive number, as in x1.1";
  Factor factor{0, 1};
  bool point = false, digits = false;
  if (text.size() < 2 || text.front() != 'x') refuse(option, text, std::string(kRemedy));
  for (const char c : text.substr(1)) {
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    if (c < '0' || c > '9' || factor.numerator > 100'000'000'000 ||
        factor.denominator >= 1'000'000) {
      refuse(option, text, std::string(kRemedy));
    }
    digits = true;
    factor.numerator = factor.numerator * 10 + (c - '0');
    if (point) factor.denominator *= 10;
  }
  if (!digits || factor.numerator == 0) refuse(option, text, std::string(kRemedy));
  return factor;
}

Bytes parse_size_option(const std::string& option, const std::string& text) {
  try {
    return parse_bytes(text);
  } catch (const Error& error) {
    throw Error(error.code(), option + ": " + error.what());
  }
}

std::vector<Bytes> parse_sizes(const std::string& option, const std::string& text) {
  constexpr std::size_t kMost = 1000;
  std::vector<Bytes> sizes;
  const auto add = [&](Bytes size) {
    if (size.value <= 0) throw Error(ErrorCode::usage, option + ": sizes must be positive");
    if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) sizes.push_back(size);
    if (sizes.size() > kMost) refuse(option, text, "is more than 1000 sizes");
  };
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t dots = item.find("..");
    if (dots == std::string::npos) {
      add(parse_size_option(option, item));
      continue;
    }
    const std::size_t star = item.find('*', dots);
    const std::int64_t factor =
        star == std::string::npos ? 4 : parse_integer(option, item.substr(star + 1), 2, 1'000'000);
    const Bytes low = parse_size_option(option, item.substr(0, dots));
    const Bytes high = parse_size_option(option, item.substr(dots + 2, star - dots - 2));
    if (low.value <= 0) throw Error(ErrorCode::usage, option + ": sizes must be positive");
    if (low > high) refuse(option, item, "runs downwards: write the smaller size first");
    for (Bytes size = low; size < high; size.value *= factor) {
      add(size);
      if (size.value > high.value / factor) break;
    }
    add(high);
  }
  return sizes;
}

std::vector<Collective> parse_collectives(const std::string& text) {
  std::vector<Collective> result;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const Collective collective = parse_collective(text.substr(begin, end - begin));
    if (std::find(result.begin(), result.end(), collective) != result.end()) {
      throw Error(ErrorCode::usage,
                  "--collectives: " + std::string(to_string(collective)) + " is there twice");
    }
    result.push_back(collective);
    begin = end + 1;
  }
  return result;
}

Time parse_time_option(const std::string& option, const std::string& text) {
  try {
    return parse_time(text, true);
  } catch (const Error& error) {
    throw Error(error.code(), option + ": " + error.what());
  }
}

Bandwidth parse_bandwidth_option(const std::string& option, const std::string& text) {
  try {
    const Bandwidth rate = parse_bandwidth(text);
    if (rate.bytes_per_second > 0) return rate;
  } catch (const Error& error) {
    throw Error(error.code(), option + ": " + error.what());
  }
  throw Error(ErrorCode::usage, option + ": '" + text + "' must be positive");
}

}  // namespace stellwerk::tool
