#include "stellwerk/bench/online_suite.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <numeric>
#include <utility>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/check/verify.hpp"

namespace stellwerk {
namespace {

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Job random_job(const Topology& topology, const OnlineWorkload& workload, int number, Rng& rng) {
  constexpr std::array kCollectives = {Collective::allgather, Collective::alltoall,
                                       Collective::allreduce};
  Job job;
  job.name = "job" + std::to_string(number);
  job.collective = kCollectives[rng.below(kCollectives.size())];
  const std::vector<NodeId>& gpus = topology.gpus();
  constexpr std::size_t kBox = 8;
  const std::size_t boxes = gpus.size() / kBox;
  auto count = std::min(gpus.size(), static_cast<std::size_t>(rng.between(4, 16)));
  const std::size_t first = rng.below(gpus.size());
  switch (rng.below(boxes >= 2 ? 3 : 2)) {
    case 0:  // side by side
      for (std::size_t i = 0; i < count; ++i) job.ranks.push_back(gpus[(first + i) % gpus.size()]);
      break;
    case 2:  // on one rail
      count = std::min(count, boxes);
      for (std::size_t i = 0; i < count; ++i) {
        job.ranks.push_back(gpus[(first + i * kBox) % (boxes * kBox)]);
      }
      break;
    default:
      job.ranks = gpus;
      rng.shuffle(job.ranks);
      job.ranks.resize(count);
      break;
  }
  const std::int64_t octave = workload.smallest.value << rng.below(8);
  job.size = Bytes{octave + rng.between(0, octave)};
  job.chunks = job.collective == Collective::alltoall ? 1 : 2;
  job.weight = rng.between(1, 4);
  return job;
}

OnlineMeasurement::Cost cost_of(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  OnlineMeasurement::Cost cost;
  if (times.empty()) return cost;
  cost.mean = std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
  cost.p99 = times[times.size() * 99 / 100];
  cost.most = times.back();
  return cost;
}

}  // namespace

std::vector<OnlineInput> random_online_inputs(const Topology& topology,
                                              const OnlineWorkload& workload) {
  Rng rng(workload.seed);
  const Time span{workload.mean_gap.ps * workload.arrivals};
  std::vector<OnlineInput> drawn;
  for (int i = 0; i < workload.arrivals; ++i) {
    OnlineInput input;
    input.kind = OnlineInput::Kind::arrival;
    input.at = Time{rng.between(0, span.ps)};
    input.job = random_job(topology, workload, i, rng);
    drawn.push_back(std::move(input));
  }
  for (int i = 0; i < workload.incidents; ++i) {
    OnlineInput input;
    input.kind = OnlineInput::Kind::change;
    input.at = Time{rng.between(0, span.ps)};
    input.change.link = LinkId(rng.below(topology.links().size()));
    const bool fails = rng.below(2) == 0;
    input.change.kind = fails ? Event::Kind::link_down : Event::Kind::link_bandwidth;
    const std::int64_t full = topology.link(input.change.link).bandwidth.bytes_per_second;
    if (!fails) input.change.bandwidth = Bandwidth{full / 100 * rng.between(10, 90)};
    drawn.push_back(input);
    input.at += Time{rng.between(200'000'000, 3'000'000'000)};
    input.change.kind = Event::Kind::link_up;
    input.change.bandwidth = Bandwidth{};
    drawn.push_back(std::move(input));
  }
  std::vector<std::size_t> order(drawn.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(drawn[a].at, a) < std::pair(drawn[b].at, b);
  });
  std::vector<OnlineInput> inputs;
  for (const std::size_t i : order) inputs.push_back(std::move(drawn[i]));
  OnlineInput end;
  end.kind = OnlineInput::Kind::end;
  end.at = inputs.empty() ? Time{0} : inputs.back().at;
  inputs.push_back(std::move(end));
  return inputs;
}

OnlineMeasurement measure_online(const Topology& topology, const std::vector<OnlineInput>& inputs,
                                 const OnlineOptions& options) {
  OnlineMeasurement result;
  OnlinePlanner planner(topology, options);
  OnlineRecord record(topology, options.relays);
  std::vector<double> cpu, wall;
  for (const OnlineInput& input : inputs) {
    const double cpu_before = cpu_seconds(), wall_before = wall_seconds();
    const OnlineIncrement increment = planner.apply(input);
    cpu.push_back(cpu_seconds() - cpu_before);
    wall.push_back(wall_seconds() - wall_before);
    record.add(input, increment);
    result.dropped += increment.dropped.size();
    result.sends += increment.sends.size();
    result.cuts += increment.cuts.size();
  }
  for (const OnlineIncrement::Finished& each : record.finished()) {
    const Job& job = planner.jobs()[static_cast<std::size_t>(each.job)];
    result.weight += job.weight;
    const Time alone = planner.alone_times()[static_cast<std::size_t>(each.job)];
    result.alone_s += alone.seconds();
    const double slowdown = (each.at - job.start).seconds() / std::max(1e-12, alone.seconds());
    result.slowdown_mean += slowdown;
    result.slowdown_most = std::max(result.slowdown_most, slowdown);
    result.weighted_flow_s += static_cast<double>(job.weight) * (each.at - job.start).seconds();
    ++result.jobs;
  }
  if (result.jobs > 0) result.slowdown_mean /= static_cast<double>(result.jobs);
  result.cpu = cost_of(std::move(cpu));
  result.wall = cost_of(std::move(wall));
  const EventfulPlan plan = record.plan();
  const Verdict verdict = verify_sends(plan.problem, plan.sends, plan.events);
  result.invalid = verdict.valid()
                       ? record.wrong_finish(verdict.job_finish)
                       : std::string(to_string(*verdict.violation)) + ": " + verdict.message;
  return result;
}

}  // namespace stellwerk
