#include "stellwerk/plan/portfolio.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/resources.hpp"
#include "stellwerk/base/version.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

using testing::data;
using ::testing::HasSubstr;
using testing::kChunk;
using testing::kGb;
using testing::kUs;
using testing::Network;
using testing::sum;
using Reason = Termination::Reason;

std::optional<std::string> verified(const Plan& plan) {
  const Verdict verdict = verify(plan);
  return verdict.valid() ? std::nullopt : std::optional(verdict.message);
}

PortfolioRequest request(const Network& network, Collective collective, int chunks = 1) {
  PortfolioRequest result;
  result.topology = network.topology();
  result.jobs = {testing::collective_job(result.topology, collective, chunks)};
  return result;
}

PortfolioRequest request(const Network& network, std::vector<CustomChunk> chunks) {
  Problem problem = testing::problem(network, std::move(chunks));
  PortfolioRequest result;
  result.topology = std::move(problem.topology);
  result.jobs = std::move(problem.jobs);
  return result;
}

/// Judged once more, as whoever receives it would.
Plan plan(PortfolioRequest request, double seconds = 20) {
  Plan result = make_plan(std::move(request), StopCondition(seconds), nullptr, verified);
  EXPECT_EQ(verified(result), std::nullopt);
  return result;
}

Error refusal(PortfolioRequest request, const Judge& judge = verified, double seconds = 20) {
  try {
    make_plan(std::move(request), StopCondition(seconds), nullptr, judge);
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "a plan";
  return Error(ErrorCode::internal, "");
}

TEST(Portfolio, RecordsHowThePlanWasMade) {
  const Plan found = plan(request(testing::ring(4), Collective::allgather));
  EXPECT_EQ(found.result.transfer_time, Time{2 * kUs});
  ASSERT_TRUE(found.result.bound && found.result.bound_chunked);
  EXPECT_EQ(found.result.bound_chunked->value, Time{2 * kUs});
  EXPECT_EQ(found.result.termination, (Termination{Reason::optimal, Limit::none}));
  EXPECT_EQ(found.result.version, kVersion);
  EXPECT_FALSE(found.result.planner.empty());
  EXPECT_EQ(found.result.job_finish.size(), 1U);
  EXPECT_GE(found.result.solver_time_s, 0);
  EXPECT_GT(found.result.peak_rss_bytes, 0);
}

TEST(Portfolio, ChoosesMoreChunksWhereThatPays) {
  // Down a line of five a broadcast of one chunk takes four steps; pieces follow each other.
  PortfolioRequest wish = request(testing::line(5), Collective::broadcast);
  wish.jobs[0].auto_chunks = true;
  wish.options.gap = 0.1;
  const Plan found = plan(wish);
  EXPECT_GE(found.problem.jobs[0].chunks, 16);
  EXPECT_LE(found.result.transfer_time.ps, 3 * kUs / 2);
  wish.jobs[0].auto_chunks = false;
  EXPECT_EQ(plan(wish).result.transfer_time, Time{4 * kUs});
}

TEST(Portfolio, CutsChunksSoThatTheyFitABuffer) {
  Network network = testing::line(3);
  network.nodes[NodeId(1)].buffer = kChunk;
  PortfolioRequest wish;
  wish.topology = network.topology();
  wish.jobs = {testing::collective_job(wish.topology, Collective::broadcast, 1, {0, 2})};
  wish.jobs[0].size = Bytes{4 * kChunk.value};
  wish.planner = "search";
  EXPECT_THAT(refusal(wish).what(), HasSubstr("buffer"));
  wish.jobs[0].auto_chunks = true;
  EXPECT_GE(plan(wish).problem.jobs[0].chunks, 4);
}

TEST(Portfolio, TheSameRequestGivesTheSamePlan) {
  const PortfolioRequest wish = request(testing::star(5, true), Collective::alltoall, 2);
  const Plan first = plan(wish);
  EXPECT_EQ(first.sends, plan(wish).sends);
}

TEST(Portfolio, RepresentativesWithManyHopsWereNotWrittenOutAndRefused) {
  // 26,000 deliveries are 420,000 sends.
  PortfolioRequest wish = request(testing::ring(64), Collective::alltoall, 7);
  wish.planner = "symmetric";
  const Plan found = plan(wish);
  EXPECT_TRUE(found.problem.symmetry.trivial());
  EXPECT_GT(found.sends.size(), 400'000U);
}

TEST(Portfolio, TheNamedPlannerAlone) {
  PortfolioRequest wish = request(testing::ring(4), Collective::allgather);
  wish.planner = "rounds";
  const Plan found = plan(wish);
  EXPECT_EQ(found.result.planner, "rounds");
  ASSERT_TRUE(found.result.epoch.has_value());
  EXPECT_GE(found.result.epoch->epochs, found.result.epoch->proven_epochs);
  wish.planner = "lp";  // does not copy
  const Error error = refusal(wish);
  EXPECT_EQ(error.code(), ErrorCode::unsolved);
  EXPECT_THAT(error.what(), HasSubstr("lp: "));
  wish.planner = "oracle";
  EXPECT_EQ(refusal(wish).code(), ErrorCode::usage);
}

TEST(Portfolio, AnEpochRecordIsThatOfThePlansOwnChunks) {
  PortfolioRequest wish = request(testing::line(4), Collective::broadcast);
  wish.jobs[0].auto_chunks = true;
  wish.options.gap = 0;
  wish.planner = "milp";
  const Plan found = plan(wish, 5);
  ASSERT_TRUE(found.result.epoch.has_value());
  EXPECT_LE(found.result.transfer_time, found.result.epoch->epochs * found.result.epoch->duration);
}

TEST(Portfolio, WithoutCopiesAndWithoutStoring) {
  for (const bool copy : {true, false}) {
    for (const bool store : {true, false}) {
      PortfolioRequest wish = request(testing::star(4), Collective::broadcast);
      wish.options.copy = copy;
      wish.options.store = store;
      const Plan found = plan(wish, 5);
      EXPECT_GE(found.result.transfer_time, (copy ? 2 : 3) * Time{kUs});
    }
  }
}

TEST(Portfolio, WhatIsThereFromTheStartCountsOnceItIsReady) {
  for (const bool copy : {true, false}) {
    for (const bool store : {true, false}) {
      PortfolioRequest wish =
          request(testing::line(2), {data({0}, {0, 1}), data({1}, {1}, Time{9 * kUs})});
      wish.options.copy = copy;
      wish.options.store = store;
      EXPECT_EQ(plan(wish, 5).result.transfer_time, Time{9 * kUs});
    }
  }
}

PortfolioRequest large(const std::string& name, Collective collective, std::int64_t size) {
  PortfolioRequest result;
  result.topology = catalogue_topology(name);
  Job job;
  job.name = "job";
  job.collective = collective;
  job.ranks = result.topology.gpus();
  job.size = Bytes{size};
  job.auto_chunks = true;
  result.jobs = {job};
  return result;
}

TEST(Portfolio, LargeSymmetricPlansStayCompressed) {
  const Plan found = plan(large("torus:30x30", Collective::allgather, 1'000'000'000));
  EXPECT_FALSE(found.problem.symmetry.trivial());
  EXPECT_LT(found.sends.size(), 900U * 64);
  ASSERT_TRUE(found.result.bound.has_value());
  EXPECT_LE(found.result.transfer_time.ps, found.result.bound->value.ps * 1.01);
}

TEST(Portfolio, WhatWouldNotFitIntoTheMemoryIsNotBegun) {
  PortfolioRequest wish = large("torus:30x30,fail=1", Collective::allgather, 1'000'000);
  const std::int64_t limit = 64'000'000 + resident_bytes();
  try {
    make_plan(std::move(wish), StopCondition(20, limit), nullptr, verified);
    FAIL() << "a plan";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsolved);
    EXPECT_THAT(error.what(), HasSubstr("memory"));
  }
}

TEST(Portfolio, RefusesWithTheReason) {
  Network network;
  network.gpu(), network.gpu();
  network.link(NodeId(0), NodeId(1));
  const Error unreachable = refusal(request(network, Collective::allgather));
  EXPECT_EQ(unreachable.code(), ErrorCode::unsolved);
  EXPECT_THAT(unreachable.what(), HasSubstr("'g0'"));

  PortfolioRequest bad = request(testing::ring(4), Collective::allgather);
  bad.jobs[0].size = Bytes{0};
  EXPECT_EQ(refusal(bad).code(), ErrorCode::unreadable_input);
}

TEST(Portfolio, APlanThatTheJudgeRejectsIsNoPlan) {
  const Error error = refusal(request(testing::ring(4), Collective::allgather), [](const Plan&) {
    return std::optional<std::string>("I do not like it");
  });
  EXPECT_EQ(error.code(), ErrorCode::internal);
  EXPECT_THAT(error.what(), HasSubstr("I do not like it"));
}

}  // namespace
}  // namespace stellwerk
