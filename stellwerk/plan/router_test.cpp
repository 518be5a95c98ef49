#include "stellwerk/plan/router.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "stellwerk/base/rng.hpp"
#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

Problem over_all_gpus(Topology topology) {
  Job job;
  job.name = "job";
  job.ranks = topology.gpus();
  job.size = Bytes{static_cast<std::int64_t>(job.ranks.size()) * 1000};
  return make_problem(std::move(topology), {job});
}

/// The least cost of all simple ways, by trying them: bandwidth is paid for each hop at its narrowest
/// link or cap.
Time best_by_trying(const Problem& problem, NodeId from, NodeId to, Bytes bytes) {
  const Topology& topology = problem.topology;
  std::vector<char> visited(topology.nodes().size(), 0);
  Time best = Time::max();
  std::function<void(NodeId, Time, Bandwidth)> go = [&](NodeId at, Time spent,
                                                        Bandwidth narrowest) {
    if (at == to) {
      best = std::min(best, spent);
      return;
    }
    if (at != from && topology.stores(at) && !problem.may_forward(at, JobId(0))) return;
    visited[at.index()] = 1;
    for (const LinkId id : topology.out(at)) {
      const Link& link = topology.link(id);
      if (visited[link.to.index()] != 0) continue;
      Bandwidth next = topology.stores(at) ? link.bandwidth : std::min(narrowest, link.bandwidth);
      if (topology.stores(at) && topology.node(at).injection)
        next = std::min(next, *topology.node(at).injection);
      const bool ends = topology.stores(link.to);
      if (ends && topology.node(link.to).ejection)
        next = std::min(next, *topology.node(link.to).ejection);
      go(link.to, spent + link.latency + (ends ? transmission_time(bytes, next) : Time{0}), next);
    }
    visited[at.index()] = 0;
  };
  go(from, Time{0}, Bandwidth{});
  return best;
}

Topology random_network(Rng& rng) {
  testing::Network network;
  const auto gpus = static_cast<int>(2 + rng.below(4)), others = static_cast<int>(rng.below(4));
  for (int i = 0; i < gpus; ++i) network.gpu();
  for (int i = 0; i < others; ++i) {
    if (rng.below(3) == 0) {
      network.relay();
    } else {
      network.switch_node();
    }
  }
  const std::size_t n = network.nodes.size();
  const std::size_t links = n + rng.below(2 * n);
  for (std::size_t i = 0; i < links; ++i) {
    const NodeId from(rng.below(n)), to(rng.below(n));
    if (from == to) continue;
    // Few different values, so that ties and steps without latency are common.
    network.link(from, to, static_cast<double>(1 + rng.below(3)), Time{1000 * rng.between(0, 2)});
  }
  if (rng.below(2) == 0) network.nodes[NodeId(0)].injection = Bandwidth{1'500'000'000};
  if (rng.below(2) == 0) network.nodes[NodeId(1)].ejection = Bandwidth{1'700'000'000};
  return network.topology();
}

TEST(Router, FindsTheBestOfAllWays) {
  int reached = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    Topology topology = random_network(rng);
    Job job;
    job.name = "job";
    job.ranks = topology.gpus();
    if (job.ranks.size() > 2 && rng.below(2) == 0) job.ranks.pop_back();
    job.size = Bytes{1000};
    const Problem problem =
        make_problem(topology, {job}, rng.below(2) == 0 ? Relays::all : Relays::members);
    const Bytes bytes{rng.between(1, 3000)};
    for (const Ties ties : {Ties::one_tree, Ties::spread}) {
      Router router(problem, JobId(0), bytes, ties);
      for (const NodeId from : job.ranks) {
        for (const NodeId to : job.ranks) {
          const Time expected = from == to ? Time{0} : best_by_trying(problem, from, to, bytes);
          ASSERT_EQ(router.distance(from, to), expected) << "seed " << seed;
          ASSERT_EQ(router.reaches(from, to), expected != Time::max());
          if (expected == Time::max()) continue;
          ++reached;
          for (std::uint32_t salt = 0; salt < router.salts(from, to); ++salt) {
            NodeId at = from;
            Time spent;
            for (const HopId id : router.way(from, to, salt)) {
              const Hop& hop = router.hop(id);
              ASSERT_EQ(hop.from, at);
              for (std::size_t i = 0; i < hop.links.size(); ++i) {
                const Link& link = topology.link(hop.links[i]);
                ASSERT_EQ(link.from, at);
                at = link.to;
                ASSERT_EQ(topology.stores(at), i + 1 == hop.links.size());
              }
              ASSERT_EQ(hop.to, at);
              std::set<NodeId> entered;
              for (const LinkId link : hop.links)
                ASSERT_TRUE(entered.insert(topology.link(link).to).second) << "seed " << seed;
              spent += hop.latency + transmission_time(bytes, hop.bandwidth);
            }
            ASSERT_EQ(at, to);
            ASSERT_EQ(spent, expected) << "seed " << seed << " salt " << salt;
          }
        }
      }
    }
  }
  EXPECT_GT(reached, 1000);
}

TEST(Router, NoSwitchIsPassedTwice) {
  // Round by the other switch and back costs nothing, for the last link is as narrow as the way back.
  testing::Network network;
  const NodeId from = network.gpu(), to = network.gpu();
  const NodeId near = network.switch_node(), other = network.switch_node();
  network.link(from, near, 2);
  network.link(near, other, 2);
  network.link(other, near, 1);
  network.link(near, to, 1);
  network.link(to, from);
  const Problem problem = over_all_gpus(network.topology());
  Router router(problem, JobId(0), Bytes{1000});
  ASSERT_GT(router.salts(from, to), 1U) << "the detour is not as good: this tests nothing";
  for (std::uint32_t salt = 0; salt < router.salts(from, to); ++salt) {
    const std::span<const HopId> way = router.way(from, to, salt);
    ASSERT_EQ(way.size(), 1U);
    EXPECT_EQ(router.hop(way[0]).links, (std::vector<LinkId>{LinkId(0), LinkId(3)}));
  }
}

/// Two leaves with `gpus` GPUs each, and `spines` spines.
Topology two_leaves(int gpus, int spines) {
  testing::Network network;
  for (int i = 0; i < 2 * gpus; ++i) network.gpu();
  const NodeId first = network.switch_node(), second = network.switch_node();
  for (int i = 0; i < 2 * gpus; ++i) network.both(NodeId(i), i < gpus ? first : second);
  for (int s = 0; s < spines; ++s) {
    const NodeId spine = network.switch_node();
    network.both(first, spine);
    network.both(second, spine);
  }
  return network.topology();
}

TEST(Router, SpreadsPairsAndSaltsOverSpines) {
  const Problem problem = over_all_gpus(two_leaves(16, 4));
  Router router(problem, JobId(0), Bytes{1000});
  std::map<LinkId, int> first_up;
  std::set<LinkId> of_one_pair;
  for (int from = 0; from < 16; ++from) {
    for (int to = 16; to < 32; ++to) {
      const auto way = router.way(NodeId(from), NodeId(to));
      ASSERT_EQ(way.size(), 1U);
      const Hop& hop = router.hop(way.front());
      ASSERT_EQ(hop.links.size(), 4U);
      ++first_up[hop.links[1]];
    }
  }
  for (std::uint32_t salt = 0; salt < router.salts(NodeId(0), NodeId(16)); ++salt) {
    of_one_pair.insert(router.hop(router.way(NodeId(0), NodeId(16), salt).front()).links[1]);
  }
  EXPECT_EQ(first_up.size(), 4U);
  for (const auto& [link, count] : first_up) EXPECT_NEAR(count, 64, 32);
  EXPECT_GE(of_one_pair.size(), 3U);
  EXPECT_EQ(router.salts(NodeId(0), NodeId(1)), 1U);  // under one leaf there is one way
}

// Over a 4 x 4 torus there are two or more ways to the opposite corner.
TEST(Router, OneTreeKeepsTheWaysFromASourceTogether) {
  testing::Network network;
  for (int i = 0; i < 16; ++i) network.gpu();
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 4; ++x) {
      network.both(NodeId(4 * y + x), NodeId(4 * y + (x + 1) % 4));
      network.both(NodeId(4 * y + x), NodeId(4 * ((y + 1) % 4) + x));
    }
  }
  const Problem problem = over_all_gpus(network.topology());
  for (const Ties ties : {Ties::one_tree, Ties::spread}) {
    Router router(problem, JobId(0), Bytes{1000}, ties);
    int shared = 0;
    for (const NodeId from : problem.topology.gpus()) {
      std::set<HopId> used;
      std::map<NodeId, std::set<HopId>> into;
      for (const NodeId to : problem.topology.gpus()) {
        for (const HopId hop : router.way(from, to)) into[router.hop(hop).to].insert(hop);
      }
      for (const auto& [node, hops] : into) shared += hops.size() > 1 ? 1 : 0;
    }
    EXPECT_EQ(shared == 0, ties == Ties::one_tree) << shared;
  }
}

}  // namespace
}  // namespace stellwerk
