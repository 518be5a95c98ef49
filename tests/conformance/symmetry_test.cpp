// Symmetries of the catalogue's fabrics, found under random names and numbers.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/core/problem.hpp"
#include "stellwerk/graph/problem_symmetry.hpp"
#include "stellwerk/io/catalogue.hpp"

namespace stellwerk {
namespace {

Job job_over(std::vector<NodeId> ranks, Collective collective = Collective::allgather) {
  Job job;
  // Jobs of a problem have different names.
  job.name = std::string(to_string(collective)) + " from " + std::to_string(ranks.front().value);
  job.collective = collective;
  job.ranks = std::move(ranks);
  job.size = Bytes{1 << 20};
  return job;
}

/// Elements by where they send the first rank, all of them: only for small groups.
std::int64_t order_of(const Topology& topology, const Symmetry& symmetry) {
  Permutation identity;
  for (const NodeId id : topology.node_ids()) identity.push_back(id);
  std::set<Permutation> known = {identity};
  std::vector<Permutation> waiting = {identity};
  while (!waiting.empty()) {
    const Permutation element = waiting.back();
    waiting.pop_back();
    for (const Permutation& g : symmetry.generators) {
      Permutation next;
      for (const NodeId image : element) next.push_back(g[image.index()]);
      if (known.insert(next).second) waiting.push_back(next);
    }
  }
  return static_cast<std::int64_t>(known.size());
}

void expect_sound(const Topology& topology, const std::vector<Job>& jobs,
                  const FoundSymmetries& found) {
  const LinkImages images(topology);
  for (const auto& [symmetry, order] :
       {std::pair(found.largest, found.largest_order), {found.link_free, found.link_free_order}}) {
    for (const Permutation& g : symmetry.generators) {
      EXPECT_TRUE(images.automorphism(g));
      for (const Job& job : jobs) {
        const std::set<NodeId> ranks(job.ranks.begin(), job.ranks.end());
        for (const NodeId rank : job.ranks) EXPECT_TRUE(ranks.contains(g[rank.index()]));
      }
    }
    if (order <= 128) {
      EXPECT_EQ(order_of(topology, symmetry), order);
    }
    for (const Job& job : jobs) {
      const Orbits orbits = find_orbits(topology, symmetry, job.ranks);
      for (const NodeId rank : job.ranks) EXPECT_EQ(orbits.node_size[orbits.node[rank]], order);
      if (&symmetry == &found.link_free) {
        for (const std::int64_t size : orbits.link_size) EXPECT_EQ(size, order);
      }
    }
    EXPECT_EQ(found.bound % order, 0);
    if (order > 1) make_compressed_problem(topology, jobs, Relays::all, symmetry);
  }
}

TEST(FabricSymmetry, WholeFabricsUnderRandomNames) {
  const std::map<std::string, std::pair<std::int64_t, std::int64_t>> cases = {
      {"dgx1", {4, 4}},
      {"ndv2:4", {4, 4}},
      {"dgx2:2", {16, 16}},
      {"mesh:4x4x4", {8, 8}},
      {"torus:6x10", {60, 60}},
      {"hypercube:5", {32, 32}},
      {"full:24", {24, 24}},
      {"switch:48", {48, 48}},
      {"rail:16x8", {128, 128}},
      {"rail:4x8,nics=2", {32, 32}},
      {"boxes:16x8", {128, 128}},
      {"leaf-spine:16x8,per-leaf=4", {128, 128}},
      {"leaf-spine:16x8,per-leaf=4,oversubscription=2,parallel=2", {128, 128}},
      {"fat-tree:2x2x4", {128, 128}},
      {"dragonfly:4x2x2", {36, 18}},  // of 72 by the bound; the whole group's orbits allow no more
      // One cable at half rate: no symmetry left but what keeps it.
      {"rail:16x8,degrade=1", {1, 1}},
      {"torus:6x10,degrade=1,what=any", {2, 2}},
      {"random:64", {1, 1}},
  };
  for (const auto& [name, orders] : cases) {
    for (const char* const relabel : {",relabel=11", ",relabel=12"}) {
      const std::string with_options = name + relabel;
      const Topology topology = catalogue_topology(with_options);
      const std::vector<Job> jobs = {job_over(topology.gpus())};
      const FoundSymmetries found = find_symmetries(topology, jobs, StopCondition());
      EXPECT_EQ(found.largest_order, orders.first) << with_options;
      EXPECT_EQ(found.link_free_order, orders.second) << with_options;
      expect_sound(topology, jobs, found);
    }
  }
}

TEST(FabricSymmetry, AThousandGpusUnderRandomNames) {
  for (const char* const name :
       {"rail:128x8,relabel=5", "torus:32x32,relabel=5", "torus:8x8x16,relabel=5",
        "leaf-spine:128x8,relabel=5", "fat-tree:4x4x8,relabel=5"}) {
    const Topology topology = catalogue_topology(name);
    const std::vector<Job> jobs = {job_over(topology.gpus())};
    const FoundSymmetries found = find_symmetries(topology, jobs, StopCondition());
    EXPECT_EQ(found.largest_order, 1024) << name;
    EXPECT_EQ(found.link_free_order, 1024) << name;
    expect_sound(topology, jobs, found);
  }
}

/// Ranks that are every other GPU, several jobs, demands that say who talks to whom.
TEST(FabricSymmetry, JobsMatter) {
  const Topology topology = catalogue_topology("torus:8x4");
  const std::vector<NodeId>& gpus = topology.gpus();
  const auto order = [&](const std::vector<Job>& jobs) {
    const FoundSymmetries found = find_symmetries(topology, jobs, StopCondition());
    expect_sound(topology, jobs, found);
    return found.largest_order;
  };
  std::vector<NodeId> even, odd;
  for (std::size_t i = 0; i < gpus.size(); ++i) (i % 2 == 0 ? even : odd).push_back(gpus[i]);
  EXPECT_EQ(order({job_over(gpus)}), 32);
  EXPECT_EQ(order({job_over(gpus, Collective::alltoall)}), 32);
  EXPECT_EQ(order({job_over(even)}), 16);
  EXPECT_EQ(order({job_over(even), job_over(odd)}), 16);
  EXPECT_EQ(order({job_over({gpus[0], gpus[1], gpus[2]})}), 1);
  // Around the side of four only: GPU 4i + j to 4i + j + 1 modulo 4 would be three messages more.
  EXPECT_EQ(order({job_over({gpus[0], gpus[1], gpus[2], gpus[3]}, Collective::sendrecv)}), 4);
  EXPECT_EQ(order({job_over({gpus[0], gpus[2], gpus[1], gpus[3]}, Collective::sendrecv)}), 2);
  EXPECT_EQ(order({job_over(gpus, Collective::broadcast)}), 1);
  EXPECT_EQ(order({job_over(gpus), job_over(even, Collective::reduce)}), 1);

  Job matrix = job_over({gpus[0], gpus[1], gpus[2], gpus[3]}, Collective::alltoallv);
  matrix.size = Bytes{};
  const auto with = [&](const std::vector<std::vector<int>>& rows) {
    matrix.matrix.clear();
    for (const auto& row : rows) {
      matrix.matrix.emplace_back();
      for (const int bytes : row) matrix.matrix.back().push_back(Bytes{bytes});
    }
    return order({matrix});
  };
  EXPECT_EQ(with({{0, 5, 5, 5}, {5, 0, 5, 5}, {5, 5, 0, 5}, {5, 5, 5, 0}}), 4);
  EXPECT_EQ(with({{9, 1, 2, 3}, {3, 9, 1, 2}, {2, 3, 9, 1}, {1, 2, 3, 9}}), 4);
  EXPECT_EQ(with({{0, 1, 2, 3}, {1, 0, 3, 2}, {2, 3, 0, 1}, {3, 2, 1, 0}}), 4);
  EXPECT_EQ(with({{0, 1, 2, 3}, {1, 0, 3, 2}, {2, 3, 0, 1}, {3, 2, 4, 0}}), 1);
}

TEST(FabricSymmetry, LimitsOfNodesMatter) {
  const Topology topology = catalogue_topology("rail:4x2");
  IdVector<NodeId, Node> nodes = topology.nodes();
  nodes[topology.gpus()[0]].injection = Bandwidth{1000};
  const Topology changed("changed", "", nodes, topology.links());
  const std::vector<Job> all = {job_over(topology.gpus())};
  EXPECT_EQ(find_symmetries(topology, all, StopCondition()).largest_order, 8);
  EXPECT_EQ(find_symmetries(changed, all, StopCondition()).largest_order, 1);
}

TEST(FabricSymmetry, EndsWithTheTime) {
  const Topology topology = catalogue_topology("torus:32x32x32,relabel=1");
  const std::vector<Job> jobs = {job_over(topology.gpus())};
  const StopCondition stop(0.05);
  const auto begin = StopCondition::Clock::now();
  const FoundSymmetries found = find_symmetries(topology, jobs, stop);
  const double seconds = std::chrono::duration<double>(StopCondition::Clock::now() - begin).count();
  EXPECT_LT(seconds, 3);  // 0.25 on an idle machine
  expect_sound(topology, jobs, found);
}

}  // namespace
}  // namespace stellwerk
