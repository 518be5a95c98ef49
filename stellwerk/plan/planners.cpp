// The table of planners. Adding one = one file pair in this folder + one row here + its section in docs/planners.md.
#include <array>

#include "stellwerk/base/error.hpp"
#include "stellwerk/plan/bidirectional_ring.hpp"
#include "stellwerk/plan/bruck.hpp"
#include "stellwerk/plan/direct.hpp"
#include "stellwerk/plan/double_binary_tree.hpp"
#include "stellwerk/plan/greedy.hpp"
#include "stellwerk/plan/hierarchical.hpp"
#include "stellwerk/plan/lp_planner.hpp"
#include "stellwerk/plan/milp.hpp"
#include "stellwerk/plan/pat.hpp"
#include "stellwerk/plan/planner.hpp"
#include "stellwerk/plan/rabenseifner.hpp"
#include "stellwerk/plan/recursive_doubling.hpp"
#include "stellwerk/plan/ring.hpp"
#include "stellwerk/plan/rounds.hpp"
#include "stellwerk/plan/search.hpp"
#include "stellwerk/plan/symmetric.hpp"
#include "stellwerk/plan/trees.hpp"

namespace stellwerk {
namespace {

constexpr std::array kPlanners = {
    PlannerRow{"direct", "every chunk straight to its destinations, as in pairwise exchange", true,
               true, false, true, false, plan_direct},
    PlannerRow{"ring", "NCCL-like ring over the ranks", true, true, false, true, false, plan_ring},
    PlannerRow{"bidirectional-ring", "both ways round a ring at once", true, true, false, true,
               false, plan_bidirectional_ring},
    PlannerRow{"recursive-doubling", "exchanges at distances 1, 2, 4, ...; halving for sums", true,
               true, false, true, false, plan_recursive_doubling},
    PlannerRow{"bruck", "blocks hop by powers of two; any number of ranks", false, true, false,
               true, false, plan_bruck},
    PlannerRow{"pat", "parallel aggregated trees: binomial, the long ways first", true, true, false,
               true, false, plan_pat},
    PlannerRow{"double-binary-tree", "two binary trees that share the chunks", true, true, false,
               true, false, plan_double_binary_tree},
    PlannerRow{"hierarchical", "rings inside hosts and rings between them", true, true, false, true,
               false, plan_hierarchical},
    PlannerRow{"rabenseifner", "sums by recursive halving, then doubling", true, true, false, true,
               false, plan_rabenseifner},
    PlannerRow{"symmetric", "one rank of every orbit planned for all, on orbits of links", true,
               true, false, false, true, plan_symmetric},
    PlannerRow{"greedy", "idle links choose the rarest wanted chunk, for copies at any size", true,
               true, false, false, false, plan_greedy},
    PlannerRow{"search", "multicast trees inserted one by one, then ruin and recreate", true, true,
               false, false, false, plan_search},
    PlannerRow{"trees", "throughput-optimal packing of trees, pipelined", true, true, false, false,
               false, plan_trees},
    PlannerRow{"lp", "time-expanded linear program, for demands without useful copies", false,
               false, true, false, false, plan_lp},
    PlannerRow{"milp", "time-expanded mixed-integer program with copy and store-and-forward", true,
               true, true, false, false, plan_milp},
    PlannerRow{"rounds", "milp by time partitioning into rounds", true, true, false, false, false,
               plan_rounds},
};

}  // namespace

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
