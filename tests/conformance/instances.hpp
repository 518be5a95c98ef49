// Small random instances that all planners are held against: see the README of the folder in
// instances.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stellwerk/core/problem.hpp"
#include "stellwerk/plan/epoch_grid.hpp"
#include "tests/support/brute_force.hpp"

namespace stellwerk::testing {

struct ConformanceInstance {
  std::string name;  ///< number, collective, topology: what a failure report begins with
  Collective collective;
  Problem problem;
};

/// Instance `number`: always the same for the same number. Every demand can be reached.
ConformanceInstance conformance_instance(int number);

/// The instances of the suite: the first 264 (44 under a sanitizer), and those in which longer runs found a mistake.
std::vector<int> conformance_numbers();

/// The problem as the oracle of support/brute_force.hpp sees it on this grid; nothing if its model
/// does not have what the problem needs (limits of nodes, several sizes, members only, reductions)
/// or it is too large for it.
std::optional<EpochInstance> oracle_instance(const Problem& problem, const EpochGrid& grid);

/// One or two problems of copies: the problem itself, or the halves of one with reductions.
std::vector<Problem> problems_of_copies(const Problem& problem);

}  // namespace stellwerk::testing
