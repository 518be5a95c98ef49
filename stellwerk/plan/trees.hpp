// The planner `trees`: throughput-optimal tree packing, pipelined.
#pragma once

#include "stellwerk/plan/planner.hpp"

namespace stellwerk {

/// AllGather, Broadcast, ReduceScatter, Reduce and AllReduce (and what is like them: every chunk
/// from one node to the same set of nodes) over trees whose number and shape use every bottleneck to
/// the full, on any fabric. Declines other demands, several jobs over different nodes, and more
/// than 512 nodes.
PlannerOutcome plan_trees(const Problem& problem, const PlanOptions& options,
                          PlannerContext& context);

}  // namespace stellwerk
