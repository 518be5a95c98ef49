// Ring orders for NCCL (NCCL_GRAPH_FILE).
#pragma once

#include <string>

#include "stellwerk/core/plan.hpp"

namespace stellwerk {

/// The rings of a plan of one host as NCCL graph XML: graph 0, a channel a ring, GPUs by their numbers in the host.
/// Precondition: not compressed. Throws Error(unsolved) for plans that are no rings (AllGather or Broadcast whose every chunk
/// goes round all ranks), and for several hosts, whose NICs a plan does not name.
std::string format_nccl_graph(const Plan& plan);

}  // namespace stellwerk
