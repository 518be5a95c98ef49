#include "tool/report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "stellwerk/bound/bound.hpp"
#include "stellwerk/core/metrics.hpp"
#include "tool/table.hpp"

namespace stellwerk::tool {
namespace {

std::string rate_text(double bytes_per_second) {
  return to_string(Bandwidth{std::llround(bytes_per_second)});
}

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }

std::string size_text(const Job& job, Bytes effective) {
  if (job.collective == Collective::alltoallv || job.collective == Collective::custom ||
      effective == job.size) {
    return to_string(effective);
  }
  return fmt::format("{} (effective {} B: every block is rounded up to whole bytes)",
                     to_string(job.size), effective.value);
}

std::string output_text(const Figures& figures) {
  std::string text = to_string(*figures.output_bytes);
  if (figures.output_bytes_smallest)
    text += " at most, " + to_string(*figures.output_bytes_smallest) + " at least";
  return text;
}

void add_sizes_and_rates(Table& table, const Plan& plan, const RecordedMetrics& metrics) {
  const Figures& total = metrics.total;
  if (total.algbw) table.add({"algbw", rate_text(*total.algbw)});
  if (total.busbw) table.add({"busbw", rate_text(*total.busbw)});
  if (plan.problem.jobs.size() == 1 && total.size_bytes) {
    table.add({"size", size_text(plan.problem.jobs.front(), *total.size_bytes)});
  } else if (total.size_bytes) {
    table.add({"size, all jobs", to_string(*total.size_bytes)});
  }
  if (total.output_bytes) table.add({"output buffer", output_text(total)});
}

void add_bounds(Table& table, const Plan& plan) {
  const Result& result = plan.result;
  if (result.bound) {
    table.add({"bound, any chunks", bound_text(*result.bound)});
    table.add({"gap", gap_text(result.transfer_time, result.bound->value)});
  }
  if (result.bound_chunked) {
    table.add({"bound, these chunks", bound_text(*result.bound_chunked)});
    table.add({"gap, these chunks", gap_text(result.transfer_time, result.bound_chunked->value)});
  }
  if (result.bound && result.bound->certificate.kind != Certificate::Kind::none) {
    table.add({"bottleneck", describe(result.bound->certificate, plan.problem)});
  }
}

std::string epoch_text(const EpochRecord& epoch) {
  const std::string tau = to_string(epoch.duration);
  std::string text = fmt::format("{} epochs of {} = {} before re-timing", epoch.epochs, tau,
                                 to_string(epoch.epochs * epoch.duration));
  if (epoch.proven_epochs > 0 && epoch.proven_epochs == epoch.epochs) {
    text += fmt::format("; {} proven infeasible (discretised)", epoch.epochs - 1);
  } else if (epoch.proven_epochs > 1) {
    text += fmt::format("; at least {} proven (discretised)", epoch.proven_epochs);
  }
  return text;
}

/// Of all images, and of what the plan lists.
std::string count_text(const Plan& plan, std::size_t listed) {
  const std::int64_t images = images_of_chunks(plan.problem);
  if (images == 1) return fmt::format("{}", listed);
  return fmt::format("{} ({} representatives, {} images each)",
                     images * static_cast<std::int64_t>(listed), listed, images);
}

std::string chunks_text(const Plan& plan, const RecordedMetrics& metrics) {
  std::string text = count_text(plan, plan.problem.chunks.size());
  if (metrics.chunks_per_block) text += fmt::format(" ({} a block)", *metrics.chunks_per_block);
  return text;
}

std::string effort_text(const Result& result) {
  return fmt::format("{:.3g} s (CPU {:.3g} s, peak memory {})", result.solver_time_s,
                     result.core_seconds, to_string(Bytes{result.peak_rss_bytes}));
}

std::string limit_text(Limit limit) {
  switch (limit) {
    case Limit::time:
      return "the time limit: this is the best plan found by then";
    case Limit::memory:
      return "the memory limit: this is the best plan found by then";
    case Limit::interrupt:
      return "Ctrl-C: this is the best plan found by then";
    case Limit::none:
      break;
  }
  return "";
}

void add_usage(Table& table, const Plan& plan) {
  const Topology& topology = plan.problem.topology;
  const Usage usage = measure_usage(plan.problem, plan.sends, plan.result.transfer_time);
  table.add({"bytes sent", fmt::format("{}, {} over the minimum of {}", to_string(usage.sent),
                                       percent(usage.overhead() - 1), to_string(usage.needed))});
  Bytes peak;
  NodeId peak_node = topology.gpus().front();
  double idle = 0;
  for (const NodeId gpu : topology.gpus()) {
    if (usage.peak_transit[gpu] > peak) {
      peak = usage.peak_transit[gpu];
      peak_node = gpu;
    }
    if (usage.horizon.ps > 0) idle += usage.idle[gpu].seconds() / usage.horizon.seconds();
  }
  table.add({"peak transit buffer",
             peak.value == 0 ? std::string("0 B")
                             : to_string(peak) + " at " + topology.node(peak_node).name});
  table.add(
      {"idle", fmt::format("links {}, GPUs {} of the time (mean)", percent(usage.mean_link_idle),
                           percent(idle / static_cast<double>(topology.gpus().size())))});
}

std::string slowdown_text(double slowdown) { return fmt::format("{:.3f}", slowdown); }

/// What matters when several jobs share a network.
void add_objectives(Table& table, const Plan& plan, const RecordedMetrics& metrics) {
  const std::vector<Job>& jobs = plan.problem.jobs;
  const Result& result = plan.result;
  if (jobs.size() < 2) return;
  double flow = 0, weights = 0, worst = 0, sum = 0;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const auto weight = static_cast<double>(jobs[j].weight);
    flow += weight * (result.job_finish[j] - jobs[j].start).seconds();
    weights += weight;
    worst = std::max(worst, metrics.jobs[j].slowdown.value_or(0));
    sum += metrics.jobs[j].slowdown.value_or(0);
  }
  table.add({"weighted flow",
             to_string(Time{std::llround(flow / weights * 1e12)}) + " (mean from start to end)"});
  if (!result.job_alone.empty()) {
    table.add({"slowdown", slowdown_text(worst) + " at most, " +
                               slowdown_text(sum / static_cast<double>(jobs.size())) + " mean"});
  }
  if (!result.objective) return;
  const ObjectiveRecord& record = *result.objective;
  const auto value_text = [&](std::int64_t value) {
    return record.objective == Objective::slowdown
               ? slowdown_text(static_cast<double>(value) / static_cast<double>(kSlowdownUnit))
               : to_string(Time{value});
  };
  table.add(
      {"objective", std::string(to_string(record.objective)) + " " + value_text(record.value)});
  if (record.bound) {
    table.add({"bound, objective", value_text(record.bound->value) + ", gap " +
                                       gap_text(Time{record.value}, Time{record.bound->value})});
  }
}

void add_jobs(Table& table, const Plan& plan, const RecordedMetrics& metrics) {
  constexpr std::size_t kMostShown = 40;
  const std::vector<Job>& jobs = plan.problem.jobs;
  if (jobs.size() < 2) return;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (j == kMostShown) {
      table.add({"...", fmt::format("{} more jobs: see --json or the plan file",
                                    jobs.size() - kMostShown)});
      break;
    }
    std::string text = job_text(jobs[j]);
    if (jobs[j].start.ps > 0) text += ", from " + to_string(jobs[j].start);
    text += ": done at " + to_string(plan.result.job_finish[j]);
    if (metrics.jobs[j].slowdown) {
      text += ", alone in " + to_string(plan.result.job_alone[j]) + ", slowdown " +
              slowdown_text(*metrics.jobs[j].slowdown);
    }
    if (metrics.jobs[j].algbw) text += ", algbw " + rate_text(*metrics.jobs[j].algbw);
    if (metrics.jobs[j].busbw) text += ", busbw " + rate_text(*metrics.jobs[j].busbw);
    table.add({"job '" + jobs[j].name + "'", text});
  }
}

}  // namespace

std::string gap_text(Time transfer_time, Time bound) {
  if (transfer_time == bound) return "0%, optimal";
  if (bound.ps <= 0) return "unbounded";
  const double percents =
      100 * static_cast<double>((transfer_time - bound).ps) / static_cast<double>(bound.ps);
  return percents >= 0.01 ? fmt::format("{:.2f}%", percents) : fmt::format("{:.1g}%", percents);
}

std::string bound_text(const Bound& bound) {
  return fmt::format("{} ({})", to_string(bound.value), to_string(bound.certificate.kind));
}

std::string job_text(const Job& job) {
  return fmt::format("{} of {} over {} GPUs", to_string(job.collective),
                     to_string(effective_size(job)), job.ranks.size());
}

std::string plan_report(const Plan& plan, const std::string& verified) {
  const RecordedMetrics metrics = derive_metrics(plan);
  const Result& result = plan.result;
  Table table;
  std::string what = plan.problem.topology.name() + ", ";
  what += plan.problem.jobs.size() == 1 ? job_text(plan.problem.jobs.front())
                                        : fmt::format("{} jobs", plan.problem.jobs.size());
  table.add({"problem", what});
  table.add({"transfer time", to_string(result.transfer_time)});
  for (const auto& [name, text] : result.options) {
    if (name == "time_without_copies") {
      table.add({"without copies", text + ", each destination served by its own copy"});
    }
  }
  add_sizes_and_rates(table, plan, metrics);
  add_objectives(table, plan, metrics);
  add_jobs(table, plan, metrics);
  add_bounds(table, plan);
  table.add({"solver time", effort_text(result)});
  table.add({"planner", result.planner});
  if (result.epoch) table.add({"epoch grid", epoch_text(*result.epoch)});
  table.add({"chunks", chunks_text(plan, metrics)});
  table.add({"sends", count_text(plan, plan.sends.size())});
  add_usage(table, plan);
  if (result.termination.limit != Limit::none)
    table.add({"stopped by", limit_text(result.termination.limit)});
  table.add({"verified", verified});
  return table.text();
}

}  // namespace stellwerk::tool
