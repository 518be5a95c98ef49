// The study of noise: on several fabrics and under several kinds of noise, the plan that is chosen for
// its p99 beside the one that promises the least and beside ring.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "stellwerk/check/noise_study.hpp"
#include "stellwerk/plan/portfolio.hpp"

namespace stellwerk {

struct JitterFabric {
  std::string topology;
  Collective collective = Collective::allgather;
  Bytes size;
};

/// Four fabrics, three kinds of noise, both executors for one of them.
std::vector<JitterFabric> jitter_fabrics();
struct JitterNoise {
  NoiseModel noise;
  Discipline discipline = Discipline::strict;
};
std::vector<JitterNoise> jitter_noises();

/// One of three plans: who made it, and its p99 on the runs that it was chosen on and on as many
/// other ones.
struct JitterPlan {
  std::string planner;
  int chunks = 1;
  Time promised, p99, p99_fresh;
};

struct JitterRow {
  JitterFabric fabric;
  JitterNoise noise;
  int candidates = 0;
  JitterPlan chosen, nominal, ring;

  /// Is the chosen plan's p99 at most the others'?
  bool holds() const { return chosen.p99 <= nominal.p99 && chosen.p99 <= ring.p99; }
  bool holds_on_fresh_runs() const {
    return chosen.p99_fresh <= nominal.p99_fresh && chosen.p99_fresh <= ring.p99_fresh;
  }
};

struct JitterOptions {
  int runs = 200;
  std::uint64_t seed = 1;
  double seconds = 10;  ///< for the plans of one fabric
  int threads = 1;
  std::string fabric;  ///< only this one; empty: all
};

/// All rows, each handed to `finished` once it is there. Ends early, with what it has, on Ctrl-C.
std::vector<JitterRow> run_jitter(const JitterOptions& options, const Judge& judge,
                                  Progress* progress,
                                  const std::function<void(const JitterRow&)>& finished);

}  // namespace stellwerk
