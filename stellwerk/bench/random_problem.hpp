// Problems drawn at random, always the same ones for a seed: what nobody has tuned a planner for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stellwerk/core/job.hpp"

namespace stellwerk {

struct RandomProblem {
  std::string topology;  ///< a name of the catalogue, 4 to 64 GPUs
  std::vector<Job> jobs;
};

/// The problem number `seed`: graphs, switches, boxes and grids, some with slow or failed or mixed
/// links; all ranks or some in any order; one job or two; every collective in turn (seed modulo
/// their number), custom demands with several origins and sums included. Everything that is wanted
/// can be reached.
RandomProblem random_problem(std::uint64_t seed);

}  // namespace stellwerk
