#include "stellwerk/bench/replan_suite.hpp"

#include <algorithm>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/core/expansion.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/plan/portfolio.hpp"
#include "stellwerk/plan/replan.hpp"

namespace stellwerk {
namespace {

constexpr double kPlanningSeconds = 30;

EventfulPlan plan_of(const FailureCase& what) {
  PortfolioRequest request;
  request.topology = catalogue_topology(what.topology);
  Job job;
  job.name = "job";
  job.collective = what.collective;
  job.ranks = request.topology.gpus();
  job.size = parse_bytes(what.size);
  job.chunks = what.chunks;
  request.jobs = {job};
  request.planner = what.planner;
  request.options.quick = true;
  EventfulPlan plan;
  static_cast<Plan&>(plan) = make_plan(std::move(request), StopCondition(kPlanningSeconds), nullptr,
                                       [](const Plan&) { return std::optional<std::string>{}; });
  expand(plan);
  return plan;
}

/// Links that join hosts, or that do not; all links of a network without such.
std::vector<LinkId> links_that_fail(const Topology& topology, bool inside) {
  std::vector<LinkId> between, all;
  for (const LinkId id : topology.link_ids()) {
    const std::string& from = topology.node(topology.link(id).from).host;
    const std::string& to = topology.node(topology.link(id).to).host;
    all.push_back(id);
    if ((from == to) == inside) between.push_back(id);
  }
  return between.empty() ? all : between;
}

void note(FailureRow::Figure& figure, double value, int count) {
  figure.most = count == 0 ? value : std::max(figure.most, value);
  figure.mean += (value - figure.mean) / (count + 1);
}

}  // namespace

const std::vector<FailureCase>& failure_cases() {
  using C = Collective;
  static const std::vector<FailureCase> cases = {
      {"rail:16x8", C::allgather, "16MB", 1, "symmetric", 8},
      {"rail:16x8", C::allgather, "1GB", 1, "symmetric", 8},
      {"rail:16x8", C::allgather, "1GB", 4, "symmetric", 8},
      {"rail:128x8", C::allgather, "16MB", 1, "symmetric", 4},
      {"rail:128x8", C::allgather, "1GB", 1, "symmetric", 4},
      {"rail:16x8", C::reducescatter, "1GB", 1, "symmetric", 8},
      {"rail:16x8", C::reducescatter, "1GB", 4, "symmetric", 8},
      {"rail:16x8", C::allreduce, "1GB", 1, "symmetric", 8},
      {"rail:16x8", C::alltoall, "1GB", 1, "symmetric", 8},
      {"torus:8x16", C::allgather, "16MB", 1, "symmetric", 8},
      {"ndv2:4", C::allgather, "16MB", 1, "greedy", 8, true},
  };
  return cases;
}

FailureRow measure_failures(const FailureCase& what, std::optional<int> events) {
  const EventfulPlan plan = plan_of(what);
  FailureRow row;
  row.what = what;
  row.transfer_time = plan.result.transfer_time;
  row.events = events.value_or(what.events);
  std::vector<LinkId> links = links_that_fail(plan.problem.topology, what.inside);
  Rng rng(7);
  rng.shuffle(links);
  const double whole = row.transfer_time.seconds();
  const auto as_delay = [&](Time finish) { return finish.seconds() / whole - 1; };
  int waited = 0, restarted = 0, planned = 0;
  for (int i = 0; i < row.events; ++i) {
    Event down;
    down.link = links[static_cast<std::size_t>(i) % links.size()];
    const Disturbance failure{Time{row.transfer_time.ps / 2}, {down}, {}};
    Replanned result;
    try {
      result = replan(plan, failure, {}, {});
    } catch (const Error&) {
      continue;  // the only way to somewhere
    }
    const Time finish = result.plan.result.transfer_time;
    if (verify(result.plan).valid()) ++row.verified;
    note(row.delay, as_delay(finish), planned);
    note(row.bound_delay, as_delay(result.residual_bound), planned);
    note(row.over_bound, finish.seconds() / result.residual_bound.seconds(), planned);
    note(row.over_chunked, finish.seconds() / result.residual_bound_chunked.seconds(), planned);
    note(row.seconds, result.planning_s, planned++);
    if (const auto restart = finish_of_restart(plan, failure, {})) {
      note(row.restart, as_delay(*restart), restarted++);
    }
    if (const auto waiting = finish_of_waiting(plan, failure, Time{row.transfer_time.ps / 10})) {
      note(row.waiting, as_delay(*waiting), waited++);
    }
  }
  return row;
}

}  // namespace stellwerk
