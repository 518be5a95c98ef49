// The symmetries of a topology together with the jobs on it.
#pragma once

#include <cstdint>
#include <vector>

#include "stellwerk/base/stop.hpp"
#include "stellwerk/core/problem.hpp"
#include "stellwerk/core/symmetry.hpp"

namespace stellwerk {

/// What a search for symmetries has found. All act freely on the jobs' ranks.
struct FoundSymmetries {
  Symmetry largest;    ///< the most elements
  Symmetry link_free;  ///< the most elements of which none but the identity keeps a link in place
  std::int64_t largest_order = 1;
  std::int64_t link_free_order = 1;
  std::int64_t bound = 1;  ///< no such group has more elements
};

/// Needs no hints: names and labels do not matter, nor does the order of nodes, links and ranks.
/// Deterministic, unless `stop` cuts it short. Jobs that are not all compressible() have none.
/// Precondition: the jobs are valid (check_jobs).
FoundSymmetries find_symmetries(const Topology& topology, const std::vector<Job>& jobs,
                                const StopCondition& stop);

/// The one to plan with: the link-free one, unless the other is more than four times as large.
Symmetry find_symmetry(const Topology& topology, const std::vector<Job>& jobs,
                       const StopCondition& stop);

}  // namespace stellwerk
