// Cuts, residuals and new plans by hand; every new plan is judged. Links carry 1 GB/s without
// latency, chunks have 1000 B: 1 us a link.
#include "stellwerk/plan/replan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/plan/planner.hpp"
#include "stellwerk/plan/residual.hpp"
#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

using testing::data;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kUs;
using testing::Network;
using testing::sum;
using Kind = Event::Kind;

constexpr Time us(double count) { return Time{static_cast<std::int64_t>(count * kUs)}; }

Event link_event(Kind kind, Time at, int link, std::int64_t bandwidth = 0) {
  return {kind, at, LinkId(link), {}, {}, Bandwidth{bandwidth}};
}
Event gpu_event(Kind kind, Time at, int gpu) { return {kind, at, {}, NodeId(gpu), {}, {}}; }

Send send(const Problem& problem, int chunk, Time start, const std::vector<int>& links,
          Op op = Op::copy) {
  return whole_chunk_send(problem.topology, problem.chunks[ChunkId(chunk)], ChunkId(chunk), op,
                          start, std::vector<LinkId>(links.begin(), links.end()));
}

EventfulPlan plan_of(const Problem& problem, Schedule sends) {
  const Verdict verdict = verify_sends(problem, sends);
  EXPECT_TRUE(verdict.valid()) << verdict.message;
  EventfulPlan plan;
  plan.problem = problem;
  plan.sends = std::move(sends);
  plan.result.transfer_time = verdict.transfer_time;
  plan.result.job_finish = verdict.job_finish;
  return plan;
}

/// The new plan, judged.
Replanned judged(const EventfulPlan& plan, Time at, const std::vector<Event>& events,
                 const std::vector<Job>& arriving = {}) {
  Replanned result = replan(plan, {at, events, arriving}, {}, {});
  const Verdict verdict = verify(result.plan);
  EXPECT_TRUE(verdict.valid()) << verdict.message;
  EXPECT_LE(result.residual_bound, result.residual_bound_chunked);
  EXPECT_LE(result.residual_bound_chunked, std::max(at, result.plan.result.transfer_time));
  return result;
}

std::string refusal(const EventfulPlan& plan, Time at, const std::vector<Event>& events) {
  try {
    replan(plan, {at, events, {}}, {}, {});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsolved);
    return error.what();
  }
  return "";
}

/// Two ways from 0 to 3: over 1 (links 0, 1) and over 2 (links 2, 3).
Network diamond() {
  Network network;
  for (int i = 0; i < 4; ++i) network.gpu();
  network.link(NodeId(0), NodeId(1));
  network.link(NodeId(1), NodeId(3));
  network.link(NodeId(0), NodeId(2));
  network.link(NodeId(2), NodeId(3));
  return network;
}

TEST(Cut, HoldersAreThoseThatHaveItAndThoseThatAreAboutTo) {
  const Problem problem = testing::problem(testing::line(4), {data({0}, {1, 2, 3})});
  const Schedule sends = {send(problem, 0, us(0), {0}), send(problem, 0, us(1), {2}),
                          send(problem, 0, us(2), {4})};
  const Cut here =  // the link is of no use anyway
      cut(problem, {link_event(Kind::link_down, us(1.5), 1)}, sends, us(1.5));
  EXPECT_EQ(here.kept.size(), 2U);
  ASSERT_EQ(here.rest.problem.chunks.size(), 1U);
  const Chunk& rest = here.rest.problem.chunks[ChunkId(0)];
  EXPECT_THAT(rest.origins, ElementsAre(NodeId(0), NodeId(1), NodeId(2)));
  EXPECT_THAT(rest.destinations, ElementsAre(NodeId(3)));
  EXPECT_EQ(here.rest.release(ChunkId(0), NodeId(1)), us(0));
  EXPECT_EQ(here.rest.release(ChunkId(0), NodeId(2)), us(0.5));
  ASSERT_EQ(here.rest.busy.size(), 1U);
  EXPECT_EQ(here.rest.busy[0].end, us(0.5));
  EXPECT_EQ(here.landed, us(2));
  EXPECT_EQ(here.rest.problem.topology.links().size(), 5U);
  EXPECT_FALSE(here.rest.inverse_link[LinkId(1)].valid());
  EXPECT_EQ(here.rest.link[here.rest.inverse_link[LinkId(2)]], LinkId(2));
}

TEST(Cut, PartsOfSumsAreContributors) {
  const Problem problem = testing::problem(testing::line(4), {sum({0, 1, 2, 3}, {3})});
  const Schedule sends = {send(problem, 0, us(0), {0}, Op::reduce),
                          send(problem, 0, us(1), {2}, Op::reduce),
                          send(problem, 0, us(2), {4}, Op::reduce)};
  Cut here = cut(problem, {link_event(Kind::link_down, us(1.5), 1)}, sends, us(1.5));
  ASSERT_EQ(here.rest.problem.chunks.size(), 1U);
  EXPECT_THAT(here.rest.problem.chunks[ChunkId(0)].contributors, ElementsAre(NodeId(2), NodeId(3)));
  EXPECT_EQ(here.rest.release(ChunkId(0), NodeId(2)), us(0.5));
  // What is lost in flight is given back.
  here = cut(problem, {link_event(Kind::link_down, us(1.5), 2)}, sends, us(1.5));
  EXPECT_THAT(here.rest.problem.chunks[ChunkId(0)].contributors,
              ElementsAre(NodeId(1), NodeId(2), NodeId(3)));
  EXPECT_EQ(here.rest.release(ChunkId(0), NodeId(1)), us(0));
}

TEST(Cut, ASumThatSomebodyHasIsAChunkLikeAnyOther) {
  const Problem problem = testing::problem(testing::line(3), {sum({0, 1}, {0, 1, 2})});
  const Schedule sends = {send(problem, 0, us(0), {0}, Op::reduce), send(problem, 0, us(1), {1}),
                          send(problem, 0, us(1), {2})};
  const Cut here = cut(problem, {link_event(Kind::link_down, us(1.5), 2)}, sends, us(1.5));
  ASSERT_EQ(here.rest.problem.chunks.size(), 1U);
  const Chunk& rest = here.rest.problem.chunks[ChunkId(0)];
  EXPECT_FALSE(rest.is_reduction());
  EXPECT_THAT(rest.origins, ElementsAre(NodeId(0), NodeId(1)));
  EXPECT_THAT(rest.destinations, ElementsAre(NodeId(2)));
}

TEST(Replan, TakesTheOtherWay) {
  const Problem problem = testing::problem(diamond(), {data({0}, {3})});
  const EventfulPlan plan =
      plan_of(problem, {send(problem, 0, us(0), {0}), send(problem, 0, us(1), {1})});
  const Replanned result = judged(plan, us(1.5), {link_event(Kind::link_down, us(0), 1)});
  EXPECT_EQ(result.plan.result.transfer_time, us(3.5));
  EXPECT_EQ(result.residual_bound, us(2.5));  // the worst cut: 1 us from now
  EXPECT_EQ(result.kept, 2U);
  EXPECT_EQ(result.lost, 1U);
  EXPECT_EQ(result.plan.events[0].at, us(1.5));
  EXPECT_EQ(finish_of_restart(plan, {us(1.5), {link_event(Kind::link_down, us(0), 1)}, {}}, {}),
            us(3.5));
  EXPECT_EQ(finish_of_waiting(plan, {us(1.5), {link_event(Kind::link_down, us(0), 1)}, {}}, us(1)),
            us(3.5));
  EXPECT_EQ(finish_of_waiting(plan, {us(1.5), {link_event(Kind::link_down, us(0), 1)}, {}}, us(3)),
            us(5.5));
}

TEST(Replan, WhatIsNotTouchedGoesOn) {
  const Problem problem = testing::problem(diamond(), {data({0}, {3})});
  const EventfulPlan plan =
      plan_of(problem, {send(problem, 0, us(0), {0}), send(problem, 0, us(1), {1})});
  const Replanned result = judged(plan, us(0.5), {link_event(Kind::link_down, us(0), 2)});
  EXPECT_EQ(result.plan.sends, plan.sends);
  EXPECT_EQ(result.plan.result.transfer_time, us(2));
}

TEST(Replan, AnEventAfterAnEvent) {
  const Problem problem = testing::problem(diamond(), {data({0}, {3})});
  const EventfulPlan plan =
      plan_of(problem, {send(problem, 0, us(0), {0}), send(problem, 0, us(1), {1})});
  Replanned result = judged(plan, us(1.5), {link_event(Kind::link_down, us(0), 1)});
  result = judged(result.plan, us(2), {link_event(Kind::link_up, us(0), 1)});
  EXPECT_EQ(result.plan.result.transfer_time, us(3));  // 1 has had it all the time
  EXPECT_THAT(
      refusal(result.plan, us(2.5),
              {link_event(Kind::link_down, us(0), 1), link_event(Kind::link_down, us(0), 3)}),
      HasSubstr("cannot reach 'g3'"));
}

TEST(Replan, SendsInFlightAreSlowedAndThoseBehindThemPushed) {
  // Two chunks over a switch behind 400 ns of latency, one after the other.
  Network network;
  const NodeId a = network.gpu();
  const NodeId hub = network.switch_node();
  const NodeId b = network.gpu();
  network.link(a, hub, 1, us(0.4));
  network.link(hub, b, 1, us(0));
  const Problem problem = testing::problem(network, {data({0}, {2}), data({0}, {2})});
  const EventfulPlan plan =
      plan_of(problem, {send(problem, 0, us(0), {0, 1}), send(problem, 1, us(1), {0, 1})});
  ASSERT_EQ(plan.result.transfer_time, us(2.4));
  // At 1.2 us 800 B of the first have passed; 200 B take 0.4 us, the second 2 us more.
  const Replanned result =
      judged(plan, us(1.2), {link_event(Kind::link_bandwidth, us(0), 1, 500'000'000)});
  EXPECT_EQ(result.plan.result.transfer_time, us(3.6));
  EXPECT_EQ(result.fresh, 0U);
  const Schedule& sends = result.plan.sends;
  ASSERT_EQ(sends.size(), 3U);
  EXPECT_EQ(sends[0].bytes, Bytes{800});
  EXPECT_EQ(sends[1].offset, Bytes{800});
  EXPECT_EQ(sends[1].start, us(0.8));
  EXPECT_EQ(sends[2].start, us(1.2));
  EXPECT_EQ(sends[2].rate, (Bandwidth{500'000'000}));
  // A faster link changes nothing for what is in flight.
  EXPECT_EQ(
      judged(plan, us(1.2), {link_event(Kind::link_bandwidth, us(0), 1, 2'000'000'000)}).plan.sends,
      plan.sends);
}

TEST(Replan, SumsGoTheOtherWay) {
  Network network = diamond();
  const Problem problem = testing::problem(network, {sum({0, 1, 2, 3}, {3})});
  const EventfulPlan plan = plan_of(
      problem, {send(problem, 0, us(0), {0}, Op::reduce), send(problem, 0, us(0), {3}, Op::reduce),
                send(problem, 0, us(1), {1}, Op::reduce)});
  // The addend of 0 is lost in flight and goes over 2, which has given its own away.
  const Replanned result = judged(plan, us(0.5), {link_event(Kind::link_down, us(0), 0)});
  EXPECT_EQ(result.plan.result.transfer_time, us(2.5));
  // 1 has the part of 0, and no other way.
  EXPECT_THAT(refusal(plan, us(1.5), {link_event(Kind::link_down, us(0), 1)}),
              HasSubstr("cannot reach 'g3'"));
}

TEST(Replan, RefusesOnlyWhatIsLost) {
  const Problem problem = testing::problem(diamond(), {data({0}, {3}), sum({0, 1}, {3})});
  const EventfulPlan plan = plan_of(
      problem, {send(problem, 0, us(0), {0}), send(problem, 0, us(1), {1}),
                send(problem, 1, us(0), {2}, Op::reduce), send(problem, 1, us(2), {1}, Op::reduce),
                send(problem, 1, us(1), {3}, Op::reduce)});
  EXPECT_THAT(refusal(plan, us(0.5), {gpu_event(Kind::gpu_lost, us(0), 0)}),
              HasSubstr("chunk 0 of 'g0' (job 'job') is lost"));
  EXPECT_THAT(refusal(plan, us(1.5), {gpu_event(Kind::gpu_lost, us(0), 1)}),
              HasSubstr("the addend of 'g1' is in no partial sum"));
  judged(plan, us(1.5), {gpu_event(Kind::gpu_lost, us(0), 0)});
  judged(plan, us(0.5), {gpu_event(Kind::gpu_lost, us(0), 3)});  // nobody wants anything
  judged(plan, us(3), {gpu_event(Kind::gpu_lost, us(0), 1)});
}

TEST(Replan, JobsComeAndGo) {
  const Problem problem = testing::problem(testing::line(3), {data({0}, {2})});
  const EventfulPlan plan =
      plan_of(problem, {send(problem, 0, us(0), {0}), send(problem, 0, us(1), {2})});
  Job late = testing::collective_job(problem.topology, Collective::allgather);
  Event arrives;
  arrives.kind = Kind::job_arrives;
  arrives.job = JobId(0);
  Replanned result = judged(plan, us(0.5), {arrives}, {late});
  ASSERT_EQ(result.plan.problem.jobs.size(), 2U);
  EXPECT_EQ(result.plan.problem.jobs[1].start, us(0.5));
  EXPECT_GE(result.plan.result.job_finish[1], us(2.5));
  Event leaves;
  leaves.kind = Kind::job_leaves;
  leaves.job = JobId(1);
  result = judged(result.plan, us(0.6), {leaves});
  EXPECT_GE(result.plan.result.job_finish[0], us(2));
  EXPECT_LE(result.plan.result.job_finish[0], us(2.5));  // what is in flight stays in the way
}

/// Planned by greedy, with the k-th of its links failing in the middle: never above starting anew.
TEST(Replan, BeatsStartingAnew) {
  for (const Collective collective : {Collective::allgather, Collective::reducescatter,
                                      Collective::allreduce, Collective::alltoall}) {
    const Problem problem = testing::problem(testing::full_mesh(6), collective, 2);
    PlannerContext context;
    PlanOptions options;
    options.quick = true;
    const PlannerOutcome outcome = find_planner("greedy").plan(problem, options, context);
    ASSERT_TRUE(outcome.has_plan());
    const EventfulPlan plan = plan_of(problem, outcome.sends);
    const Time half{plan.result.transfer_time.ps / 2};
    for (const int link : {0, 7, 22}) {
      const Event down = link_event(Kind::link_down, half, link);
      const Replanned result = judged(plan, half, {down});
      const auto restart = finish_of_restart(plan, {half, {down}, {}}, {});
      ASSERT_TRUE(restart.has_value());
      EXPECT_LT(result.plan.result.transfer_time, *restart) << to_string(collective);
      EXPECT_EQ(result.plan.sends, judged(plan, half, {down}).plan.sends);  // the same every time
    }
  }
}

// It was reported as an internal error.
TEST(Replan, SaysSoWhereATransitBufferWouldOverflow) {
  Network network = diamond();
  network.nodes[NodeId(1)].buffer = Bytes{1000};                // one chunk
  network.links[LinkId(1)].bandwidth = Bandwidth{500'000'000};  // which takes 2 us to leave
  const Problem problem = testing::problem(network, {data({0}, {3}), data({0}, {3})});
  const EventfulPlan plan =
      plan_of(problem, {send(problem, 0, us(0), {0}), send(problem, 1, us(0), {2}),
                        send(problem, 0, us(1), {1}), send(problem, 1, us(1), {3})});
  EXPECT_THAT(refusal(plan, us(0), {link_event(Kind::link_down, us(0), 2)}),
              HasSubstr("a transit buffer would overflow"));
}

}  // namespace
}  // namespace stellwerk
