// From flows to paths: who goes where, over which links, beginning when.
#pragma once

#include <vector>

#include "stellwerk/plan/commodity.hpp"
#include "stellwerk/plan/expanded_flow.hpp"
#include "stellwerk/plan/static_flow.hpp"

namespace stellwerk {

/// Part of a commodity's flow: all of it takes the same way.
struct FlowPath {
  NodeId source;
  NodeId target;
  std::vector<LinkId> links;
  double bytes = 0;
  std::vector<int> epochs;  ///< one a link, when it is entered; empty for flows without time
};

/// Decomposes the flow of one commodity. The parts add up to what the sinks want, up to the
/// solver's tolerance.
std::vector<FlowPath> flow_paths(const Topology& topology, const Commodity& commodity,
                                 const LinkFlow& flow);
std::vector<FlowPath> flow_paths(const Topology& topology, const Commodity& commodity,
                                 const std::vector<EpochFlow>& flow, const FlowClock& clock);

}  // namespace stellwerk
