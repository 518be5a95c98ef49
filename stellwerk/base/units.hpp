// Quantities as types: time in picoseconds, sizes in bytes, bandwidths in bytes per second.
// All arithmetic is integer (128-bit where a product needs it); see docs/model.md, "Quantities".
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace stellwerk {

/// An instant or a duration, in picoseconds.
struct Time {
  std::int64_t ps = 0;

  static constexpr Time max() { return {std::numeric_limits<std::int64_t>::max()}; }
  friend constexpr auto operator<=>(Time, Time) = default;
  friend constexpr Time operator+(Time a, Time b) { return {a.ps + b.ps}; }
  friend constexpr Time operator-(Time a, Time b) { return {a.ps - b.ps}; }
  friend constexpr Time operator*(std::int64_t k, Time t) { return {k * t.ps}; }
  constexpr Time& operator+=(Time other) { return *this = *this + other; }
  constexpr Time& operator-=(Time other) { return *this = *this - other; }
  constexpr double seconds() const { return static_cast<double>(ps) * 1e-12; }
};

/// An amount of data, in bytes.
struct Bytes {
  std::int64_t value = 0;

  friend constexpr auto operator<=>(Bytes, Bytes) = default;
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return {a.value + b.value}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.value - b.value}; }
  friend constexpr Bytes operator*(std::int64_t k, Bytes b) { return {k * b.value}; }
  constexpr Bytes& operator+=(Bytes other) { return *this = *this + other; }
};

/// A rate, in bytes per second.
struct Bandwidth {
  std::int64_t bytes_per_second = 0;

  friend constexpr auto operator<=>(Bandwidth, Bandwidth) = default;
  friend constexpr Bandwidth operator+(Bandwidth a, Bandwidth b) {
    return {a.bytes_per_second + b.bytes_per_second};
  }
  friend constexpr Bandwidth operator-(Bandwidth a, Bandwidth b) {
    return {a.bytes_per_second - b.bytes_per_second};
  }
};

/// How long `amount` takes at `rate`: ceil(amount * 10^12 / rate) ps. `rate` must be positive.
/// Throws Error(unreadable_input) when the duration does not fit (more than about 106 days).
Time transmission_time(Bytes amount, Bandwidth rate);

/// Parses "0.7us", "12ns", "3 ms" (units ps, ns, us, ms, s). A plain integer is picoseconds, unless
/// `unit_required`. The result is rounded to the nearest picosecond. Throws Error(usage) naming the text.
Time parse_time(std::string_view text, bool unit_required = false);

/// Parses "64MiB", "1GB" (decimal), "1K" / "64M" / "1G" (binary, as in nccl-tests), "4096" (bytes).
/// Throws Error(usage) naming the text; fractions of a byte are refused.
Bytes parse_bytes(std::string_view text);

/// Parses "50GB/s", "400Gbps" (bits), "25GiB/s" or a plain integer (bytes/s); must be positive.
Bandwidth parse_bandwidth(std::string_view text);

/// For people: "43.753 ms", "1 GB", "50 GB/s"; five significant digits at most.
std::string to_string(Time time);
std::string to_string(Bytes bytes);
std::string to_string(Bandwidth bandwidth);

/// For files: the shortest text that parses back to exactly the same value ("0.7us", "62500000").
std::string to_exact_string(Time time);
std::string to_exact_string(Bytes bytes);
std::string to_exact_string(Bandwidth bandwidth);

}  // namespace stellwerk
