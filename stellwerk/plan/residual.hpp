// What is left to be done in the middle of a plan: an ordinary problem whose clock starts at the cut,
// beside what is still on its way.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stellwerk/core/event.hpp"
#include "stellwerk/core/problem.hpp"
#include "stellwerk/core/send.hpp"
#include "stellwerk/plan/network_state.hpp"

namespace stellwerk {

/// A holder (or a part of a sum) that is not there from the chunk's ready time on, but later.
struct Release {
  NodeId node;
  Time at;  ///< counted from the cut
};

/// What sends in flight still take of a link, a cap or a switch.
struct Busy {
  enum class Kind : std::uint8_t { link, injection, ejection, groups };
  Kind kind = Kind::link;
  std::int32_t id = 0;  ///< of a link of the residual's network, or a node
  Time begin, end;      ///< counted from the cut; end > 0
  std::int64_t amount = 0;
};

struct Residual {
  /// Nodes keep their numbers; only links that are up are there, with the bandwidth that they have
  /// now. Chunks that somebody lacks and will not get: `origins` are all that hold the chunk or are
  /// about to; of a sum that nobody has as a whole, `contributors` are the nodes with parts of it.
  /// Times count from the cut.
  Problem problem;
  IdVector<ChunkId, std::vector<Release>> late;  ///< by chunk; ascending by node
  /// By chunk; mostly empty: nodes that hold parts of the sum which count elsewhere already. They
  /// can neither form the sum nor pass parts of it on.
  IdVector<ChunkId, std::vector<NodeId>> barred;
  /// Likewise: nodes to which such parts are on their way, and when the last is in. No copy may be
  /// there before, or at that instant.
  IdVector<ChunkId, std::vector<Release>> unsettled;
  std::vector<Busy> busy;
  std::vector<ChunkId> chunk;             ///< numbers in the whole problem
  IdVector<LinkId, LinkId> link;          ///< likewise
  IdVector<LinkId, LinkId> inverse_link;  ///< of the whole problem; invalid: it is down

  /// From when on a node can send what it has of a chunk that nobody has sent since the cut.
  Time release(ChunkId id, NodeId node) const;
};

/// A plan at an instant.
struct Cut {
  Time at;
  Schedule kept;  ///< what has started, as it goes on: the beginning of the new plan
  Residual rest;
  Time landed;       ///< when the last wanted delivery of `kept` is in
  std::string lost;  ///< why there can be no new plan; empty if nothing is lost
  /// Nothing is lost, but parts of a sum overlap so that this choice of them does not make it up.
  bool incomplete = false;
  bool choices = false;  ///< another `choice` would give another residual
};

/// Cuts a plan of `problem`; `events` are those before the cut and those that happen at `at`. Sends
/// that start at `at` or later are dropped, but for pieces of sums that have begun to move.
/// `choice`: see land.
Cut cut(const Problem& problem, const std::vector<Event>& events, const Schedule& sends, Time at,
        std::uint64_t choice = 0);

}  // namespace stellwerk
