// AllReduce by trees into, and out of, roots that are free to choose.
#pragma once

#include <vector>

#include "stellwerk/plan/joint_rates.hpp"
#include "stellwerk/plan/planner.hpp"

namespace stellwerk {

/// Chunks that `terminals` all add to and all want, and rates for them.
struct JointDemand {
  std::vector<NodeId> terminals;
  std::vector<ChunkId> chunks;      ///< of one size (but for a byte)
  IdVector<NodeId, char> passable;  ///< other storing nodes that may forward
  JointRates rates;
};

struct JointTreePlan {
  Schedule sends;  ///< empty: none was found
  Time finish = Time::max();
};

/// Sums every chunk along a tree into its root and spreads it along another one, by trees packed into the
/// rates. Stops at the target; `quick`: at the first plan.
JointTreePlan plan_joint_trees(const Problem& problem, const JointDemand& demand, Time target,
                               bool quick, PlannerContext& context);

}  // namespace stellwerk
