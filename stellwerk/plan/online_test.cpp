#include "stellwerk/plan/online.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/rng.hpp"
#include "stellwerk/bench/online_suite.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/io/catalogue.hpp"

namespace stellwerk {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Time kUs{1'000'000};

/// a <-> b <-> c at 1 GB/s without latency.
Topology path() {
  IdVector<NodeId, Node> nodes;
  for (const char* name : {"a", "b", "c"}) {
    Node node;
    node.name = name;
    nodes.push_back(std::move(node));
  }
  IdVector<LinkId, Link> links;
  for (const auto& [from, to] : {std::pair{0, 1}, {1, 0}, {1, 2}, {2, 1}}) {
    links.push_back({NodeId(from), NodeId(to), Time{0}, Bandwidth{1'000'000'000}, ""});
  }
  return Topology("path", "", std::move(nodes), std::move(links));
}

class OnlineRun {
 public:
  explicit OnlineRun(Topology topology, OnlineOptions options = {})
      : planner_(topology, options), record_(topology, options.relays) {}

  OnlineIncrement send(Time at, const std::string& name, int from, int to, std::int64_t bytes,
                       std::int64_t weight = 1) {
    OnlineInput input;
    input.kind = OnlineInput::Kind::arrival;
    input.job.name = name;
    input.job.collective = Collective::broadcast;
    input.job.ranks = {NodeId(from), NodeId(to)};
    input.job.size = Bytes{bytes};
    input.job.weight = weight;
    return take(at, input);
  }
  OnlineIncrement link(Time at, Event::Kind kind, int link, std::int64_t bandwidth = 0) {
    OnlineInput input;
    input.kind = OnlineInput::Kind::change;
    input.change.kind = kind;
    input.change.link = LinkId(link);
    input.change.bandwidth = Bandwidth{bandwidth};
    return take(at, input);
  }
  OnlineIncrement gpu(Time at, Event::Kind kind, int node) {
    OnlineInput input;
    input.kind = OnlineInput::Kind::change;
    input.change.kind = kind;
    input.change.node = NodeId(node);
    return take(at, input);
  }
  OnlineIncrement leaves(Time at, const std::string& name) {
    OnlineInput input;
    input.kind = OnlineInput::Kind::departure;
    input.name = name;
    return take(at, input);
  }
  OnlineIncrement tick(Time at) { return take(at, {}); }
  OnlineIncrement take(Time at, OnlineInput input) {
    input.at = at;
    OnlineIncrement increment = planner_.apply(input);
    record_.add(input, increment);
    return increment;
  }

  /// Ends it; when each job was done, in ps; -1: it was not.
  std::vector<std::int64_t> finish(Time at) {
    OnlineInput end;
    end.kind = OnlineInput::Kind::end;
    take(at, end);
    std::vector<std::int64_t> result(planner_.jobs().size(), -1);
    for (const auto& each : record_.finished())
      result[static_cast<std::size_t>(each.job)] = each.at.ps;
    return result;
  }
  /// What the verifier says of everything; empty: it is valid.
  std::string fault() const {
    const EventfulPlan plan = record_.plan();
    const Verdict verdict = verify_sends(plan.problem, plan.sends, plan.events);
    return verdict.valid() ? record_.wrong_finish(verdict.job_finish) : verdict.message;
  }
  OnlineRecord& record() { return record_; }

 private:
  OnlinePlanner planner_;
  OnlineRecord record_;
};

TEST(Online, AnUrgentJobInterrupts) {
  OnlineRun run(path());
  EXPECT_THAT(run.send(Time{0}, "long", 0, 1, 100'000).sends, IsEmpty());  // nothing is before 0
  const OnlineIncrement begun = run.send(40 * kUs, "short", 0, 1, 10'000);
  ASSERT_THAT(begun.sends, SizeIs(1));
  EXPECT_EQ(begun.sends[0].send.bytes, Bytes{100'000});
  const OnlineIncrement cut = run.tick(41 * kUs);
  ASSERT_THAT(cut.cuts, SizeIs(1));
  EXPECT_EQ(cut.cuts[0].bytes, Bytes{40'000});
  EXPECT_THAT(run.finish(50 * kUs), testing::ElementsAre(110'000'000, 50'000'000));
  EXPECT_EQ(run.fault(), "");
}

TEST(Online, WeightsDecideBySmithsRule) {
  for (const std::int64_t weight : {1, 5}) {  // 100 us and 40 us of work: 100 / weight or 40 first
    OnlineRun run(path());
    run.send(Time{0}, "long", 0, 1, 100'000, weight);
    run.send(Time{0}, "short", 0, 1, 40'000);
    const std::vector<std::int64_t> expected =
        weight == 1 ? std::vector<std::int64_t>{140'000'000, 40'000'000}
                    : std::vector<std::int64_t>{100'000'000, 140'000'000};
    EXPECT_EQ(run.finish(Time{0}), expected);
    EXPECT_EQ(run.fault(), "");
  }
}

TEST(Online, FairSharingGivesHalf) {
  OnlineOptions fair;
  fair.method = OnlineMethod::fair;
  OnlineRun run(path(), fair);
  run.send(Time{0}, "long", 0, 1, 100'000);
  run.send(40 * kUs, "short", 0, 1, 10'000);
  EXPECT_THAT(run.finish(40 * kUs), testing::ElementsAre(110'000'000, 60'000'000));
  EXPECT_EQ(run.fault(), "");
}

TEST(Online, ASlowerLinkCarriesOnSlower) {
  for (const OnlineMethod method : {OnlineMethod::list, OnlineMethod::fair}) {
    OnlineOptions options;
    options.method = method;
    OnlineRun run(path(), options);
    run.send(Time{0}, "job", 0, 1, 100'000);
    run.link(50 * kUs, Event::Kind::link_bandwidth, 0, 100'000'000);
    run.link(150 * kUs, Event::Kind::link_up, 0);  // 60,000 bytes by then
    EXPECT_THAT(run.finish(150 * kUs), testing::ElementsAre(190'000'000));
    EXPECT_EQ(run.fault(), "");
  }
}

TEST(Online, AJobWithoutAWayWaits) {
  OnlineRun run(path());
  run.send(Time{0}, "job", 0, 1, 100'000);
  const OnlineIncrement down = run.link(50 * kUs, Event::Kind::link_down, 0);
  ASSERT_THAT(down.waiting, SizeIs(1));
  EXPECT_THAT(down.waiting[0].why, HasSubstr("no path"));
  const OnlineIncrement late = run.send(60 * kUs, "late", 0, 1, 10'000);
  EXPECT_THAT(late.waiting, SizeIs(1));
  run.link(70 * kUs, Event::Kind::link_up, 0);
  // What was on its way is lost.
  EXPECT_THAT(run.finish(70 * kUs), testing::ElementsAre(180'000'000, 80'000'000));
  EXPECT_EQ(run.fault(), "");
}

TEST(Online, JobsOfLostGpusAndJobsThatLeaveAreDropped) {
  OnlineRun run(path());
  run.send(Time{0}, "stays", 0, 1, 100'000);
  run.send(Time{0}, "loses", 1, 2, 100'000);
  run.send(Time{0}, "leaves", 0, 1, 200'000);
  const OnlineIncrement lost = run.gpu(50 * kUs, Event::Kind::gpu_lost, 2);
  ASSERT_THAT(lost.dropped, SizeIs(1));
  EXPECT_EQ(lost.dropped[0].job, 1);
  EXPECT_THAT(lost.dropped[0].why, HasSubstr("'c' is lost"));
  run.leaves(110 * kUs, "leaves");
  EXPECT_THAT(run.send(120 * kUs, "too late", 1, 2, 1000).dropped, SizeIs(1));
  run.gpu(130 * kUs, Event::Kind::gpu_back, 2);
  run.send(130 * kUs, "again", 1, 2, 1000);
  EXPECT_THAT(run.finish(130 * kUs), testing::ElementsAre(100'000'000, -1, -1, -1, 131'000'000));
  EXPECT_EQ(run.fault(), "");
}

TEST(Online, InputsThatDoNotFitChangeNothing) {
  OnlineRun run(path());
  run.send(10 * kUs, "job", 0, 1, 1000);
  EXPECT_THROW(run.tick(9 * kUs), Error);
  EXPECT_THROW(run.send(10 * kUs, "job", 0, 2, 1000), Error);
  EXPECT_THROW(run.leaves(10 * kUs, "nobody"), Error);
  EXPECT_THROW(run.link(10 * kUs, Event::Kind::link_down, 17), Error);
  EXPECT_EQ(run.tick(10 * kUs).number, 2);
  EXPECT_THAT(run.finish(10 * kUs), testing::ElementsAre(11'000'000));
  EXPECT_THROW(run.tick(20 * kUs), Error);
}

TEST(Online, RecordsContradictNothing) {
  OnlineRun run(path());
  OnlineIncrement wrong;
  wrong.number = 1;
  wrong.cuts = {{0, Bytes{0}}};
  EXPECT_THROW(run.record().add({}, wrong), Error);
  OnlineRun other(path());
  wrong = {};
  wrong.number = 2;
  EXPECT_THROW(other.record().add({}, wrong), Error);
}

/// Random jobs, incidents, lost GPUs and departures.
std::vector<OnlineInput> random_inputs(const Topology& topology, std::uint64_t seed) {
  OnlineWorkload workload;
  workload.arrivals = 10;
  workload.incidents = 10;
  workload.mean_gap = 60 * kUs;
  workload.seed = seed;
  std::vector<OnlineInput> inputs = random_online_inputs(topology, workload);
  Rng rng(seed);
  std::vector<OnlineInput> result;
  NodeId lost;
  for (OnlineInput& input : inputs) {
    const Time at = input.at;
    result.push_back(std::move(input));
    if (result.back().kind == OnlineInput::Kind::end || rng.below(4) != 0) continue;
    OnlineInput more;
    more.at = at;
    if (rng.below(3) == 0 && result.back().kind == OnlineInput::Kind::arrival &&
        rng.below(3) == 0) {
      more.kind = OnlineInput::Kind::departure;
      more.name = result.back().job.name;
    } else if (lost.valid() || rng.below(2) == 0) {
      more.kind = OnlineInput::Kind::change;
      more.change.kind = lost.valid() ? Event::Kind::gpu_back : Event::Kind::gpu_lost;
      more.change.node = lost.valid() ? lost : topology.gpus()[rng.below(topology.gpus().size())];
      lost = lost.valid() ? NodeId() : more.change.node;
    }
    result.push_back(std::move(more));
  }
  return result;
}

TEST(Online, WhateverHappensThePlanIsValid) {
  constexpr const char* kTopologies[] = {"rail:2x4",
                                         "torus:3x3",
                                         "rail:2x4,multicast",
                                         "dgx1",
                                         "leaf-spine:4x3,per-leaf=2",
                                         "random:8,degree=3,seed=5,mixed"};
  constexpr std::array kMethods = {OnlineMethod::list, OnlineMethod::rounds, OnlineMethod::fair};
  std::uint64_t seed = 0;
  for (const char* name : kTopologies) {
    const Topology topology = catalogue_topology(name);
    OnlineOptions options;
    options.method = kMethods[seed % kMethods.size()];
    options.keys = seed % 2 == 0 ? OnlineKeys::smith : OnlineKeys::edf;
    const std::vector<OnlineInput> inputs = random_inputs(topology, ++seed);
    OnlineRun run(topology, options);
    for (const OnlineInput& input : inputs) run.take(input.at, input);
    EXPECT_EQ(run.fault(), "") << name << ", seed " << seed;
    EXPECT_FALSE(run.record().finished().empty());
  }
}

}  // namespace
}  // namespace stellwerk
