#include "stellwerk/base/units.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "stellwerk/base/error.hpp"

namespace stellwerk {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST(Units, TimesAreRead) {
  const std::vector<std::pair<std::string, std::int64_t>> cases = {{"0", 0},
                                                                   {"17", 17},
                                                                   {"0.7us", 700'000},
                                                                   {"12ns", 12'000},
                                                                   {"3 ms", 3'000'000'000},
                                                                   {"1s", 1'000'000'000'000},
                                                                   {".5ns", 500},
                                                                   {"1.ns", 1000},
                                                                   {"0.0004ns", 0},
                                                                   {"0.0005ns", 1},
                                                                   {"1.0000ps", 1},
                                                                   {"0s", 0},
                                                                   {"9223372036854775807", kMax},
                                                                   {"9223372.036854775807s", kMax}};
  for (const auto& [text, ps] : cases) EXPECT_EQ(parse_time(text).ps, ps) << text;
}

TEST(Units, SizesAreRead) {
  const std::vector<std::pair<std::string, std::int64_t>> cases = {
      {"4096", 4096},
      {"1K", 1024},
      {"64M", 64 << 20},
      {"1G", 1 << 30},
      {"1KB", 1000},
      {"1kB", 1000},
      {"64MB", 64'000'000},
      {"64MiB", 64 << 20},
      {"1.5KiB", 1536},
      {"0.5K", 512},
      {"2TB", 2'000'000'000'000},
      {"7 B", 7},
      {"8388607T", std::int64_t{8388607} << 40}};
  for (const auto& [text, bytes] : cases) EXPECT_EQ(parse_bytes(text).value, bytes) << text;
}

TEST(Units, BandwidthsAreReadInBytesAndBits) {
  const std::vector<std::pair<std::string, std::int64_t>> cases = {
      {"50GB/s", 50'000'000'000},
      {"400Gbps", 50'000'000'000},
      {"12.5GB/s", 12'500'000'000},
      {"25GiB/s", std::int64_t{25} << 30},
      {"8bps", 1},
      {"1Kbps", 125},
      {"100Mbps", 12'500'000},
      {"1.6Tbps", 200'000'000'000},
      {"9", 9},
      {"25.781GB/s", 25'781'000'000}};
  for (const auto& [text, rate] : cases)
    EXPECT_EQ(parse_bandwidth(text).bytes_per_second, rate) << text;
}

template <class Parse>
std::string complaint(Parse parse, const std::string& text) {
  try {
    parse(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::usage);
    return error.what();
  }
  return "";
}

TEST(Units, WhatIsNoQuantityIsRefusedByName) {
  const auto time = [](const std::string& text) { parse_time(text); };
  const auto bytes = [](const std::string& text) { parse_bytes(text); };
  const auto bandwidth = [](const std::string& text) { parse_bandwidth(text); };
  for (const std::string text :
       {"", " ", "us", "-1us", "+1us", "1.2.3us", "1e3us", "0x10", "1.5", "1 u s", "1US", "1us ",
        "inf", "nan", ".", "1GB", "0.0000000000000000001s"}) {
    EXPECT_NE(complaint(time, text).find("'" + text + "' is not a duration"), std::string::npos)
        << text;
  }
  for (const std::string text : {"", "1.5", "1.5B", "0.3K", "1GB/s", "1Gb", "-5", "1 KiBB"}) {
    EXPECT_NE(complaint(bytes, text).find("'" + text + "' is not a size"), std::string::npos)
        << text;
  }
  for (const std::string text : {"0", "0GB/s", "1GB", "0.1bps", "1gbps"}) {
    EXPECT_NE(complaint(bandwidth, text).find("'" + text + "' is not a bandwidth"),
              std::string::npos)
        << text;
  }
  for (const std::string text :
       {"9223372036854775808", "9223373s", "99999999999999999999999999999999s"}) {
    EXPECT_NE(complaint(time, text).find("too large"), std::string::npos) << text;
  }
  EXPECT_NE(complaint(bytes, "8388608T").find("too large"), std::string::npos);
  EXPECT_NE(complaint([](const std::string& t) { parse_time(t, true); }, "17").find("unit"),
            std::string::npos);
}

TEST(Units, ForPeople) {
  EXPECT_EQ(to_string(Time{43'752'700'000}), "43.753 ms");
  EXPECT_EQ(to_string(Time{700'000}), "700 ns");
  EXPECT_EQ(to_string(Time{0}), "0 ps");
  EXPECT_EQ(to_string(Time{-1500}), "-1.5 ns");
  EXPECT_EQ(to_string(Bytes{1'000'000'000}), "1 GB");
  EXPECT_EQ(to_string(Bandwidth{50'000'000'000}), "50 GB/s");
  EXPECT_EQ(to_string(Bandwidth{12'345'678}), "12.346 MB/s");
}

// Five digits of what is just below a unit are that unit, and nothing is in scientific notation.
TEST(Units, ForPeopleAtTheEdges) {
  EXPECT_EQ(to_string(Time{999'999'999}), "1 ms");
  EXPECT_EQ(to_string(Time{999'990'000}), "999.99 us");
  EXPECT_EQ(to_string(Time{999}), "999 ps");
  EXPECT_EQ(to_string(Time{99'999'900'000'000'000}), "100000 s");
  EXPECT_EQ(to_string(Time::max()), "9223372 s");
}

TEST(Units, ForFiles) {
  EXPECT_EQ(to_exact_string(Time{700'000}), "0.7us");
  EXPECT_EQ(to_exact_string(Time{350'000}), "0.35us");
  EXPECT_EQ(to_exact_string(Time{35'000}), "35ns");
  EXPECT_EQ(to_exact_string(Time{1'300'000}), "1.3us");
  EXPECT_EQ(to_exact_string(Time{1'234'567}), "1234.567ns");
  EXPECT_EQ(to_exact_string(Time{0}), "0ps");
  EXPECT_EQ(to_exact_string(Bytes{64'000'000}), "64MB");
  EXPECT_EQ(to_exact_string(Bytes{65536}), "65.536KB");
  EXPECT_EQ(to_exact_string(Bandwidth{450'000'000'000}), "450GB/s");
  EXPECT_EQ(to_exact_string(Bandwidth{12'500'000'000}), "12.5GB/s");
  EXPECT_EQ(to_exact_string(Bandwidth{62'500'001}), "62500.001KB/s");
}

RC_GTEST_PROP(Units, ExactTextReadsBack, (std::int64_t raw, std::uint8_t shift)) {
  const std::int64_t value = (raw < 0 ? ~raw : raw) >> (shift % 63);
  RC_ASSERT(parse_time(to_exact_string(Time{value}), true) == Time{value});
  RC_ASSERT(parse_bytes(to_exact_string(Bytes{value})) == Bytes{value});
  if (value > 0) {
    RC_ASSERT(parse_bandwidth(to_exact_string(Bandwidth{value})) == Bandwidth{value});
  }
}

TEST(Units, TransmissionTimeRoundsUp) {
  EXPECT_EQ(transmission_time(Bytes{1}, Bandwidth{1'000'000'000'000}).ps, 1);
  EXPECT_EQ(transmission_time(Bytes{1}, Bandwidth{3}).ps, 333'333'333'334);
  EXPECT_EQ(transmission_time(Bytes{0}, Bandwidth{3}).ps, 0);
  EXPECT_EQ(transmission_time(Bytes{1'000'000'000}, Bandwidth{50'000'000'000}).ps, 20'000'000'000);
  // The product of bytes and 10^12 needs more than 64 bits.
  EXPECT_EQ(transmission_time(Bytes{std::int64_t{1} << 50}, Bandwidth{std::int64_t{1} << 40}).ps,
            1024 * std::int64_t{1'000'000'000'000});
  EXPECT_THROW(transmission_time(Bytes{kMax}, Bandwidth{1}), Error);
  EXPECT_THROW(transmission_time(Bytes{1}, Bandwidth{0}), Error);
}

}  // namespace
}  // namespace stellwerk
