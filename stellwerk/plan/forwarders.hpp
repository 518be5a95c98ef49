// Who has to forward what it does not want: for planners that otherwise only send chunks to nodes
// that want them.
#pragma once

#include <string>
#include <vector>

#include "stellwerk/base/stop.hpp"
#include "stellwerk/core/problem.hpp"
#include "stellwerk/plan/fabrics.hpp"

namespace stellwerk {

struct Forwarders {
  /// Nodes that must be given the chunk so that all its destinations can be reached from its origins
  /// over nodes that hold, want or forward it; ascending.
  IdVector<ChunkId, std::vector<NodeId>> of;
  std::string objection;  ///< why there is no way; empty if there is one
};

/// Chooses forwarders: where a chunk's origins and destinations do not suffice, the destinations
/// left are joined by cheapest paths (latency + transmission, dearer where others go), nearest
/// first (Takahashi and Matsuyama, Math. Japonica 24, 1980). A node with a limited buffer forwards
/// no more chunks than fit into it all at once. Precondition: no reductions. O(chunks x links) at
/// worst; chunks with the same ends share one answer unless forwarders are needed. When stopped it
/// objects. `barred`: by chunk, nodes that must not forward it; null: none.
Forwarders find_forwarders(const Problem& problem, const StopCondition& stop = {},
                           const IdVector<ChunkId, std::vector<NodeId>>* barred = nullptr);

}  // namespace stellwerk
