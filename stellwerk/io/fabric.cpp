#include "stellwerk/io/fabric.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>

namespace stellwerk {
namespace {

/// The numbers from "08" to "11" keep their width: 08, 09, 10, 11.
bool add_range(const std::string& prefix, std::string_view first, std::string_view last,
               const std::string& suffix, std::size_t most, std::vector<std::string>& result) {
  std::uint64_t a = 0, b = 0;
  const auto all_digits = [](std::string_view text) {
    return !text.empty() && text.size() < 10 &&
           text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (!all_digits(first) || !all_digits(last)) return false;
  std::from_chars(first.data(), first.data() + first.size(), a);
  std::from_chars(last.data(), last.data() + last.size(), b);
  if (b < a || b - a >= most || result.size() + (b - a) + 1 > most) return false;
  for (std::uint64_t k = a; k <= b; ++k) {
    std::string number = std::to_string(k);
    if (number.size() < first.size()) number.insert(0, first.size() - number.size(), '0');
    result.push_back(prefix + number + suffix);
  }
  return true;
}

/// One entry: plain, or with one pair of brackets.
bool add_entry(std::string_view entry, std::size_t most, std::vector<std::string>& result) {
  const std::size_t open = entry.find('[');
  if (entry.empty()) return false;
  if (open == std::string_view::npos) {
    if (entry.find(']') != std::string_view::npos || result.size() >= most) return false;
    result.emplace_back(entry);
    return true;
  }
  const std::size_t close = entry.find(']', open);
  if (close == std::string_view::npos) return false;
  const std::string prefix(entry.substr(0, open)), suffix(entry.substr(close + 1));
  if (suffix.find('[') != std::string::npos) return false;
  std::string_view ranges = entry.substr(open + 1, close - open - 1);
  while (true) {
    const std::size_t comma = std::min(ranges.find(','), ranges.size());
    const std::string_view range = ranges.substr(0, comma);
    const std::size_t dash = range.find('-');
    const std::string_view first = range.substr(0, std::min(dash, range.size()));
    const std::string_view last = dash == std::string_view::npos ? first : range.substr(dash + 1);
    if (!add_range(prefix, first, last, suffix, most, result)) return false;
    if (comma == ranges.size()) return true;
    ranges.remove_prefix(comma + 1);
  }
}

}  // namespace

std::vector<std::string> ClusterFabric::hosts() const {
  std::vector<std::string> result;
  std::set<std::string> seen;
  for (const Port& port : ports) {
    if (seen.insert(port.host).second) result.push_back(port.host);
  }
  return result;
}

std::optional<std::vector<std::string>> expand_hostlist(std::string_view text, std::size_t most) {
  std::vector<std::string> result;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const char c = at < text.size() ? text[at] : ',';
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c != ',' || depth > 0) continue;
    if (depth < 0 || !add_entry(text.substr(start, at - start), most, result)) return std::nullopt;
    start = at + 1;
  }
  if (depth != 0) return std::nullopt;
  return result;
}

}  // namespace stellwerk
