// The textbook baselines: the times and traffic that the books give them, valid plans everywhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/plan/planner.hpp"
#include "stellwerk/plan/power_of_two.hpp"
#include "stellwerk/plan/textbook_schedule.hpp"
#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

using testing::Network;
constexpr Time kUs{testing::kUs};
constexpr Time kMs{1000 * testing::kUs};

/// Every GPU on one switch, 1 MB a millisecond, so many microseconds a hop.
Topology crossbar(int gpus, int latency_us = 0, int per_host = 0) {
  Network network;
  for (int i = 0; i < gpus; ++i) {
    const NodeId gpu = network.gpu();
    if (per_host > 0) network.nodes[gpu].host = "h" + std::to_string(i / per_host);
  }
  const NodeId hub = network.switch_node();
  for (int i = 0; i < gpus; ++i) network.both(NodeId(i), hub, 1, latency_us * kUs);
  return network.topology();
}

Problem problem_of(Topology topology, Collective collective, std::int64_t size, int chunks = 1,
                   int root = 0) {
  Job job;
  job.name = "job";
  job.collective = collective;
  job.ranks = topology.gpus();
  job.size = Bytes{size};
  job.chunks = chunks;
  job.root = root;
  return make_problem(std::move(topology), {job});
}

PlannerOutcome run(std::string_view planner, const Problem& problem) {
  PlannerContext context;
  return find_planner(planner).plan(problem, {}, context);
}

/// The plan, which must be there and valid.
Verdict valid(std::string_view planner, const Problem& problem, Schedule* sends = nullptr) {
  const PlannerOutcome outcome = run(planner, problem);
  EXPECT_TRUE(outcome.has_plan()) << planner << ": " << outcome.message;
  const Verdict verdict = verify_sends(problem, outcome.sends);
  EXPECT_TRUE(verdict.valid()) << planner << ": " << verdict.message;
  if (sends != nullptr) *sends = outcome.sends;
  return verdict;
}

Time valid_time(std::string_view planner, const Problem& problem) {
  return valid(planner, problem).transfer_time;
}

constexpr std::int64_t kMegabyte = 1'000'000;

TEST(Textbook, FewStepsWhenOnlyLatencyCounts) {
  // A hop takes 2 us, a byte 1 ns, and a block has 1 to 4 bytes.
  const auto steps = [](std::string_view planner, Collective collective, int gpus, int root = 0) {
    const Problem problem = problem_of(
        crossbar(gpus, 1), collective,
        collective == Collective::broadcast || collective == Collective::reduce ? 1 : gpus, 1,
        root);
    return static_cast<int>((valid_time(planner, problem).ps + testing::kUs) / (2 * testing::kUs));
  };
  for (const int gpus : {2, 3, 4, 6, 8, 13, 16, 31}) {
    const int log = std::bit_width(static_cast<unsigned>(gpus - 1));
    const bool power = std::has_single_bit(static_cast<unsigned>(gpus));
    EXPECT_LE(steps("bruck", Collective::allgather, gpus), log);
    EXPECT_LE(steps("bruck", Collective::alltoall, gpus), log);
    EXPECT_LE(steps("pat", Collective::allgather, gpus), log);
    EXPECT_LE(steps("pat", Collective::reducescatter, gpus), log);
    EXPECT_EQ(steps("rabenseifner", Collective::allreduce, gpus), 2 * log) << gpus;
    // The doubles' parts may travel while the first exchange is on its way back.
    EXPECT_LE(steps("recursive-doubling", Collective::allreduce, gpus), power ? log : log + 1);
    EXPECT_GE(steps("recursive-doubling", Collective::allreduce, gpus), log);
    EXPECT_EQ(steps("bidirectional-ring", Collective::allgather, gpus), gpus / 2);
    EXPECT_EQ(steps("bidirectional-ring", Collective::allreduce, gpus), 2 * (gpus / 2));
    EXPECT_LE(steps("double-binary-tree", Collective::allreduce, gpus), 2 * (log + 1));
    EXPECT_LE(steps("double-binary-tree", Collective::broadcast, gpus, gpus / 2), log + 1);
    if (power) {
      EXPECT_EQ(steps("bruck", Collective::allgather, gpus), log);
      EXPECT_EQ(steps("recursive-doubling", Collective::allgather, gpus), log);
      EXPECT_EQ(steps("recursive-doubling", Collective::reducescatter, gpus), log);
      EXPECT_EQ(steps("pat", Collective::allgather, gpus), log);
    }
  }
}

TEST(Textbook, FullBandwidthOnACrossbar) {
  // Eight blocks of 1 MB: every port passes seven, at 1 ms each.
  const Topology box = crossbar(8);
  for (const std::string_view planner :
       {"bruck", "pat", "recursive-doubling", "bidirectional-ring"}) {
    EXPECT_EQ(valid_time(planner, problem_of(box, Collective::allgather, 8 * kMegabyte)), 7 * kMs)
        << planner;
  }
  for (const std::string_view planner : {"pat", "recursive-doubling", "bidirectional-ring"}) {
    EXPECT_EQ(valid_time(planner, problem_of(box, Collective::reducescatter, 8 * kMegabyte)),
              7 * kMs)
        << planner;
  }
  EXPECT_EQ(valid_time("rabenseifner", problem_of(box, Collective::allreduce, 8 * kMegabyte)),
            14 * kMs);
  // Three exchanges of everything.
  EXPECT_EQ(valid_time("recursive-doubling", problem_of(box, Collective::allreduce, 8 * kMegabyte)),
            24 * kMs);
  // A block crosses as many times as its distance has ones: 12 of 8 blocks of an eighth.
  EXPECT_GE(valid_time("bruck", problem_of(box, Collective::alltoall, 8 * kMegabyte)), 12 * kMs);
  EXPECT_LE(valid_time("bruck", problem_of(box, Collective::alltoall, 8 * kMegabyte)), 14 * kMs);
}

TEST(Textbook, BothWaysRoundARingHalvesTheTime) {
  for (const int gpus : {3, 5, 9}) {
    Network network;
    for (int i = 0; i < gpus; ++i) network.gpu();
    for (int i = 0; i < gpus; ++i) network.both(NodeId(i), NodeId((i + 1) % gpus));
    EXPECT_EQ(valid_time("bidirectional-ring",
                         problem_of(network.topology(), Collective::allgather, gpus * kMegabyte)),
              gpus / 2 * kMs);
    EXPECT_EQ(
        valid_time("bidirectional-ring",
                   problem_of(network.topology(), Collective::reducescatter, gpus * kMegabyte)),
        gpus / 2 * kMs);
  }
}

TEST(Textbook, NobodyGetsABlockTwice) {
  for (const int gpus : {5, 8}) {
    for (const auto& [planner, collective] : {std::pair{"bruck", Collective::allgather},
                                              {"pat", Collective::allgather},
                                              {"pat", Collective::reducescatter},
                                              {"bidirectional-ring", Collective::allgather}}) {
      Schedule sends;
      valid(planner, problem_of(crossbar(gpus), collective, gpus * 1000, 2), &sends);
      EXPECT_EQ(sends.size(), static_cast<std::size_t>(2 * gpus * (gpus - 1))) << planner;
    }
    Schedule sends;
    valid("bruck", problem_of(crossbar(gpus), Collective::alltoall, gpus * 1000), &sends);
    std::size_t ones = 0;
    for (unsigned d = 1; d < static_cast<unsigned>(gpus); ++d)
      ones += static_cast<std::size_t>(std::popcount(d));
    EXPECT_EQ(sends.size(), static_cast<std::size_t>(gpus) * ones);
  }
}

TEST(Textbook, InnerRanksOfOneTreeAreLeavesOfTheOther) {
  for (const int gpus : {4, 7, 8, 12, 15}) {
    Schedule sends;
    const Problem problem = problem_of(crossbar(gpus), Collective::allreduce, gpus * 1000);
    valid("double-binary-tree", problem, &sends);
    // Copies that a rank sends, by parity of the chunk: none from a leaf.
    std::map<NodeId, std::set<int>> inner;
    std::map<std::pair<NodeId, int>, std::set<NodeId>> children;
    for (const Send& send : sends) {
      const NodeId from = problem.topology.link(send.links.front()).from;
      const NodeId to = problem.topology.link(send.links.back()).to;
      if (send.op != Op::copy) continue;
      inner[from].insert(send.chunk.value % 2);
      children[{from, send.chunk.value % 2}].insert(to);
    }
    int both = 0;
    for (const auto& [rank, parities] : inner) both += parities.size() == 2 ? 1 : 0;
    EXPECT_LE(both, 2) << gpus;  // the roots, which have one child, may be
    for (const auto& [rank, list] : children) EXPECT_LE(list.size(), 2U);
  }
}

TEST(Textbook, HierarchicalRingsUseEveryNicEvenly) {
  // Three hosts of four: fast links inside, one NIC a GPU on the switch of its number.
  Network network;
  std::vector<NodeId> rails;
  for (int i = 0; i < 12; ++i) network.nodes[network.gpu()].host = "h" + std::to_string(i / 4);
  for (int r = 0; r < 4; ++r) rails.push_back(network.switch_node());
  for (int i = 0; i < 12; ++i) {
    for (int j = i / 4 * 4; j < i / 4 * 4 + 4; ++j) {
      if (i != j) network.link(NodeId(i), NodeId(j), 100);
    }
    network.both(NodeId(i), rails[static_cast<std::size_t>(i % 4)]);
  }
  const Topology topology = network.topology();
  // A NIC passes two of its rail's three blocks of 1 MB; inside it takes 3 x 3 blocks at 10 us each.
  const Time gathered =
      valid_time("hierarchical", problem_of(topology, Collective::allgather, 12 * kMegabyte));
  EXPECT_GE(gathered, 2 * kMs);
  EXPECT_LE(gathered, 2 * kMs + 90 * kUs);
  const Time scattered =
      valid_time("hierarchical", problem_of(topology, Collective::reducescatter, 12 * kMegabyte));
  EXPECT_GE(scattered, 2 * kMs);
  EXPECT_LE(scattered, 2 * kMs + 90 * kUs);
  EXPECT_LE(valid_time("hierarchical", problem_of(topology, Collective::allreduce, 12 * kMegabyte)),
            4 * kMs + 180 * kUs);
  // AllToAll: eight blocks of 1 MB leave each host's NIC, of the four ranks there for the two
  // others of its number.
  const Time exchanged =
      valid_time("hierarchical", problem_of(topology, Collective::alltoall, 12 * kMegabyte));
  EXPECT_GE(exchanged, 8 * kMs);
  EXPECT_LE(exchanged, 8 * kMs + 100 * kUs);
}

TEST(Textbook, WhatIsNotDefinedIsDeclinedWithAReason) {
  const auto message = [](std::string_view planner, const Problem& problem) {
    const PlannerOutcome outcome = run(planner, problem);
    EXPECT_EQ(outcome.termination.reason, Termination::Reason::unsupported) << planner;
    return outcome.message;
  };
  EXPECT_EQ(message("recursive-doubling", problem_of(crossbar(6), Collective::allgather, 600)),
            "job 'job' has 6 ranks, which is no power of two");
  EXPECT_EQ(message("hierarchical", problem_of(crossbar(6), Collective::allgather, 600)),
            "the ranks of job 'job' are not several hosts of equally many, two or more each");
  EXPECT_EQ(message("hierarchical", problem_of(crossbar(5, 0, 2), Collective::allgather, 500)),
            "the ranks of job 'job' are not several hosts of equally many, two or more each");
  EXPECT_EQ(message("pat", problem_of(crossbar(4), Collective::allreduce, 400)),
            "parallel aggregated trees do not serve allreduce (job 'job')");
  // A line: g0 and g2 meet over g1 only.
  EXPECT_EQ(
      message("recursive-doubling",
              problem_of(testing::line(4).topology(), Collective::allreduce, 400)),
      "g0 reaches g2 through other GPUs at best, which would merge sums that are only passing");
  const Problem large = problem_of(crossbar(40), Collective::allgather, 4'000'000, 1700);
  for (const PlannerRow& row : planners()) {
    if (row.kind != PlannerKind::baseline) continue;
    EXPECT_THAT(message(row.name, large),
                ::testing::AnyOf("more than 2500000 sends are more than a baseline is worth",
                                 ::testing::HasSubstr("do not serve allgather")))
        << row.name;
  }
}

TEST(PowerOfTwo, DoublesAreTheFirstEvenRanks) {
  std::vector<NodeId> ranks;
  for (int i = 0; i < 11; ++i) ranks.emplace_back(10 + i);
  const PowerOfTwo power(ranks);
  ASSERT_EQ(power.size(), 8U);
  EXPECT_EQ(power.steps(), 3);
  ASSERT_EQ(power.doubles().size(), 3U);
  EXPECT_EQ(power.doubles()[1].rank, NodeId(12));
  EXPECT_EQ(power.doubles()[1].member, NodeId(13));
  EXPECT_EQ(power.member(3), NodeId(16));
}

/// A strongly connected network with GPUs on hosts of two, switches and relays, some nodes limited.
Topology random_topology(Rng& rng) {
  Network network;
  const auto gpus = static_cast<int>(2 * (1 + rng.below(5)) + rng.below(2));
  for (int i = 0; i < gpus; ++i) network.nodes[network.gpu()].host = "h" + std::to_string(i / 2);
  for (std::size_t i = rng.below(4); i > 0; --i) {
    if (rng.below(3) == 0) {
      network.relay();
    } else {
      network.switch_node(rng.below(2) == 0, rng.below(2) == 0);
    }
  }
  const std::size_t n = network.nodes.size();
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < n; ++i) order.push_back(i);
  rng.shuffle(order);
  const auto add = [&](std::size_t from, std::size_t to) {
    if (from == to) return;
    network.link(NodeId(from), NodeId(to), static_cast<double>(rng.between(1, 20)),
                 Time{rng.between(0, 5) * testing::kUs});
  };
  for (std::size_t i = 0; i < n; ++i) add(order[i], order[(i + 1) % n]);
  for (std::size_t i = 0; i < n + rng.below(2 * n); ++i) add(rng.below(n), rng.below(n));
  if (rng.below(3) == 0)
    network.nodes[NodeId(0)].injection = Bandwidth{rng.between(1, 20) * testing::kGb};
  if (rng.below(3) == 0)
    network.nodes[NodeId(1)].ejection = Bandwidth{rng.between(1, 20) * testing::kGb};
  return network.topology();
}

// Sums that are exchanged need one hop between partners, which few of these networks have.
TEST(Textbook, ValidPlansOnRandomNetworks) {
  std::map<std::string_view, std::set<Collective>> served;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    Rng rng(seed);
    const Topology topology = random_topology(rng);
    for (const Collective collective :
         {Collective::allgather, Collective::reducescatter, Collective::allreduce,
          Collective::alltoall, Collective::broadcast, Collective::reduce}) {
      Job job;
      job.name = "job";
      job.collective = collective;
      job.ranks = topology.gpus();
      rng.shuffle(job.ranks);
      while (job.ranks.size() > 2 && rng.below(3) == 0) job.ranks.pop_back();
      job.root = static_cast<int>(rng.below(job.ranks.size()));
      job.size = Bytes{rng.between(10, 1'000'000)};
      job.chunks = static_cast<int>(rng.between(1, 3));
      job.start = Time{rng.between(0, 1) * 1000};
      const Problem problem = make_problem(topology, {job});
      for (const PlannerRow& row : planners()) {
        if (row.kind != PlannerKind::baseline) continue;
        const PlannerOutcome outcome = run(row.name, problem);
        if (outcome.termination.reason == Termination::Reason::unsupported) {
          EXPECT_FALSE(outcome.message.empty());
          continue;
        }
        ASSERT_TRUE(outcome.has_plan()) << row.name << ": " << outcome.message << " seed " << seed;
        const Verdict verdict = verify_sends(problem, outcome.sends);
        ASSERT_TRUE(verdict.valid()) << row.name << ": " << verdict.message << " seed " << seed
                                     << " " << to_string(collective);
        served[row.name].insert(collective);
      }
    }
  }
  const std::set<Collective> sums = {Collective::allreduce, Collective::broadcast,
                                     Collective::reduce};
  EXPECT_EQ(served["double-binary-tree"], sums);
  EXPECT_EQ(served["rabenseifner"],
            (std::set<Collective>{Collective::allreduce, Collective::reduce}));
  EXPECT_EQ(served["pat"],
            (std::set<Collective>{Collective::allgather, Collective::reducescatter}));
  EXPECT_EQ(served["bruck"], (std::set<Collective>{Collective::allgather, Collective::alltoall}));
  EXPECT_EQ(served["hierarchical"],
            (std::set<Collective>{Collective::allgather, Collective::reducescatter,
                                  Collective::allreduce, Collective::alltoall}));
  EXPECT_EQ(served["recursive-doubling"],
            (std::set<Collective>{Collective::allgather, Collective::reducescatter,
                                  Collective::allreduce}));
  EXPECT_EQ(served["direct"].size(), 6U);
  EXPECT_EQ(served["bidirectional-ring"].size(), 5U);
  EXPECT_EQ(served["ring"].size(), 5U);
}

TEST(Textbook, SeveralJobsShareTheLinks) {
  const Topology topology = crossbar(8, 1, 2);
  std::vector<Job> jobs(2);
  for (std::size_t j = 0; j < 2; ++j) {
    jobs[j].name = "job" + std::to_string(j);
    jobs[j].collective = Collective::reducescatter;
    jobs[j].size = Bytes{40'000};
    for (int i = 0; i < 4; ++i) jobs[j].ranks.emplace_back(j == 0 ? i : 2 * i);
  }
  const Problem problem = make_problem(topology, jobs);
  for (const std::string_view planner :
       {"ring", "bidirectional-ring", "direct", "pat", "recursive-doubling"}) {
    valid(planner, problem);
  }
  jobs[1].collective = jobs[0].collective = Collective::allreduce;
  const Problem sums = make_problem(topology, jobs);
  for (const std::string_view planner :
       {"double-binary-tree", "rabenseifner", "recursive-doubling"}) {
    valid(planner, sums);
  }
}

TEST(Textbook, StopWhenTold) {
  const Problem problem = problem_of(crossbar(40), Collective::allgather, 4'000'000, 100);
  for (const PlannerRow& row : planners()) {
    if (row.kind != PlannerKind::baseline) continue;
    PlannerContext context;
    context.stop = StopCondition(0.0);
    const PlannerOutcome outcome = row.plan(problem, {}, context);
    if (outcome.termination.reason == Termination::Reason::unsupported) continue;
    EXPECT_FALSE(outcome.has_plan()) << row.name;
    EXPECT_EQ(outcome.termination.limit, Limit::time) << row.name;
  }
}

}  // namespace
}  // namespace stellwerk
