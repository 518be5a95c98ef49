// What theory says of the epoch planners on one grid, before re-timing:
//   fluid lp <= milp without copies, equal where the LP's flow is whole chunks
//   milp <= milp without copies        milp <= rounds
// and milp is what exhaustive search finds, wherever that can be had.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>

#include "stellwerk/check/simulate.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/plan/commodity.hpp"
#include "stellwerk/plan/epoch_model.hpp"
#include "stellwerk/plan/expanded_flow.hpp"
#include "stellwerk/plan/milp.hpp"
#include "stellwerk/plan/no_copy.hpp"
#include "stellwerk/plan/passing.hpp"
#include "stellwerk/plan/rounds.hpp"
#include "tests/conformance/instances.hpp"
#include "tests/support/grid_check.hpp"
#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

using testing::kEpoch;

constexpr int kMostEpochs = 60;

/// Solves to proven optimality and judges the entries; nothing without a plan.
std::optional<GridSolution> solve(const Problem& problem, const EpochGrid& grid) {
  PlannerContext context;
  GridSolution solution = solve_on_grid(problem, grid, {}, {}, context);
  if (solution.epochs >= kNever) return std::nullopt;
  EXPECT_EQ(solution.epochs, solution.proven);
  testing::GridCheck check(problem, grid, initial_state(problem, grid), solution.entries);
  EXPECT_EQ(check.objection(), "");
  EXPECT_EQ(check.length(), solution.epochs);
  return solution;
}

TEST(Oracle, ExhaustiveSearchAgreesWithMilp) {
  constexpr int kInstances = 2000;
  int solved = 0, impossible = 0;
  std::map<int, int> lengths;
  for (int number = 0; number < kInstances; ++number) {
    SCOPED_TRACE("random instance " + std::to_string(number));
    Rng rng(0xbf0000u + static_cast<std::uint64_t>(number));
    testing::RandomInstanceOptions options;
    options.parallel = number % 2 == 0;
    testing::EpochInstance instance = testing::random_instance(rng, options);
    for (testing::EpochLink& link : instance.links) {  // as on every grid
      if (!instance.stores(link.from) && !instance.stores(link.to)) {
        link.latency = std::max(link.latency, 1);
      }
    }
    const Problem problem = testing::to_problem(instance, Bytes{6000}, kEpoch);
    const EpochGrid grid(problem, kEpoch);
    for (const LinkId id : problem.topology.link_ids()) {
      ASSERT_EQ(grid.latency(id), instance.links[id.index()].latency);
      ASSERT_EQ(grid.window(id, Bytes{6000}), instance.links[id.index()].window);
    }
    const auto oracle = testing::brute_force(instance, kMostEpochs);
    const auto milp = solve(problem, grid);
    ASSERT_EQ(milp.has_value(), oracle.has_value());
    if (!oracle) {
      ++impossible;
      continue;
    }
    ++solved;
    ++lengths[oracle->horizon];
    ASSERT_EQ(milp->epochs, oracle->horizon);
    // Latencies and windows are whole epochs, so re-timing only gains.
    const Simulation timed = simulate(
        problem, entries_to_sends(problem, grid, initial_state(problem, grid), milp->entries));
    const Verdict verdict = verify_sends(problem, timed.sends);
    ASSERT_TRUE(verdict.valid()) << verdict.message;
    ASSERT_LE(verdict.transfer_time, milp->epochs * kEpoch);
  }
  std::printf(
      "oracle: %d instances, %d solved to the same optimum (1 to %d epochs), %d impossible for "
      "both\n",
      kInstances, solved, lengths.rbegin()->first, impossible);
  EXPECT_GE(solved, 1500);
}

/// The least horizon of the time-expanded LP, and whether its flow is in whole chunks.
struct Fluid {
  int epochs = -1;
  bool whole = false;
};
Fluid fluid(const Problem& problem, const EpochGrid& grid) {
  Fluid result;
  const auto demand = unicasts(problem);
  if (!demand || demand->empty()) return result;
  const std::vector<Commodity> commodities = make_commodities(problem, *demand);
  for (int epochs = 1; epochs <= kMostEpochs; ++epochs) {
    const ExpandedModel model(problem, commodities, grid, epochs, true);
    if (!model.reachable()) continue;
    lp::SolveOptions options;
    options.method = lp::Method::simplex;
    const lp::Solution solution = lp::solve(model.model(), options);
    if (!solution.has_values()) continue;
    result.epochs = epochs;
    // Whole chunks of one size, and each of them through a link within an epoch.
    const Bytes bytes = problem.chunks.front().bytes;
    result.whole = true;
    for (const Chunk& chunk : problem.chunks) result.whole = result.whole && chunk.bytes == bytes;
    for (const auto& flows : model.flow(solution.values).flows) {
      for (const EpochFlow& flow : flows) {
        const double chunks = flow.bytes / static_cast<double>(bytes.value);
        result.whole = result.whole && std::abs(chunks - std::round(chunks)) < 1e-6 &&
                       grid.window(flow.link, bytes) == 1;
      }
    }
    return result;
  }
  return result;
}

/// What its destination has from the start counts from its ready time on; without_copies drops it.
int ready_where_wanted(const Problem& problem, const EpochGrid& grid) {
  int latest = 0;
  for (const Chunk& chunk : problem.chunks) {
    for (const NodeId node : chunk.destinations) {
      if (std::find(chunk.origins.begin(), chunk.origins.end(), node) != chunk.origins.end()) {
        latest = std::max(latest, grid.epoch_at_or_after(chunk.ready));
      }
    }
  }
  return latest;
}

/// No latency is dropped, and none is rounded up next to a switch, where nothing can wait.
bool latencies_fit(const Topology& topology, const EpochGrid& grid) {
  for (const LinkId id : topology.link_ids()) {
    const Link& link = topology.link(id);
    const Time on_grid = grid.latency(id) * kEpoch;
    const bool direct = topology.stores(link.from) && topology.stores(link.to);
    if (direct ? on_grid < link.latency : on_grid != link.latency) return false;
  }
  return true;
}

struct Tally {
  int instances = 0, problems = 0, oracle = 0, fluid_compared = 0, whole = 0, strictly_below = 0;
  int copies_help = 0, rounds_compared = 0, rounds_longer = 0, kept = 0;
};

TEST(Grid, FluidBelowMilpBelowRounds) {
  std::map<Collective, Tally> tallies;
  Tally all;
  for (const int number : testing::conformance_numbers()) {
    const testing::ConformanceInstance instance = testing::conformance_instance(number);
    SCOPED_TRACE(instance.name);
    Tally tally;
    tally.instances = 1;
    for (const Problem& problem : testing::problems_of_copies(instance.problem)) {
      ++tally.problems;
      const EpochGrid grid(problem, kEpoch);
      const EpochState start = initial_state(problem, grid);
      const auto milp = solve(problem, grid);
      ASSERT_TRUE(milp.has_value());
      if (const auto oracle = testing::oracle_instance(problem, grid)) {
        const auto best = testing::brute_force(*oracle, kMostEpochs);
        ASSERT_TRUE(best.has_value());
        ASSERT_EQ(milp->epochs, best->horizon);
        ++tally.oracle;
      }

      const Schedule timed = entries_to_plan(problem, grid, start, milp->entries, {});
      const Verdict verdict = verify_sends(problem, timed);
      ASSERT_TRUE(verdict.valid()) << verdict.message;
      // Continuous time keeps what the grid promises, to the ps.
      if (latencies_fit(problem.topology, grid) && !has_buffer_limits(problem.topology)) {
        ++tally.kept;
        EXPECT_LE(verdict.transfer_time, milp->epochs * kEpoch + Time{milp->epochs});
      }

      const Problem single = without_copies(problem).problem;
      const auto no_copy = solve(single, grid);
      ASSERT_TRUE(no_copy.has_value());
      EXPECT_LE(milp->epochs, std::max(no_copy->epochs, ready_where_wanted(problem, grid)));
      tally.copies_help += milp->epochs < no_copy->epochs ? 1 : 0;
      const Fluid flow = fluid(single, grid);
      if (flow.epochs >= 0) {
        ++tally.fluid_compared;
        EXPECT_LE(flow.epochs, no_copy->epochs);
        tally.strictly_below += flow.epochs < no_copy->epochs ? 1 : 0;
        // The LP's buffers are fluid, too: they let more through.
        if (flow.whole && !has_buffer_limits(problem.topology)) {
          ++tally.whole;
          EXPECT_EQ(flow.epochs, no_copy->epochs);
        }
      }

      if (has_buffer_limits(problem.topology)) continue;
      for (const int round : {1, 2, 3}) {
        SCOPED_TRACE("rounds of " + std::to_string(round));
        PlannerContext context;
        PlanOptions options;
        options.round_epochs = round;
        const std::vector<EpochEntry> entries = rounds_on_grid(problem, grid, options, context);
        testing::GridCheck check(problem, grid, start, entries);
        ASSERT_EQ(check.objection(), "");
        ++tally.rounds_compared;
        EXPECT_GE(check.length(), milp->epochs);
        tally.rounds_longer += check.length() > milp->epochs ? 1 : 0;
      }
    }
    for (Tally* sum : {&tallies[instance.collective], &all}) {
      sum->instances += tally.instances;
      sum->problems += tally.problems;
      sum->oracle += tally.oracle;
      sum->fluid_compared += tally.fluid_compared;
      sum->whole += tally.whole;
      sum->strictly_below += tally.strictly_below;
      sum->copies_help += tally.copies_help;
      sum->rounds_compared += tally.rounds_compared;
      sum->rounds_longer += tally.rounds_longer;
      sum->kept += tally.kept;
    }
  }
  const auto print = [](std::string_view what, const Tally& t) {
    std::printf(
        "%-14.*s %3d instances, %3d problems proven optimal, %3d by brute force; %3d fluid <= milp "
        "(%d below, %d in whole chunks: equal); copies help %d; %3d rounds >= milp (%d longer); "
        "%d re-timed <= grid\n",
        static_cast<int>(what.size()), what.data(), t.instances, t.problems, t.oracle,
        t.fluid_compared, t.strictly_below, t.whole, t.copies_help, t.rounds_compared,
        t.rounds_longer, t.kept);
  };
  for (const auto& [collective, tally] : tallies) print(to_string(collective), tally);
  print("all", all);
  EXPECT_EQ(all.instances, static_cast<int>(testing::conformance_numbers().size()));
}

}  // namespace
}  // namespace stellwerk
