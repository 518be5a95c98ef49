// Demands without useful copies, as commodities of a flow problem: what the LP planner moves.
#pragma once

#include <optional>
#include <vector>

#include "stellwerk/core/problem.hpp"

namespace stellwerk {

/// A chunk that exactly one node lacks: it has to travel from one of its sources to its target.
struct Unicast {
  ChunkId chunk;
  std::vector<NodeId> sources;  ///< ascending; usually one
  NodeId target;
  Bytes bytes;
  Time ready;
};

/// The unicasts of a problem whose demand needs no copies, in the order of the chunks; chunks that
/// everybody who wants them holds already are left out. Nothing when a chunk is a reduction or is
/// lacked by two or more destinations.
std::optional<std::vector<Unicast>> unicasts(const Problem& problem);

/// Unicasts that may share one flow: any byte that arrives serves any of them without changing what
/// can be reached. Either all have the same sources and ready time, or all have the same target.
struct Commodity {
  struct Supply {
    std::vector<NodeId> nodes;  ///< any of them may send it
    Time ready;
    Bytes bytes;
    friend bool operator==(const Supply&, const Supply&) = default;
  };
  struct Sink {
    NodeId node;
    Bytes bytes;
  };

  std::vector<Supply> supplies;
  std::vector<Sink> sinks;            ///< one a node
  IdVector<NodeId, char> may_pass;    ///< may the node send on what it did not start with (switches
                                      ///< included)? Not without room for the largest chunk.
  std::vector<std::size_t> unicasts;  ///< positions in the list of unicasts
  Bytes bytes;                        ///< in total
};

/// Per source or per target, whichever gives fewer commodities.
std::vector<Commodity> make_commodities(const Problem& problem,
                                        const std::vector<Unicast>& unicasts);

/// May the commodity's data use the link?
bool may_use(const Commodity& commodity, const Topology& topology, LinkId link);

}  // namespace stellwerk
