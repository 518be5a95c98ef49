#include "stellwerk/io/text.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <utility>

namespace stellwerk {
namespace {

/// Insertions, deletions, changes and swaps of neighbours (restricted Damerau-Levenshtein), or
/// `limit` + 1 when there are more than `limit`.
std::size_t edits(std::string_view a, std::string_view b, std::size_t limit) {
  const std::size_t longer = std::max(a.size(), b.size());
  if (longer - std::min(a.size(), b.size()) > limit) return limit + 1;
  std::vector<std::size_t> before, last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before = std::exchange(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      char code[8];
      std::snprintf(code, sizeof code, "\\x%02x", byte);
      result += code;
    } else {
      result += c;
    }
  }
  return result;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string shown(text.substr(0, kLongest));
  if (text.size() > kLongest) {
    // Not in the middle of a UTF-8 sequence.
    while (!shown.empty() && (static_cast<unsigned char>(shown.back()) & 0xc0) == 0x80) {
      shown.pop_back();
    }
    if (!shown.empty() && static_cast<unsigned char>(shown.back()) >= 0xc0) shown.pop_back();
    shown += "...";
  }
  return "'" + one_line(shown) + "'";
}

std::string_view nearest(std::string_view text, const std::vector<std::string_view>& candidates) {
  if (text.size() > 200) return {};
  std::size_t best = std::min<std::size_t>(3, text.size() / 3) + 1;
  std::string_view result;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edits(text, candidate, best);
    const bool completes = candidate.starts_with(text) && !result.starts_with(text);
    if (distance < best || (distance == best && completes && !result.empty())) {
      best = distance;
      result = candidate;
      if (best == 0) break;
    }
  }
  return result;
}

std::string did_you_mean(std::string_view text, const std::vector<std::string_view>& candidates) {
  const std::string_view name = nearest(text, candidates);
  return name.empty() ? "" : "; did you mean " + in_quotes(name) + "?";
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kEnds = " \t\r";
  const std::size_t start = text.find_first_not_of(kEnds);
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(kEnds) - start + 1);
}

std::string_view take_line(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\n'), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return line;
}

std::vector<TextLine> split_lines(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\v\f";
  std::vector<TextLine> lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    TextLine line{number, take_line(text), {}};
    std::string_view rest = line.text;
    for (std::size_t start; (start = rest.find_first_not_of(kBlanks)) != std::string_view::npos;) {
      rest.remove_prefix(start);
      const std::size_t stop = std::min(rest.find_first_of(kBlanks), rest.size());
      line.words.push_back(rest.substr(0, stop));
      rest.remove_prefix(stop);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace stellwerk
