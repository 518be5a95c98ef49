#include "stellwerk/bench/experts.hpp"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/rng.hpp"
#include "stellwerk/bound/bound.hpp"
#include "stellwerk/io/load.hpp"
#include "stellwerk/plan/finish_times.hpp"
#include "stellwerk/plan/rails.hpp"

namespace stellwerk {
namespace {

double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Made {
  Problem problem;
  double seconds;
};

Made make(const Topology& topology, const ExpertDemand& demand, int chunks) {
  Job job;
  job.name = "experts";
  job.collective = Collective::alltoallv;
  job.ranks = topology.gpus();
  job.chunks = chunks;
  job.matrix = expert_matrix(topology.gpus().size(), demand);
  const double start = thread_seconds();
  Problem problem = make_problem(topology, {std::move(job)});
  return {std::move(problem), thread_seconds() - start};
}

ExpertsRow measure(const std::string& name, const Made& made, const ExpertDemand& demand,
                   int chunks, const Judge& judge) {
  ExpertsRow row{name, demand, chunks, {}, {}, made.seconds, 0, 0};
  PlannerContext context;
  const double start = thread_seconds();
  PlannerOutcome outcome = plan_rails(made.problem, {}, context);
  row.plan_seconds = thread_seconds() - start;
  if (!outcome.has_plan()) throw Error(ErrorCode::unsolved, "rails: " + outcome.message);
  Plan plan;
  plan.problem = made.problem;
  plan.sends = std::move(outcome.sends);
  plan.result.job_finish = finish_times(plan.problem, plan.sends);
  plan.result.transfer_time = plan.result.job_finish.front();
  plan.result.planner = "rails";
  row.transfer_time = plan.result.transfer_time;
  row.sends = plan.sends.size();
  if (const std::optional<std::string> objection = judge(plan)) {
    throw Error(ErrorCode::verification_failed, "rails: " + *objection);
  }
  return row;
}

}  // namespace

std::vector<std::vector<Bytes>> expert_matrix(std::size_t ranks, const ExpertDemand& demand) {
  Rng rng(demand.seed);
  std::vector<std::size_t> place(ranks);
  std::iota(place.begin(), place.end(), std::size_t{1});
  rng.shuffle(place);
  std::vector<double> share(ranks);
  for (std::size_t b = 0; b < ranks; ++b) {
    share[b] = std::pow(static_cast<double>(place[b]), -demand.skew_thousandths / 1000.0);
  }
  std::vector<std::vector<Bytes>> matrix(ranks, std::vector<Bytes>(ranks));
  for (std::size_t a = 0; a < ranks; ++a) {
    std::vector<double> weight(ranks);
    for (std::size_t b = 0; b < ranks; ++b) weight[b] = share[b] * (0.5 + rng.uniform());
    const double sum = std::accumulate(weight.begin(), weight.end(), 0.0);
    const double row = static_cast<double>(demand.total.value) / static_cast<double>(ranks);
    for (std::size_t b = 0; b < ranks; ++b) {
      if (a != b) matrix[a][b] = Bytes{static_cast<std::int64_t>(row * weight[b] / sum)};
    }
  }
  return matrix;
}

void run_experts(const ExpertsOptions& options, const Judge& judge,
                 const std::function<void(const ExpertsRow&)>& finished) {
  struct Fabric {
    const char* name;
    std::vector<std::int64_t> totals;
    std::vector<int> chunks;
  };
  const std::vector<Fabric> fabrics = {
      {"rail:8x8", {1'000'000, 8'000'000, 64'000'000, 1'000'000'000}, {1, 2, 4}},
      {"rail:64x8", {16'000'000, 64'000'000, 1'000'000'000, 16'000'000'000}, {1}}};
  for (const Fabric& fabric : fabrics) {
    if (!options.topology.empty() && options.topology != fabric.name) continue;
    const Topology topology = load_topology(fabric.name);
    const std::vector<int> counts =
        options.chunks > 0 ? std::vector{options.chunks} : fabric.chunks;
    for (const std::int64_t total : fabric.totals) {
      for (const int skew : {0, 500, 1000, 1500}) {
        for (std::uint64_t seed = 1; seed <= options.seeds; ++seed) {
          const ExpertDemand demand{skew, Bytes{total}, seed};
          std::optional<ExpertsRow> best;
          Time bound;
          for (const int chunks : counts) {
            const Made made = make(topology, demand, chunks);
            if (chunks == counts.front()) bound = lower_bound(made.problem, {}).value;
            const ExpertsRow row = measure(fabric.name, made, demand, chunks, judge);
            if (!best || row.transfer_time < best->transfer_time) best = row;
          }
          best->bound = bound;
          finished(*best);
          if (StopCondition::interrupted()) return;
        }
      }
    }
  }
}

}  // namespace stellwerk
