// Whole chunks on paths: the integral counterpart of a flow.
#pragma once

#include <vector>

#include "stellwerk/base/stop.hpp"
#include "stellwerk/plan/commodity.hpp"
#include "stellwerk/plan/flow_paths.hpp"

namespace stellwerk {

/// The way of one unicast.
struct Route {
  std::vector<LinkId> links;
  std::vector<int>
      epochs;  ///< as in FlowPath; empty where the route does not come from a timed flow
};

/// One route a unicast: `paths` are those of `commodities`, in the same order. Where the flow
/// splits a chunk, or rounding left a link fuller than need be, chunks are moved off the fullest
/// links.
std::vector<Route> assign_paths(const Problem& problem, const std::vector<Unicast>& unicasts,
                                const std::vector<Commodity>& commodities,
                                const std::vector<std::vector<FlowPath>>& paths,
                                const StopCondition& stop);

/// When the fullest link or capped node would be done if it never had to wait.
Time fullest(const Problem& problem, const std::vector<Unicast>& unicasts,
             const std::vector<Route>& routes);

}  // namespace stellwerk
