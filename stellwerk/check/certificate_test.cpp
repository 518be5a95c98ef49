// Every kind of certificate on networks small enough to work the bound out by hand. Bandwidths are
// 1 GB/s, that is 1 B/ns, or simple multiples of it, so that bytes and ns can be added in the head.
#include "stellwerk/check/certificate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stellwerk/base/error.hpp"

namespace stellwerk {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kNs = 1000;
constexpr std::int64_t kUs = 1000 * kNs;
constexpr std::int64_t kGb = 1'000'000'000;

using Kind = Certificate::Kind;

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

/// Nodes named by letters, GPUs but for those in capitals, which are switches.
struct World {
  IdVector<NodeId, Node> nodes;
  IdVector<LinkId, Link> links;

  explicit World(const std::string& names) {
    for (const char name : names) {
      Node node;
      node.name = std::string(1, name);
      if (name < 'a') node.kind = NodeKind::switch_;
      nodes.push_back(node);
    }
  }
  World& link(int from, int to, std::int64_t bandwidth, std::int64_t latency_ns) {
    links.push_back({NodeId(from), NodeId(to), Time{latency_ns * kNs}, Bandwidth{bandwidth}, ""});
    return *this;
  }
  Topology topology() const { return Topology("test", "", nodes, links); }
  Problem problem(const std::vector<CustomChunk>& chunks) const {
    Job job;
    job.name = "job";
    job.collective = Collective::custom;
    job.custom = chunks;
    job.ranks = topology().gpus();
    return make_problem(topology(), {job});
  }
  Problem problem(Collective collective, std::int64_t size) const {
    Job job;
    job.name = "job";
    job.collective = collective;
    job.size = Bytes{size};
    job.ranks = topology().gpus();
    return make_problem(topology(), {job});
  }
};

/// a -> b (1 GB/s, 10 ns), b -> c (1 GB/s, 20 ns), a -> c (0.5 GB/s, 100 ns).
World triangle() {
  return World("abc").link(0, 1, kGb, 10).link(1, 2, kGb, 20).link(0, 2, kGb / 2, 100);
}

Certificate cut(Kind kind, const std::vector<int>& set, std::optional<int> target = {}) {
  Certificate result;
  result.kind = kind;
  result.set = ids(set);
  if (target) result.target = NodeId(*target);
  return result;
}

void expect_refused(const Certificate& certificate, const Problem& problem,
                    const std::string& words) {
  try {
    const Time proven = proven_by(certificate, problem);
    ADD_FAILURE() << "proves " << to_string(proven);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::verification_failed);
    EXPECT_THAT(error.what(), HasSubstr(words));
  }
}

// --- cut ---------------------------------------------------------------------------------------

TEST(CutCertificate, LinksOpenOneAfterTheOther) {
  const World world = triangle();
  const auto proven = [&](std::int64_t bytes) {
    return proven_by(cut(Kind::cut, {2}, 2), world.problem({data(bytes, {0}, {2})})).ps;
  };
  EXPECT_EQ(proven(10), 30 * kNs);     // b -> c alone: (T - 20)
  EXPECT_EQ(proven(80), 100 * kNs);    // until a -> c opens
  EXPECT_EQ(proven(81), 100'667);      // 1.5 T - 70 = 81, rounded up to a ps
  EXPECT_EQ(proven(3000), 2'046'667);  // 1.5 T - 70 = 3000
}

TEST(CutCertificate, TheWayFromTheEntryToTheTargetCounts) {
  const Problem problem = triangle().problem({data(3000, {0}, {1, 2})});
  // Into {b, c}: 10 ns to b and 20 more to c, or 100 ns to c. For b alone a -> c is of no use.
  EXPECT_EQ(proven_by(cut(Kind::cut, {1, 2}, 2), problem).ps, 2'053'334);
  EXPECT_EQ(proven_by(cut(Kind::cut, {1, 2}, 1), problem).ps, 3010 * kNs);
  EXPECT_EQ(proven_by(cut(Kind::cut, {1, 2}), problem).ps, 2040 * kNs);  // to the nearer of them
}

TEST(CutCertificate, CountsWhatIsWantedInsideAndStartsOutside) {
  const World world = triangle();
  const Problem problem = world.problem({
      data(1000, {0}, {1}),    // not for c
      data(500, {0}, {2}),     // counts
      data(300, {0, 2}, {2}),  // there already
      data(200, {1}, {2}),     // counts
      data(5000, {2}, {2}),    // does not leave
  });
  // 700 B into c: 1.5 T - 70 = 700.
  EXPECT_EQ(proven_by(cut(Kind::cut, {2}, 2), problem).ps, 513'334);
  // Into {b, c}, whoever wants them: 1000 + 500; nearest of b and c.
  EXPECT_EQ(proven_by(cut(Kind::cut, {1, 2}), problem).ps, 1'040 * kNs);
}

TEST(CutCertificate, ASumEntersIfAnyContributorIsOutside) {
  const World world = triangle();
  const Problem problem = world.problem({sum(3000, {0, 2}, {2}), sum(400, {2}, {2})});
  EXPECT_EQ(proven_by(cut(Kind::cut, {2}, 2), problem).ps, 2'046'667);
}

TEST(CutCertificate, TheLeastReadyTimeIsAdded) {
  const World world = triangle();
  const Problem problem = world.problem(
      {data(2000, {0}, {2}, 7 * kUs), data(1000, {0}, {2}, 5 * kUs), data(1, {0}, {1})});
  EXPECT_EQ(proven_by(cut(Kind::cut, {2}, 2), problem).ps, 5 * kUs + 2'046'667);
}

TEST(CutCertificate, ChunksOfAllJobsCount) {
  const World world = triangle();
  Job one;
  one.name = "one";
  one.collective = Collective::broadcast;
  one.ranks = ids({0, 2});
  one.size = Bytes{1000};
  Job two = one;
  two.name = "two";
  two.size = Bytes{2000};
  const Problem problem = make_problem(world.topology(), {one, two});
  EXPECT_EQ(proven_by(cut(Kind::cut, {2}, 2), problem).ps, 2'046'667);
}

TEST(CutCertificate, DeadEndsCarryNothing) {
  World world = triangle();
  world.nodes.push_back(world.nodes[NodeId(0)]);
  world.nodes[NodeId(3)].name = "d";
  world.link(0, 3, kGb, 0);  // d leads nowhere
  const Problem problem = world.problem({data(3000, {0}, {2})});
  EXPECT_EQ(proven_by(cut(Kind::cut, {2, 3}, 2), problem).ps, 2'046'667);
  expect_refused(cut(Kind::cut, {3}, 3), world.problem({data(1, {0}, {2})}), "no chunk must enter");
}

TEST(CutCertificate, Malformed) {
  const World world = triangle();
  const Problem problem = world.problem({data(3000, {0}, {2})});
  expect_refused(Certificate{}, problem, "no certificate");
  expect_refused(cut(Kind::cut, {}, 2), problem, "empty");
  expect_refused(cut(Kind::cut, {}), problem, "empty");
  expect_refused(cut(Kind::cut, {0, 1, 2}, 2), problem, "all nodes");
  expect_refused(cut(Kind::cut, {1}, 2), problem, "target c is not in its set");
  expect_refused(cut(Kind::cut, {2, 2}, 2), problem, "twice");
  expect_refused(cut(Kind::cut, {2, 3}, 2), problem, "does not exist");
  expect_refused(cut(Kind::cut, {2, -1}, 2), problem, "does not exist");
  expect_refused(cut(Kind::cut, {2}, 5), problem, "does not exist");
  expect_refused(cut(Kind::cut, {1}, 1), problem, "no chunk must enter");
  expect_refused(cut(Kind::cut, {0}), problem, "no chunk must enter");
  Certificate selective = cut(Kind::cut, {1, 2}, 2);
  selective.from = ids({0});
  expect_refused(selective, problem, "no from");
}

TEST(CutCertificate, AnEntryThatIsNotThereProvesNothing) {
  const World world = World("ab").link(0, 1, kGb, 0);
  const Problem problem = world.problem({data(100, {1}, {0})});
  expect_refused(cut(Kind::cut, {0}, 0), problem, "no link carries");
}

// --- dynamic_cut -------------------------------------------------------------------------------

TEST(DynamicCutCertificate, LinksOpenWhenTheirTailsCanHoldTheData) {
  const World world = triangle();
  // b -> c opens 10 ns later than in a cut: 1.5 T - 80 = 3000.
  EXPECT_EQ(proven_by(cut(Kind::dynamic_cut, {2}, 2), world.problem({data(3000, {0}, {2})})).ps,
            2'053'334);
  // Ready times are part of that.
  EXPECT_EQ(
      proven_by(cut(Kind::dynamic_cut, {2}, 2), world.problem({data(3000, {0}, {2}, 5 * kUs)})).ps,
      5 * kUs + 2'053'334);
  // With 500 B that b has from the start, its link opens at once.
  EXPECT_EQ(proven_by(cut(Kind::dynamic_cut, {2}, 2),
                      world.problem({data(2500, {0}, {2}), data(500, {1}, {2})}))
                .ps,
            2'046'667);
}

TEST(DynamicCutCertificate, FromAndToSelectChunks) {
  // a -> b -> c -> d, 1 GB/s and 10 ns each.
  const World world = World("abcd").link(0, 1, kGb, 10).link(1, 2, kGb, 10).link(2, 3, kGb, 10);
  const Problem problem = world.problem(
      {data(1000, {0}, {3}), data(500, {1}, {3}), data(300, {0}, {2}), data(200, {0, 1}, {3})});
  Certificate certificate = cut(Kind::dynamic_cut, {2, 3});
  // All: 2000 B enter at b -> c, which opens at 0, and c is 10 ns away.
  EXPECT_EQ(proven_by(certificate, problem).ps, 2010 * kNs);
  // Those that a alone has: 1300 B, and b gets them only after 10 ns.
  certificate.from = ids({0});
  EXPECT_EQ(proven_by(certificate, problem).ps, 1320 * kNs);
  // Of them those for d: 1000 B, and 10 ns more.
  certificate.to = ids({3});
  EXPECT_EQ(proven_by(certificate, problem).ps, 1030 * kNs);
  certificate.to = ids({2});
  EXPECT_EQ(proven_by(certificate, problem).ps, 320 * kNs);
  // A target overrides it.
  certificate.target = NodeId(3);
  EXPECT_EQ(proven_by(certificate, problem).ps, 1030 * kNs);
}

TEST(DynamicCutCertificate, SumsCountTheContributorsInFrom) {
  const World world = World("abcd").link(0, 1, kGb, 10).link(1, 2, kGb, 10).link(2, 3, kGb, 10);
  const Problem problem = world.problem({sum(1000, {0, 1, 3}, {3})});
  Certificate certificate = cut(Kind::dynamic_cut, {2, 3}, 3);
  EXPECT_EQ(proven_by(certificate, problem).ps, 1020 * kNs);  // b's addend can enter at once
  certificate.from = ids({0});
  EXPECT_EQ(proven_by(certificate, problem).ps, 1030 * kNs);
}

TEST(DynamicCutCertificate, Malformed) {
  const World world = triangle();
  const Problem problem = world.problem({data(3000, {0}, {2})});
  Certificate certificate = cut(Kind::dynamic_cut, {2});
  certificate.to = ids({1});
  expect_refused(certificate, problem, "to names b, which is not in its set");
  certificate.to = ids({2, 2});
  expect_refused(certificate, problem, "twice");
  certificate.to.clear();
  certificate.from = ids({2});
  expect_refused(certificate, problem, "from names c, which is in its set");
  certificate.from = ids({1});
  expect_refused(certificate, problem, "no chunk must enter");
  certificate.from = ids({7});
  expect_refused(certificate, problem, "does not exist");
}

// --- chunk_cut ---------------------------------------------------------------------------------

/// a -> b (1 GB/s, 10 ns), b -> c (2 GB/s, 20 ns).
World two_hops() { return World("abc").link(0, 1, kGb, 10).link(1, 2, 2 * kGb, 20); }

TEST(ChunkCutCertificate, TheLastChunkIsStillToBePassedOn) {
  const World world = two_hops();
  const auto problem = [&](std::size_t chunks) {
    return world.problem(std::vector<CustomChunk>(chunks, data(1000, {0}, {1, 2})));
  };
  // All of them enter b, and the last goes on to c: 500 + 20 ns.
  EXPECT_EQ(proven_by(cut(Kind::chunk_cut, {1, 2}, 2), problem(1)).ps, 1530 * kNs);
  EXPECT_EQ(proven_by(cut(Kind::chunk_cut, {1, 2}, 2), problem(3)).ps, 3530 * kNs);
  EXPECT_EQ(proven_by(cut(Kind::cut, {1, 2}, 2), problem(3)).ps, 3030 * kNs);
  // At c's own link: the first comes at 1010 ns, and then 500 ns each.
  EXPECT_EQ(proven_by(cut(Kind::chunk_cut, {2}, 2), problem(1)).ps, 1530 * kNs);
  EXPECT_EQ(proven_by(cut(Kind::chunk_cut, {2}, 2), problem(3)).ps, 2530 * kNs);
}

TEST(ChunkCutCertificate, SizesDiffer) {
  const Problem problem =
      two_hops().problem({data(1000, {0}, {2}), data(1000, {0}, {2}), data(400, {0}, {2})});
  // By bytes, with 400 B the last: 2400 + 10 + 200 + 20. By count only 3 * 400 + 230.
  Certificate certificate = cut(Kind::chunk_cut, {1, 2}, 2);
  EXPECT_EQ(proven_by(certificate, problem).ps, 2630 * kNs);
  // Only the large ones: 2000 + 10 + 500 + 20.
  certificate.chunk = ChunkId(0);
  EXPECT_EQ(proven_by(certificate, problem).ps, 2530 * kNs);
  certificate.chunk = ChunkId(2);
  EXPECT_EQ(proven_by(certificate, problem).ps, 2630 * kNs);
}

TEST(ChunkCutCertificate, ReadyTimesOpenSlots) {
  const World world = World("ab").link(0, 1, kGb, 10);
  // Ready at 0, 500 and 5000 ns: sent by 1000, 2000 and 6000 ns.
  const Problem problem = world.problem(
      {data(1000, {0}, {1}, 500 * kNs), data(1000, {0}, {1}), data(1000, {0}, {1}, 5 * kUs)});
  EXPECT_EQ(proven_by(cut(Kind::chunk_cut, {1}, 1), problem).ps, 6010 * kNs);
}

TEST(ChunkCutCertificate, ASwitchDoesNotStoreAndTheSlowestLinkCounts) {
  // a -> S (2 GB/s, 5 ns) -> b (1 GB/s, 7 ns) -> c (2 GB/s, 20 ns).
  const World world =
      World("aSbc").link(0, 1, 2 * kGb, 5).link(1, 2, kGb, 7).link(2, 3, 2 * kGb, 20);
  const Problem problem = world.problem({data(1000, {0}, {3})});
  // 5 + 7 + 1000, then 500 + 20, wherever the cut is.
  EXPECT_EQ(proven_by(cut(Kind::chunk_cut, {3}, 3), problem).ps, 1532 * kNs);
  EXPECT_EQ(proven_by(cut(Kind::chunk_cut, {2, 3}, 3), problem).ps, 1532 * kNs);
  EXPECT_EQ(proven_by(cut(Kind::chunk_cut, {1, 2, 3}, 3), problem).ps, 1532 * kNs);
}

TEST(ChunkCutCertificate, ChunksSpreadOverEntryLinks) {
  // a to b over 1 GB/s, or over d with 2 GB/s twice; 10 ns each.
  const World world =
      World("abd").link(0, 1, kGb, 10).link(0, 2, 2 * kGb, 10).link(2, 1, 2 * kGb, 10);
  const auto proven = [&](std::size_t chunks) {
    return proven_by(cut(Kind::chunk_cut, {1}, 1),
                     world.problem(std::vector<CustomChunk>(chunks, data(1000, {0}, {1}))))
        .ps;
  };
  // Directly at 1010, 2010, 3010 ns; over d at 1020, 1520, 2020 ns.
  // By bytes less: from 10 and (510 + 10 = 520) ns on.
  EXPECT_EQ(proven(1), 1010 * kNs);
  EXPECT_EQ(proven(2), 1020 * kNs);
  EXPECT_EQ(proven(3), 1520 * kNs);
  EXPECT_EQ(proven(4), 2010 * kNs);
  EXPECT_EQ(proven(5), 2020 * kNs);
}

TEST(ChunkCutCertificate, SumsOfContributorsOutside) {
  const Problem problem = two_hops().problem({sum(1000, {0, 1, 2}, {2})});
  EXPECT_EQ(proven_by(cut(Kind::chunk_cut, {1, 2}, 2), problem).ps, 1530 * kNs);
  EXPECT_EQ(proven_by(cut(Kind::chunk_cut, {2}, 2), problem).ps, 520 * kNs);  // b's addend
  Certificate far = cut(Kind::chunk_cut, {2}, 2);
  far.from = ids({0});
  EXPECT_EQ(proven_by(far, problem).ps, 1530 * kNs);
}

TEST(ChunkCutCertificate, Malformed) {
  const Problem problem = two_hops().problem({data(1000, {0}, {2}), data(10, {2}, {2})});
  Certificate certificate = cut(Kind::chunk_cut, {1, 2}, 2);
  certificate.chunk = ChunkId(2);
  expect_refused(certificate, problem, "chunk 2, which does not exist");
  certificate.chunk.reset();
  certificate.set.clear();
  certificate.target.reset();
  expect_refused(certificate, problem, "empty");
  // Nothing leads from b to a.
  expect_refused(cut(Kind::chunk_cut, {0}, 0), two_hops().problem({data(10, {1}, {0})}),
                 "cannot enter");
}

// --- latency -----------------------------------------------------------------------------------

Certificate latency(int chunk, int target) {
  Certificate result;
  result.kind = Kind::latency;
  result.chunk = ChunkId(chunk);
  result.target = NodeId(target);
  return result;
}

TEST(LatencyCertificate, ReadyAndTheShortestWay) {
  const Problem problem =
      triangle().problem({data(1, {0}, {2}, 5 * kUs), data(1, {0, 1}, {2}), sum(1, {0, 1}, {2})});
  EXPECT_EQ(proven_by(latency(0, 2), problem).ps, 5 * kUs + 30 * kNs);
  EXPECT_EQ(proven_by(latency(1, 2), problem).ps, 20 * kNs);  // the nearest origin
  EXPECT_EQ(proven_by(latency(2, 2), problem).ps, 30 * kNs);  // the farthest contributor
}

TEST(LatencyCertificate, Malformed) {
  const Problem problem = triangle().problem({data(1, {0}, {2}), data(1, {2}, {0})});
  expect_refused(latency(0, 1), problem, "no destination");
  expect_refused(latency(2, 2), problem, "does not exist");
  expect_refused(latency(0, 9), problem, "does not exist");
  expect_refused(latency(1, 0), problem, "no path");
  Certificate bare;
  bare.kind = Kind::latency;
  bare.target = NodeId(2);
  expect_refused(bare, problem, "needs a chunk and a target");
  bare.target.reset();
  bare.chunk = ChunkId(0);
  expect_refused(bare, problem, "needs a chunk and a target");
}

// --- metric ------------------------------------------------------------------------------------

Certificate metric(const std::vector<std::int64_t>& lengths) {
  Certificate result;
  result.kind = Kind::metric;
  result.lengths = lengths;
  return result;
}

TEST(MetricCertificate, BytesTimesDistanceAgainstWhatLinksCanCarry) {
  const World world = World("ab").link(0, 1, kGb, 10).link(1, 0, kGb, 20);
  const Problem problem = world.problem({data(1000, {0}, {1}), data(500, {1}, {0})});
  EXPECT_EQ(proven_by(metric({1, 1}), problem).ps, 765 * kNs);  // 2 T - 30 = 1500
  EXPECT_EQ(proven_by(metric({1, 0}), problem).ps, 1010 * kNs);
  EXPECT_EQ(proven_by(metric({7, 0}), problem).ps, 1010 * kNs);
  EXPECT_EQ(proven_by(metric({0, 1}), problem).ps, 520 * kNs);
  EXPECT_EQ(proven_by(metric({2, 1}), problem).ps, 846'667);  // 3 T - 40 = 2500
}

TEST(MetricCertificate, DistancesAreShortestWays) {
  // a -> c: 1 + 2 over b against 2 directly. Weights 1, 2 and 1 B/ns from 10, 20 and 100 ns.
  const Problem problem = triangle().problem({data(1000, {0}, {2})});
  EXPECT_EQ(proven_by(metric({1, 2, 2}), problem).ps, 537'500);    // 4 T - 150 = 2000
  EXPECT_EQ(proven_by(metric({1, 2, 4}), problem).ps, 650 * kNs);  // 5 T - 250 = 3000
}

TEST(MetricCertificate, FarthestDestinationAndContributorCount) {
  // a -> b -> c, 10 ns each.
  const World world = World("abc").link(0, 1, kGb, 10).link(1, 2, kGb, 10);
  EXPECT_EQ(proven_by(metric({1, 1}), world.problem({data(1000, {0}, {1, 2})})).ps, 1010 * kNs);
  EXPECT_EQ(proven_by(metric({1, 1}), world.problem({data(1000, {0, 1}, {2})})).ps, 510 * kNs);
  EXPECT_EQ(proven_by(metric({1, 1}), world.problem({sum(1000, {0, 1}, {2})})).ps, 1010 * kNs);
}

TEST(MetricCertificate, TheLeastReadyTimeOfWhatMoves) {
  const World world = World("ab").link(0, 1, kGb, 10);
  EXPECT_EQ(
      proven_by(metric({1}), world.problem({data(500, {0}, {1}, 3 * kUs),
                                            data(500, {0}, {1}, 2 * kUs), data(500, {1}, {1})}))
          .ps,
      2 * kUs + 1010 * kNs);
}

TEST(MetricCertificate, LargeLengthsAreExact) {
  const World world = World("ab").link(0, 1, kGb, 10).link(1, 0, kGb, 20);
  const Problem problem = world.problem({data(1000, {0}, {1}), data(500, {1}, {0})});
  const std::int64_t large = std::int64_t{1} << 60;
  EXPECT_EQ(proven_by(metric({large, large}), problem).ps, 765 * kNs);
}

TEST(MetricCertificate, Malformed) {
  const World world = World("ab").link(0, 1, kGb, 10).link(1, 0, kGb, 20);
  const Problem problem = world.problem({data(1000, {0}, {1}), data(500, {1}, {0})});
  expect_refused(metric({1}), problem, "1 lengths, but there are 2 links");
  expect_refused(metric({1, 1, 1}), problem, "3 lengths");
  expect_refused(metric({1, -1}), problem, "negative");
  expect_refused(metric({0, 0}), problem, "proves nothing");
  expect_refused(metric({INT64_MAX, INT64_MAX}), problem, "too large");
  const World one_way = World("abc").link(0, 1, kGb, 10);
  expect_refused(metric({1}), one_way.problem({data(1, {0}, {2})}), "no path");
}

// --- partition ---------------------------------------------------------------------------------

Certificate partition(const std::vector<std::vector<int>>& parts) {
  Certificate result;
  result.kind = Kind::partition;
  for (const auto& part : parts) result.parts.push_back(ids(part));
  return result;
}

/// All six links between a, b and c.
World mesh() {
  World world("abc");
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      if (i != j) world.link(i, j, kGb, 10);
    }
  }
  return world;
}

TEST(PartitionCertificate, AllReduceNeedsTwiceTheOtherParts) {
  const Problem problem = mesh().problem(Collective::allreduce, 3000);
  // 2 * 2 * 3000 B over six links; 2 * 1 * 3000 over four.
  EXPECT_EQ(proven_by(partition({{0}, {1}, {2}}), problem).ps, 2 * kUs);
  EXPECT_EQ(proven_by(partition({{0, 1}, {2}}), problem).ps, 1500 * kNs);
}

TEST(PartitionCertificate, OtherDemands) {
  const World world = mesh();
  const Certificate parts = partition({{0}, {1}, {2}});
  EXPECT_EQ(proven_by(parts, world.problem(Collective::reducescatter, 3000)).ps, kUs);
  EXPECT_EQ(proven_by(parts, world.problem(Collective::allgather, 3000)).ps, kUs);
  // c adds nothing: a and b must speak, c must hear.
  EXPECT_EQ(proven_by(parts, world.problem({sum(3000, {0, 1}, {2})})).ps, kUs);
  // a both adds and wants: b must speak, c must hear.
  EXPECT_EQ(proven_by(parts, world.problem({sum(3000, {0, 1}, {0, 2})})).ps, kUs);
}

TEST(PartitionCertificate, TheLeastReadyTimeIsAdded) {
  const Problem problem = mesh().problem(
      {sum(1000, {0, 1, 2}, {0, 1, 2}, 3 * kUs), sum(2000, {0, 1, 2}, {0, 1, 2}, 2 * kUs)});
  EXPECT_EQ(proven_by(partition({{0}, {1}, {2}}), problem).ps, 4 * kUs);
}

TEST(PartitionCertificate, Malformed) {
  const Problem problem = mesh().problem(Collective::allreduce, 3000);
  expect_refused(partition({}), problem, "two parts");
  expect_refused(partition({{0, 1, 2}}), problem, "two parts");
  expect_refused(partition({{0}, {1}}), problem, "no part of the certificate contains c");
  expect_refused(partition({{0, 1}, {1, 2}}), problem, "two parts of the certificate contain b");
  expect_refused(partition({{0, 0}, {1, 2}}), problem, "twice");
  expect_refused(partition({{0, 1, 2}, {}}), problem, "empty");
  expect_refused(partition({{0, 1}, {2, 3}}), problem, "does not exist");
  expect_refused(partition({{0}, {1, 2}}), mesh().problem({data(10, {1}, {2})}),
                 "nothing must cross");
}

// --- gossip ------------------------------------------------------------------------------------

Certificate gossip(const std::vector<std::vector<int>>& parts) {
  Certificate result = partition(parts);
  result.kind = Kind::gossip;
  return result;
}

/// a, b and c around the switch S, 1 GB/s and 10 ns each way.
World star() {
  World world("abcS");
  for (int i = 0; i < 3; ++i) world.link(i, 3, kGb, 10).link(3, i, kGb, 10);
  return world;
}

TEST(GossipCertificate, SwitchesThatDoNotReduceMayBeInNoPart) {
  const Problem problem = star().problem(Collective::allreduce, 3000);
  // 2 * 2 * 3000 B over the three links down, and two latencies.
  EXPECT_EQ(proven_by(gossip({{0}, {1}, {2}}), problem).ps, 4020 * kNs);
  // With a and S together: four links, two of them up to S.
  EXPECT_EQ(proven_by(gossip({{0, 3}, {1}, {2}}), problem).ps, 3020 * kNs);
  EXPECT_EQ(proven_by(partition({{0, 3}, {1}, {2}}), problem).ps, 3 * kUs);
  expect_refused(partition({{0}, {1}, {2}}), problem, "no part of the certificate contains S");
}

TEST(GossipCertificate, AllOthersMustBeInAPart) {
  World world = star();
  world.nodes[NodeId(3)].reduce = true;
  expect_refused(gossip({{0}, {1}, {2}}), world.problem(Collective::allreduce, 3000),
                 "no part of the certificate contains S");
  world.nodes[NodeId(3)].reduce = false;
  world.nodes[NodeId(3)].kind = NodeKind::relay;
  expect_refused(gossip({{0}, {1}, {2}}), world.problem(Collective::allreduce, 3000),
                 "no part of the certificate contains S");
  expect_refused(gossip({{0}, {1}}), star().problem(Collective::allreduce, 3000),
                 "no part of the certificate contains c");
}

}  // namespace
}  // namespace stellwerk
