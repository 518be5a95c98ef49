// Flows first, chunks later.
//
// Problem: every chunk has one place to go. Which way, and when?
//
// Idea: chunks of one source (or for one target) are interchangeable as bytes, so that two linear
// programs of moderate size decide the routing: (1) the max-concurrent-flow LP without time
// (plan/static_flow.cpp), which is a bound and a routing for large sizes; (2) the time-expanded LP
// of TE-CCL (Liu et al., SIGCOMM 2024; plan/expanded_flow.cpp), which also sees that data must
// arrive before it can be sent on. Its horizon starts at what (1) proves on the same grid and
// grows, first doubling the step, then by bisection; "infeasible" is a proof. Flows become paths
// (plan/flow_paths.cpp), paths get whole chunks (plan/path_assignment.cpp), and the sends are list-
// scheduled in continuous time under several priorities (plan/route_schedule.cpp); the best
// schedule is polished.
//
// Guarantee: `proven_epochs` bounds every plan on the grid, in which a flow is relaxed from chunks.
// The plan itself is judged against the bounds of the problem.
//
// Cost: seconds up to some 40,000 columns; the automatic epoch is chosen to stay there.
//
// Held to its word by: plan/lp_planner_test.cpp.
#include "stellwerk/plan/lp_planner.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "stellwerk/lp/model.hpp"
#include "stellwerk/plan/commodity.hpp"
#include "stellwerk/plan/expanded_flow.hpp"
#include "stellwerk/plan/flow_paths.hpp"
#include "stellwerk/plan/no_copy.hpp"
#include "stellwerk/plan/path_assignment.hpp"
#include "stellwerk/plan/polish.hpp"
#include "stellwerk/plan/route_schedule.hpp"
#include "stellwerk/plan/static_flow.hpp"

namespace stellwerk {
namespace {

constexpr std::int64_t kComfortableColumns = 40'000;  // solved in a second or two
constexpr std::int64_t kMostColumns = 600'000;        // beyond this not even tried
constexpr std::int64_t kMostEpochs = 2'000;

/// What the time-expanded LP says.
struct TimedFlow {
  EpochRecord record;
  std::optional<ExpandedFlow> flow;
  Limit limit = Limit::none;
};

class FlowPlanner {
 public:
  FlowPlanner(const Problem& problem, std::vector<Unicast> unicasts, const PlanOptions& options,
              PlannerContext& context)
      : problem_(problem),
        topology_(problem.topology),
        unicasts_(std::move(unicasts)),
        commodities_(make_commodities(problem, unicasts_)),
        options_(options),
        context_(context) {}

  PlannerOutcome run() {
    PlannerOutcome outcome;
    if (const auto cut_off = unreachable()) {
      outcome.termination.reason = Termination::Reason::infeasible;
      outcome.message = *cut_off;
      return outcome;
    }
    context_.report("lp, flow without time");
    const auto flow = static_flow(problem_, commodities_, continuous_clock(topology_),
                                  context_.stop, options_.threads);
    if (flow) {
      std::vector<std::vector<FlowPath>> paths;
      for (std::size_t c = 0; c < commodities_.size(); ++c) {
        paths.push_back(flow_paths(topology_, commodities_[c], flow->flows[c]));
      }
      schedule(paths);
      expand(*flow, outcome);
    } else {
      schedule(std::vector<std::vector<FlowPath>>(commodities_.size()));
    }
    outcome.sends = polish(problem_, best_.sends, context_.stop);
    outcome.termination = {Termination::Reason::feasible, context_.stop.reached()};
    return outcome;
  }

 private:
  std::optional<std::string> unreachable() const {
    const FlowClock clock = continuous_clock(topology_);
    for (const Commodity& commodity : commodities_) {
      const FlowReach reach = flow_reach(topology_, commodity, clock);
      if (reach.connected) continue;
      for (const std::size_t i : commodity.unicasts) {
        const Unicast& unicast = unicasts_[i];
        const bool leaves = reach.remaining[unicast.sources.front()] < FlowReach::kNever;
        if (leaves && reach.earliest[unicast.target] < FlowReach::kNever) continue;
        return "chunk " + std::to_string(unicast.chunk.value) + " cannot get from " +
               topology_.node(unicast.sources.front()).name + " to " +
               topology_.node(unicast.target).name + ": no path of links that may carry it";
      }
    }
    return std::nullopt;
  }

  /// Rounds the paths to chunks, and keeps the best of several list schedules.
  void schedule(const std::vector<std::vector<FlowPath>>& paths) {
    const std::vector<Route> routes =
        assign_paths(problem_, unicasts_, commodities_, paths, context_.stop);
    std::vector<Leg> legs;
    for (std::size_t i = 0; i < unicasts_.size(); ++i) {
      append_legs(topology_, unicasts_[i].chunk, routes[i].links, routes[i].epochs, legs);
    }
    const std::vector<Time> tail = tails(problem_, legs);
    const std::vector<Time> load = downstream_load(problem_, legs);
    using Key = std::tuple<std::int64_t, std::int64_t>;
    const auto attempt = [&](auto key_of) {
      if (!best_.sends.empty() && context_.stop.should_stop()) return;
      std::vector<std::size_t> order(legs.size());
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return key_of(a) < key_of(b); });
      std::vector<std::int64_t> priority(legs.size());
      for (std::size_t rank = 0; rank < order.size(); ++rank) {
        priority[order[rank]] = static_cast<std::int64_t>(rank);
      }
      RouteSchedule found = schedule_routes(problem_, legs, priority);
      if (found.stuck) found = schedule_routes(problem_, legs, priority, Admission::whole_way);
      if (best_.sends.empty() || found.finish < best_.finish) best_ = std::move(found);
    };
    attempt([&](std::size_t i) { return Key(tail[i].ps, load[i].ps); });
    attempt([&](std::size_t i) { return Key(load[i].ps, tail[i].ps); });
    const bool timed =
        std::any_of(legs.begin(), legs.end(), [](const Leg& leg) { return leg.slot >= 0; });
    if (timed) attempt([&](std::size_t i) { return Key(-legs[i].slot, tail[i].ps); });
    context_.report("lp, " + std::to_string(legs.size()) + " sends", best_.finish);
  }

  /// The finest duration for which the model is comfortable.
  Time choose_duration(Time expected) const {
    if (options_.epoch.kind != EpochChoice::Kind::automatic) {
      return epoch_duration(problem_, options_.epoch);
    }
    const auto comfortable = [&](Time duration) {
      const std::int64_t epochs = expected.ps / duration.ps + 2;
      return epochs <= kMostEpochs &&
             count_columns(problem_, commodities_, EpochGrid(problem_, duration), epochs) <=
                 kComfortableColumns;
    };
    for (const auto kind : {EpochChoice::Kind::automatic, EpochChoice::Kind::fastest}) {
      const Time duration = epoch_duration(problem_, {kind, 1, Time{0}}, Time{0});
      if (comfortable(duration)) return duration;
    }
    Time duration = epoch_duration(problem_, {EpochChoice::Kind::slowest, 1, Time{0}});
    while (!comfortable(duration) && duration < expected) duration = 2 * duration;
    return duration;
  }

  void expand(const StaticFlow& untimed, PlannerOutcome& outcome) {
    const Time expected{static_cast<std::int64_t>(std::ceil(untimed.ticks))};
    const EpochGrid grid(problem_, choose_duration(expected));
    const std::int64_t epochs = expected.ps / grid.duration().ps + 2;
    if (epochs > kMostEpochs ||
        count_columns(problem_, commodities_, grid, epochs) > kMostColumns) {
      outcome.message =
          "the grid of " + to_string(grid.duration()) +
          " gives too large a time-expanded model: planned from the flow without time";
      return;
    }
    const TimedFlow timed = search_horizon(grid);
    outcome.epoch = timed.record;
    if (!timed.flow) {
      outcome.message =
          "no time-expanded flow before the limit: planned from the flow without time";
      return;
    }
    const FlowClock clock = epoch_clock(topology_, grid);
    std::vector<std::vector<FlowPath>> paths;
    for (std::size_t c = 0; c < commodities_.size(); ++c) {
      paths.push_back(flow_paths(topology_, commodities_[c], timed.flow->flows[c], clock));
    }
    schedule(paths);
  }

  TimedFlow search_horizon(const EpochGrid& grid) {
    TimedFlow result;
    result.record.duration = grid.duration();
    const auto bound = static_flow(problem_, commodities_, epoch_clock(topology_, grid),
                                   context_.stop, options_.threads);
    if (!bound) return result;
    // The solver's tolerance must not turn into an epoch.
    std::int64_t proven = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(std::ceil(bound->ticks * (1 - 1e-6) - 1e-6)));
    std::int64_t horizon = proven;
    std::int64_t step = 1;
    while (!context_.stop.should_stop() && (!result.flow || proven < result.record.epochs)) {
      context_.report("lp, " + std::to_string(horizon) + " epochs of " + to_string(grid.duration()),
                      best_.finish);
      const ExpandedModel model(problem_, commodities_, grid, static_cast<int>(horizon),
                                options_.store);
      lp::Status status = lp::Status::infeasible;
      if (model.reachable()) {
        if (!options_.write_model.empty()) lp::write_model(model.model(), options_.write_model);
        lp::SolveOptions solve_options;
        solve_options.stop = context_.stop;
        solve_options.threads = options_.threads;
        solve_options.method = lp::Method::simplex;
        const lp::Solution solution = lp::solve(model.model(), solve_options);
        status = solution.status;
        if (solution.status == lp::Status::optimal) {
          result.flow = model.flow(solution.values);
          result.record.epochs = horizon;
        }
      }
      if (status == lp::Status::infeasible) {
        proven = horizon + 1;
      } else if (status != lp::Status::optimal) {
        break;  // a limit
      }
      if (result.flow) {
        horizon = proven + (result.record.epochs - proven) / 2;
      } else {
        horizon = proven + step - 1;
        step *= 2;
      }
    }
    result.record.proven_epochs = proven;
    result.limit = context_.stop.reached();
    return result;
  }

  const Problem& problem_;
  const Topology& topology_;
  std::vector<Unicast> unicasts_;
  std::vector<Commodity> commodities_;
  const PlanOptions& options_;
  PlannerContext& context_;
  RouteSchedule best_;
};

}  // namespace

PlannerOutcome plan_lp(const Problem& problem, const PlanOptions& options,
                       PlannerContext& context) {
  PlannerOutcome outcome;
  std::optional<std::vector<Unicast>> demand = unicasts(problem);
  if (!demand) {
    const bool reduces = std::any_of(problem.chunks.begin(), problem.chunks.end(),
                                     [](const Chunk& chunk) { return chunk.is_reduction(); });
    if (!options.copy && !reduces) {
      const NoCopyProblem single = without_copies(problem);
      PlannerContext without_incumbent = context;
      without_incumbent.incumbent = nullptr;
      outcome = plan_lp(single.problem, options, without_incumbent);
      outcome.sends = single.translate(std::move(outcome.sends));
      return outcome;
    }
    outcome.termination.reason = Termination::Reason::unsupported;
    outcome.message = reduces ? "lp moves data only, and this demand has reductions: use milp"
                              : "lp is for demands in which every chunk has one destination; here "
                                "copies are useful: use milp";
    return outcome;
  }
  if (demand->empty()) {
    outcome.termination.reason = Termination::Reason::optimal;
    return outcome;
  }
  return FlowPlanner(problem, *std::move(demand), options, context).run();
}

}  // namespace stellwerk
