// Small helpers for messages: one line, short, and a guess at what was meant.
#pragma once

#include <string>
#include <string_view>
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

}  // namespace stellwerk
