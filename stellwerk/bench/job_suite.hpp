// Random problems of several jobs: joint planning beside the overlays, always the same problems.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stellwerk/base/stop.hpp"
#include "stellwerk/core/objective.hpp"
#include "stellwerk/core/topology.hpp"

namespace stellwerk {

/// A kind of random problem.
struct JobWorkload {
  std::string_view name;
  std::string_view topology;
  int least_jobs;
  int most_jobs;
  int problems;
};

/// The kinds, 210 problems together.
std::span<const JobWorkload> job_workloads();

inline constexpr std::array kObjectives = {Objective::makespan, Objective::weighted,
                                           Objective::slowdown};

/// One objective on one problem, all in the units of objective_value.
struct JobMeasurement {
  std::int64_t joint = 0;         ///< the plan, re-timed
  std::int64_t without_fair = 0;  ///< the same, had fair sharing not been a candidate
  std::int64_t fifo = 0;
  std::int64_t fair = 0;
  std::int64_t bound = 0;
  std::string winner;
};

struct JobProblemResult {
  std::array<JobMeasurement, 3> objectives;  ///< as kObjectives
  std::vector<std::string> invalid;          ///< what the judge said; empty: every plan is valid
  double seconds = 0;                        ///< CPU, of everything
};

/// Problem `number` of a workload: AllGather, AllToAll and AllReduce over 4 to 16 random GPUs, 256 KB
/// to 64 MB, weights 1 to 4, releases spread over the mean time alone. Every plan is verified.
JobProblemResult measure_jobs(const JobWorkload& workload, std::uint64_t number,
                              const StopCondition& stop);

/// Means over problems; ratios to the joint plan.
struct JobSummary {
  std::size_t problems = 0;
  std::array<double, 3> fair{}, fifo{},
      bound{};  ///< mean of fair / joint, fifo / joint, joint / bound
  /// Problems in which jobs share a bottleneck: with fair sharing one of them takes at least a
  /// twentieth longer than alone.
  std::size_t sharing = 0;
  std::array<double, 3> fair_sharing{};  ///< mean of fair / joint over these
  std::array<int, 3> worse{};            ///< joint above an overlay
  std::array<int, 3> losses{};           ///< joint without the fair candidate above fair
  int invalid = 0;
  double seconds = 0;
};
JobSummary summarise(const std::vector<JobProblemResult>& results);

/// The process groups of one training run on rail:BOXESx8: two tensor parallel AllReduces of 32 MB in
/// every box, data parallel buckets of 8 MB on every rail over eight boxes at a time, expert
/// AllToAlls of 8 MB on every rail over eight boxes far apart. `boxes`: a multiple of 8. `chunks` a
/// block, half of that in AllToAlls.
std::vector<Job> training_groups(const Topology& topology, int boxes, int chunks = 1);

}  // namespace stellwerk
