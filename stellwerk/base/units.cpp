#include "stellwerk/base/units.hpp"

#include <array>
#include <cctype>
#include <cstdio>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/wide.hpp"

namespace stellwerk {
namespace {

using Wide = Uint128;
constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();

/// A unit is `numerator / denominator` base units.
struct Unit {
  std::string_view name;
  std::int64_t numerator;
  std::int64_t denominator = 1;
};

constexpr std::int64_t kKi = 1024, kMi = kKi * 1024, kGi = kMi * 1024, kTi = kGi * 1024;
constexpr std::int64_t kK = 1000, kM = kK * 1000, kG = kM * 1000, kT = kG * 1000;

constexpr std::array kTimeUnits = {Unit{"ps", 1}, Unit{"ns", kK}, Unit{"us", kM}, Unit{"ms", kG},
                                   Unit{"s", kT}};
constexpr std::array kByteUnits = {
    Unit{"B", 1},   Unit{"KB", kK},   Unit{"kB", kK},   Unit{"MB", kM},   Unit{"GB", kG},
    Unit{"TB", kT}, Unit{"KiB", kKi}, Unit{"MiB", kMi}, Unit{"GiB", kGi}, Unit{"TiB", kTi},
    Unit{"K", kKi}, Unit{"k", kKi},   Unit{"M", kMi},   Unit{"G", kGi},   Unit{"T", kTi}};
constexpr std::array kBandwidthUnits = {
    Unit{"B/s", 1},     Unit{"KB/s", kK},    Unit{"MB/s", kM},    Unit{"GB/s", kG},
    Unit{"TB/s", kT},   Unit{"KiB/s", kKi},  Unit{"MiB/s", kMi},  Unit{"GiB/s", kGi},
    Unit{"bps", 1, 8},  Unit{"Kbps", kK, 8}, Unit{"Mbps", kM, 8}, Unit{"Gbps", kG, 8},
    Unit{"Tbps", kT, 8}};

/// A non-negative decimal number, digits / 10^decimals.
struct Decimal {
  Wide digits = 0;
  int decimals = 0;
  std::string_view rest;  ///< what follows the number, without leading blanks
};

[[noreturn]] void refuse(std::string_view what, std::string_view text, std::string_view remedy) {
  throw Error(ErrorCode::usage, "'" + std::string(text) + "' is not a " + std::string(what) + ": " +
                                    std::string(remedy));
}

Decimal parse_decimal(std::string_view what, std::string_view text, std::string_view remedy) {
  Decimal result;
  std::size_t position = 0;
  bool any = false;
  bool point = false;
  for (; position < text.size(); ++position) {
    const char c = text[position];
    if (c == '.' && !point) {
      point = true;
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      any = true;
      if (result.digits > static_cast<Wide>(kMaxInt64) * 1000)
        refuse(what, text, "the number is too large");
      result.digits = result.digits * 10 + static_cast<Wide>(c - '0');
      if (point) ++result.decimals;
    } else {
      break;
    }
  }
  if (!any || result.decimals > 18) refuse(what, text, remedy);
  while (position < text.size() && text[position] == ' ') ++position;
  result.rest = text.substr(position);
  return result;
}

enum class Rounding { nearest, exact };

template <std::size_t N>
std::int64_t parse_quantity(std::string_view what, std::string_view text,
                            const std::array<Unit, N>& units, bool unit_required, Rounding rounding,
                            std::string_view remedy) {
  const Decimal number = parse_decimal(what, text, remedy);
  Unit unit{"", 1};
  if (number.rest.empty()) {
    if (unit_required || number.decimals > 0) refuse(what, text, remedy);
  } else {
    bool found = false;
    for (const Unit& candidate : units) {
      if (candidate.name == number.rest) {
        unit = candidate;
        found = true;
      }
    }
    if (!found) refuse(what, text, remedy);
  }
  Wide divisor = static_cast<Wide>(unit.denominator);
  for (int i = 0; i < number.decimals; ++i) divisor *= 10;
  const Wide numerator = static_cast<Wide>(unit.numerator);
  if (number.digits > (~Wide{0}) / 4 / numerator) refuse(what, text, "the number is too large");
  const Wide product = number.digits * numerator;
  if (rounding == Rounding::exact && product % divisor != 0) {
    refuse(what, text, "it is not a whole number of base units");
  }
  const Wide value = (product + divisor / 2) / divisor;
  if (value > static_cast<Wide>(kMaxInt64)) refuse(what, text, "the number is too large");
  return static_cast<std::int64_t>(value);
}

/// In the largest unit (of a list in ascending order) in which the number shown is at least 1, with
/// up to five significant digits.
template <std::size_t N>
std::string humanise(std::int64_t value, const std::array<Unit, N>& units) {
  const auto in = [&](const Unit& unit) {
    return static_cast<double>(value) / static_cast<double>(unit.numerator);
  };
  const Unit* unit = &units[0];
  for (const Unit& candidate : units) {
    if (in(candidate) >= 0.999995) unit = &candidate;  // what five digits round up to 1
  }
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), in(*unit) < 99999.5 ? "%.5g %s" : "%.0f %s",
                in(*unit), std::string(unit->name).c_str());
  return buffer.data();
}

constexpr std::array kHumanBytes = {Unit{"B", 1}, Unit{"KB", kK}, Unit{"MB", kM}, Unit{"GB", kG},
                                    Unit{"TB", kT}};
constexpr std::array kHumanBandwidth = {Unit{"B/s", 1}, Unit{"KB/s", kK}, Unit{"MB/s", kM},
                                        Unit{"GB/s", kG}, Unit{"TB/s", kT}};

/// `value` in the largest unit that needs at most three decimals: exact and short.
template <std::size_t N>
std::string exact(std::int64_t value, const std::array<Unit, N>& units) {
  if (value == 0) return "0" + std::string(units[0].name);
  for (std::size_t i = units.size(); i-- > 0;) {
    const std::int64_t scale = units[i].numerator;
    // At most three decimals, and no fraction below one, but for microseconds, in which latencies are
    // quoted: "0.7us", "35ns", "450GB/s".
    const std::int64_t least = units[i].name == "us" ? scale / 10 : scale;
    if (value >= least && (scale < 1000 ? value % scale == 0 : value % (scale / 1000) == 0)) {
      std::string text = std::to_string(value / scale);
      std::int64_t rest = value % scale;
      if (rest != 0) {
        std::string decimals = std::to_string(1000 + rest / (scale / 1000)).substr(1);
        while (decimals.back() == '0') decimals.pop_back();
        text += "." + decimals;
      }
      return text + std::string(units[i].name);
    }
  }
  return std::to_string(value);
}

}  // namespace

Time transmission_time(Bytes amount, Bandwidth rate) {
  if (rate.bytes_per_second <= 0)
    throw Error(ErrorCode::internal, "transmission at a rate that is not positive");
  const Wide numerator = static_cast<Wide>(amount.value) * static_cast<Wide>(kT);
  const Wide divisor = static_cast<Wide>(rate.bytes_per_second);
  const Wide result = (numerator + divisor - 1) / divisor;
  if (result > static_cast<Wide>(kMaxInt64 / 4)) {
    throw Error(ErrorCode::unreadable_input,
                "sending " + to_string(amount) + " at " + to_string(rate) +
                    " takes longer than can be counted: raise the bandwidth or lower "
                    "the size");
  }
  return {static_cast<std::int64_t>(result)};
}

Time parse_time(std::string_view text, bool unit_required) {
  return {parse_quantity("duration", text, kTimeUnits, unit_required, Rounding::nearest,
                         "write a number and a unit, one of ps, ns, us, ms, s, as in 0.7us")};
}

Bytes parse_bytes(std::string_view text) {
  return {parse_quantity("size", text, kByteUnits, false, Rounding::exact,
                         "write bytes, or a number and a unit: KB, MB, GB (decimal), KiB, MiB, GiB "
                         "or K, M, G (binary)")};
}

Bandwidth parse_bandwidth(std::string_view text) {
  const Bandwidth result = {
      parse_quantity("bandwidth", text, kBandwidthUnits, false, Rounding::nearest,
                     "write bytes per second, or a number and a unit, as in 50GB/s or 400Gbps")};
  if (result.bytes_per_second <= 0) refuse("bandwidth", text, "it must be positive");
  return result;
}

std::string to_string(Time time) {
  if (time.ps < 0) return "-" + to_string(Time{-time.ps});
  return humanise(time.ps, kTimeUnits);
}
std::string to_string(Bytes bytes) { return humanise(bytes.value, kHumanBytes); }
std::string to_string(Bandwidth bandwidth) {
  return humanise(bandwidth.bytes_per_second, kHumanBandwidth);
}

std::string to_exact_string(Time time) { return exact(time.ps, kTimeUnits); }
std::string to_exact_string(Bytes bytes) { return exact(bytes.value, kHumanBytes); }
std::string to_exact_string(Bandwidth bandwidth) {
  return exact(bandwidth.bytes_per_second, kHumanBandwidth);
}

}  // namespace stellwerk
