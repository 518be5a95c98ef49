// How soon a commodity's data can be at a node, and how far it still is from a sink: what prunes
// the flow models.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>

#include "stellwerk/base/ids.hpp"
#include "stellwerk/core/topology.hpp"
#include "stellwerk/plan/commodity.hpp"
#include "stellwerk/plan/epoch_grid.hpp"

namespace stellwerk {

/// The clock of a flow model: continuous time in ps, or the epochs of a grid.
struct FlowClock {
  double tick_seconds;  ///< what one unit of time is
  IdVector<LinkId, std::int64_t>
      length;               ///< ticks from entering a link to being usable at its head
  std::int64_t shared = 0;  ///< ticks at the end of a way during which its last bytes still move
  std::function<std::int64_t(Time)> from;  ///< the first tick at or after a time
};

/// Bytes flow continuously: a byte is usable after the link's latency.
FlowClock continuous_clock(const Topology& topology);
/// What enters a link in an epoch is usable at a GPU or relay from the start of the next one on,
/// plus latency.
FlowClock epoch_clock(const Topology& topology, const EpochGrid& grid);

/// In ticks of a clock.
struct FlowReach {
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() / 4;

  IdVector<NodeId, std::int64_t>
      earliest;  ///< of any byte at the node; kNever if it cannot get there
  IdVector<NodeId, std::int64_t> remaining;  ///< from the node to the nearest sink; kNever likewise
  IdVector<LinkId, char> usable;             ///< may be on a way from a supply to a sink
  std::int64_t least_finish = 0;             ///< no sink has all of its data before this
  bool connected = true;  ///< every sink can be reached from every supply's nodes
};

FlowReach flow_reach(const Topology& topology, const Commodity& commodity, const FlowClock& clock);

}  // namespace stellwerk
