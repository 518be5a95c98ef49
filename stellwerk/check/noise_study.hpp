// How a plan's finish spreads over many runs with noise.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "stellwerk/base/stop.hpp"
#include "stellwerk/check/executor.hpp"
#include "stellwerk/check/noise.hpp"

namespace stellwerk {

struct NoiseStudy {
  NoiseModel noise;
  Discipline discipline = Discipline::strict;
  int runs = 200;
  std::uint64_t seed = 1;
};

/// Finish times of the runs. A quantile is the least finish that so large a part of the runs meets.
struct Spread {
  Time p50, p99, worst;

  friend bool operator==(const Spread&, const Spread&) = default;
};

/// Which of a spread's times somebody cares about.
enum class Quantile : std::uint8_t { p50, p99, worst };

/// Throws Error(usage).
Quantile parse_quantile(std::string_view text);
std::string_view to_string(Quantile quantile);
Time at(const Spread& spread, Quantile quantile);

/// Precondition: not empty.
Spread spread_of(std::vector<Time> finishes);

struct NoiseResult {
  Spread all;                ///< of the last job's finish
  std::vector<Spread> jobs;  ///< one a job
  int runs = 0;              ///< fewer than asked for when `stop` came; at least one
};

/// The same seed gives the same runs, and plans of one topology the same bad days (draw_noise).
NoiseResult run_study(const Problem& problem, Executor& executor, const NoiseStudy& study,
                      const StopCondition& stop);

}  // namespace stellwerk
