// List scheduling of moves: when each hop of each parcel starts, and at which rate.
#pragma once

#include <cstdint>
#include <vector>

#include "stellwerk/base/stop.hpp"
#include "stellwerk/plan/parcel_hops.hpp"

namespace stellwerk {

struct MoveTimes {
  std::vector<std::int64_t> starts;  ///< by move; empty if the time ran out
  std::vector<std::int64_t> rates;   ///< by move; empty: those of the hops
  std::int64_t finish = INT64_MAX;   ///< of the last arrival

  bool complete() const { return !starts.empty(); }
};

/// How list scheduling chooses among the moves that wait for a link.
enum class Choice : std::uint8_t {
  priority,  ///< the largest priority that can start
  fullest,   ///< the one whose other links have most to do still; then by priority
};

struct ListOptions {
  Choice choice = Choice::priority;
  bool share = false;  ///< links may carry several moves at once, as far as their bandwidth goes
  bool slow_start = false;  ///< a move may start at part of its rate where a link has no more left
  bool backwards =
      false;  ///< in reversed time: starts count from the end, ready times are not kept
};

/// At every instant, of the moves that can start the ones with the highest priority do. `priority`:
/// one a move; of equal ones the first move.
MoveTimes list_moves(const ParcelHops& hops, const std::vector<double>& priority,
                     const ListOptions& options, const StopCondition& stop);

}  // namespace stellwerk
