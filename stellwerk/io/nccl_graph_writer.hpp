// Ring orders for NCCL (NCCL_GRAPH_FILE).
#pragma once

#include <string>
#include <vector>

#include "stellwerk/core/plan.hpp"

namespace stellwerk {

/// What one host's processes read.
struct NcclGraph {
  std::string host;  ///< empty if all hosts read the same
  std::string text;
};

/// The rings of a plan as NCCL graph XML: graph 0, a channel a ring, GPUs by their numbers in the host; with several hosts
/// between the NIC by which the ring comes in and the one by which it goes out. A NIC's number is the last one of its name, where
/// links say which they go through (topo compose), and else the rail of its GPU. Precondition: not compressed. Throws
/// Error(unsolved) for plans that are no rings (plan_rings), and where the topology does not tell the NICs. NCCL joins hosts in the
/// order of the ranks: rings that visit them the other way round are turned, others refused.
std::vector<NcclGraph> format_nccl_graphs(const Plan& plan);

}  // namespace stellwerk
