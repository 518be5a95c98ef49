// Random problems with valid plans, made by code that shares nothing with planners, verifier or
// simulator: slow, simple, and independent. What it makes is small (up to 8 GPUs) but has
// everything that the model knows: switches with and without multicast and reduce, relays, parallel
// links, zero latencies, jobs over some of the GPUs, every collective, sends at part of the rate
// and in pieces, in-trees, shares, wasted copies, and limits on nodes that are exactly as large as
// the plan needs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/core/plan.hpp"

namespace stellwerk::testing {

/// One link of a send: when its bytes are on it and where they arrive when.
struct LinkWindow {
  LinkId link;
  std::int64_t begin;
  std::int64_t end;       ///< begin + duration
  std::int64_t first_in;  ///< begin + latency
  std::int64_t last_in;   ///< end + latency
};

/// The windows of a send, straight from the cut-through rule.
std::vector<LinkWindow> windows(const Topology& topology, const Send& send);

/// Most of the rates (or bytes, or groups) at one instant.
struct Peaks {
  IdVector<NodeId, std::int64_t> injection, ejection, buffer, groups;
};

/// By looking at every instant at which something begins.
Peaks peaks(const Problem& problem, const Schedule& sends);

/// Does any link carry more than its bandwidth at any instant?
bool overloads_a_link(const Topology& topology, const Schedule& sends);

struct RandomPlanOptions {
  bool limits = true;  ///< node limits as tight as the plan allows
  bool waste = true;   ///< now and then a copy that nobody needs
};

struct RandomPlan {
  Plan plan;  ///< valid, with recorded finish times, without bounds
  /// Since when a node holds a chunk (a full sum): origins, destinations and nodes between.
  std::map<std::pair<ChunkId, NodeId>, std::int64_t> held;
};

/// The same state of `rng` gives the same plan.
RandomPlan random_plan(Rng& rng, const RandomPlanOptions& options = {});

/// The same for sends from elsewhere, of whole chunks and valid; none if some are pieces. What nodes hold is found
/// by a replay with sets, send by send.
std::optional<RandomPlan> plan_of(const Problem& problem, const Schedule& sends);

}  // namespace stellwerk::testing
