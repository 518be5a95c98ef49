// Placement: which of the free GPUs a job gets, and in which order its ranks sit on them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stellwerk/base/progress.hpp"
#include "stellwerk/plan/portfolio.hpp"

namespace stellwerk {

struct PlacementRequest {
  Topology topology;
  std::vector<NodeId> free;  ///< GPUs that the job may get, in the caller's order
  std::size_t ranks = 0;     ///< how many it needs; at most the free ones
  Collective collective = Collective::allgather;
  Bytes size;
  Relays relays = Relays::members;  ///< neighbours' GPUs belong to others
  std::string planner;              ///< for scoring; empty: the portfolio
  PlanOptions options;
  double seconds_each = 1;  ///< for the plan of one candidate
};

/// One candidate: ranks[i] is the GPU of rank i.
struct Placement {
  std::string rule;  ///< how it came about: "given", "packed", "spread", "rails", "order"
  std::vector<NodeId> ranks;
  std::optional<Time> planned;  ///< transfer time of its plan; nothing: it has none
  std::optional<Time> bound;
};

/// Candidate subsets and orders, without times: the first free GPUs as given; hosts filled one after
/// the other, fullest first; the same number from every host that has enough; and of each the order by
/// host and the order by rail. Each set and order once. Throws Error(usage) if fewer are free than are
/// needed, or fewer than two are needed.
std::vector<Placement> placement_candidates(const PlacementRequest& request);

/// All candidates with their planned times, best first; those without a plan last. Ties keep the order
/// of placement_candidates. Ends early, with those tried, when `stop` says so.
std::vector<Placement> place(const PlacementRequest& request, const StopCondition& stop,
                             Progress* progress, const Judge& judge);

}  // namespace stellwerk
