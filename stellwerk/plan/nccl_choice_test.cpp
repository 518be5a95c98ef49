#include "stellwerk/plan/nccl_choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/catalogue.hpp"

namespace stellwerk {
namespace {

/// "algorithm/protocol" of the least time at every size.
std::vector<std::string> best(const char* topology, Collective collective,
                              const std::vector<Bytes>& sizes) {
  const NcclTimes found = nccl_times(catalogue_topology(topology), collective, sizes, {});
  std::vector<std::string> result;
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    std::size_t least = 0;
    for (std::size_t o = 1; o < found.options.size(); ++o) {
      if (found.times[o][s] < found.times[least][s]) least = o;
    }
    result.push_back(std::string(found.options[least].algorithm) + "/" +
                     std::string(found.options[least].protocol));
  }
  return result;
}

TEST(NcclChoice, LittleSynchronisationForSmallCallsFullRateForLargeOnes) {
  EXPECT_EQ(best("dgx-a100:1", Collective::allgather, {Bytes{4096}, Bytes{1 << 30}}),
            (std::vector<std::string>{"ring/ll", "ring/simple"}));
}

TEST(NcclChoice, TreesWhereManyHostsWouldMakeARingOfManySteps) {
  const std::vector<std::string> chosen =
      best("rail:8x1", Collective::allreduce, {Bytes{65536}, Bytes{1 << 30}});
  EXPECT_EQ(chosen[0], "tree/ll");
  EXPECT_EQ(chosen[1], "ring/simple");
}

TEST(NcclChoice, ASmallCallWithLLTakesItsStepsAndTheCall) {
  // Seven steps of a latency each, sizes of no account, and 6.6 us.
  const Topology topology = catalogue_topology("ring:8");
  const NcclTimes found = nccl_times(topology, Collective::allgather, {Bytes{8}}, {});
  const Time wire = 7 * topology.link(LinkId(0)).latency;
  EXPECT_EQ(found.options[0].protocol, "ll");
  EXPECT_NEAR(static_cast<double>(found.times[0][0].ps), 6.6e6 + static_cast<double>(wire.ps), 1e4);
}

TEST(NcclChoice, AStepAcrossTheNetworkIsSynchronisedOnce) {
  const Topology own = catalogue_topology("dgx-a100:2");
  const Topology seen = seen_through(own, "simple");
  for (const LinkId id : own.link_ids()) {
    const Link &before = own.link(id), &after = seen.link(id);
    const std::string &from = own.node(before.from).host, &to = own.node(before.to).host;
    const bool gpu = own.node(before.from).kind == NodeKind::gpu;
    std::int64_t more = gpu ? 2'800'000 : 0;
    if (!to.empty() && from != to) more += 8'500'000;
    EXPECT_EQ((after.latency - before.latency).ps, more) << own.link_name(id);
    EXPECT_EQ(after.bandwidth, before.bandwidth);
  }
}

TEST(NcclChoice, TheNetworkDoesNotMakeGpusANewerGeneration) {
  // 300 GB/s of NVLink and a NIC of 25 GB/s: flags are polled at 87.7 GB/s, not as Hopper does.
  const Topology own = catalogue_topology("dgx-a100:2");
  const Topology seen = seen_through(own, "ll");
  for (const LinkId id : seen.link_ids()) {
    const Link& link = seen.link(id);
    if (seen.node(link.from).kind != NodeKind::gpu) continue;
    const bool inside = seen.node(link.from).host == seen.node(link.to).host;
    EXPECT_EQ(link.bandwidth, (inside ? Bandwidth{87'700'000'000} : Bandwidth{12'500'000'000}));
  }
}

TEST(NcclChoice, NothingToChooseForAllToAll) {
  EXPECT_THROW(nccl_times(catalogue_topology("ring:4"), Collective::alltoall, {Bytes{1024}}, {}),
               Error);
}

TEST(NcclChoice, PatOnlyWithOneGpuAHost) {
  const auto has_pat = [](const char* topology) {
    const NcclTimes found =
        nccl_times(catalogue_topology(topology), Collective::allgather, {Bytes{1024}}, {});
    return std::any_of(found.options.begin(), found.options.end(),
                       [](const NcclOption& o) { return o.algorithm == "pat"; });
  };
  EXPECT_FALSE(has_pat("dgx-a100:2"));
  EXPECT_TRUE(has_pat("rail:4x1"));
}

}  // namespace
}  // namespace stellwerk
