// When a set of links that open at different times has let a given amount through.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stellwerk/base/units.hpp"
#include "stellwerk/base/wide.hpp"

namespace stellwerk::bound {

/// A link as a bound sees it: from `opens` (ps) on it lets `weight` (bytes/s, perhaps times a
/// length) through.
struct Gate {
  Int128 weight;
  std::int64_t opens;
};

/// The least integer T with the sum over the gates of weight * max(0, T - opens) >= amount * 10^12;
/// none if nothing ever gets through. Gates that open at graph::kUnreachable or later are closed.
/// Precondition: amount > 0.
std::optional<Time> least(std::vector<Gate> gates, Int128 amount);

}  // namespace stellwerk::bound
