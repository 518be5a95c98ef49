// Small helpers for texts: lines, blanks and numbers when reading; one line, short, and a guess at what was meant in messages.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace stellwerk {

/// `text` without control characters (written as \xNN), so that a message stays one line.
std::string one_line(std::string_view text);

/// One line in single quotes, cut to about 60 characters.
std::string in_quotes(std::string_view text);

/// The candidate with the fewest edits to `text` if it is close (at most a third of its letters
/// differ, and at most three), else an empty view. Of several one that begins
/// with `text`, or else the first.
std::string_view nearest(std::string_view text, const std::vector<std::string_view>& candidates);

/// "; did you mean 'x'?" or nothing.
std::string did_you_mean(std::string_view text, const std::vector<std::string_view>& candidates);

/// `text` with a-z for A-Z; other letters stay.
std::string lower_case(std::string_view text);

/// `text` without blanks, tabs and carriage returns at both ends.
std::string_view trimmed(std::string_view text);

/// Takes the first line off `rest` and returns it, without its end.
std::string_view take_line(std::string_view& rest);

/// The number that the whole of `text` is; nothing if anything is before, behind or too large.
template <class Number>
std::optional<Number> whole_number(std::string_view text) {
  Number value{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

/// A line of a text, and what stands between its blanks.
struct TextLine {
  std::size_t number = 0;  ///< from 1
  std::string_view text;
  std::vector<std::string_view> words;
};

/// All lines, empty ones included. The views are into `text`.
std::vector<TextLine> split_lines(std::string_view text);

}  // namespace stellwerk
