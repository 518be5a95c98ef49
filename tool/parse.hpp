// Option texts to values. Every error names the option.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "stellwerk/base/units.hpp"
#include "stellwerk/core/collective.hpp"

namespace stellwerk::tool {

/// An integer in [least, most].
std::int64_t parse_integer(const std::string& option, const std::string& text, std::int64_t least,
                           std::int64_t most = std::numeric_limits<std::int64_t>::max());

/// A fraction or percentage that is not negative: "0.01", "1%".
double parse_ratio(const std::string& option, const std::string& text);

/// A positive factor written as a multiple, kept exact.
struct Factor {
  std::int64_t numerator = 1;
  std::int64_t denominator = 1;
};
/// "x1.1"; at most six decimals.
Factor parse_factor(const std::string& option, const std::string& text);

/// Sizes and durations as the library reads them, with the option's name in front of errors.
Bytes parse_size_option(const std::string& option, const std::string& text);
/// "1KB..1GB,4GB": sizes, and ranges that step by 4, or by K as in 1KB..1GB*K, and end with their
/// upper end. In order, each once.
std::vector<Bytes> parse_sizes(const std::string& option, const std::string& text);
/// --collectives: "allgather,allreduce", each once.
std::vector<Collective> parse_collectives(const std::string& text);
Time parse_time_option(const std::string& option, const std::string& text);
Bandwidth parse_bandwidth_option(const std::string& option, const std::string& text);

}  // namespace stellwerk::tool
