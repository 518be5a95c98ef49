#include "stellwerk/plan/in_network.hpp"

#include <gtest/gtest.h>

#include <string>

#include "stellwerk/bound/bound.hpp"
#include "stellwerk/check/simulate.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/core/problem.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/plan/finish_times.hpp"

namespace stellwerk {
namespace {

Problem problem_of(const Topology& topology, Collective collective, std::int64_t size, int chunks) {
  Job job;
  job.name = "job";
  job.collective = collective;
  job.size = Bytes{size};
  job.chunks = chunks;
  job.ranks = topology.gpus();
  if (collective == Collective::reduce) job.root = 0;
  return make_problem(topology, {job});
}

/// The transfer time of a plan that is valid, and stays so when re-timed.
Time planned(const Problem& problem) {
  PlannerContext context;
  const PlannerOutcome outcome = plan_in_network(problem, {}, context);
  EXPECT_EQ(outcome.message, "");
  const Verdict verdict = verify_sends(problem, outcome.sends);
  EXPECT_TRUE(verdict.valid()) << verdict.message;
  const Simulation again = simulate(problem, outcome.sends);
  EXPECT_TRUE(verify_sends(problem, again.sends).valid());
  const Time finish = finish_times(problem, outcome.sends).front();
  EXPECT_LE(again.transfer_time, finish);
  return finish;
}

TEST(InNetwork, AllReduceOnASwitchThatAddsComesNearItsBound) {
  const Problem problem =
      problem_of(catalogue_topology("switch:8,sums"), Collective::allreduce, 64'000'000, 32);
  const Time bound = lower_bound(problem).value;
  EXPECT_LE(planned(problem).ps, bound.ps + bound.ps / 100);
  // Where GPUs add, 7/8 of the buffer goes twice.
  const Problem plain =
      problem_of(catalogue_topology("switch:8,multicast"), Collective::allreduce, 64'000'000, 32);
  EXPECT_GT(lower_bound(plain).value.ps, planned(problem).ps * 17 / 10);
}

TEST(InNetwork, ReducesOverLayersOfSwitches) {
  // Boxes of one GPU have no switch of their own: leaves and spines add.
  const Problem problem = problem_of(catalogue_topology("leaf-spine:16x1,per-leaf=4,sums"),
                                     Collective::reduce, 16'000'000, 16);
  const Time bound = lower_bound(problem).value;
  EXPECT_LE(planned(problem).ps, bound.ps + bound.ps / 4);
}

TEST(InNetwork, KeepsCapsAndGroups) {
  const Topology free = catalogue_topology("switch:6,sums");
  IdVector<NodeId, Node> nodes = free.nodes();
  nodes[NodeId(1)].injection = Bandwidth{20'000'000'000};
  nodes[NodeId(2)].ejection = Bandwidth{30'000'000'000};
  nodes[*free.find("switch")].max_groups = 1;
  const Topology capped("capped", "", nodes, free.links());
  const Problem problem = problem_of(capped, Collective::allreduce, 6'000'000, 12);
  EXPECT_GT(planned(problem).ps, Time{300'000'000}.ps);  // 6 MB at 20 GB/s
}

TEST(InNetwork, SaysThatNoGroupIsLeft) {
  const Topology free = catalogue_topology("switch:4,sums");
  IdVector<NodeId, Node> nodes = free.nodes();
  nodes[*free.find("switch")].max_groups = 0;
  PlannerContext context;
  const Topology none("none", "", nodes, free.links());
  EXPECT_EQ(plan_in_network(problem_of(none, Collective::allreduce, 4096, 1), {}, context).message,
            "the limits of nodes let none of its trees through");
}

TEST(InNetwork, SaysWhatItCannotDo) {
  const auto message = [](const char* topology, Collective collective) {
    PlannerContext context;
    return plan_in_network(problem_of(catalogue_topology(topology), collective, 4096, 1), {},
                           context)
        .message;
  };
  EXPECT_EQ(message("switch:4,multicast", Collective::allreduce),
            "no switch adds what it passes on");
  EXPECT_EQ(message("switch:4,sums", Collective::allgather), "nothing is summed");
  EXPECT_NE(message("rail:2x4,sums", Collective::allreduce).find("no tree of switches"),
            std::string::npos);
}

}  // namespace
}  // namespace stellwerk
