// Planning on line beside fair sharing: jobs that arrive at random while links fail and slow down.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stellwerk/core/topology.hpp"
#include "stellwerk/plan/online.hpp"

namespace stellwerk {

struct OnlineWorkload {
  std::string topology = "rail:8x8";  ///< a name of the catalogue
  int arrivals = 1000;
  Time mean_gap{155'000'000};
  Bytes smallest{512'000};  ///< sizes are up to 256 times as large, every octave as likely
  int incidents = 100;      ///< a link fails or slows down, and is well again after 0.2 to 3 ms
  std::uint64_t seed = 1;
};

/// AllGather, AllToAll and AllReduce over 4 to 16 GPUs (neighbours, one rail, or any), weights 1 to 4;
/// instants at random. Always the same ones for a seed; the last is the end.
std::vector<OnlineInput> random_online_inputs(const Topology& topology,
                                              const OnlineWorkload& workload);

/// One way of sharing links, on all inputs.
struct OnlineMeasurement {
  std::int64_t weight = 0;     ///< of all jobs that were finished
  double weighted_flow_s = 0;  ///< sum of weight * (finish - start)
  double alone_s = 0;          ///< sum of their times alone
  double slowdown_mean = 0, slowdown_most = 0;
  std::size_t jobs = 0, dropped = 0, sends = 0, cuts = 0;
  /// From an input to its increment, s; the sum of all.
  struct Cost {
    double mean = 0, p99 = 0, most = 0;
  };
  Cost cpu, wall;
  std::string invalid;  ///< what the verifier says; empty: valid, and all finishes are as told
};

OnlineMeasurement measure_online(const Topology& topology, const std::vector<OnlineInput>& inputs,
                                 const OnlineOptions& options);

}  // namespace stellwerk
