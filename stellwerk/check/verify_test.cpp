// One small plan or more for every rule of the model and for both sides of its boundaries. Links
// carry 1 GB/s with 10 ns latency unless a test says otherwise, so a chunk of 1000 B takes 1 us.
#include "stellwerk/check/verify.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "stellwerk/core/metrics.hpp"

namespace stellwerk {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kNs = 1000;
constexpr std::int64_t kUs = 1000 * kNs;
constexpr std::int64_t kGb = 1'000'000'000;

Node node(const std::string& name, NodeKind kind = NodeKind::gpu) {
  Node result;
  result.name = name;
  result.kind = kind;
  return result;
}

Link link(std::size_t from, std::size_t to, std::int64_t bandwidth = kGb,
          std::int64_t latency = 10 * kNs) {
  return {NodeId(from), NodeId(to), Time{latency}, Bandwidth{bandwidth}, ""};
}

std::vector<NodeId> ids(const std::vector<int>& positions) {
  std::vector<NodeId> result;
  for (const int position : positions) result.emplace_back(position);
  return result;
}

CustomChunk data(std::int64_t bytes, const std::vector<int>& origins,
                 const std::vector<int>& destinations, std::int64_t ready = 0) {
  return {Bytes{bytes}, ids(origins), ids(destinations), Time{ready}, {}};
}

CustomChunk sum(std::int64_t bytes, const std::vector<int>& contributors,
                const std::vector<int>& destinations, std::int64_t ready = 0) {
  return {Bytes{bytes}, {}, ids(destinations), Time{ready}, ids(contributors)};
}

/// A network and a custom job over all its GPUs, or the given ranks.
struct World {
  IdVector<NodeId, Node> nodes;
  IdVector<LinkId, Link> links;
  std::vector<CustomChunk> chunks;
  std::vector<int> ranks;
  Relays relays = Relays::all;

  Problem problem() const {
    Topology topology("test", "", nodes, links);
    Job job;
    job.name = "job";
    job.collective = Collective::custom;
    job.custom = chunks;
    job.ranks = ranks.empty() ? topology.gpus() : ids(ranks);
    return make_problem(std::move(topology), {job}, relays);
  }
};

/// A send of the whole chunk, at full rate.
Send send(const Problem& problem, int chunk, std::int64_t start, const std::vector<int>& links,
          Op op = Op::copy) {
  Send result;
  result.chunk = ChunkId(chunk);
  result.op = op;
  result.start = Time{start};
  for (const int l : links) result.links.emplace_back(l);
  result.rate = problem.topology.link(result.links.front()).bandwidth;
  for (const LinkId l : result.links) {
    result.rate = std::min(result.rate, problem.topology.link(l).bandwidth);
  }
  result.bytes = problem.chunks[result.chunk].bytes;
  return result;
}

Send piece(Send send, std::int64_t offset, std::int64_t bytes) {
  send.offset = Bytes{offset};
  send.bytes = Bytes{bytes};
  return send;
}

Send at_rate(Send send, std::int64_t rate) {
  send.rate = Bandwidth{rate};
  return send;
}

void expect_valid(const Problem& problem, const Schedule& sends, std::int64_t transfer_time) {
  const Verdict verdict = verify_sends(problem, sends);
  EXPECT_TRUE(verdict.valid()) << verdict.message;
  EXPECT_EQ(verdict.transfer_time.ps, transfer_time);
}

void expect_refused(const Problem& problem, const Schedule& sends, Violation violation,
                    const std::string& words = "") {
  const Verdict verdict = verify_sends(problem, sends);
  ASSERT_TRUE(verdict.violation.has_value()) << "accepted";
  EXPECT_STREQ(to_string(*verdict.violation), to_string(violation)) << verdict.message;
  EXPECT_THAT(verdict.message, HasSubstr(words));
  EXPECT_EQ(verdict.message.find('\n'), std::string::npos);
}

/// a -> b -> c and back: links 0 a->b, 1 b->c, 2 c->b, 3 b->a.
World line() {
  World world;
  world.nodes = {node("a"), node("b"), node("c")};
  world.links = {link(0, 1), link(1, 2), link(2, 1), link(1, 0)};
  return world;
}

/// n GPUs g0.. around a switch, the last node: link i goes up from GPU i, link n + i down to it.
World star(int gpus, bool multicast = false, bool reduce = false) {
  World world;
  for (int i = 0; i < gpus; ++i) world.nodes.push_back(node("g" + std::to_string(i)));
  Node sw = node("sw", NodeKind::switch_);
  sw.multicast = multicast;
  sw.reduce = reduce;
  world.nodes.push_back(sw);
  const auto n = static_cast<std::size_t>(gpus);
  for (std::size_t i = 0; i < n; ++i) world.links.push_back(link(i, n));
  for (std::size_t i = 0; i < n; ++i) world.links.push_back(link(n, i));
  return world;
}

// --- Timing and finish -------------------------------------------------------------------------

TEST(Verify, OneSendFinishesAfterLatencyAndTransmission) {
  World world = line();
  world.chunks = {data(1000, {0}, {1})};
  const Problem problem = world.problem();
  const Verdict verdict = verify_sends(problem, {send(problem, 0, 5 * kNs, {0})});
  ASSERT_TRUE(verdict.valid()) << verdict.message;
  EXPECT_EQ(verdict.transfer_time.ps, 1015 * kNs);
  ASSERT_EQ(verdict.job_finish.size(), 1U);
  EXPECT_EQ(verdict.job_finish[0].ps, 1015 * kNs);
  ASSERT_EQ(verdict.rank_finish.size(), 3U);
  EXPECT_EQ(verdict.rank_finish[1].ps, 1015 * kNs);
  EXPECT_EQ(verdict.rank_finish[0].ps, 0);
}

TEST(Verify, TransmissionIsRoundedUp) {
  World world = line();
  world.links[LinkId(0)].bandwidth = Bandwidth{3};
  world.chunks = {data(1, {0}, {1})};
  const Problem problem = world.problem();
  expect_valid(problem, {send(problem, 0, 0, {0})}, 333'333'333'334 + 10 * kNs);
}

TEST(Verify, LargeAmountsAreExact) {
  World world = line();
  world.links[LinkId(0)].bandwidth = Bandwidth{50'000'000'001};
  world.chunks = {data(1'000'000'000'000, {0}, {1})};
  const Problem problem = world.problem();
  // 10^24 / 50000000001 = 19999999999600.000000008: rounded up.
  expect_valid(problem, {send(problem, 0, 0, {0})}, 19'999'999'999'601 + 10 * kNs);
}

TEST(Verify, BandwidthIsPaidOnceThroughASwitch) {
  World world = star(2);
  world.chunks = {data(1000, {0}, {1})};
  const Problem problem = world.problem();
  expect_valid(problem, {send(problem, 0, 0, {0, 3})}, 1020 * kNs);
}

TEST(Verify, EveryJobHasItsOwnFinish) {
  World world = line();
  Topology topology("test", "", world.nodes, world.links);
  Job one;
  one.name = "one";
  one.collective = Collective::custom;
  one.ranks = ids({0, 1});
  one.custom = {data(1000, {0}, {1})};
  Job two = one;
  two.name = "two";
  two.ranks = ids({1, 2});
  two.custom = {data(2000, {1}, {2})};
  two.start = Time{kUs};
  const Problem problem = make_problem(topology, {one, two});
  const Schedule sends = {send(problem, 0, 0, {0}), send(problem, 1, kUs, {1})};
  const Verdict verdict = verify_sends(problem, sends);
  ASSERT_TRUE(verdict.valid()) << verdict.message;
  EXPECT_EQ(verdict.job_finish[0].ps, 1010 * kNs);
  EXPECT_EQ(verdict.job_finish[1].ps, 3010 * kNs);
  EXPECT_EQ(verdict.transfer_time.ps, 3010 * kNs);
}

TEST(Verify, AChunkThatIsThereFromTheStartCountsFromItsReadyTime) {
  World world = line();
  world.chunks = {data(1000, {0}, {0}, 7 * kUs), sum(1000, {1}, {1}, 9 * kUs)};
  expect_valid(world.problem(), {}, 9 * kUs);
}

// --- Malformed sends ---------------------------------------------------------------------------

class Malformed : public testing::Test {
 protected:
  Malformed() {
    World world = star(3, true, true);
    world.links.push_back(link(0, 1));  // 6: g0 -> g1
    world.links.push_back(link(1, 2));  // 7: g1 -> g2
    world.links.push_back(link(3, 0));  // 8: a second link down to g0
    world.chunks = {data(1000, {0}, {1}), sum(1000, {0, 1, 2}, {2})};
    problem = world.problem();
  }
  void refused(const Send& send, const std::string& words) {
    expect_refused(problem, {send}, Violation::malformed_send, words);
  }
  Problem problem;
};

TEST_F(Malformed, UnknownChunk) {
  Send bad = send(problem, 0, 0, {6});
  bad.chunk = ChunkId(2);
  refused(bad, "no chunk 2");
  bad.chunk = ChunkId();
  refused(bad, "no chunk -1");
}
TEST_F(Malformed, UnknownLink) {
  Send bad = send(problem, 0, 0, {6});
  bad.links = {LinkId(9)};
  refused(bad, "no link 9");
}
TEST_F(Malformed, NoLink) {
  Send bad = send(problem, 0, 0, {6});
  bad.links.clear();
  refused(bad, "no link");
}
TEST_F(Malformed, NegativeStart) { refused(send(problem, 0, -1, {6}), "before 0"); }
TEST_F(Malformed, StartBeyondAllTimes) {
  refused(send(problem, 0, INT64_MAX, {6}), "26 days");
  refused(send(problem, 0, (std::int64_t{1} << 61) - 1, {0, 4}), "26 days");
}
TEST_F(Malformed, RateNotPositive) {
  refused(at_rate(send(problem, 0, 0, {6}), 0), "rate");
  refused(at_rate(send(problem, 0, 0, {6}), -5), "rate");
}
TEST_F(Malformed, ByteRanges) {
  refused(piece(send(problem, 0, 0, {6}), 0, 0), "range");
  refused(piece(send(problem, 0, 0, {6}), -1, 10), "range");
  refused(piece(send(problem, 0, 0, {6}), 1, 1000), "range");
  refused(piece(send(problem, 0, 0, {6}), INT64_MAX, 1), "range");
  refused(piece(send(problem, 0, 0, {6}), 0, INT64_MAX), "range");
}
TEST_F(Malformed, ReduceOfData) {
  refused(send(problem, 0, 0, {6}, Op::reduce), "no sum");
  refused(send(problem, 0, 0, {6}, Op::share), "no sum");
}
TEST_F(Malformed, StartsAtASwitch) {
  refused(send(problem, 0, 0, {4}), "starts at sw");
  refused(send(problem, 0, 0, {4, 5}), "starts at sw");
}
TEST_F(Malformed, EndsAtASwitch) {
  refused(send(problem, 0, 0, {0}), "ends at sw");
  refused(send(problem, 1, 0, {0, 1}, Op::reduce), "ends at sw");
}
TEST_F(Malformed, PassesThroughAGpu) {
  refused(send(problem, 0, 0, {6, 7}), "passes through g1");
  refused(send(problem, 1, 0, {6, 7}, Op::reduce), "one destination");
}
TEST_F(Malformed, TwoLinksOutOfTheSource) { refused(send(problem, 0, 0, {6, 0, 5}), "two links"); }
TEST_F(Malformed, LinksInTheWrongOrder) {
  World world = star(3, true, true);
  world.nodes.push_back(node("sw2", NodeKind::switch_));
  world.links.push_back(link(3, 4));  // 6: sw -> sw2
  world.links.push_back(link(4, 1));  // 7: sw2 -> g1
  world.chunks = {data(1000, {0}, {1}), sum(1000, {0, 2}, {1})};
  problem = world.problem();
  refused(send(problem, 0, 0, {0, 7, 6}), "do not reach");
  refused(send(problem, 1, 0, {0, 6, 2, 7}, Op::reduce), "leaves first");
  refused(send(problem, 1, 0, {0, 2, 7, 6}, Op::reduce), "do not reach");
  expect_valid(problem,
               {send(problem, 0, 0, {0, 6, 7}), send(problem, 1, kUs, {0, 2, 6, 7}, Op::reduce)},
               2030 * kNs);
}
TEST_F(Malformed, EntersANodeTwice) {
  refused(send(problem, 0, 0, {0, 4, 3, 8}), "enters g0 twice");
  refused(send(problem, 0, 0, {1, 3, 8}), "enters g0 twice");
}
TEST_F(Malformed, SeveralSourcesAreForSumsOnly) {
  refused(send(problem, 1, 0, {0, 1, 5}), "do not reach");
}
TEST_F(Malformed, SeveralSourcesAndSeveralDestinations) {
  refused(send(problem, 1, 0, {0, 1, 5, 4}, Op::reduce), "one destination");
}
TEST_F(Malformed, ASourceTwice) {
  refused(send(problem, 1, 0, {0, 6, 1, 5}, Op::reduce), "two links");
  refused(send(problem, 1, 0, {0, 0, 1, 5}, Op::reduce), "two links");
}

// --- Switches and relays -----------------------------------------------------------------------

TEST(Verify, MulticastNeedsTheCapability) {
  World world = star(3, true);
  world.chunks = {data(1000, {0}, {1, 2})};
  Problem problem = world.problem();
  expect_valid(problem, {send(problem, 0, 0, {0, 4, 5})}, 1020 * kNs);
  world.nodes[NodeId(3)].multicast = false;
  problem = world.problem();
  expect_refused(problem, {send(problem, 0, 0, {0, 4, 5})}, Violation::forbidden_node,
                 "sw would copy to 2 links");
}

TEST(Verify, AMulticastHoldsTheSlowestRateOnAllItsLinks) {
  World world = star(3, true);
  world.links[LinkId(5)] = link(3, 2, kGb / 2, 30 * kNs);
  world.chunks = {data(1000, {0}, {1, 2}), data(1000, {0}, {1})};
  const Problem problem = world.problem();
  // 2 us on all three links, so half of g0's uplink is free at the same time.
  const Send tree = send(problem, 0, 0, {0, 4, 5});
  expect_valid(problem, {tree, at_rate(send(problem, 1, 0, {0, 4}), kGb / 2)}, 2040 * kNs);
  expect_refused(problem, {tree, at_rate(send(problem, 1, 0, {0, 4}), kGb / 2 + 1)},
                 Violation::link_capacity, "g0->sw");
}

TEST(Verify, InNetworkReductionNeedsTheCapability) {
  World world = star(3, false, true);
  world.chunks = {sum(1000, {0, 1, 2}, {2})};
  Problem problem = world.problem();
  expect_valid(problem, {send(problem, 0, 0, {0, 1, 5}, Op::reduce)}, 1020 * kNs);
  world.nodes[NodeId(3)].reduce = false;
  problem = world.problem();
  expect_refused(problem, {send(problem, 0, 0, {0, 1, 5}, Op::reduce)}, Violation::forbidden_node,
                 "sw would merge 2 parts");
}

TEST(Verify, AReduceMayPassAPlainSwitch) {
  World world = star(2);
  world.chunks = {sum(1000, {0, 1}, {1})};
  const Problem problem = world.problem();
  expect_valid(problem, {send(problem, 0, 0, {0, 3}, Op::reduce)}, 1020 * kNs);
}

/// g0 and g1 into sw1, that and g2 into sw2, down to g3. Latencies 10, 25, 5, 40 and 15 ns.
class InTree : public testing::Test {
 protected:
  InTree() {
    Node sw1 = node("sw1", NodeKind::switch_);
    Node sw2 = node("sw2", NodeKind::switch_);
    sw1.reduce = sw2.reduce = true;
    world.nodes = {node("g0"), node("g1"), node("g2"), node("g3"), sw1, sw2};
    world.links = {link(0, 4, kGb, 10 * kNs),
                   link(1, 4, kGb, 25 * kNs),
                   link(4, 5, kGb, 5 * kNs),
                   link(2, 5, kGb, 40 * kNs),
                   link(5, 3, kGb, 15 * kNs),
                   link(0, 2),
                   link(3, 2)};
    world.chunks = {sum(1000, {0, 1, 2, 3}, {3}), data(1000, {2}, {3}), data(1000, {0}, {2})};
  }
  World world;
};

TEST_F(InTree, PartsMeetAtEverySwitch) {
  // The longest way is g2's, 55 ns; g0 is 25 ns later, g1 10 ns.
  const Problem problem = world.problem();
  const Send tree = send(problem, 0, 100 * kNs, {0, 1, 2, 3, 4}, Op::reduce);
  const Schedule rest = {send(problem, 1, 2 * kUs, {3, 4}), send(problem, 2, 2 * kUs, {5})};
  Schedule sends = rest;
  sends.push_back(tree);
  const Verdict verdict = verify_sends(problem, sends);
  ASSERT_TRUE(verdict.valid()) << verdict.message;
  EXPECT_EQ(verdict.rank_finish[3].ps, 3055 * kNs);
  // Any order in which leaves come first.
  sends.back() = send(problem, 0, 100 * kNs, {3, 1, 0, 2, 4}, Op::reduce);
  EXPECT_TRUE(verify_sends(problem, sends).valid());
}

TEST_F(InTree, WindowsOfLinksFollowTheLatencies) {
  const Problem problem = world.problem();
  const Send tree = send(problem, 0, 0, {0, 1, 2, 3, 4}, Op::reduce);
  // g2->sw2 is in use during [0, 1000), sw2->g3 during [40, 1040) ns.
  Send after = send(problem, 1, 1000 * kNs, {3, 4});
  expect_valid(problem, {tree, after, send(problem, 2, 0, {5})}, 2055 * kNs);
  after.start = Time{1000 * kNs - 1};
  expect_refused(problem, {tree, after, send(problem, 2, 0, {5})}, Violation::link_capacity,
                 "g2->sw2");
}

TEST_F(InTree, ALateSourceNeedsItsAddendOnlyWhenItStarts) {
  // g0 is to start at start + 30 ns (55 - 10 - 5 - 15 = 25 after g2): it gets g3's part until then.
  world.nodes.push_back(node("x", NodeKind::relay));
  world.links.push_back(link(6, 0, kGb, 10 * kNs));
  world.links.push_back(link(3, 6, kGb, 10 * kNs));
  world.chunks = {sum(1000, {0, 1, 2, 3}, {3})};
  const Problem problem = world.problem();
  const Send to_x = send(problem, 0, 0, {8}, Op::reduce);                 // there at 1010 ns
  const Send to_g0 = send(problem, 0, 1010 * kNs, {7}, Op::reduce);       // at 2020 ns
  Send tree = send(problem, 0, 1995 * kNs, {0, 1, 2, 3, 4}, Op::reduce);  // g0 starts at 2020 ns
  expect_valid(problem, {to_x, to_g0, tree}, 3050 * kNs);
  tree.start = Time{1995 * kNs - 1};  // g0 leaves without g3's addend, which comes too late
  expect_refused(problem, {to_x, to_g0, tree}, Violation::demand_unmet, "3 of 4 contributors");
}

TEST_F(InTree, PartsMustBeDisjointAtSwitches) {
  const Problem problem = world.problem();
  // g0 shares its addend with g2; then both go into the tree.
  expect_refused(
      problem,
      {send(problem, 0, 0, {5}, Op::share), send(problem, 0, 2 * kUs, {0, 1, 2, 3, 4}, Op::reduce)},
      Violation::merged_twice, "the addend of g0");
}

TEST_F(InTree, EverySourceNeedsAPart) {
  const Problem problem = world.problem();
  expect_refused(problem,
                 {send(problem, 0, 0, {5}, Op::reduce),
                  send(problem, 0, 2 * kUs, {0, 1, 2, 3, 4}, Op::reduce)},
                 Violation::not_held, "g0 has no part of the sum");
}

TEST(Verify, RelaysMembersKeepsStrangersOut) {
  World world = line();
  world.ranks = {0, 2};
  world.chunks = {data(1000, {0}, {2})};
  Problem problem = world.problem();
  const Schedule sends = {send(problem, 0, 0, {0}), send(problem, 0, 1010 * kNs, {1})};
  expect_valid(problem, sends, 2020 * kNs);
  world.relays = Relays::members;
  problem = world.problem();
  expect_refused(problem, sends, Violation::forbidden_node, "b is not among the job's ranks");
  // A relay or a switch is nobody's stranger.
  world.nodes[NodeId(1)].kind = NodeKind::relay;
  problem = world.problem();
  expect_valid(problem, sends, 2020 * kNs);
  world.nodes[NodeId(1)].kind = NodeKind::switch_;
  problem = world.problem();
  expect_valid(problem, {send(problem, 0, 0, {0, 1})}, 1020 * kNs);
}

TEST(Verify, RelaysMembersGoesByTheJob) {
  World world = line();
  Job one;
  one.name = "one";
  one.collective = Collective::custom;
  one.ranks = ids({0, 2});
  one.custom = {data(1000, {0}, {2})};
  Job two = one;
  two.name = "two";
  two.ranks = ids({1, 2});
  two.custom = {data(1000, {1}, {2})};
  const Problem problem =
      make_problem(Topology("test", "", world.nodes, world.links), {one, two}, Relays::members);
  expect_refused(
      problem,
      {send(problem, 0, 0, {0}), send(problem, 0, 1010 * kNs, {1}), send(problem, 1, 0, {1})},
      Violation::forbidden_node, "b is not among");
}

// --- Causality ---------------------------------------------------------------------------------

TEST(Verify, ASendMayStartWhenItsChunkArrives) {
  World world = line();
  world.chunks = {data(1000, {0}, {2})};
  const Problem problem = world.problem();
  expect_valid(problem, {send(problem, 0, 0, {0}), send(problem, 0, 1010 * kNs, {1})}, 2020 * kNs);
  expect_refused(problem, {send(problem, 0, 0, {0}), send(problem, 0, 1010 * kNs - 1, {1})},
                 Violation::not_held, "b holds it only from 1.01us on");
}

TEST(Verify, OriginsHoldTheirChunkWhenItIsReady) {
  World world = line();
  world.chunks = {data(1000, {0}, {1}, 3 * kUs)};
  const Problem problem = world.problem();
  expect_valid(problem, {send(problem, 0, 3 * kUs, {0})}, 4010 * kNs);
  expect_refused(problem, {send(problem, 0, 3 * kUs - 1, {0})}, Violation::not_held, "a holds it");
}

TEST(Verify, TheJobsStartIsARelease) {
  World world = line();
  Job job;
  job.name = "late";
  job.ranks = ids({0, 1});
  job.size = Bytes{2000};
  job.start = Time{kUs};
  const Problem problem = make_problem(Topology("test", "", world.nodes, world.links), {job});
  expect_valid(problem, {send(problem, 0, kUs, {0}), send(problem, 1, kUs, {3})}, 2010 * kNs);
  expect_refused(problem, {send(problem, 0, kUs, {0}), send(problem, 1, kUs - 1, {3})},
                 Violation::not_held);
}

TEST(Verify, NobodySendsWhatNeverCame) {
  World world = line();
  world.chunks = {data(1000, {0}, {2})};
  const Problem problem = world.problem();
  expect_refused(problem, {send(problem, 0, 5 * kUs, {1})}, Violation::not_held,
                 "b never holds it");
}

TEST(Verify, NodesCannotVouchForEachOther) {
  World world = line();
  world.chunks = {data(1000, {0}, {2})};
  const Problem problem = world.problem();
  // b gets it from c and c from b.
  expect_refused(problem, {send(problem, 0, 1010 * kNs, {1}), send(problem, 0, 2020 * kNs, {2})},
                 Violation::not_held);
}

TEST(Verify, EveryOriginMaySend) {
  World world = line();
  world.chunks = {data(1000, {0, 2}, {1})};
  const Problem problem = world.problem();
  expect_valid(problem, {send(problem, 0, 0, {2})}, 1010 * kNs);
}

TEST(Verify, TheEarliestArrivalCounts) {
  World world = line();
  world.links.push_back(link(0, 1, kGb / 10));  // 4: slow
  world.chunks = {data(1000, {0}, {1, 2})};
  const Problem problem = world.problem();
  expect_valid(
      problem,
      {send(problem, 0, 0, {4}), send(problem, 0, 0, {0}), send(problem, 0, 1010 * kNs, {1})},
      2020 * kNs);
}

TEST(Verify, WhatArrivesTwiceIsWasteButAllowed) {
  World world = line();
  world.chunks = {data(1000, {0}, {1})};
  const Problem problem = world.problem();
  // Again, later; and back to where it came from.
  expect_valid(
      problem,
      {send(problem, 0, 0, {0}), send(problem, 0, 5 * kUs, {0}), send(problem, 0, 2 * kUs, {3})},
      1010 * kNs);
}

TEST(Verify, ZeroLatencyChains) {
  World world = line();
  for (Link& l : world.links) l.latency = Time{0};
  world.chunks = {data(1000, {0}, {2})};
  const Problem problem = world.problem();
  expect_valid(problem, {send(problem, 0, 0, {0}), send(problem, 0, kUs, {1})}, 2 * kUs);
  expect_refused(problem, {send(problem, 0, 0, {0}), send(problem, 0, 0, {1})},
                 Violation::not_held);
}

// --- Links -------------------------------------------------------------------------------------

TEST(Verify, WindowsMayTouchButNotOverlap) {
  World world = line();
  world.chunks = {data(1000, {0}, {1}), data(1000, {0}, {1})};
  const Problem problem = world.problem();
  expect_valid(problem, {send(problem, 0, 0, {0}), send(problem, 1, kUs, {0})}, 2010 * kNs);
  expect_valid(problem, {send(problem, 1, kUs, {0}), send(problem, 0, 0, {0})}, 2010 * kNs);
  expect_refused(problem, {send(problem, 0, 0, {0}), send(problem, 1, kUs - 1, {0})},
                 Violation::link_capacity, "link a->b carries 2 GB/s from 999.999ns on");
}

TEST(Verify, RatesOnALinkAddUp) {
  World world = line();
  world.chunks = {data(1000, {0}, {1}), data(500, {0}, {1}), data(500, {0}, {1})};
  const Problem problem = world.problem();
  Schedule sends = {at_rate(send(problem, 0, 0, {0}), kGb / 2),
                    at_rate(send(problem, 1, 0, {0}), kGb / 2),
                    at_rate(send(problem, 2, kUs, {0}), kGb / 2)};
  expect_valid(problem, sends, 2010 * kNs);
  sends[0].rate = Bandwidth{kGb / 2 + 1};
  expect_refused(problem, sends, Violation::link_capacity, "send 0 (chunk 0), send 1 (chunk 1)");
  sends[0].rate = Bandwidth{kGb / 2};
  sends[2].start = Time{kUs - 1};
  expect_refused(problem, sends, Violation::link_capacity, "1.5 GB/s");
}

TEST(Verify, ARateAboveTheBandwidthIsRefused) {
  World world = star(2);
  world.links[LinkId(3)].bandwidth = Bandwidth{kGb / 2};
  world.chunks = {data(1000, {0}, {1})};
  const Problem problem = world.problem();
  expect_valid(problem, {send(problem, 0, 0, {0, 3})}, 2020 * kNs);
  expect_refused(problem, {at_rate(send(problem, 0, 0, {0, 3}), kGb)}, Violation::link_capacity,
                 "sw->g1");
}

TEST(Verify, ParallelLinksAreSeparate) {
  World world = line();
  world.links.push_back(link(0, 1));  // 4
  world.chunks = {data(1000, {0}, {1}), data(1000, {0}, {1})};
  const Problem problem = world.problem();
  expect_valid(problem, {send(problem, 0, 0, {0}), send(problem, 1, 0, {4})}, 1010 * kNs);
  expect_refused(problem, {send(problem, 0, 0, {4}), send(problem, 1, 0, {4})},
                 Violation::link_capacity, "a->b#2");
}

TEST(Verify, LaterLinksOfATreeAreInUseLater) {
  // g0 -> sw takes 10 ns, so sw -> g1 is in use during [10, 1010) ns; g2's chunk comes right after.
  World world = star(3);
  world.links[LinkId(2)].latency = Time{25 * kNs};
  world.chunks = {data(1000, {0}, {1}), data(1000, {2}, {1})};
  const Problem problem = world.problem();
  expect_valid(problem, {send(problem, 0, 0, {0, 4}), send(problem, 1, 985 * kNs, {2, 4})},
               2020 * kNs);
  expect_refused(problem, {send(problem, 0, 0, {0, 4}), send(problem, 1, 985 * kNs - 1, {2, 4})},
                 Violation::link_capacity, "sw->g1");
}

// --- Injection and ejection --------------------------------------------------------------------

TEST(Verify, InjectionCapsWhatANodeSends) {
  World world = line();
  world.nodes[NodeId(1)].injection = Bandwidth{3 * kGb / 2};
  world.chunks = {data(1000, {1}, {0}), data(1000, {1}, {2})};
  const Problem problem = world.problem();
  const Send left = send(problem, 0, 0, {3});
  expect_valid(problem, {left, at_rate(send(problem, 1, 0, {1}), kGb / 2)}, 2010 * kNs);
  expect_valid(problem, {left, send(problem, 1, kUs, {1})}, 2010 * kNs);
  expect_refused(problem, {left, send(problem, 1, kUs - 1, {1})}, Violation::node_capacity,
                 "b sends at 2 GB/s");
}

TEST(Verify, AMulticastIsInjectedOnce) {
  World world = star(3, true);
  world.nodes[NodeId(0)].injection = Bandwidth{kGb};
  world.chunks = {data(1000, {0}, {1, 2})};
  const Problem problem = world.problem();
  expect_valid(problem, {send(problem, 0, 0, {0, 4, 5})}, 1020 * kNs);
}

TEST(Verify, ForwardedDataPassesASwitchWithoutInjection) {
  World world = star(2);
  world.nodes[NodeId(1)].injection = Bandwidth{1};
  world.chunks = {data(1000, {0}, {1})};
  const Problem problem = world.problem();
  expect_valid(problem, {send(problem, 0, 0, {0, 3})}, 1020 * kNs);
}

TEST(Verify, EjectionCountsFromTheFirstByteIn) {
  World world = line();
  world.links[LinkId(2)].latency = Time{30 * kNs};
  world.nodes[NodeId(1)].ejection = Bandwidth{kGb};
  world.chunks = {data(1000, {0}, {1}), data(1000, {2}, {1})};
  const Problem problem = world.problem();
  // a's bytes arrive during [10, 1010), c's 30 ns after they start.
  const Send first = send(problem, 0, 0, {0});
  expect_valid(problem, {first, send(problem, 1, 980 * kNs, {2})}, 2010 * kNs);
  expect_refused(problem, {first, send(problem, 1, 980 * kNs - 1, {2})}, Violation::node_capacity,
                 "b receives at 2 GB/s");
}

TEST(Verify, InTreeSourcesAreInjectedWhenTheyStart) {
  World world = star(3, false, true);
  world.links[LinkId(0)].latency = Time{50 * kNs};  // g1 starts 40 ns after g0
  world.links.push_back(link(1, 0));                // 6
  world.nodes[NodeId(1)].injection = Bandwidth{kGb};
  world.chunks = {sum(1000, {0, 1}, {2}), data(1000, {1}, {0})};
  const Problem problem = world.problem();
  const Send tree = send(problem, 0, kUs, {0, 1, 5}, Op::reduce);
  expect_valid(problem, {tree, send(problem, 1, 40 * kNs, {6})}, 2060 * kNs);
  expect_refused(problem, {tree, send(problem, 1, 41 * kNs, {6})}, Violation::node_capacity, "g1");
}

// --- Transit buffer ----------------------------------------------------------------------------

/// Two chunks pass b on their way from a to c; b's buffer holds one of them.
class Buffer : public testing::Test {
 protected:
  Buffer() {
    world = line();
    world.nodes[NodeId(1)].buffer = Bytes{1000};
    world.chunks = {data(1000, {0}, {2}), data(1000, {0}, {2})};
  }
  World world;
};

TEST_F(Buffer, AChunkCountsFromItsFirstByteInToTheEndOfItsLastSendOut) {
  const Problem problem = world.problem();
  // In during [10, 1010), out during [1010, 2010); the next comes in 10 ns after its start.
  Schedule sends = {send(problem, 0, 0, {0}), send(problem, 0, 1010 * kNs, {1}),
                    send(problem, 1, 2000 * kNs, {0}), send(problem, 1, 3010 * kNs, {1})};
  expect_valid(problem, sends, 4020 * kNs);
  sends[2].start = Time{2000 * kNs - 1};
  expect_refused(problem, sends, Violation::buffer, "b holds 2 chunks in transit");
  // In whatever order the sends are listed.
  std::reverse(sends.begin(), sends.end());
  expect_refused(problem, sends, Violation::buffer, "b holds 2 chunks in transit");
  sends[1].start = Time{2000 * kNs};
  expect_valid(problem, sends, 4020 * kNs);
}

TEST_F(Buffer, WhatANodeWantsDoesNotCount) {
  world.chunks[1] = data(1000, {0}, {1, 2});
  const Problem problem = world.problem();
  expect_valid(problem,
               {send(problem, 0, 0, {0}), send(problem, 0, 1010 * kNs, {1}),
                send(problem, 1, 1000 * kNs, {0}), send(problem, 1, 2010 * kNs, {1})},
               3020 * kNs);
}

TEST_F(Buffer, WhatANodeOwnsDoesNotCount) {
  world.chunks[1] = data(1000, {0, 1}, {2});
  const Problem problem = world.problem();
  expect_valid(
      problem,
      {send(problem, 0, 0, {0}), send(problem, 0, 1010 * kNs, {1}), send(problem, 1, 0, {1})},
      2020 * kNs);
}

TEST_F(Buffer, AContributorOwnsItsSum) {
  world.nodes[NodeId(1)].buffer = Bytes{0};
  world.chunks = {sum(1000, {0, 1}, {2})};
  Problem problem = world.problem();
  const Schedule sends = {send(problem, 0, 0, {0}, Op::reduce),
                          send(problem, 0, 1010 * kNs, {1}, Op::reduce)};
  expect_valid(problem, sends, 2020 * kNs);
  world.chunks = {sum(1000, {0}, {2})};
  problem = world.problem();
  expect_refused(problem, sends, Violation::buffer, "but its buffer is 0 B");
}

TEST_F(Buffer, ItStaysUntilTheLastOfSeveralSends) {
  world.chunks = {data(1000, {0}, {2}), data(1000, {0}, {2})};
  const Problem problem = world.problem();
  // Chunk 0 goes out twice; the second time, wasted or not, it is still in b's buffer.
  expect_refused(problem,
                 {send(problem, 0, 0, {0}), send(problem, 0, 1010 * kNs, {1}),
                  send(problem, 1, 2000 * kNs, {0}), send(problem, 1, 4010 * kNs, {1}),
                  send(problem, 0, 3010 * kNs, {1})},
                 Violation::buffer);
}

TEST_F(Buffer, WhatIsNeverSentOnCountsWhileItComesIn) {
  world.links.push_back(link(0, 2));  // 4
  const Problem problem = world.problem();
  // Chunk 1 goes to c directly, and for nothing to b.
  Schedule sends = {send(problem, 0, 0, {0}), send(problem, 0, 1010 * kNs, {1}),
                    send(problem, 1, 0, {4}), send(problem, 1, 2000 * kNs, {0})};
  expect_valid(problem, sends, 2020 * kNs);
  sends[3].start = Time{2000 * kNs - 1};
  expect_refused(problem, sends, Violation::buffer);
}

TEST_F(Buffer, PiecesOccupyTheWholeChunk) {
  const Problem problem = world.problem();
  const Send in = send(problem, 0, 0, {0});
  Send late = piece(in, 1, 999);
  late.start = Time{kUs};
  Schedule sends = {piece(in, 0, 1), late, send(problem, 0, 2009 * kNs, {1}),
                    send(problem, 1, 2999 * kNs, {0}), send(problem, 1, 4009 * kNs, {1})};
  expect_valid(problem, sends, 5019 * kNs);
  world.nodes[NodeId(1)].buffer = Bytes{999};
  expect_refused(world.problem(), sends, Violation::buffer);
}

// --- Multicast groups --------------------------------------------------------------------------

TEST(Verify, GroupsCountSendsThatBranchAtTheSwitch) {
  World world = star(6, true);
  world.nodes[NodeId(6)].max_groups = 1;
  world.chunks = {data(1000, {0}, {1, 2}), data(1000, {3}, {4, 5}), data(1000, {3}, {4})};
  const Problem problem = world.problem();
  const Send first = send(problem, 0, 0, {0, 7, 8});
  const Send unicast = send(problem, 2, 2 * kUs, {3, 10});
  expect_valid(problem, {first, send(problem, 1, kUs, {3, 10, 11}), unicast}, 3020 * kNs);
  expect_refused(problem, {first, send(problem, 1, kUs - 1, {3, 10, 11}), unicast},
                 Violation::groups, "sw serves 2 multicast groups");
  // A send that does not branch needs no group.
  expect_valid(problem, {first, send(problem, 2, 0, {3, 10}), send(problem, 1, kUs, {3, 10, 11})},
               2020 * kNs);
}

TEST(Verify, NoGroupsAtAll) {
  World world = star(3, true);
  world.nodes[NodeId(3)].max_groups = 0;
  world.chunks = {data(1000, {0}, {1, 2})};
  const Problem problem = world.problem();
  expect_refused(problem, {send(problem, 0, 0, {0, 4, 5})}, Violation::groups);
}

// --- Byte ranges -------------------------------------------------------------------------------

class Pieces : public testing::Test {
 protected:
  Pieces() {
    world = line();
    world.links.push_back(link(0, 1));  // 4: a second a -> b
    world.chunks = {data(1000, {0}, {1, 2})};
    problem = world.problem();
  }
  /// Bytes [begin, end) over link a -> b, or the second one.
  Send part(std::int64_t begin, std::int64_t end, std::int64_t start, int over = 0) {
    return piece(send(problem, 0, start, {over}), begin, end - begin);
  }
  Send on(std::int64_t start) { return send(problem, 0, start, {1}); }

  World world;
  Problem problem;
};

TEST_F(Pieces, TheChunkIsThereWithItsLastByte) {
  // [0, 400) until 0.4 us; [400, 1000) from 2 us on: there at 2.61 us.
  const Schedule parts = {part(400, 1000, 2 * kUs), part(0, 400, 0)};
  Schedule sends = parts;
  sends.push_back(on(2610 * kNs));
  expect_valid(problem, sends, 3620 * kNs);
  sends.back() = on(2610 * kNs - 1);
  expect_refused(problem, sends, Violation::not_held, "b holds it only from 2.61us on");
}

TEST_F(Pieces, AMissingByteIsMissing) {
  expect_refused(problem, {part(0, 400, 0), part(401, 1000, kUs)}, Violation::demand_unmet,
                 "not all of its bytes");
  expect_refused(problem, {part(0, 999, 0)}, Violation::demand_unmet);
  expect_refused(problem, {part(1, 1000, 0)}, Violation::demand_unmet);
  expect_refused(problem, {part(0, 400, 0), part(401, 1000, kUs), on(5 * kUs)}, Violation::not_held,
                 "never holds it");
}

TEST_F(Pieces, TheSenderNeedsTheWholeChunkForAnyPart) {
  // b passes the first half on when it has it, but not yet the second.
  expect_refused(problem,
                 {part(0, 500, 0), part(500, 1000, 500 * kNs), piece(on(510 * kNs), 0, 500),
                  piece(on(1010 * kNs), 500, 500)},
                 Violation::not_held);
}

TEST_F(Pieces, PiecesMayOverlapAndRepeat) {
  // The second link brings [0, 600) again and [300, 1000); together the chunk is there at 1.31 us.
  const Schedule sends = {part(0, 600, 0), part(0, 600, 0, 4), part(300, 1000, 600 * kNs, 4)};
  Schedule more = sends;
  more.push_back(on(1310 * kNs));
  expect_valid(problem, more, 2320 * kNs);
  more.back() = on(1310 * kNs - 1);
  expect_refused(problem, more, Violation::not_held);
}

TEST_F(Pieces, TheEarliestCoverCounts) {
  // Three pieces, of which the first two are enough.
  Schedule sends = {part(0, 700, 0), part(700, 1000, 0, 4), part(500, 1000, 3 * kUs),
                    on(710 * kNs)};
  expect_valid(problem, sends, 1720 * kNs);
}

TEST_F(Pieces, AWholeCopyCanComeBeforeThePiecesDo) {
  Schedule sends = {part(0, 700, 0), part(700, 1000, 5 * kUs), send(problem, 0, 0, {4}),
                    on(1010 * kNs)};
  expect_valid(problem, sends, 2020 * kNs);
}

TEST_F(Pieces, FairSharingIsAPlan) {
  // Two pieces side by side at half rate, on one link.
  Schedule sends = {at_rate(part(0, 500, 0), kGb / 2), at_rate(part(500, 1000, 0), kGb / 2),
                    on(1010 * kNs)};
  expect_valid(problem, sends, 2020 * kNs);
}

// --- Sums --------------------------------------------------------------------------------------

TEST(Verify, AChainOfReducesMakesTheSum) {
  World world = line();
  world.chunks = {sum(1000, {0, 1, 2}, {2})};
  const Problem problem = world.problem();
  const Send first = send(problem, 0, 0, {0}, Op::reduce);
  expect_valid(problem, {first, send(problem, 0, 1010 * kNs, {1}, Op::reduce)}, 2020 * kNs);
  // One ps earlier b has only its own addend to give; a's comes to b and stays there.
  expect_refused(problem, {first, send(problem, 0, 1010 * kNs - 1, {1}, Op::reduce)},
                 Violation::demand_unmet,
                 "c never holds chunk 0 (of c, job 'job'): it ends with 2 of 3");
}

TEST(Verify, AddendsAreThereFromTheReadyTimeOn) {
  World world = line();
  world.chunks = {sum(1000, {0, 1}, {1}, 3 * kUs)};
  const Problem problem = world.problem();
  expect_valid(problem, {send(problem, 0, 3 * kUs, {0}, Op::reduce)}, 4010 * kNs);
  expect_refused(problem, {send(problem, 0, 3 * kUs - 1, {0}, Op::reduce)}, Violation::not_held,
                 "3us");
}

TEST(Verify, AMovedPartIsGone) {
  World world = line();
  world.chunks = {sum(1000, {0, 1}, {1})};
  const Problem problem = world.problem();
  expect_refused(problem,
                 {send(problem, 0, 0, {0}, Op::reduce), send(problem, 0, 2 * kUs, {0}, Op::reduce)},
                 Violation::not_held, "a has no part of the sum at 2us");
  // At the same instant, too.
  World twice = line();
  twice.links.push_back(link(0, 1));
  twice.chunks = {sum(1000, {0, 1}, {1})};
  const Problem other = twice.problem();
  expect_refused(other, {send(other, 0, 0, {0}, Op::reduce), send(other, 0, 0, {4}, Op::reduce)},
                 Violation::not_held);
}

TEST(Verify, AnAddendIsNotMergedTwice) {
  World world = line();
  world.chunks = {sum(1000, {0, 1}, {1})};
  const Problem problem = world.problem();
  expect_refused(problem,
                 {send(problem, 0, 0, {0}, Op::share), send(problem, 0, 2 * kUs, {0}, Op::share)},
                 Violation::merged_twice, "the addend of a would be merged twice, at b at 3.01us");
  expect_refused(problem,
                 {send(problem, 0, 0, {0}, Op::share), send(problem, 0, 2 * kUs, {0}, Op::reduce)},
                 Violation::merged_twice);
}

TEST(Verify, AShareKeepsThePart) {
  // Recursive doubling between two: both share, both have the sum.
  World world = line();
  world.chunks = {sum(1000, {0, 1}, {0, 1})};
  const Problem problem = world.problem();
  expect_valid(problem, {send(problem, 0, 0, {0}, Op::share), send(problem, 0, 0, {3}, Op::share)},
               1010 * kNs);
  // Both reduce: they swap their addends.
  expect_refused(problem,
                 {send(problem, 0, 0, {0}, Op::reduce), send(problem, 0, 0, {3}, Op::reduce)},
                 Violation::demand_unmet, "1 of 2");
}

TEST(Verify, OnlyTheFullSumIsCopied) {
  World world = line();
  world.chunks = {sum(1000, {0, 1}, {0, 1})};
  const Problem problem = world.problem();
  const Send merge = send(problem, 0, 0, {0}, Op::reduce);
  expect_valid(problem, {merge, send(problem, 0, 1010 * kNs, {3})}, 2020 * kNs);
  expect_refused(problem, {merge, send(problem, 0, 1010 * kNs - 1, {3})}, Violation::not_held,
                 "b has only 1 of 2 contributors");
}

TEST(Verify, ACopyOfTheFullSumCanBePassedOn) {
  World world = line();
  world.chunks = {sum(1000, {0, 1}, {0, 1, 2})};
  const Problem problem = world.problem();
  expect_valid(problem,
               {send(problem, 0, 0, {3}, Op::reduce), send(problem, 0, 1010 * kNs, {0}),
                send(problem, 0, 2020 * kNs, {1})},
               3030 * kNs);
}

TEST(Verify, ACopyWhereTheSumIsIsWaste) {
  World world = line();
  world.links.push_back(link(2, 0));  // 4
  world.links.push_back(link(0, 2));  // 5
  world.chunks = {sum(1000, {0, 1}, {0, 1, 2})};
  const Problem problem = world.problem();
  // a and b both have the sum at 1.01 us, c at 2.02 us; b's copy to a at the end counts for
  // nothing.
  const Schedule sends = {send(problem, 0, 0, {0}, Op::share), send(problem, 0, 0, {3}, Op::share),
                          send(problem, 0, 1010 * kNs, {5}), send(problem, 0, 5 * kUs, {3})};
  const Verdict verdict = verify_sends(problem, sends);
  ASSERT_TRUE(verdict.valid()) << verdict.message;
  EXPECT_EQ(verdict.transfer_time.ps, 2020 * kNs);
  EXPECT_EQ(verdict.rank_finish[0].ps, 1010 * kNs);
}

TEST(Verify, APartAfterTheFullSumIsMergedTwice) {
  World world = line();
  world.links.push_back(link(0, 1, kGb / 10));  // 4: slow
  world.chunks = {sum(1000, {0, 1}, {1})};
  const Problem problem = world.problem();
  expect_refused(problem,
                 {send(problem, 0, 0, {0}, Op::share), send(problem, 0, 0, {4}, Op::share)},
                 Violation::merged_twice);
}

TEST(Verify, ACopyReplacesWhatItFinds) {
  // b keeps its addend (share), a has the sum and copies it back.
  World world = line();
  world.chunks = {sum(1000, {0, 1}, {0, 1})};
  const Problem problem = world.problem();
  expect_valid(problem, {send(problem, 0, 0, {3}, Op::share), send(problem, 0, 1010 * kNs, {0})},
               2020 * kNs);
}

TEST(Verify, ACopyAndAPartThatArriveTogetherAreRefused) {
  // c holds its own and a's addend (shared), so that b's part would complete it at the instant at
  // which a's copy is there, too: which is first is not said.
  World world;
  world.nodes = {node("a"), node("b"), node("c")};
  world.links = {link(0, 1), link(0, 2), link(1, 2), link(1, 0)};
  world.chunks = {sum(1000, {0, 1}, {2})};
  const Problem problem = world.problem();
  const Send share = send(problem, 0, 0, {3}, Op::share);   // a has the sum at 1.01 us
  const Send a_part = send(problem, 0, 0, {1}, Op::share);  // c has a's addend at 1.01 us
  const Send b_part = send(problem, 0, 2 * kUs, {2}, Op::reduce);
  const auto copy = [&](std::int64_t start) { return send(problem, 0, start, {1}); };
  expect_valid(problem, {share, a_part, b_part, copy(2 * kUs + 1)}, 3010 * kNs);
  expect_refused(problem, {share, a_part, b_part, copy(2 * kUs)}, Violation::merged_twice);
  expect_refused(problem, {share, a_part, b_part, copy(2 * kUs - 1)}, Violation::merged_twice);
}

TEST(Verify, SharesAndReducesMayStartTogether) {
  World world = line();
  world.chunks = {sum(1000, {1, 2}, {0, 2})};
  const Problem problem = world.problem();
  // b shares with a and moves to c at the same instant; c has the sum, a half of it.
  expect_refused(problem,
                 {send(problem, 0, 0, {3}, Op::share), send(problem, 0, 0, {1}, Op::reduce)},
                 Violation::demand_unmet, "a never holds");
  World only = line();
  only.chunks = {sum(1000, {1, 2}, {2})};
  const Problem other = only.problem();
  expect_valid(other, {send(other, 0, 0, {3}, Op::share), send(other, 0, 0, {1}, Op::reduce)},
               1010 * kNs);
}

TEST(Verify, RelaysHoldPartialSums) {
  // a and c send to the relay b, which merges them and sends the sum to d.
  World world;
  world.nodes = {node("a"), node("b", NodeKind::relay), node("c"), node("d")};
  world.links = {link(0, 1), link(2, 1), link(1, 3)};
  world.chunks = {sum(1000, {0, 2}, {3})};
  const Problem problem = world.problem();
  const Schedule in = {send(problem, 0, 0, {0}, Op::reduce), send(problem, 0, 0, {1}, Op::reduce)};
  Schedule sends = in;
  sends.push_back(send(problem, 0, 1010 * kNs, {2}, Op::reduce));
  expect_valid(problem, sends, 2020 * kNs);
  sends.back().start = Time{1010 * kNs - 1};
  expect_refused(problem, sends, Violation::not_held, "b has no part of the sum");
}

TEST(Verify, AnEmptiedNodeMayReceiveAndSendAgain) {
  World world = line();
  world.chunks = {sum(1000, {0, 1}, {2})};
  const Problem problem = world.problem();
  // b sends its addend, then a's when that has come.
  expect_valid(problem,
               {send(problem, 0, 0, {1}, Op::reduce), send(problem, 0, 0, {0}, Op::reduce),
                send(problem, 0, 1010 * kNs, {1}, Op::reduce)},
               2020 * kNs);
}

TEST(Verify, SeveralPartsMayBeInFlightToOneNode) {
  World world;
  world.nodes = {node("a"), node("b"), node("c"), node("d")};
  world.links = {link(0, 3), link(1, 3, kGb / 2), link(2, 3, kGb / 4)};
  world.chunks = {sum(1000, {0, 1, 2, 3}, {3})};
  const Problem problem = world.problem();
  expect_valid(problem,
               {send(problem, 0, 0, {0}, Op::reduce), send(problem, 0, 0, {1}, Op::reduce),
                send(problem, 0, 0, {2}, Op::reduce)},
               4010 * kNs);
}

TEST(Verify, ADestinationMustKeepTheSum) {
  World world = line();
  world.chunks = {sum(1000, {0, 1}, {1})};
  const Problem problem = world.problem();
  const Send merge = send(problem, 0, 0, {0}, Op::reduce);
  // b gives the sum away; getting a copy back, it holds it from then on.
  expect_refused(problem, {merge, send(problem, 0, 1010 * kNs, {1}, Op::reduce)},
                 Violation::demand_unmet,
                 "b never holds chunk 0 (of b, job 'job'): it ends with 0 of 2");
  expect_valid(
      problem,
      {merge, send(problem, 0, 1010 * kNs, {1}, Op::reduce), send(problem, 0, 2020 * kNs, {2})},
      3030 * kNs);
}

TEST(Verify, AMulticastShareReachesSeveral) {
  World world = star(3, true);
  world.chunks = {sum(1000, {0, 1}, {1}), sum(1000, {0, 2}, {2})};
  World both = world;
  both.chunks = {sum(1000, {0, 1}, {1, 0})};
  const Problem problem = world.problem();
  expect_valid(
      problem,
      {send(problem, 0, 0, {0, 4, 5}, Op::share), send(problem, 1, kUs, {0, 5}, Op::reduce)},
      2020 * kNs);
}

TEST(Verify, MoreThanSixtyFourContributors) {
  World world = star(130);
  std::vector<int> all(130);
  for (int i = 0; i < 130; ++i) all[static_cast<std::size_t>(i)] = i;
  world.chunks = {sum(1000, all, {0})};
  const Problem problem = world.problem();
  Schedule sends;
  for (int i = 1; i < 130; ++i) {
    sends.push_back(send(problem, 0, (i - 1) * kUs, {i, 130}, Op::reduce));
  }
  expect_valid(problem, sends, 129 * kUs + 20 * kNs);
  sends.pop_back();
  expect_refused(problem, sends, Violation::demand_unmet, "129 of 130");
  sends.push_back(send(problem, 0, 128 * kUs, {77, 130}, Op::reduce));
  expect_refused(problem, sends, Violation::not_held, "g77 has no part");
  // Beyond the first 64 contributors, too, nobody counts twice.
  sends.pop_back();
  sends[100].op = Op::share;
  Send again = sends[100];
  again.start = Time{200 * kUs};
  sends.push_back(again);
  expect_refused(problem, sends, Violation::merged_twice, "the addend of g101");
}

class SumPieces : public testing::Test {
 protected:
  SumPieces() {
    world = line();
    world.links.push_back(link(0, 1));  // 4: a second a -> b
    world.chunks = {sum(1000, {0, 1, 2}, {2})};
    problem = world.problem();
  }
  Send part(std::int64_t begin, std::int64_t end, std::int64_t start, Op op = Op::reduce,
            int over = 0) {
    return piece(send(problem, 0, start, {over}, op), begin, end - begin);
  }
  Send on(std::int64_t start) { return send(problem, 0, start, {1}, Op::reduce); }
  World world;
  Problem problem;
};

TEST_F(SumPieces, TheReceiverMergesWithTheLastByte) {
  const Schedule parts = {part(600, 1000, 0), part(0, 600, 3 * kUs)};  // there at 3.61 us
  Schedule sends = parts;
  sends.push_back(on(3610 * kNs));
  expect_valid(problem, sends, 4620 * kNs);
  sends.back().start = Time{3610 * kNs - 1};
  expect_refused(problem, sends, Violation::demand_unmet, "2 of 3");
}

TEST_F(SumPieces, TheSenderIsEmptyFromTheFirstPieceOn) {
  // Between its pieces, a has nothing to send over its other link.
  expect_refused(
      problem,
      {part(0, 600, 0), part(600, 1000, 3 * kUs), part(0, 1000, kUs, Op::reduce, 4), on(8 * kUs)},
      Violation::not_held, "a has no part");
}

TEST_F(SumPieces, WhatComesBetweenThePiecesStaysBehind) {
  world.chunks = {sum(1000, {0, 1}, {2})};
  problem = world.problem();
  // b's addend reaches a at 1.01 us, between a's pieces: b passes on a's addend alone.
  expect_refused(problem,
                 {part(0, 600, 0), send(problem, 0, 0, {3}, Op::reduce), part(600, 1000, 3 * kUs),
                  on(5 * kUs)},
                 Violation::demand_unmet, "1 of 2");
}

TEST_F(SumPieces, PiecesOfAShareKeepThePart) {
  world.chunks = {sum(1000, {0, 1}, {0, 1})};
  problem = world.problem();
  expect_valid(problem,
               {part(0, 500, 0, Op::share), part(500, 1000, 500 * kNs, Op::share),
                send(problem, 0, 0, {3}, Op::share)},
               1010 * kNs);
}

TEST_F(SumPieces, PiecesMustPartitionTheChunk) {
  const std::string words = "do not partition";
  expect_refused(problem, {part(0, 600, 0), on(5 * kUs)}, Violation::malformed_send, words);
  expect_refused(problem, {part(0, 600, 0), part(601, 1000, kUs), on(5 * kUs)},
                 Violation::malformed_send, words);
  expect_refused(problem,
                 {part(0, 600, 0), part(600, 1000, kUs), part(0, 10, 2 * kUs), on(5 * kUs)},
                 Violation::malformed_send, words);
  expect_refused(problem, {part(0, 600, 0), part(400, 1000, kUs), on(5 * kUs)},
                 Violation::malformed_send, words);
  expect_refused(problem, {part(0, 600, 0), part(0, 400, kUs), on(5 * kUs)},
                 Violation::malformed_send, words);
}

TEST_F(SumPieces, PiecesOfOneReduceUseTheSameLinksAndOp) {
  expect_refused(problem, {part(0, 600, 0), part(600, 1000, kUs, Op::reduce, 4), on(5 * kUs)},
                 Violation::malformed_send, "do not partition");
  expect_refused(problem, {part(0, 600, 0), part(600, 1000, kUs, Op::share), on(5 * kUs)},
                 Violation::malformed_send, "do not partition");
}

TEST_F(SumPieces, TheSameReduceAgainInPieces) {
  // c's addend goes to a by way of b; a sends its own in two pieces, and later, again in two, c's.
  world.chunks = {sum(1000, {0, 2}, {1})};
  problem = world.problem();
  const Schedule sends = {part(0, 500, 0),
                          part(500, 1000, 500 * kNs),
                          send(problem, 0, 0, {2}, Op::reduce),
                          send(problem, 0, 1010 * kNs, {3}, Op::reduce),
                          part(0, 700, 3 * kUs),
                          part(700, 1000, 4 * kUs)};
  // At 1.01 us b has both addends: it is complete, gives both away, and gets both back at 4.31 us.
  expect_valid(problem, sends, 4310 * kNs);
}

TEST_F(SumPieces, ACopyInPieces) {
  world.chunks = {sum(1000, {0, 1}, {0, 1})};
  problem = world.problem();
  const Send merge = send(problem, 0, 0, {0}, Op::reduce);
  const Send back = send(problem, 0, 1010 * kNs, {3});
  Send second = piece(back, 300, 700);
  second.start = Time{2 * kUs};
  expect_valid(problem, {merge, piece(back, 0, 300), second}, 2710 * kNs);
  second.offset = Bytes{301};
  second.bytes = Bytes{699};
  expect_refused(problem, {merge, piece(back, 0, 300), second}, Violation::demand_unmet);
}

TEST_F(SumPieces, PiecesThatArriveWhereTheSumIsAreWasteForGood) {
  // b holds the sum when the first piece of c's copy comes, gives it away, and gets the second
  // piece.
  world = line();
  world.chunks = {sum(1000, {1, 2}, {1})};
  problem = world.problem();
  const Send first = send(problem, 0, 0, {1}, Op::share);
  const Send other = send(problem, 0, 0, {2}, Op::share);  // both have the sum at 1.01 us
  const Send copy = send(problem, 0, 1010 * kNs, {2});
  Send rest = piece(copy, 500, 500);
  rest.start = Time{4 * kUs};
  const Send away = send(problem, 0, 3 * kUs, {3}, Op::reduce);
  expect_refused(problem, {first, other, piece(copy, 0, 500), away, rest}, Violation::demand_unmet);
}

TEST(Verify, PiecesOfACopyAreForgottenWhenTheSumIsComplete) {
  World world = line();
  world.links.push_back(link(2, 0));  // 4: c -> a
  world.chunks = {sum(1000, {1, 2}, {1})};
  const Problem problem = world.problem();
  // c has the sum at 1.01 us and copies half of it to b, which completes its own by way of a, gives
  // it away, and gets the other half.
  Schedule sends = {send(problem, 0, 0, {1}, Op::share),
                    send(problem, 0, 0, {4}, Op::share),
                    piece(send(problem, 0, 1010 * kNs, {2}), 0, 500),
                    send(problem, 0, 1020 * kNs, {0}, Op::reduce),
                    send(problem, 0, 3 * kUs, {3}, Op::reduce),
                    piece(send(problem, 0, 4 * kUs, {2}), 500, 500)};
  expect_refused(problem, sends, Violation::demand_unmet, "0 of 2");
  // All of it once more will do.
  sends.push_back(piece(send(problem, 0, 5 * kUs, {2}), 0, 500));
  expect_valid(problem, sends, 5510 * kNs);
}

// --- Demand ------------------------------------------------------------------------------------

TEST(Verify, EveryDestinationMustBeServed) {
  World world = line();
  world.chunks = {data(1000, {0}, {1, 2})};
  const Problem problem = world.problem();
  expect_refused(problem, {send(problem, 0, 0, {0})}, Violation::demand_unmet,
                 "c never holds chunk 0 (of a, job 'job'): nothing of it arrives");
  expect_refused(problem, {}, Violation::demand_unmet);
}

TEST(Verify, ChunksThatMakeNoSenseAreNotJudgedFurther) {
  World world = line();
  world.chunks = {data(1000, {0}, {1})};
  const Problem good = world.problem();
  const auto with = [&](auto change) {
    Problem problem = good;
    change(problem.chunks[ChunkId(0)]);
    return problem;
  };
  const auto refused = [&](const Problem& problem) {
    expect_refused(problem, {}, Violation::chunks_differ);
  };
  refused(with([](Chunk& c) { c.job = JobId(1); }));
  refused(with([](Chunk& c) { c.job = JobId(); }));
  refused(with([](Chunk& c) { c.bytes = Bytes{0}; }));
  refused(with([](Chunk& c) { c.origins = {NodeId(3)}; }));
  refused(with([](Chunk& c) { c.origins.clear(); }));
  refused(with([](Chunk& c) { c.contributors = {NodeId(1)}; }));
  refused(with([](Chunk& c) { c.destinations = {NodeId()}; }));
  refused(with([](Chunk& c) { c.owner = NodeId(); }));
  refused(with([](Chunk& c) { c.ready = Time{-1}; }));
}

// --- Whole plans -------------------------------------------------------------------------------

/// An AllGather of 2000 B between a and b in two chunks each, as a plan.
class WholePlan : public testing::Test {
 protected:
  WholePlan() {
    World world = line();
    Job job;
    job.name = "dp";
    job.ranks = ids({0, 1});
    job.size = Bytes{2001};
    job.chunks = 2;
    plan.problem = make_problem(Topology("test", "", world.nodes, world.links), {job});
    // Chunks of 501, 500, 501 and 500 B.
    plan.sends = {send(plan.problem, 0, 0, {0}), send(plan.problem, 2, 0, {3}),
                  send(plan.problem, 1, 501 * kNs, {0}), send(plan.problem, 3, 501 * kNs, {3})};
    plan.result.transfer_time = Time{1011 * kNs};
    plan.result.job_finish = {Time{1011 * kNs}};
    Certificate cut;
    cut.kind = Certificate::Kind::cut;
    cut.set = ids({1, 2});
    cut.target = NodeId(1);
    plan.result.bound = Bound{Time{1011 * kNs}, cut};
  }
  void refused(Violation violation, const std::string& words = "") {
    const Verdict verdict = verify(plan);
    ASSERT_TRUE(verdict.violation.has_value()) << "accepted";
    EXPECT_STREQ(to_string(*verdict.violation), to_string(violation)) << verdict.message;
    EXPECT_THAT(verdict.message, HasSubstr(words));
  }
  void accepted() {
    const Verdict verdict = verify(plan);
    EXPECT_TRUE(verdict.valid()) << verdict.message;
  }
  Plan plan;
};

TEST_F(WholePlan, IsAccepted) { accepted(); }

TEST_F(WholePlan, ChunksMayBeRenumbered) {
  std::swap(plan.problem.chunks[ChunkId(0)], plan.problem.chunks[ChunkId(3)]);
  std::swap(plan.sends[0].chunk, plan.sends[3].chunk);
  accepted();
  std::reverse(plan.sends.begin(), plan.sends.end());
  accepted();
}

TEST_F(WholePlan, ChunksAreWhatTheJobAsksFor) {
  Chunk& chunk = plan.problem.chunks[ChunkId(0)];
  const Chunk good = chunk;
  chunk.bytes = Bytes{500};
  refused(Violation::chunks_differ, "of a, job 'dp'");
  chunk = good;
  chunk.slot = 1;
  refused(Violation::chunks_differ);
  chunk = good;
  chunk.destinations = ids({2});
  refused(Violation::chunks_differ);
  chunk = good;
  chunk.destinations = ids({1, 2});
  refused(Violation::chunks_differ);
  chunk = good;
  chunk.ready = Time{1};
  refused(Violation::chunks_differ);
  chunk = good;
  chunk.owner = NodeId(7);
  refused(Violation::chunks_differ);
  chunk = good;
  plan.problem.chunks.push_back(good);
  refused(Violation::chunks_differ, "no job asks for");
  plan.problem.chunks.back() = plan.problem.chunks[ChunkId(3)];
  refused(Violation::chunks_differ, "a chunk too many");
  plan.problem.chunks.pop_back();
  plan.problem.chunks.pop_back();
  refused(Violation::chunks_differ, "3 chunks of 4");
}

TEST_F(WholePlan, JobsMustBeValid) {
  plan.problem.jobs[0].ranks = ids({0, 0});
  refused(Violation::chunks_differ, "not valid");
}

TEST_F(WholePlan, FinishTimesAreWhatTheSendsGive) {
  plan.result.transfer_time = Time{1011 * kNs - 1};
  refused(Violation::wrong_finish, "1010.999ns");
  plan.result.transfer_time = Time{1011 * kNs + 1};
  refused(Violation::wrong_finish);
  plan.result.transfer_time = Time{1011 * kNs};
  plan.result.job_finish = {Time{1010 * kNs}};
  refused(Violation::wrong_finish, "job 'dp'");
  plan.result.job_finish = {};
  refused(Violation::wrong_finish);
}

TEST_F(WholePlan, BoundsAreWhatTheirCertificatesProve) {
  Bound& bound = *plan.result.bound;
  const Bound good = bound;
  bound.value = Time{good.value.ps + 1};
  refused(Violation::wrong_bound, "its certificate proves 1.011us");
  bound.value = Time{good.value.ps - 1};
  refused(Violation::wrong_bound);
  bound = good;
  bound.certificate = Certificate{};
  refused(Violation::wrong_bound, "no certificate");
  bound = good;
  bound.certificate.set = ids({1, 99});
  refused(Violation::wrong_bound, "99");
  plan.result.bound.reset();
  accepted();
}

TEST_F(WholePlan, ABoundOfZeroNeedsNoCertificate) {
  plan.result.bound = Bound{};
  accepted();
  plan.result.bound->value = Time{1};
  refused(Violation::wrong_bound, "no certificate");
}

TEST_F(WholePlan, ABoundAboveTheTransferTimeIsRefused) {
  // A plan that splits its chunks over two links beats what holds for whole chunks.
  World world = line();
  world.links.push_back(link(0, 1));  // 4
  Job job = plan.problem.jobs[0];
  job.collective = Collective::broadcast;
  job.size = Bytes{1000};
  job.chunks = 1;
  plan.problem = make_problem(Topology("test", "", world.nodes, world.links), {job});
  const Send whole = send(plan.problem, 0, 0, {0});
  Send other = piece(whole, 500, 500);
  other.links = {LinkId(4)};
  plan.sends = {piece(whole, 0, 500), other};
  plan.result.transfer_time = Time{510 * kNs};
  plan.result.job_finish = {Time{510 * kNs}};
  plan.result.bound->value = Time{510 * kNs};
  accepted();
  plan.result.bound_chunked = Bound{Time{1010 * kNs}, plan.result.bound->certificate};
  plan.result.bound_chunked->certificate.kind = Certificate::Kind::chunk_cut;
  refused(Violation::wrong_bound, "above the transfer time");
}

TEST_F(WholePlan, WholeChunksProveNothingForOthers) {
  plan.result.bound_chunked = plan.result.bound;
  accepted();
  plan.result.bound_chunked->certificate.kind = Certificate::Kind::chunk_cut;
  accepted();  // 501 + 500 ns of transmission, 10 ns of latency; N * the least size is less
  plan.result.bound = plan.result.bound_chunked;
  refused(Violation::wrong_bound, "chunk_cut");
}

TEST_F(WholePlan, TheChunkedBoundIsNoLess) {
  Certificate latency;
  latency.kind = Certificate::Kind::latency;
  latency.chunk = ChunkId(0);
  latency.target = NodeId(1);
  plan.result.bound_chunked = Bound{Time{10 * kNs}, latency};
  refused(Violation::wrong_bound, "below");
  plan.result.bound = plan.result.bound_chunked;
  accepted();
}

TEST_F(WholePlan, RecordedFiguresFollow) {
  plan.result.recorded = derive_metrics(plan);
  accepted();
  plan.result.recorded->gap = 0.01;
  refused(Violation::wrong_metric, "gap");
  plan.result.recorded = derive_metrics(plan);
  plan.result.recorded->total.algbw = 1.0;
  refused(Violation::wrong_metric, "algbw");
}

}  // namespace
}  // namespace stellwerk
