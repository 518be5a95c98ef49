#include "stellwerk/bench/job_suite.hpp"

#include <algorithm>
#include <utility>

#include "stellwerk/base/resources.hpp"
#include "stellwerk/base/rng.hpp"
#include "stellwerk/bound/objective_bound.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/plan/finish_times.hpp"
#include "stellwerk/plan/job_portfolio.hpp"
#include "stellwerk/plan/joint.hpp"
#include "stellwerk/plan/overlay.hpp"

namespace stellwerk {
namespace {

constexpr std::array kWorkloads = {
    JobWorkload{"ndv2", "ndv2:4", 2, 4, 120},
    JobWorkload{"torus", "torus:4x4x4", 6, 6, 60},
    JobWorkload{"rail", "rail:16x8", 16, 16, 30},
};

std::vector<Job> random_jobs(const Topology& topology, const JobWorkload& workload, Rng& rng) {
  constexpr std::array kCollectives = {Collective::allgather, Collective::alltoall,
                                       Collective::allreduce};
  const auto count = static_cast<int>(rng.between(workload.least_jobs, workload.most_jobs));
  std::vector<Job> jobs;
  for (int j = 0; j < count; ++j) {
    Job job;
    job.name = "job" + std::to_string(j);
    job.collective = kCollectives[rng.below(kCollectives.size())];
    job.ranks = topology.gpus();
    rng.shuffle(job.ranks);
    job.ranks.resize(static_cast<std::size_t>(rng.between(4, 16)));
    // 256 KB to 64 MB, every octave as often as another.
    const std::int64_t octave = std::int64_t{256'000} << rng.below(8);
    job.size = Bytes{std::min<std::int64_t>(64'000'000, octave + rng.between(0, octave))};
    job.weight = rng.between(1, 4);
    job.auto_chunks = true;
    jobs.push_back(std::move(job));
  }
  return jobs;
}

/// Releases over the mean time alone.
void spread_releases(StatedJobs& stated, Rng& rng) {
  std::int64_t sum = 0;
  for (const AlonePlan& plan : stated.alone.best) sum += plan.length.ps;
  const std::int64_t mean = sum / static_cast<std::int64_t>(stated.alone.best.size());
  std::vector<Job> jobs = stated.problem.jobs;
  for (Job& job : jobs) job.start = Time{rng.between(0, mean)};
  stated.problem = make_problem(stated.problem.topology, std::move(jobs), stated.problem.relays);
}

}  // namespace

std::span<const JobWorkload> job_workloads() { return kWorkloads; }

JobProblemResult measure_jobs(const JobWorkload& workload, std::uint64_t number,
                              const StopCondition& stop) {
  const double started = cpu_seconds();
  Rng rng(number);
  PortfolioRequest request;
  request.topology = catalogue_topology(workload.topology);
  request.jobs = random_jobs(request.topology, workload, rng);
  StatedJobs stated = state_jobs(request, stop, nullptr);
  spread_releases(stated, rng);
  const Problem& problem = stated.problem;
  std::vector<Time> alone;
  std::vector<Schedule> schedules;
  for (const AlonePlan& plan : stated.alone.best) {
    alone.push_back(plan.length);
    schedules.push_back(plan.sends);
  }
  JobProblemResult result;
  const auto judge = [&](const std::string& what, const Schedule& sends) {
    const Verdict verdict = verify_sends(problem, sends);
    if (!verdict.valid()) result.invalid.push_back(what + ": " + verdict.message);
  };
  const SendGraph graph(problem, schedules);
  const GraphSchedule fifo = overlay_fifo(graph, stop);
  const GraphSchedule fair = overlay_fair(graph, stop);
  judge("fifo", sends_of(graph, fifo));
  judge("fair", sends_of(graph, fair));
  for (std::size_t k = 0; k < kObjectives.size(); ++k) {
    JobMeasurement& measured = result.objectives[k];
    JointOptions options;
    options.objective = kObjectives[k];
    PlannerContext context;
    context.stop = stop;
    options.fair = false;
    const JointPlan own = plan_jobs(problem, stated.alone, options, context);
    judge("joint", own.sends);
    const auto value = [&](const std::vector<Time>& finish) {
      return objective_value(kObjectives[k], problem.jobs, finish, alone);
    };
    measured.fifo = value(fifo.job_finish);
    measured.fair = value(fair.job_finish);
    measured.without_fair = own.value;
    // With fair sharing among the candidates: it wins only where all others are worse.
    measured.joint = std::min(own.value, measured.fair);
    measured.winner = own.value <= measured.fair ? own.winner : "fair";
    measured.bound = objective_bound(kObjectives[k], problem, alone, stop).value;
    if (measured.bound > measured.joint) result.invalid.push_back("a bound above a plan");
  }
  result.seconds = cpu_seconds() - started;
  return result;
}

JobSummary summarise(const std::vector<JobProblemResult>& results) {
  JobSummary summary;
  summary.problems = results.size();
  const auto ratio = [](std::int64_t a, std::int64_t b) {
    return b > 0 ? static_cast<double>(a) / static_cast<double>(b) : 1.0;
  };
  const double share = 1.0 / static_cast<double>(std::max<std::size_t>(1, results.size()));
  const auto shares = [](const JobProblemResult& result) {
    static_assert(kObjectives[2] == Objective::slowdown);
    return result.objectives[2].fair >= kSlowdownUnit + kSlowdownUnit / 20;
  };
  for (const JobProblemResult& result : results) summary.sharing += shares(result) ? 1 : 0;
  for (const JobProblemResult& result : results) {
    for (std::size_t k = 0; k < kObjectives.size(); ++k) {
      const JobMeasurement& measured = result.objectives[k];
      summary.fair[k] += share * ratio(measured.fair, measured.joint);
      if (shares(result)) {
        summary.fair_sharing[k] +=
            ratio(measured.fair, measured.joint) / static_cast<double>(summary.sharing);
      }
      summary.fifo[k] += share * ratio(measured.fifo, measured.joint);
      summary.bound[k] += share * ratio(measured.joint, measured.bound);
      summary.worse[k] += measured.joint > std::min(measured.fair, measured.fifo) ? 1 : 0;
      summary.losses[k] += measured.without_fair > measured.fair ? 1 : 0;
    }
    summary.invalid += static_cast<int>(result.invalid.size());
    summary.seconds += result.seconds;
  }
  return summary;
}

std::vector<Job> training_groups(const Topology& topology, int boxes, int chunks) {
  constexpr int kGpus = 8;
  constexpr std::int64_t kMicrosecond = 1'000'000;
  const auto gpu = [&](int box, int number) {
    return topology.gpus()[static_cast<std::size_t>(box * kGpus + number)];
  };
  std::vector<Job> jobs;
  const auto add = [&](std::string name, Collective collective, std::int64_t bytes,
                       std::int64_t start_us, std::int64_t weight) -> Job& {
    Job job;
    job.name = std::move(name);
    job.collective = collective;
    job.size = Bytes{bytes};
    job.chunks = collective == Collective::alltoall ? std::max(1, chunks / 2) : chunks;
    job.start = Time{start_us * kMicrosecond};
    job.weight = weight;
    jobs.push_back(std::move(job));
    return jobs.back();
  };
  for (int box = 0; box < boxes; ++box) {
    for (int step = 0; step < 2; ++step) {
      Job& job = add("tp" + std::to_string(box) + "." + std::to_string(step), Collective::allreduce,
                     32'000'000, 400 * step, 4);
      for (int k = 0; k < kGpus; ++k) job.ranks.push_back(gpu(box, k));
    }
  }
  const int groups = boxes / 8;
  for (int group = 0; group < groups; ++group) {
    for (int k = 0; k < kGpus; ++k) {
      const std::string place = std::to_string(group) + "." + std::to_string(k);
      for (int bucket = 0; bucket < 4; ++bucket) {
        Job& job = add("dp" + place + "." + std::to_string(bucket), Collective::allreduce,
                       8'000'000, 250 * bucket, bucket == 3 ? 2 : 1);
        for (int i = 0; i < 8; ++i) job.ranks.push_back(gpu(group * 8 + i, k));
      }
      Job& job = add("ep" + place, Collective::alltoall, 8'000'000, 120, 4);
      for (int i = 0; i < 8; ++i) job.ranks.push_back(gpu(group + i * groups, k));
    }
  }
  return jobs;
}

}  // namespace stellwerk
