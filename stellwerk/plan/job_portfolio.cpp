// From jobs to plans in which they share a network. The chunk count of a job is chosen by its plan
// alone, which also sees what pipelining is worth; more chunks than that only make more sends.
#include "stellwerk/plan/job_portfolio.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/resources.hpp"
#include "stellwerk/base/version.hpp"
#include "stellwerk/bound/bound.hpp"
#include "stellwerk/bound/objective_bound.hpp"
#include "stellwerk/plan/finish_times.hpp"
#include "stellwerk/plan/joint.hpp"
#include "stellwerk/plan/overlay.hpp"

namespace stellwerk {
namespace {

constexpr int kMostChunks = 16;
/// Deliveries up to which finer chunks are tried.
constexpr std::size_t kMostDeliveries = 40'000;
/// A doubling of the chunk count must make the plan alone shorter by a 32th.
constexpr std::int64_t kWorthwhile = 32;
/// Of the time that is left.
constexpr double kShareForBounds = 0.2;
constexpr double kShareForAlone = 0.4;

std::size_t deliveries(const Problem& problem) {
  std::size_t count = 0;
  for (const Chunk& chunk : problem.chunks) {
    count += chunk.destinations.size() + chunk.contributors.size();
  }
  return count;
}

Problem with_chunks(const PortfolioRequest& request, const std::vector<int>& counts) {
  std::vector<Job> jobs = request.jobs;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (jobs[j].auto_chunks) jobs[j].chunks = counts[j];
  }
  return make_problem(request.topology, std::move(jobs), request.relays);
}

Time latest(const std::vector<Time>& times) {
  return *std::max_element(times.begin(), times.end());
}

/// Measures what a result records about the effort.
class Effort {
 public:
  Effort() : started_(std::chrono::steady_clock::now()), cpu_started_(cpu_seconds()) {}
  void record(Result& result) const {
    result.solver_time_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
    result.core_seconds = cpu_seconds() - cpu_started_;
    result.peak_rss_bytes = peak_resident_bytes();
  }

 private:
  std::chrono::steady_clock::time_point started_;
  double cpu_started_;
};

/// The plan of the sends, complete but for effort and termination.
Plan stated_plan(StatedJobs stated, Schedule sends, const PortfolioRequest& request,
                 const std::string& planner, const StopCondition& stop) {
  Plan plan;
  plan.problem = std::move(stated.problem);
  plan.sends = std::move(sends);
  Result& result = plan.result;
  result.job_finish = finish_times(plan.problem, plan.sends);
  result.transfer_time = latest(result.job_finish);
  for (const AlonePlan& alone : stated.alone.best) {
    result.job_alone.push_back(std::max(alone.length, Time{1}));
  }
  const StopCondition bounds = stop.within(stop.seconds_left() * kShareForBounds);
  result.bound = with_late_jobs(lower_bound(plan.problem, bounds), plan.problem, bounds);
  result.planner = planner;
  result.seed = request.options.seed;
  result.version = kVersion;
  const bool adjustable = std::any_of(request.jobs.begin(), request.jobs.end(),
                                      [](const Job& job) { return job.auto_chunks; });
  result.options.emplace_back("chunks", adjustable ? "auto" : "given");
  return plan;
}

}  // namespace

StatedJobs state_jobs(const PortfolioRequest& request, const StopCondition& stop,
                      Progress* progress) {
  const std::string objection = graph_objection(request.topology);
  if (!objection.empty()) throw Error(ErrorCode::unsolved, objection);
  PlannerContext context;
  context.stop = stop;
  context.progress = progress;
  std::vector<int> counts(request.jobs.size(), 1);
  AloneCache cache;
  StatedJobs stated;
  stated.problem = with_chunks(request, counts);
  stated.alone = plan_alone(stated.problem, request.options, context, &cache);
  std::vector<bool> open;
  for (const Job& job : request.jobs) open.push_back(job.auto_chunks);
  std::vector<Time> lengths;
  for (const AlonePlan& plan : stated.alone.best) lengths.push_back(plan.length);
  bool changed = false;
  for (int count = 2; count <= kMostChunks && !stop.should_stop(); count *= 2) {
    std::vector<int> finer = counts;
    bool any = false;
    for (std::size_t j = 0; j < open.size(); ++j) {
      if (open[j]) finer[j] = count;
      any = any || open[j];
    }
    if (!any) break;
    const Problem problem = with_chunks(request, finer);
    if (deliveries(problem) > kMostDeliveries) break;
    const AlonePlans alone = plan_alone(problem, request.options, context, &cache);
    for (std::size_t j = 0; j < open.size(); ++j) {
      if (!open[j]) continue;
      const Time length = alone.best[j].length;
      open[j] = length.ps + length.ps / kWorthwhile < lengths[j].ps;
      if (!open[j]) continue;
      lengths[j] = length;
      counts[j] = count;
      changed = true;
    }
  }
  if (changed) {
    stated.problem = with_chunks(request, counts);
    stated.alone = plan_alone(stated.problem, request.options, context, &cache);
  }
  return stated;
}

Plan make_overlay(const PortfolioRequest& request, Overlay mode, const StopCondition& stop,
                  Progress* progress, const Judge& judge) {
  const Effort effort;
  StatedJobs stated = state_jobs(request, stop, progress);
  std::vector<Schedule> alone;
  for (AlonePlan& plan : stated.alone.best) alone.push_back(std::move(plan.sends));
  const SendGraph graph(stated.problem, alone);
  const GraphSchedule schedule =
      mode == Overlay::fifo ? overlay_fifo(graph, stop) : overlay_fair(graph, stop);
  if (!schedule.complete) {
    throw Error(
        ErrorCode::unsolved,
        "no overlay before the " + std::string(to_string(stop.reached())) + " limit: raise it");
  }
  Schedule sends = sends_of(graph, schedule);
  Plan plan = stated_plan(std::move(stated), std::move(sends), request,
                          mode == Overlay::fifo ? "overlay-fifo" : "overlay-fair", stop);
  plan.result.termination = {Termination::Reason::feasible, Limit::none};
  effort.record(plan.result);
  if (const auto why = judge(plan)) throw Error(ErrorCode::internal, "overlay: " + *why);
  return plan;
}

bool wants_joint_plan(const PortfolioRequest& request) {
  if (request.planner == "joint") return true;
  if (!request.planner.empty()) return false;
  if (request.options.objective != Objective::makespan) return true;
  return request.jobs.size() > 1 && request.options.copy && request.options.store &&
         graph_objection(request.topology).empty();
}

Plan make_joint_plan(const PortfolioRequest& request, const StopCondition& stop, Progress* progress,
                     const Judge& judge) {
  const Effort effort;
  StatedJobs stated =
      state_jobs(request, stop.within(stop.seconds_left() * kShareForAlone), progress);
  PlannerContext context;
  context.stop = stop;
  context.progress = progress;
  JointOptions options;
  options.objective = request.options.objective;
  options.seed = request.options.seed;
  JointPlan joint = plan_jobs(stated.problem, stated.alone, options, context);
  if (joint.winner.empty()) {
    throw Error(
        ErrorCode::unsolved,
        "no plan before the " + std::string(to_string(stop.reached())) + " limit: raise it");
  }
  Plan plan = stated_plan(std::move(stated), std::move(joint.sends), request, "joint", stop);
  Result& result = plan.result;
  result.options.emplace_back("planner", request.planner.empty() ? "auto" : request.planner);
  result.options.emplace_back("objective", to_string(options.objective));
  result.options.emplace_back("schedule", joint.winner);
  bool optimal = result.bound && result.bound->value == result.transfer_time;
  if (options.objective != Objective::makespan) {
    ObjectiveRecord record{options.objective, joint.value, {}};
    record.bound = objective_bound(options.objective, plan.problem, result.job_alone,
                                   stop.within(stop.seconds_left() * kShareForBounds));
    optimal = record.bound && record.bound->value == record.value;
    result.objective = std::move(record);
  }
  result.termination = {optimal ? Termination::Reason::optimal : Termination::Reason::feasible,
                        optimal ? Limit::none : stop.reached()};
  effort.record(result);
  if (const auto why = judge(plan)) throw Error(ErrorCode::internal, "joint: " + *why);
  return plan;
}

Plan make_better_plan(const PortfolioRequest& request, const StopCondition& stop,
                      Progress* progress, const Judge& judge, const OtherPlanning& other) {
  const Effort effort;
  std::optional<Plan> joint;
  try {
    joint = make_joint_plan(request, stop.within(stop.seconds_left() / 2), progress, judge);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsolved) throw;
  }
  if (joint && joint->result.bound) {
    const auto least = static_cast<double>(joint->result.bound->value.ps);
    const auto length = static_cast<double>(joint->result.transfer_time.ps);
    if (length <= least * (1 + request.options.gap)) return std::move(*joint);
  }
  if (!joint) return other(stop);
  std::optional<Plan> better;
  try {
    better = other(stop);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsolved) throw;
  }
  if (!better || better->result.transfer_time >= joint->result.transfer_time) {
    // Had time run out before, the joint plan's own search was complete.
    joint->result.termination.limit = stop.reached();
    effort.record(joint->result);
    return std::move(*joint);
  }
  better->result.job_alone = joint->result.job_alone;
  effort.record(better->result);
  return std::move(*better);
}

}  // namespace stellwerk
