// Orders of ranks for launchers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stellwerk/core/plan.hpp"

namespace stellwerk {

/// Rank i's GPU: where the plan sends along rings, the first ring from rank 0 on, so that libraries that build rings by rank
/// follow it; else the order of the job. Precondition: one job, not compressed. Throws Error(unsolved) for several jobs.
std::vector<NodeId> rank_order(const Plan& plan);

/// `format`: "names" (a GPU a line), "hostfile" (a host a line, as SLURM_HOSTFILE with --distribution=arbitrary and Open MPI's
/// --map-by seq read it), "rank-gpus" (host and number of the GPU in it) or "rankfile" (Open MPI; it wants cores: all of the
/// first socket). Throws Error(unsolved) if a GPU has no host.
std::string format_rank_order(const Topology& topology, const std::vector<NodeId>& ranks,
                              std::string_view format);

}  // namespace stellwerk
