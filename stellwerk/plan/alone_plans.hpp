// A plan for every job of a problem as if it were alone: the reference of slowdowns, and what
// overlays and the joint planner put together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "stellwerk/plan/planner.hpp"

namespace stellwerk {

/// A job's own plan: whole chunks, in the problem's chunks and links, with starts counted from the
/// job's release.
struct AlonePlan {
  Schedule sends;
  Time length;  ///< when the job is done, if nobody else is there
};

/// Plans of classes of jobs that have been made: jobs that look alike need one only.
struct AloneClass {
  AlonePlan plan;         ///< in the numbers of the class
  bool possible = false;  ///< is there a plan?
  std::string objection;  ///< why there is none
};
using AloneCache = std::map<std::pair<bool, std::vector<std::int64_t>>, AloneClass>;

/// How long to look for a job's own plan.
enum class AloneEffort : std::uint8_t {
  thorough,  ///< all fast planners, a search where it is cheap
  hasty,     ///< constructions only: a few ms for 16 GPUs
};

struct AlonePlans {
  std::vector<AlonePlan> best;     ///< one a job
  std::vector<AlonePlan> members;  ///< only the job's GPUs forward; no sends where that cannot be
  std::size_t classes = 0;         ///< how many different jobs there are, each way of relaying
  bool relays_help = false;        ///< some best plan is not the one of members
};

/// Plans each job by the fast planners and the baselines and keeps the fastest. Jobs that look alike
/// (same collective and size, and the same network among their GPUs) are planned once. Throws
/// Error(unsolved), naming the job, if one cannot be planned. Preconditions: no symmetry; chunks are
/// listed job by job, as make_problem does; graph_objection(topology) is empty.
/// Looks up and keeps classes in `cache`, if there is one; it is for one set of options and one effort.
AlonePlans plan_alone(const Problem& problem, const PlanOptions& options, PlannerContext& context,
                      AloneCache* cache = nullptr, AloneEffort effort = AloneEffort::thorough);

}  // namespace stellwerk
