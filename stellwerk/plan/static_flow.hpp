// The max-concurrent-flow LP: how much of each commodity goes over each link, without time.
#pragma once

#include <optional>
#include <vector>

#include "stellwerk/base/stop.hpp"
#include "stellwerk/plan/commodity.hpp"
#include "stellwerk/plan/flow_reach.hpp"

namespace stellwerk {

/// Bytes of each commodity on each link.
using LinkFlow = IdVector<LinkId, double>;

struct StaticFlow {
  double ticks = 0;  ///< a lower bound on the transfer time of every plan in the fluid model
  std::vector<LinkFlow>
      flows;  ///< one a commodity; among those with the least time one of least total work
};

/// Nothing when a limit came first, or no flow exists (see FlowReach::connected).
std::optional<StaticFlow> static_flow(const Problem& problem,
                                      const std::vector<Commodity>& commodities,
                                      const FlowClock& clock, const StopCondition& stop,
                                      int threads);

}  // namespace stellwerk
