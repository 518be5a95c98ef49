// The table of planners. Adding one = one file pair in this folder + one row here + its section in docs/planners.md.
#include <algorithm>
#include <array>

#include "stellwerk/base/error.hpp"
#include "stellwerk/plan/bidirectional_ring.hpp"
#include "stellwerk/plan/bruck.hpp"
#include "stellwerk/plan/direct.hpp"
#include "stellwerk/plan/double_binary_tree.hpp"
#include "stellwerk/plan/flow_planner.hpp"
#include "stellwerk/plan/greedy.hpp"
#include "stellwerk/plan/hierarchical.hpp"
#include "stellwerk/plan/in_network.hpp"
#include "stellwerk/plan/joint.hpp"
#include "stellwerk/plan/lp_planner.hpp"
#include "stellwerk/plan/milp.hpp"
#include "stellwerk/plan/pat.hpp"
#include "stellwerk/plan/planner.hpp"
#include "stellwerk/plan/rabenseifner.hpp"
#include "stellwerk/plan/rails.hpp"
#include "stellwerk/plan/recursive_doubling.hpp"
#include "stellwerk/plan/ring.hpp"
#include "stellwerk/plan/rounds.hpp"
#include "stellwerk/plan/search.hpp"
#include "stellwerk/plan/symmetric.hpp"
#include "stellwerk/plan/trees.hpp"

namespace stellwerk {
namespace {

constexpr auto kBaseline = PlannerKind::baseline;
constexpr auto kConstruction = PlannerKind::construction;
constexpr auto kImprovement = PlannerKind::improvement;
constexpr auto kExact = PlannerKind::exact;

constexpr std::array kPlanners = {
    PlannerRow{"direct", "every chunk straight to its destinations, as in pairwise exchange",
               kBaseline, true, true, false, plan_direct},
    PlannerRow{"ring", "NCCL-like ring over the ranks", kBaseline, true, true, false, plan_ring},
    PlannerRow{"bidirectional-ring", "both ways round a ring at once", kBaseline, true, true, false,
               plan_bidirectional_ring},
    PlannerRow{"recursive-doubling", "exchanges at distances 1, 2, 4, ...; halving for sums",
               kBaseline, true, true, false, plan_recursive_doubling},
    PlannerRow{"bruck", "blocks hop by powers of two; any number of ranks", kBaseline, false, true,
               false, plan_bruck},
    PlannerRow{"pat", "parallel aggregated trees: binomial, the long ways first", kBaseline, true,
               true, false, plan_pat},
    PlannerRow{"double-binary-tree", "two binary trees that share the chunks", kBaseline, true,
               true, false, plan_double_binary_tree},
    PlannerRow{"hierarchical", "rings inside hosts and rings between them", kBaseline, true, true,
               false, plan_hierarchical},
    PlannerRow{"rabenseifner", "sums by recursive halving, then doubling", kBaseline, true, true,
               false, plan_rabenseifner},
    PlannerRow{"symmetric", "one rank of every orbit planned for all, on orbits of links",
               kConstruction, true, true, true, plan_symmetric},
    PlannerRow{"in-network", "sums formed in switches, spread by their multicast", kConstruction,
               true, true, false, plan_in_network},
    PlannerRow{"rails", "AllToAll(V) on boxes and rails: even rails, an open shop on each",
               kConstruction, false, false, false, plan_rails},
    PlannerRow{"flow", "routing and list scheduling, for demands without useful copies",
               kConstruction, false, false, false, plan_flow},
    PlannerRow{"greedy", "idle links choose the rarest wanted chunk, for copies at any size",
               kConstruction, true, true, false, plan_greedy},
    PlannerRow{"trees", "throughput-optimal packing of trees, pipelined", kConstruction, true, true,
               false, plan_trees},
    PlannerRow{"joint", "several jobs: plans made alone, scheduled together for an objective",
               kImprovement, true, true, false, plan_joint, true},
    PlannerRow{"search", "multicast trees inserted one by one, then ruin and recreate",
               kImprovement, true, true, false, plan_search},
    PlannerRow{"lp", "time-expanded linear program, for demands without useful copies", kExact,
               false, false, false, plan_lp},
    PlannerRow{"milp", "time-expanded mixed-integer program with copy and store-and-forward",
               kExact, true, true, false, plan_milp},
    PlannerRow{"rounds", "milp by time partitioning into rounds", kImprovement, true, true, false,
               plan_rounds},
};

}  // namespace

std::string_view to_string(PlannerKind kind) {
  switch (kind) {
    case PlannerKind::baseline:
      return "baseline";
    case PlannerKind::construction:
      return "construction";
    case PlannerKind::improvement:
      return "improvement";
    case PlannerKind::exact:
      return "exact";
  }
  return "?";
}

Time target_time(const PlanOptions& options, const PlannerContext& context) {
  if (!context.bound) return Time{0};
  const double allowed = static_cast<double>(context.bound->value.ps) * (1 + options.gap / 2);
  const Time target{static_cast<std::int64_t>(allowed)};
  return context.bound_chunked ? std::max(target, context.bound_chunked->value) : target;
}

std::span<const PlannerRow> planners() { return kPlanners; }

const PlannerRow& find_planner(std::string_view name) {
  std::string names;
  for (const PlannerRow& row : kPlanners) {
    if (row.name == name) return row;
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  throw Error(ErrorCode::usage,
              "'" + std::string(name) + "' is not a planner: choose one of " + names);
}

}  // namespace stellwerk
