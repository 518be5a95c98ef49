#include "stellwerk/bench/jitter.hpp"

#include <algorithm>
#include <utility>

#include "stellwerk/io/load.hpp"
#include "stellwerk/plan/robust_choice.hpp"

namespace stellwerk {
namespace {

PortfolioRequest request_of(const JitterFabric& fabric, const JitterOptions& options) {
  PortfolioRequest request;
  request.topology = load_topology(fabric.topology);
  Job job;
  job.name = to_string(fabric.collective);
  job.collective = fabric.collective;
  job.ranks = request.topology.gpus();
  job.size = fabric.size;
  job.auto_chunks = true;
  request.jobs = {job};
  request.options.seed = options.seed;
  request.options.threads = options.threads;
  return request;
}

JitterPlan measured(const Plan& plan, const NoiseStudy& study) {
  Executor executor(plan.problem, plan.sends);
  NoiseStudy fresh = study;
  fresh.seed += 1'000'000;
  return {plan.result.planner, plan.problem.jobs.front().chunks, plan.result.transfer_time,
          run_study(plan.problem, executor, study, {}).all.p99,
          run_study(plan.problem, executor, fresh, {}).all.p99};
}

}  // namespace

std::vector<JitterFabric> jitter_fabrics() {
  return {{"ndv2:2", Collective::allgather, Bytes{1'000'000'000}},
          {"rail:4x8", Collective::allgather, Bytes{256'000'000}},
          {"torus:4x4", Collective::allgather, Bytes{64'000'000}},
          {"dgx1", Collective::allreduce, Bytes{64'000'000}}};
}

std::vector<JitterNoise> jitter_noises() {
  return {{parse_noise("link:20%"), Discipline::strict},
          {parse_noise("send:10%"), Discipline::strict},
          {parse_noise("send:30%"), Discipline::strict},
          {parse_noise("send:30%"), Discipline::priority},
          {parse_noise("late:20us"), Discipline::strict}};
}

std::vector<JitterRow> run_jitter(const JitterOptions& options, const Judge& judge,
                                  Progress* progress,
                                  const std::function<void(const JitterRow&)>& finished) {
  std::vector<JitterRow> rows;
  for (const JitterFabric& fabric : jitter_fabrics()) {
    if (!options.fabric.empty() && fabric.topology != options.fabric) continue;
    const StopCondition stop(options.seconds);
    const std::vector<Plan> plans =
        candidate_plans(request_of(fabric, options), stop, progress, judge);
    for (const JitterNoise& noise : jitter_noises()) {
      if (StopCondition::interrupted()) return rows;
      const NoiseStudy study{noise.noise, noise.discipline, options.runs, options.seed};
      const std::vector<Trial> trials = try_plans(plans, study, Quantile::p99);
      // The best of the rings: who runs it would choose its chunk count.
      const Plan* ring = nullptr;
      for (const Plan& plan : plans) {
        const bool better =
            plan.result.planner == "ring" &&
            (ring == nullptr || plan.result.transfer_time < ring->result.transfer_time);
        if (better) ring = &plan;
      }
      JitterRow row{fabric, noise, static_cast<int>(plans.size()), {}, {}, {}};
      row.chosen = measured(plans[best_trial(trials, study, Quantile::p99)], study);
      row.nominal = measured(plans.front(), study);
      row.ring = ring == nullptr ? row.nominal : measured(*ring, study);
      if (StopCondition::interrupted()) return rows;  // its runs are not complete
      finished(row);
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace stellwerk
