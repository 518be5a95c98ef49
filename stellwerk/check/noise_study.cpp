#include "stellwerk/check/noise_study.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "stellwerk/base/error.hpp"

namespace stellwerk {

Quantile parse_quantile(std::string_view text) {
  if (text == "p50") return Quantile::p50;
  if (text == "p99") return Quantile::p99;
  if (text == "worst") return Quantile::worst;
  throw Error(ErrorCode::usage, "'" + std::string(text) + "' is none of 'p50', 'p99', 'worst'");
}

std::string_view to_string(Quantile quantile) {
  switch (quantile) {
    case Quantile::p50:
      return "p50";
    case Quantile::p99:
      return "p99";
    case Quantile::worst:
      return "worst";
  }
  return "?";
}

Time at(const Spread& spread, Quantile quantile) {
  switch (quantile) {
    case Quantile::p50:
      return spread.p50;
    case Quantile::p99:
      return spread.p99;
    case Quantile::worst:
      break;
  }
  return spread.worst;
}

Spread spread_of(std::vector<Time> finishes) {
  std::sort(finishes.begin(), finishes.end());
  const auto percentile = [&](std::size_t percent) {
    return finishes[(percent * finishes.size() + 99) / 100 - 1];
  };
  return {percentile(50), percentile(99), finishes.back()};
}

NoiseResult run_study(const Problem& problem, Executor& executor, const NoiseStudy& study,
                      const StopCondition& stop) {
  std::vector<Time> finishes;
  std::vector<std::vector<Time>> of_jobs(problem.jobs.size());
  NoiseResult result;
  for (int run = 0; run < study.runs && (run == 0 || !stop.should_stop()); ++run) {
    const NoiseDraw draw =
        draw_noise(study.noise, problem.topology, executor.sends(), study.seed, run);
    const Executor::Run once = executor.run(study.discipline, draw);
    finishes.push_back(once.finish);
    for (std::size_t j = 0; j < of_jobs.size(); ++j) of_jobs[j].push_back(once.job_finish[j]);
    ++result.runs;
  }
  result.all = spread_of(std::move(finishes));
  for (std::vector<Time>& finishes_of_job : of_jobs) {
    result.jobs.push_back(spread_of(std::move(finishes_of_job)));
  }
  return result;
}

}  // namespace stellwerk
