// Plans for residual problems: what is left to be done in the middle of a plan.
#pragma once

#include <cstdint>

#include "stellwerk/base/stop.hpp"
#include "stellwerk/plan/residual.hpp"

namespace stellwerk {

/// Sends for a residual problem, in its numbers; times count from the cut.
struct RestPlan {
  Schedule sends;
  Time finish = Time::max();  ///< of the last arrival; max: there is no plan

  bool found() const { return finish != Time::max(); }
};

struct RestOptions {
  std::uint64_t seed = 1;
  /// Runs are repeated with other choices until about so many deliveries have been planned in all;
  /// there is always one.
  std::int64_t deliveries = 40'000;
};

/// Copies from the state as it is; sums along reversed broadcasts from their roots to all that hold
/// parts of them, each as early as the parts are there. `objection` says why there is no plan.
RestPlan plan_rest(const Residual& rest, const RestOptions& options, const StopCondition& stop,
                   std::string& objection);

/// Sends in a causal order, each as early as its data, links and caps allow, given what is in flight;
/// gaps are filled. Whole chunks; no shares. Starts count as order only.
RestPlan place_in_order(const Residual& rest, Schedule sends);

/// The chunks of a residual for which `wanted` is set, as a residual of their own; `number` gets
/// their numbers in it.
Residual part_of(const Residual& rest, const IdVector<ChunkId, char>& wanted,
                 std::vector<ChunkId>& number);

}  // namespace stellwerk
