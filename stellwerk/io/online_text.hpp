// What goes into and comes out of planning on line, as lines of JSON (docs/online.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stellwerk/plan/online.hpp"

namespace stellwerk {

struct OnlineLine {
  OnlineInput input;
  std::optional<std::int64_t> number;  ///< "number", if it is given; from 1 on
};

/// Reads events for one network.
class OnlineReader {
 public:
  explicit OnlineReader(const Topology& topology) { bare_.topology = topology; }

  /// {"at": TIME, "arrives": JOB} or {"at": TIME, "event": TEXT}, where TEXT is that of `replan`
  /// without arrivals, or "tick", or "end". Throws Error(unreadable_input) that begins with `label`.
  OnlineLine parse(std::string_view line, const std::string& label) const;

 private:
  Problem bare_;  // the network without jobs
};

/// One line, without an end of line.
std::string format_online_increment(const OnlineIncrement& increment);
/// Reads what format_online_increment writes. Throws Error(unreadable_input) that begins with `label`.
OnlineIncrement parse_online_increment(std::string_view line, const std::string& label);

/// A line that OnlineReader reads as this input.
std::string format_online_input(const OnlineInput& input, const Topology& topology);

}  // namespace stellwerk
