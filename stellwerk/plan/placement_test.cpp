// Candidates are what the essay says, and the best one is found where it is known.
#include "stellwerk/plan/placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/io/load.hpp"

namespace stellwerk {
namespace {

PlacementRequest request_on(const char* topology, std::size_t ranks) {
  PlacementRequest request;
  request.topology = load_topology(topology);
  request.free = request.topology.gpus();
  request.ranks = ranks;
  request.size = Bytes{1 << 20};
  request.options.gap = 1;  // first plans will do
  request.planner = "greedy";
  return request;
}

std::set<std::string> hosts(const PlacementRequest& request, const Placement& placement) {
  std::set<std::string> result;
  for (const NodeId gpu : placement.ranks) result.insert(request.topology.node(gpu).host);
  return result;
}

TEST(Placement, CandidatesAreFreeGpusEachOnce) {
  PlacementRequest request = request_on("rail:4x4", 6);
  Rng rng(1);
  rng.shuffle(request.free);
  request.free.resize(11);
  for (const Placement& candidate : placement_candidates(request)) {
    EXPECT_EQ(candidate.ranks.size(), 6U);
    const std::set<NodeId> distinct(candidate.ranks.begin(), candidate.ranks.end());
    EXPECT_EQ(distinct.size(), 6U) << candidate.rule;
    for (const NodeId gpu : candidate.ranks) {
      EXPECT_NE(std::find(request.free.begin(), request.free.end(), gpu), request.free.end());
    }
  }
  EXPECT_THROW(placement_candidates(request_on("rail:4x4", 17)), Error);
  EXPECT_THROW(placement_candidates(request_on("rail:4x4", 1)), Error);
}

TEST(Placement, StaysInOneBoxWhereOneIsLargeEnough) {
  PlacementRequest request = request_on("rail:4x4", 4);
  // One GPU of every box first, so that the given order is the worst.
  std::sort(request.free.begin(), request.free.end(), [&](NodeId a, NodeId b) {
    return request.topology.node(a).rail < request.topology.node(b).rail;
  });
  const std::vector<Placement> placements = place(request, {}, nullptr, judge);
  ASSERT_TRUE(placements.front().planned);
  EXPECT_EQ(hosts(request, placements.front()).size(), 1U);
  for (const Placement& placement : placements) {
    if (placement.rule != "given") continue;
    EXPECT_EQ(hosts(request, placement).size(), 4U);
    EXPECT_LT(placements.front().planned, placement.planned);
  }
}

TEST(Placement, PutsLastWhatHasNoPlan) {
  // Ranks on different rails of different boxes, and nobody else may relay.
  PlacementRequest request = request_on("rail:2x2", 2);
  const auto gpu = [&](const char* name) { return *request.topology.find(name); };
  request.free = {gpu("h0.gpu0"), gpu("h1.gpu1"), gpu("h1.gpu0")};
  const std::vector<Placement> placements = place(request, {}, nullptr, judge);
  EXPECT_TRUE(placements.front().planned);
  EXPECT_FALSE(placements.back().planned);
  EXPECT_EQ(placements.back().rule, "given");
}

}  // namespace
}  // namespace stellwerk
