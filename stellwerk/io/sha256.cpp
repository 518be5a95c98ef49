// The standard's constants are the first 32 bits of the fractional parts of the cube roots of the
// first 64 primes, and of the square roots of the first 8; they are computed here in integers
// instead of being copied. Test: sha256_test.cpp has the standard's own examples.
#include "stellwerk/io/sha256.hpp"

#include <array>
#include <bit>
#include <cstdint>

#include "stellwerk/base/wide.hpp"

namespace stellwerk {
namespace {

/// The first 32 fractional bits of the square (cube) root of a prime: the largest r with
/// r^2 <= p * 2^64 (r^3 <= p * 2^96), its low half.
std::uint32_t root_bits(std::uint64_t prime, bool cube) {
  std::uint64_t root = 0;
  for (int bit = 35; bit >= 0; --bit) {
    const std::uint64_t next = root | (std::uint64_t{1} << bit);
    const Uint128 power = static_cast<Uint128>(next) * next * (cube ? next : 1);
    if (power <= static_cast<Uint128>(prime) << (cube ? 96 : 64)) root = next;
  }
  return static_cast<std::uint32_t>(root);
}

struct Constants {
  std::array<std::uint32_t, 64> round;
  std::array<std::uint32_t, 8> start;

  Constants() : round(), start() {
    std::size_t count = 0;
    for (std::uint64_t number = 2; count < round.size(); ++number) {
      bool prime = true;
      for (std::uint64_t d = 2; d * d <= number; ++d) prime = prime && number % d != 0;
      if (!prime) continue;
      if (count < start.size()) start[count] = root_bits(number, false);
      round[count++] = root_bits(number, true);
    }
  }
};

void digest_block(const unsigned char* block, const Constants& constants,
                  std::array<std::uint32_t, 8>& state) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t k = 0; k < 4; ++k) w[i] = w[i] << 8 | block[4 * i + k];
  }
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + w[i - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  std::array<std::uint32_t, 8> s = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t e = s[4], a = s[0];
    const std::uint32_t first = s[7] + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                                ((e & s[5]) ^ (~e & s[6])) + constants.round[i] + w[i];
    const std::uint32_t second = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) +
                                 ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
    s = {first + second, s[0], s[1], s[2], s[3] + first, s[4], s[5], s[6]};
  }
  for (std::size_t i = 0; i < 8; ++i) state[i] += s[i];
}

}  // namespace

std::string sha256(std::string_view text) {
  static const Constants constants;
  std::string padded(text.substr(text.size() / 64 * 64));
  padded += '\x80';
  padded.append((120 - padded.size() % 64) % 64, '\0');
  const std::uint64_t bits = std::uint64_t{8} * text.size();
  for (int shift = 56; shift >= 0; shift -= 8) padded += static_cast<char>(bits >> shift & 0xff);

  std::array<std::uint32_t, 8> state = constants.start;
  const auto digest = [&](std::string_view blocks) {
    for (std::size_t at = 0; at + 64 <= blocks.size(); at += 64) {
      digest_block(reinterpret_cast<const unsigned char*>(blocks.data()) + at, constants, state);
    }
  };
  digest(text);
  digest(padded);
  std::string result;
  for (const std::uint32_t word : state) {
    for (int shift = 28; shift >= 0; shift -= 4) result += "0123456789abcdef"[word >> shift & 15];
  }
  return result;
}

}  // namespace stellwerk
