#include "stellwerk/core/metrics.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stellwerk {
namespace {

/// A line a - b - c, 1 byte a ps (10^12 bytes/s), 10 ps a link, both ways; then a switch s with
/// links a->s, s->b, s->c.
Topology line() {
  IdVector<NodeId, Node> nodes(4);
  nodes[NodeId(0)].name = "a";
  nodes[NodeId(1)].name = "b";
  nodes[NodeId(2)].name = "c";
  nodes[NodeId(3)].name = "s";
  nodes[NodeId(3)].kind = NodeKind::switch_;
  nodes[NodeId(3)].multicast = true;
  const std::vector<std::pair<int, int>> ends = {{0, 1}, {1, 2}, {2, 1}, {1, 0},
                                                 {0, 3}, {3, 1}, {3, 2}};
  IdVector<LinkId, Link> links;
  for (const auto& [from, to] : ends) {
    links.push_back({NodeId(from), NodeId(to), Time{10}, Bandwidth{1'000'000'000'000}, ""});
  }
  return Topology("line", "", nodes, links);
}

Job custom(std::vector<CustomChunk> chunks) {
  Job job;
  job.name = "j";
  job.collective = Collective::custom;
  job.ranks = {NodeId(0), NodeId(1), NodeId(2)};
  job.custom = std::move(chunks);
  return job;
}

Send send(const Problem& problem, int chunk, Op op, std::int64_t start,
          const std::vector<int>& links) {
  std::vector<LinkId> ids;
  for (const int link : links) ids.push_back(LinkId(link));
  return whole_chunk_send(problem.topology, problem.chunks[ChunkId(chunk)], ChunkId(chunk), op,
                          Time{start}, ids);
}

TEST(Metrics, ForwardingTakesRoomAndLeavesLinksIdle) {
  // 100 bytes from a to c through b, which neither owns nor wants them.
  const Problem problem =
      make_problem(line(), {custom({{Bytes{100}, {NodeId(0)}, {NodeId(2)}, {}, {}}})});
  // Arrives at b at 110; sent on at 150; arrives at c at 260.
  const Schedule sends = {send(problem, 0, Op::copy, 0, {0}), send(problem, 0, Op::copy, 150, {1})};
  const Usage usage = measure_usage(problem, sends, Time{260});
  EXPECT_EQ(usage.sent, Bytes{200});
  EXPECT_EQ(usage.needed, Bytes{100});
  EXPECT_DOUBLE_EQ(usage.overhead(), 2);
  EXPECT_EQ(usage.wasted_copies, 0);
  EXPECT_EQ(usage.peak_transit[NodeId(0)], Bytes{0});
  EXPECT_EQ(usage.peak_transit[NodeId(1)], Bytes{100});
  EXPECT_EQ(usage.peak_transit[NodeId(2)], Bytes{0});
  EXPECT_EQ(usage.links[LinkId(0)].busy, Time{100});
  EXPECT_EQ(usage.links[LinkId(0)].idle, Time{160});
  EXPECT_DOUBLE_EQ(usage.links[LinkId(1)].utilisation, 100.0 / 260);
  EXPECT_EQ(usage.links[LinkId(2)].bytes, Bytes{0});
  EXPECT_EQ(usage.idle[NodeId(0)], Time{160});
  EXPECT_EQ(usage.idle[NodeId(1)], Time{60});  // links 0 in [0, 100), 1 in [150, 250)
  EXPECT_EQ(usage.idle[NodeId(2)], Time{160});
  EXPECT_NEAR(usage.mean_link_idle, (160.0 + 160 + 5 * 260) / 260 / 7, 1e-12);
}

TEST(Metrics, TransitOfTwoChunksOverlapsOrNot) {
  const Problem problem =
      make_problem(line(), {custom({{Bytes{100}, {NodeId(0)}, {NodeId(2)}, {}, {}},
                                    {Bytes{40}, {NodeId(0)}, {NodeId(2)}, {}, {}}})});
  // Chunk 0 is at b in [10, 210); chunk 1 in [110, ...) or from exactly 210 on.
  const Schedule overlapping = {
      send(problem, 0, Op::copy, 0, {0}), send(problem, 1, Op::copy, 100, {0}),
      send(problem, 0, Op::copy, 110, {1}), send(problem, 1, Op::copy, 210, {1})};
  EXPECT_EQ(measure_usage(problem, overlapping, Time{260}).peak_transit[NodeId(1)], Bytes{140});
  const Schedule apart = {send(problem, 0, Op::copy, 0, {0}), send(problem, 0, Op::copy, 110, {1}),
                          send(problem, 1, Op::copy, 200, {0}),
                          send(problem, 1, Op::copy, 250, {1})};
  EXPECT_EQ(measure_usage(problem, apart, Time{300}).peak_transit[NodeId(1)], Bytes{100});
}

TEST(Metrics, CopiesThatArriveTwiceAreWaste) {
  const Problem problem =
      make_problem(line(), {custom({{Bytes{100}, {NodeId(0)}, {NodeId(1), NodeId(2)}, {}, {}}})});
  // Through the switch to both; then to b again, and back to a.
  const Schedule sends = {send(problem, 0, Op::copy, 0, {4, 5, 6}),
                          send(problem, 0, Op::copy, 0, {0}), send(problem, 0, Op::copy, 120, {3})};
  const Usage usage = measure_usage(problem, sends, Time{120});
  EXPECT_EQ(usage.sent, Bytes{400});
  EXPECT_EQ(usage.needed, Bytes{200});
  EXPECT_EQ(usage.wasted_copies, 2);
  EXPECT_EQ(usage.wasted_bytes, Bytes{200});
  // The first arrival at b (110) counts, so the multicast's (120) is the waste; link times are
  // clipped.
  EXPECT_EQ(usage.links[LinkId(3)].busy, Time{0});
  EXPECT_EQ(usage.links[LinkId(5)].busy, Time{100});
}

TEST(Metrics, PiecesAreNotWaste) {
  const Problem problem =
      make_problem(line(), {custom({{Bytes{100}, {NodeId(0)}, {NodeId(1)}, {}, {}}})});
  Send first = send(problem, 0, Op::copy, 0, {0});
  first.bytes = Bytes{60};
  Send second = send(problem, 0, Op::copy, 80, {0});
  second.offset = Bytes{60};
  second.bytes = Bytes{40};
  const Usage usage = measure_usage(problem, {first, second}, Time{130});
  EXPECT_EQ(usage.wasted_copies, 0);
  EXPECT_EQ(usage.sent, Bytes{100});
  EXPECT_EQ(usage.links[LinkId(0)].idle, Time{30});
}

TEST(Metrics, ReductionsNeedEveryAddendAndEveryCopy) {
  Job job;
  job.name = "j";
  job.collective = Collective::allreduce;
  job.ranks = {NodeId(0), NodeId(1), NodeId(2)};
  job.size = Bytes{300};
  Problem problem = make_problem(line(), {job});
  EXPECT_EQ(measure_usage(problem, {}, Time{0}).needed, Bytes{1200});
  job.collective = Collective::reduce;
  problem = make_problem(line(), {job});
  EXPECT_EQ(measure_usage(problem, {}, Time{0}).needed, Bytes{600});

  // Sum at b, copies to a and c, and one more to b, which formed the sum: waste.
  job.collective = Collective::allreduce;
  job.size = Bytes{3};
  problem = make_problem(line(), {job});
  Schedule sends = {send(problem, 0, Op::reduce, 0, {0}), send(problem, 0, Op::reduce, 0, {2}),
                    send(problem, 0, Op::copy, 11, {3}), send(problem, 0, Op::copy, 11, {1})};
  EXPECT_EQ(measure_usage(problem, sends, Time{22}).wasted_copies, 0);
  EXPECT_EQ(measure_usage(problem, sends, Time{22}).peak_transit[NodeId(1)], Bytes{0});
  sends.push_back(send(problem, 0, Op::copy, 22, {0}));
  EXPECT_EQ(measure_usage(problem, sends, Time{22}).wasted_copies, 1);
}

TEST(Metrics, GapsAndRatesOfOneJob) {
  Job job;
  job.name = "j";
  job.ranks = {NodeId(0), NodeId(1), NodeId(2)};
  job.size = Bytes{3'000'000'000};
  job.chunks = 4;
  Plan plan;
  plan.problem = make_problem(line(), {job});
  plan.result.transfer_time = Time{30'000'000'000};  // 30 ms
  plan.result.job_finish = {Time{30'000'000'000}};
  plan.result.bound = Bound{Time{24'000'000'000}, {}};
  plan.result.bound_chunked = Bound{Time{30'000'000'000}, {}};
  RecordedMetrics metrics = derive_metrics(plan);
  EXPECT_DOUBLE_EQ(*metrics.gap, 0.25);
  EXPECT_EQ(*metrics.gap_chunked, 0);
  EXPECT_DOUBLE_EQ(*metrics.total.algbw, 1e11);
  EXPECT_DOUBLE_EQ(*metrics.total.busbw, 1e11 * 2 / 3);
  EXPECT_EQ(metrics.total.size_bytes, Bytes{3'000'000'000});
  EXPECT_EQ(metrics.total.output_bytes, Bytes{3'000'000'000});
  EXPECT_EQ(metrics.total.output_bytes_smallest, std::nullopt);
  EXPECT_EQ(metrics.chunks_per_block, 4);

  const RecordedMetrics derived = metrics;
  EXPECT_EQ(first_difference(metrics, derived), "");
  metrics.gap = 0.2500001;
  EXPECT_EQ(first_difference(metrics, derived), "gap");
  metrics = derived;
  metrics.total.algbw = 1.00001e11;
  EXPECT_EQ(first_difference(metrics, derived), "algbw");
  metrics = derived;
  metrics.jobs[0].busbw = 1;
  EXPECT_EQ(first_difference(metrics, derived), "jobs/0/busbw");
  metrics = derived;
  metrics.total.output_bytes = Bytes{1};
  EXPECT_EQ(first_difference(metrics, derived), "output_bytes");
  EXPECT_EQ(first_difference({}, derived), "");  // what is not stated is not wrong
}

TEST(Metrics, FiguresOfSeveralJobs) {
  Job a;
  a.name = "a";
  a.ranks = {NodeId(0), NodeId(1)};
  a.size = Bytes{2'000'000};
  Job b = a;
  b.name = "b";
  b.collective = Collective::alltoallv;
  b.ranks = {NodeId(0), NodeId(1), NodeId(2)};
  b.matrix = {{Bytes{0}, Bytes{500}, Bytes{0}},
              {Bytes{100}, Bytes{0}, Bytes{0}},
              {Bytes{0}, Bytes{0}, Bytes{7}}};
  b.start = Time{1'000'000};
  Plan plan;
  plan.problem = make_problem(line(), {a, b});
  plan.result.transfer_time = Time{2'000'000};
  plan.result.job_finish = {Time{2'000'000}, Time{1'500'000}};
  const RecordedMetrics metrics = derive_metrics(plan);
  EXPECT_EQ(metrics.total.size_bytes, Bytes{2'000'500});
  EXPECT_DOUBLE_EQ(*metrics.total.algbw, 2'000'500e12 / 2'000'000);
  EXPECT_EQ(metrics.total.busbw, std::nullopt);
  EXPECT_EQ(metrics.total.output_bytes, std::nullopt);
  EXPECT_EQ(metrics.chunks_per_block, std::nullopt);
  ASSERT_EQ(metrics.jobs.size(), 2U);
  EXPECT_DOUBLE_EQ(*metrics.jobs[0].algbw, 1e12);
  EXPECT_DOUBLE_EQ(*metrics.jobs[0].busbw, 5e11);
  EXPECT_DOUBLE_EQ(*metrics.jobs[1].algbw, 500e12 / 500'000);  // from its start on
  EXPECT_EQ(metrics.jobs[1].output_bytes, Bytes{500});
  EXPECT_EQ(metrics.jobs[1].output_bytes_smallest, Bytes{7});
}

}  // namespace
}  // namespace stellwerk
