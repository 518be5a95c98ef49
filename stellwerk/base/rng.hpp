// A small deterministic random generator. The standard distributions differ between libraries, and
// the same seed must give the same plan everywhere, so the few that are needed are here.
#pragma once

#include <cstdint>
#include <utility>

#include "stellwerk/base/wide.hpp"

namespace stellwerk {

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): 64 bits of state, equidistributed, cheap to fork.
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  /// Uniform in [0, bound); bound > 0.
  std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<Uint128>(next()) * bound) >> 64);
  }
  /// Uniform in [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) {
    const auto begin = static_cast<std::uint64_t>(low);
    const std::uint64_t count = static_cast<std::uint64_t>(high) - begin + 1;  // 0: all of them
    return static_cast<std::int64_t>(begin + (count == 0 ? next() : below(count)));
  }
  /// Uniform in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  template <class Vector>
  void shuffle(Vector& values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace stellwerk
