// Events, one small plan or more for each of their rules and both sides of its boundaries. Links
// carry 1 GB/s with 10 ns latency, so a chunk of 1000 B takes 1 us.
#include "stellwerk/check/changes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stellwerk/check/verify.hpp"
#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

using ::testing::HasSubstr;
using testing::kNs;
using testing::kUs;
using testing::Network;
using Kind = Event::Kind;

constexpr Time kLatency{10 * kNs};

Event on_link(Kind kind, std::int64_t at, int link, std::int64_t bandwidth = 0) {
  return {kind, Time{at}, LinkId(link), {}, {}, Bandwidth{bandwidth}};
}
Event on_gpu(Kind kind, std::int64_t at, int gpu) {
  return {kind, Time{at}, {}, NodeId(gpu), {}, {}};
}
Event on_job(Kind kind, std::int64_t at, int job) {
  return {kind, Time{at}, {}, {}, JobId(job), {}};
}

/// A problem, and what happens.
struct World : Problem {
  std::vector<Event> events;
};

/// One custom chunk of 1000 B. `from`: origins, or contributors of a sum.
World one_chunk(const Network& network, const std::vector<int>& from, const std::vector<int>& to,
                bool sum = false) {
  return {testing::problem(network, {sum ? testing::sum(from, to) : testing::data(from, to)}), {}};
}

Send send(const Problem& problem, std::int64_t start, const std::vector<int>& links,
          Op op = Op::copy) {
  return whole_chunk_send(problem.topology, problem.chunks[ChunkId(0)], ChunkId(0), op, Time{start},
                          std::vector<LinkId>(links.begin(), links.end()));
}

void expect_valid(const World& problem, const Schedule& sends, std::int64_t finish) {
  const Verdict verdict = verify_sends(problem, sends, problem.events);
  EXPECT_TRUE(verdict.valid()) << verdict.message;
  EXPECT_EQ(verdict.transfer_time.ps, finish);
}

void expect_refused(const World& problem, const Schedule& sends, Violation violation,
                    const std::string& words = "") {
  const Verdict verdict = verify_sends(problem, sends, problem.events);
  ASSERT_TRUE(verdict.violation.has_value()) << "accepted";
  EXPECT_STREQ(to_string(*verdict.violation), to_string(violation)) << verdict.message;
  EXPECT_THAT(verdict.message, HasSubstr(words));
}

TEST(Changes, ASendIsLostUnlessItHasPassedTheLinkThatFails) {
  World problem = one_chunk(testing::line(2, 1, kLatency), {0}, {1});
  const Schedule sends = {send(problem, 0, {0})};
  problem.events = {on_link(Kind::link_down, kUs, 0)};
  expect_valid(problem, sends, kUs + 10 * kNs);  // the last byte has entered the link
  problem.events = {on_link(Kind::link_down, kUs - 1, 0)};
  expect_refused(problem, sends, Violation::demand_unmet, "never holds");
}

TEST(Changes, WhatIsLostCanBeSentAgain) {
  Network network = testing::line(2, 1, kLatency);
  network.link(NodeId(0), NodeId(1), 1, kLatency);
  World problem = one_chunk(network, {0}, {1});
  problem.events = {on_link(Kind::link_down, 300 * kNs, 0)};
  expect_valid(problem, {send(problem, 0, {0}), send(problem, 300 * kNs, {2})}, 1310 * kNs);
  problem.events.push_back(on_link(Kind::link_up, 500 * kNs, 0));
  // The lost send has left the link at the failure.
  expect_valid(problem, {send(problem, 0, {0}), send(problem, 500 * kNs, {0})}, 1510 * kNs);
}

TEST(Changes, ADeadLinkCarriesNothing) {
  World problem = one_chunk(testing::line(2, 1, kLatency), {0}, {1});
  problem.events = {on_link(Kind::link_down, 2 * kUs, 0), on_link(Kind::link_up, 3 * kUs, 0)};
  expect_valid(problem, {send(problem, 1 * kUs, {0})}, 2010 * kNs);
  expect_refused(problem, {send(problem, 2 * kUs, {0})}, Violation::link_capacity, "0 B/s");
  expect_refused(problem, {send(problem, 3 * kUs - 1, {0})}, Violation::link_capacity);
  expect_valid(problem, {send(problem, 3 * kUs, {0})}, 4010 * kNs);
}

TEST(Changes, BandwidthCountsFromItsInstantOn) {
  World problem = one_chunk(testing::line(2, 1, kLatency), {0}, {1});
  problem.events = {on_link(Kind::link_bandwidth, kUs, 0, 500'000'000)};
  const Send fast = send(problem, 0, {0});
  expect_valid(problem, {fast}, 1010 * kNs);
  Send late = fast;
  late.start = Time{1};
  expect_refused(problem, {late}, Violation::link_capacity, "more than its 500 MB/s");
  Send slow = late;
  slow.rate = Bandwidth{500'000'000};
  expect_valid(problem, {slow}, 2010 * kNs + 1);
  problem.events = {on_link(Kind::link_bandwidth, kUs, 0, 2'000'000'000)};
  Send faster = fast;
  faster.rate = Bandwidth{2'000'000'000};
  faster.start = Time{kUs};
  expect_valid(problem, {faster}, 1510 * kNs);
  faster.start = Time{kUs - 1};
  expect_refused(problem, {faster}, Violation::link_capacity, "more than its 1 GB/s");
}

/// g0, g1, g2 around a copying switch 3: link i goes up from GPU i, link 3 + i down to it.
Network star(bool multicast, bool reduce) {
  Network network;
  for (int i = 0; i < 3; ++i) network.gpu();
  const NodeId hub = network.switch_node(multicast, reduce);
  for (int i = 0; i < 3; ++i) network.link(NodeId(i), hub, 1, kLatency);
  for (int i = 0; i < 3; ++i) network.link(hub, NodeId(i), 1, kLatency);
  return network;
}

TEST(Changes, OnlyTheLeavesBehindTheLinkAreLost) {
  World problem = one_chunk(star(true, false), {0}, {1, 2});
  const Send multicast = send(problem, 0, {0, 4, 5});
  problem.events = {on_link(Kind::link_down, 500 * kNs, 4)};
  expect_refused(problem, {multicast}, Violation::demand_unmet, "g1 never holds");
  problem.events.push_back(on_link(Kind::link_up, 600 * kNs, 4));
  // The way up and the other branch are taken until the send is over; the dead branch is free.
  expect_valid(problem, {multicast, send(problem, 1010 * kNs, {0, 4})}, 2030 * kNs);
  expect_refused(problem, {multicast, send(problem, 900 * kNs, {0, 4})}, Violation::link_capacity,
                 "g0->s3");
  problem.events = {on_link(Kind::link_down, 500 * kNs, 0), on_link(Kind::link_up, 600 * kNs, 0)};
  expect_valid(problem, {multicast, send(problem, 600 * kNs, {0, 4, 5})}, 1620 * kNs);
}

TEST(Changes, ALostGpuHasNothingAndWantsNothing) {
  World problem = one_chunk(testing::line(3, 1, kLatency), {0}, {1, 2});
  const Send first = send(problem, 0, {0});
  problem.events = {on_gpu(Kind::gpu_lost, 2 * kUs, 2)};
  expect_valid(problem, {first}, 1010 * kNs);
  problem.events = {on_gpu(Kind::gpu_lost, 2 * kUs, 1)};
  expect_refused(problem, {first}, Violation::demand_unmet, "g2 never holds");
  // It comes back without what it had, and wants it again.
  problem.events.push_back(on_gpu(Kind::gpu_back, 3 * kUs, 1));
  const Send on = send(problem, 5 * kUs, {2});
  expect_refused(problem, {first, on}, Violation::not_held, "g1");
  expect_valid(problem, {first, send(problem, 3 * kUs, {0}), on}, 6010 * kNs);
  EXPECT_EQ(verify_sends(problem, {first, send(problem, 3 * kUs, {0}), on}, problem.events)
                .rank_finish[1]
                .ps,
            4010 * kNs);
  expect_refused(problem, {first, send(problem, 2 * kUs, {2})}, Violation::not_held, "g1");
}

TEST(Changes, AReduceThatReachesNobodyIsGivenBack) {
  // 0 -> 1 -> 2 and 0 -> 2: links 0, 2 and 4.
  Network network = testing::line(3, 1, kLatency);
  network.link(NodeId(0), NodeId(2), 1, kLatency);
  World problem = one_chunk(network, {0, 1}, {2}, true);
  const Send lost = send(problem, 0, {0}, Op::reduce);
  const Send own = send(problem, 0, {2}, Op::reduce);
  const Send again = send(problem, 400 * kNs, {4}, Op::reduce);
  expect_refused(problem, {lost, own, again}, Violation::not_held, "has no part of the sum");
  problem.events = {on_link(Kind::link_down, 400 * kNs, 0)};
  expect_valid(problem, {lost, own, again}, 1410 * kNs);
  problem.events = {on_link(Kind::link_down, 401 * kNs, 0)};
  expect_refused(problem, {lost, own, again}, Violation::not_held, "has no part of the sum");
  // Its sender is lost at the same time, with what it would have got back.
  problem.events = {on_gpu(Kind::gpu_lost, 400 * kNs, 0), on_gpu(Kind::gpu_back, 500 * kNs, 0)};
  expect_refused(problem, {lost, own, send(problem, 500 * kNs, {4}, Op::reduce)},
                 Violation::not_held, "has no part of the sum");
}

TEST(Changes, AnInTreeIsLostAsAWhole) {
  World problem = one_chunk(star(false, true), {0, 1}, {2}, true);
  const Send tree = send(problem, 0, {0, 1, 5}, Op::reduce);
  expect_valid(problem, {tree}, 1020 * kNs);
  problem.events = {on_link(Kind::link_down, 500 * kNs, 0), on_link(Kind::link_up, 600 * kNs, 0)};
  expect_refused(problem, {tree}, Violation::demand_unmet, "0 of 2 contributors");
  expect_valid(problem, {tree, send(problem, 600 * kNs, {0, 1, 5}, Op::reduce)}, 1620 * kNs);
}

TEST(Changes, AFailureExcusesAMoveInPieces) {
  Network network = testing::line(2, 1, kLatency);
  network.link(NodeId(0), NodeId(1), 1, kLatency);
  World problem = one_chunk(network, {0, 1}, {1}, true);
  Send half = send(problem, 0, {0}, Op::reduce);
  half.bytes = Bytes{500};
  const Send whole = send(problem, 600 * kNs, {2}, Op::reduce);
  expect_refused(problem, {half, whole}, Violation::malformed_send, "do not partition");
  problem.events = {on_link(Kind::link_down, 600 * kNs, 0)};
  expect_valid(problem, {half, whole}, 1610 * kNs);
  Send rest = half;
  rest.offset = Bytes{500};
  rest.start = Time{700 * kNs};
  problem.events.push_back(on_link(Kind::link_up, 700 * kNs, 0));
  expect_refused(problem, {half, rest}, Violation::malformed_send, "do not partition");
}

TEST(Changes, AJobThatLeavesWantsNothingMore) {
  World problem = one_chunk(testing::line(3, 1, kLatency), {0}, {1, 2});
  const Send first = send(problem, 0, {0});
  const Send second = send(problem, 1010 * kNs, {2});
  problem.events = {on_job(Kind::job_leaves, 1200 * kNs, 0)};
  expect_valid(problem, {first}, 1010 * kNs);
  expect_valid(problem, {first, second}, 1010 * kNs);  // under way, and of no use
  problem.events = {on_job(Kind::job_leaves, 1010 * kNs, 0)};
  expect_refused(problem, {first, second}, Violation::wrong_event, "its job left");
}

TEST(Changes, EventsMustMakeSense) {
  World problem = one_chunk(testing::line(2, 1, kLatency), {0}, {1});
  const Schedule sends = {send(problem, 0, {0})};
  const std::vector<std::pair<std::vector<Event>, std::string>> wrong = {
      {{on_link(Kind::link_down, 2, 0), on_link(Kind::link_up, 1, 0)}, "comes before"},
      {{on_link(Kind::link_down, -1, 0)}, "out of range"},
      {{on_link(Kind::link_down, 1, 2)}, "no link 2"},
      {{on_link(Kind::link_bandwidth, 1, 0, 0)}, "not positive"},
      {{on_gpu(Kind::gpu_lost, 1, 2)}, "node 2"},
      {{on_job(Kind::job_leaves, 1, 1)}, "no job 1"},
      {{on_job(Kind::job_arrives, 1, 0)}, "starts before it arrives"}};
  for (const auto& [events, words] : wrong) {
    problem.events = events;
    expect_refused(problem, sends, Violation::wrong_event, words);
  }
  EventfulPlan plan;
  plan.problem = problem;
  plan.events = {on_link(Kind::link_down, 2 * kUs, 1)};
  plan.sends = sends;
  plan.result.transfer_time = Time{1010 * kNs};
  plan.result.job_finish = {plan.result.transfer_time};
  EXPECT_TRUE(verify(plan).valid()) << verify(plan).message;
  plan.result.bound = Bound{};
  EXPECT_EQ(verify(plan).violation, Violation::wrong_bound);
}

}  // namespace
}  // namespace stellwerk
