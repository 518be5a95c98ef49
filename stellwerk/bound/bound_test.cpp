#include "stellwerk/bound/bound.hpp"

#include <gtest/gtest.h>

#include "stellwerk/check/certificate.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "tests/support/brute_force.hpp"
#include "tests/support/sanitized.hpp"

namespace stellwerk {
namespace {

using testing::brute_force;
using testing::EpochInstance;
using testing::random_instance;
using testing::to_problem;

constexpr Bytes kChunk{60'000};
constexpr Time kEpoch{1'000'000};
constexpr int kMostEpochs = 25;

std::string show(const EpochInstance& instance) {
  std::string text;
  for (const auto& link : instance.links) {
    text += " " + std::to_string(link.from) + "->" + std::to_string(link.to) + "(" +
            std::to_string(link.latency) + "," + std::to_string(link.window) + "," +
            std::to_string(link.parallel) + ")";
  }
  for (const auto& chunk : instance.chunks) {
    text += " [";
    for (int o : chunk.origins) text += std::to_string(o) + " ";
    text += "->";
    for (int d : chunk.destinations) text += " " + std::to_string(d);
    text += " @" + std::to_string(chunk.ready) + "]";
  }
  return text;
}

/// The reverse of copies: every chunk becomes a sum that its destinations contribute to (with its
/// origin), formed at the origin.
Problem reduction_problem(const EpochInstance& instance) {
  const Problem copies = to_problem(instance, kChunk, kEpoch);
  Job job = copies.jobs.front();
  for (CustomChunk& chunk : job.custom) {
    const NodeId root = chunk.origins.front();
    chunk.contributors = chunk.destinations;
    chunk.contributors.push_back(root);
    chunk.destinations = {root};
    chunk.origins.clear();
  }
  return make_problem(reversed(copies.topology), {job});
}

TEST(BruteForce, KnowsSmallOptima) {
  // 0 -> 1 -> 2 with latency 1 and window 2: one chunk needs 6 epochs, two chunks 8.
  EpochInstance line{{NodeKind::gpu, NodeKind::gpu, NodeKind::gpu},
                     {false, false, false},
                     {{0, 1, 1, 2}, {1, 2, 1, 2}},
                     {{{0}, {2}}}};
  EXPECT_EQ(brute_force(line, 20)->horizon, 6);
  line.chunks.push_back({{0}, {1, 2}});
  EXPECT_EQ(brute_force(line, 20)->horizon, 8);
  EXPECT_FALSE(brute_force(line, 7));
  EXPECT_EQ(brute_force(line, 8)->sends.size(), 4u);

  // A star: cut-through pays the window once; multicast serves both leaves at once.
  EpochInstance star{{NodeKind::gpu, NodeKind::gpu, NodeKind::gpu, NodeKind::switch_},
                     {false, false, false, false},
                     {{0, 3, 1, 2}, {3, 1, 1, 2}, {3, 2, 1, 2}},
                     {{{0}, {1, 2}}}};
  EXPECT_EQ(brute_force(star, 20)->horizon, 6);  // two sends, one after the other
  star.multicast[3] = true;
  EXPECT_EQ(brute_force(star, 20)->horizon, 4);
}

struct Tally {
  int solved = 0;
  int met = 0;  ///< the bound says that one epoch less is impossible
};

/// What is found is what the checker makes of the certificate, which shares no code with the
/// search.
void expect_proven(const Bound& bound, const Problem& problem) {
  ASSERT_NE(bound.certificate.kind, Certificate::Kind::none);
  ASSERT_EQ(proven_by(bound.certificate, problem), bound.value)
      << to_string(bound.certificate.kind) << ": " << describe(bound.certificate, problem);
}

/// Neither bound may exceed `optimum` (in epochs of kEpoch) for `problem`.
void expect_sound(const Problem& problem, int optimum, const EpochInstance& instance,
                  Tally& tally) {
  const Bound any = lower_bound(problem);
  const Bound whole = lower_bound_chunked(problem, any);
  expect_proven(any, problem);
  expect_proven(whole, problem);
  ASSERT_LE(any.value, whole.value);
  ASSERT_LE(whole.value, optimum * kEpoch)
      << to_string(whole.certificate.kind) << ": " << describe(whole.certificate, problem)
      << show(instance);
  ++tally.solved;
  tally.met += whole.value > (optimum - 1) * kEpoch;
}

TEST(LowerBound, NeverExceedsTheOptimumOfAnExhaustiveSearch) {
  Rng rng(11);
  Tally tally;
  for (int round = 0; round < testing::rounds(3000, 600); ++round) {
    testing::RandomInstanceOptions options;
    options.parallel = round % 2 == 1;
    const EpochInstance instance = random_instance(rng, options);
    const auto optimum = brute_force(instance, kMostEpochs);
    if (!optimum) continue;
    expect_sound(to_problem(instance, kChunk, kEpoch), optimum->horizon, instance, tally);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(tally.solved, testing::rounds(2000, 400));
  // Not only sound: on most of these the bound proves the optimum.
  EXPECT_GT(tally.met, tally.solved * 9 / 10) << tally.met << " of " << tally.solved;
}

TEST(LowerBound, NeverExceedsTheOptimumOfSums) {
  Rng rng(12);
  Tally tally;
  for (int round = 0; round < testing::rounds(2000, 400); ++round) {
    testing::RandomInstanceOptions options;
    options.ready = false;  // time reversal would make deadlines of them
    EpochInstance instance = random_instance(rng, options);
    for (auto& chunk : instance.chunks) chunk.origins.resize(1);
    for (auto node : instance.multicast) node = false;
    const auto optimum = brute_force(instance, kMostEpochs);
    if (!optimum) continue;
    expect_sound(reduction_problem(instance), optimum->horizon, instance, tally);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(tally.solved, testing::rounds(1000, 200));
  EXPECT_GT(tally.met, tally.solved * 8 / 10) << tally.met << " of " << tally.solved;
}

TEST(LowerBound, HoldsForFinerChunks) {
  // One or two blocks, whole or cut in two: what is proven for any chunking must hold for the
  // halves, too. Half a chunk takes half a window, so the halves live on a grid of half epochs with
  // twice the latencies.
  Rng rng(13);
  int faster = 0;
  for (int round = 0; round < testing::rounds(1000, 300); ++round) {
    testing::RandomInstanceOptions options;
    options.most_chunks = round % 2 + 1;
    options.most_nodes = round % 2 == 0 ? 4 : 3;
    options.most_window = 2;
    const EpochInstance whole = random_instance(rng, options);
    EpochInstance halves = whole;
    for (auto& link : halves.links) link.latency *= 2;
    for (auto& chunk : halves.chunks) chunk.ready *= 2;
    const std::size_t blocks = halves.chunks.size();
    for (std::size_t c = 0; c < blocks; ++c) halves.chunks.push_back(halves.chunks[c]);
    const auto optimum = brute_force(halves, 16);
    if (!optimum) continue;
    const Problem problem = to_problem(whole, kChunk, kEpoch);
    const Bound any = lower_bound(problem);
    expect_proven(any, problem);
    ASSERT_LE(2 * any.value, optimum->horizon * kEpoch)
        << to_string(any.certificate.kind) << ": " << describe(any.certificate, problem)
        << show(whole);
    faster += 2 * lower_bound_chunked(problem, any).value > optimum->horizon * kEpoch;
  }
  EXPECT_GT(faster, testing::rounds(50, 15));  // and whole chunks really are slower
}

struct Known {
  const char* topology;
  Collective collective;
  std::int64_t size;
  double microseconds;  ///< the prototype's flow-over-time bound, five digits
};

/// What a prototype's flows over time proved ("LB fluid" of its tables), which plans were seen to
/// come within 1% of.
TEST(LowerBound, ReachesKnownFluidBounds) {
  constexpr Collective kGather = Collective::allgather, kToAll = Collective::alltoall;
  const std::vector<Known> known = {
      {"ndv2:2", kGather, 4'000, 4.16},
      {"ndv2:2", kGather, 16'000, 4.34},
      {"ndv2:2", kGather, 64'000, 5.64},
      {"ndv2:2", kGather, 256'000, 12.94},
      {"ndv2:2", kGather, 1'000'000, 42.7},
      {"ndv2:2", kGather, 16'000'000, 642.7},
      {"ndv2:2", kGather, 1'000'000'000, 40002.7},
      {"ndv2:2", kToAll, 4'000, 4.28},
      {"ndv2:2", kToAll, 16'000, 6.62},
      {"ndv2:2", kToAll, 64'000, 21.78},
      {"ndv2:2", kToAll, 1'000'000, 321.3},
      {"ndv2:2", kToAll, 64'000'000, 20481.3},
      {"ndv2:4", kGather, 4'000, 5.49},
      {"ndv2:4", kGather, 16'000, 5.76},
      {"ndv2:4", kGather, 64'000, 8.06},
      {"ndv2:4", kGather, 1'000'000, 64},
      {"ndv2:4", kGather, 1'000'000'000, 60004},
      {"ndv2:4", kToAll, 4'000, 5.67},
      {"ndv2:4", kToAll, 16'000, 10.28},
      {"ndv2:4", kToAll, 64'000, 33.32},
      {"ndv2:4", kToAll, 4'000'000, 1922.6},
      {"dgx2:2", kGather, 4'000, 4.01},
      {"dgx2:2", kGather, 64'000, 4.16},
      {"dgx2:2", kGather, 256'000, 4.64},
      {"dgx2:2", kGather, 1'000'000, 8.45},
      {"dgx2:2", kGather, 4'000'000, 31.7},
      {"dgx2:2", kGather, 1'000'000'000, 7750.7},
      {"dgx2:2", kToAll, 4'000, 4.08},
      {"dgx2:2", kToAll, 16'000, 4.32},
      {"dgx2:2", kToAll, 64'000, 7.72},
      {"dgx2:2", kToAll, 256'000, 23.08},
      {"dgx2:2", kToAll, 1'000'000'000, 80002.6},
  };
  for (const Known& row : known) {
    Topology topology = catalogue_topology(row.topology);
    Job job;
    job.name = "job";
    job.collective = row.collective;
    job.ranks = topology.gpus();
    job.size = Bytes{row.size};
    const Problem problem = make_problem(std::move(topology), {job});
    const Bound bound = lower_bound(problem);
    // Blocks are rounded up to bytes; the table to five digits.
    EXPECT_NEAR(bound.value.seconds() * 1e6, row.microseconds, row.microseconds * 2e-5)
        << row.topology << " " << to_string(row.collective) << " " << row.size;
    expect_proven(bound, problem);
  }
}

/// Best known plans of whole chunks that the bound for whole chunks meets: they are optimal.
TEST(LowerBound, MeetsKnownPlansOfWholeChunks) {
  const std::vector<Known> known = {
      {"ndv2:2", Collective::allgather, 64'000, 5.96},
      {"ndv2:2", Collective::allgather, 1'000'000, 46.45},
      {"ndv2:2", Collective::allgather, 1'000'000'000, 43752.7},
      {"ndv2:4", Collective::allgather, 64'000, 8.22},
      {"ndv2:4", Collective::allgather, 1'000'000, 65.875},
      {"ndv2:4", Collective::allgather, 1'000'000'000, 61879},
      {"dgx2:2", Collective::alltoall, 1'000'000, 82.6},
      {"dgx2:2", Collective::allgather, 1'000'000'000, 7750.7},
  };
  for (const Known& row : known) {
    Topology topology = catalogue_topology(row.topology);
    Job job;
    job.name = "job";
    job.collective = row.collective;
    job.ranks = topology.gpus();
    job.size = Bytes{row.size};
    const Problem problem = make_problem(std::move(topology), {job});
    const Bound bound = lower_bound_chunked(problem, lower_bound(problem));
    EXPECT_NEAR(bound.value.seconds() * 1e6, row.microseconds, row.microseconds * 2e-5)
        << row.topology << " " << to_string(row.collective) << " " << row.size;
    expect_proven(bound, problem);
  }
}

TEST(LowerBound, CountsReadyTimesOfSeveralJobs) {
  Topology topology = catalogue_topology("ring:4");
  Job early, late;
  early.name = "early";
  early.ranks = {NodeId(0), NodeId(1)};
  early.size = Bytes{1'000'000};
  late = early;
  late.name = "late";
  late.ranks = {NodeId(2), NodeId(3)};
  late.start = Time{1'000'000'000};
  const Problem both = make_problem(topology, {early, late});
  const Problem one = make_problem(topology, {early});
  const Bound bound = lower_bound(both);
  expect_proven(bound, both);
  EXPECT_EQ(bound.value, lower_bound(one).value + late.start);
}

TEST(LowerBound, GivesWhatItHasWhenStopped) {
  Topology topology = catalogue_topology("rail:32x8");
  Job job;
  job.name = "a2a";
  job.collective = Collective::alltoall;
  job.ranks = topology.gpus();
  job.size = Bytes{64'000'000};
  const Problem problem = make_problem(std::move(topology), {job});
  const Bound bound = lower_bound(problem, StopCondition(0.0));
  expect_proven(bound, problem);
}

TEST(LowerBound, ProvesNothingWhereNothingCanMove) {
  IdVector<NodeId, Node> nodes(2);
  nodes[NodeId(0)].name = "a";
  nodes[NodeId(1)].name = "b";
  Topology topology("apart", "", std::move(nodes), {});
  Job job;
  job.name = "ag";
  job.ranks = topology.gpus();
  job.size = Bytes{1'000};
  const Problem problem = make_problem(std::move(topology), {job});
  const Bound bound = lower_bound(problem);
  EXPECT_EQ(bound.value, Time{});
  EXPECT_EQ(bound.certificate.kind, Certificate::Kind::none);
  EXPECT_EQ(lower_bound_chunked(problem, bound).value, Time{});
}

TEST(Describe, NamesTheBottleneck) {
  Topology topology = catalogue_topology("ndv2:2");
  Job job;
  job.name = "ag";
  job.ranks = topology.gpus();
  job.size = Bytes{1'000'000'000};
  const Problem problem = make_problem(std::move(topology), {job});
  const std::string text = describe(lower_bound(problem).certificate, problem);
  EXPECT_NE(text.find("host h"), std::string::npos) << text;
  EXPECT_NE(text.find("12.5 GB/s"), std::string::npos) << text;
}

}  // namespace
}  // namespace stellwerk
