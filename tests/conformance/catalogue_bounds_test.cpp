// Machines of the catalogue have the throughput that the literature gives for them.
#include <gtest/gtest.h>

#include <string>

#include "stellwerk/bound/bound.hpp"
#include "stellwerk/io/catalogue.hpp"

namespace stellwerk {
namespace {

/// The bound on an AllGather of 1 GB over all GPUs.
double allgather_bound_us(const std::string& name) {
  const Topology topology = catalogue_topology(name);
  Job job;
  job.name = "job";
  job.ranks = topology.gpus();
  job.size = Bytes{1'000'000'000};
  const Problem problem = make_problem(topology, {job});
  return lower_bound(problem, StopCondition(20)).value.seconds() * 1e6;
}

// Latency-free optima in GB/s: ForestColl's for boxes of A100 and MI250 (346.7, 266.7, 354.1), and
// what the slowest cut leaves elsewhere. Latencies add a few microseconds to the milliseconds.
TEST(CatalogueBounds, AllGatherMeetsPublishedThroughput) {
  const std::pair<std::string, double> cases[] = {
      {"dgx1", 1200.0 / 7},  // into one GPU: 7/8 over 150 GB/s
      {"dgx-a100:2,fabric=switch", 325.0 * 16 / 15},
      {"dgx-a100:2", 325.0 * 16 / 15},
      {"dgx-a100:4,fabric=switch", 200.0 * 32 / 24},
      {"mi250:2", 332.0 * 32 / 30},
      {"mi250:4", 256.0 * 64 / 48},
      {"mi300x:1", 7 * 64.0 * 8 / 7},
      {"dgx-h100:4", 500.0 * 32 / 31},
      {"rail:16x8", 400.0 * 128 / 120},
      {"rail:4x8,nics=2", (450.0 + 100) * 32 / 31},  // into one GPU: 24/32 over 800 GB/s is faster
      {"leaf-spine:16x2,per-leaf=4,nic=50GB/s", 100.0 * 32 / 30},
      {"leaf-spine:16x2,per-leaf=4,oversubscription=8", 25.0 * 2 * 32 / 24},
      {"switch:16", 50.0 * 16 / 15},
  };
  for (const auto& [name, algbw] : cases) {
    const double fluid = 1e6 / algbw;
    const double bound = allgather_bound_us(name);
    EXPECT_GE(bound, fluid * (1 - 1e-9)) << name;
    EXPECT_LE(bound, fluid + 10) << name;
  }
}

}  // namespace
}  // namespace stellwerk
