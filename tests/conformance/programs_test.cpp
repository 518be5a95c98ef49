// Plans of every planner as programs: written as MSCCL XML and as execution plans of MSCCL++, read back by code that shares nothing with
// the writers, run on symbolic data (MSCCL: with connections that hold one step), and looked through for races.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>

#include "stellwerk/base/error.hpp"
#include "stellwerk/bound/bound.hpp"
#include "stellwerk/check/msccl_run.hpp"
#include "stellwerk/check/mscclpp_run.hpp"
#include "stellwerk/check/simulate.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/io/msccl_writer.hpp"
#include "stellwerk/io/msccl_xml.hpp"
#include "stellwerk/io/mscclpp_json.hpp"
#include "stellwerk/io/mscclpp_writer.hpp"
#include "stellwerk/lower/lift.hpp"
#include "stellwerk/lower/program.hpp"
#include "stellwerk/plan/planner.hpp"

namespace stellwerk {
namespace {

Plan planned(const PlannerRow& row, const Problem& problem) {
  PlannerContext context;
  context.bound = lower_bound(problem);
  context.bound_chunked = lower_bound_chunked(problem, *context.bound);
  context.rng = Rng(1);
  PlanOptions options;
  options.quick = true;
  Plan plan;
  plan.problem = problem;
  PlannerOutcome outcome = row.plan(problem, options, context);
  if (outcome.has_plan()) plan.sends = simulate(problem, outcome.sends).sends;
  return plan;
}

/// Preemptive plans; programs move whole chunks, see transfers.hpp.
bool moves_parts(const Plan& plan) {
  return std::any_of(plan.sends.begin(), plan.sends.end(), [&](const Send& send) {
    return send.bytes != plan.problem.chunks[send.chunk].bytes;
  });
}

/// Empty if the program is right, in place or not, for every runtime.
std::string judged(const Plan& plan, MscclDialect dialect, bool in_place) {
  const std::string text =
      format_msccl_xml(lower::lower_plan(plan, in_place, msccl_limits(dialect)), dialect, {});
  const check::MscclProgram program = read_msccl_xml(text, "program");
  for (const std::string& fault : check::msccl_faults(program)) return fault;
  for (const check::MscclTarget& target : check::msccl_targets()) {
    if (target.name != msccl_limits(dialect).target) continue;
    for (const std::string& excess : check::msccl_excesses(program, target)) return excess;
  }
  const check::MscclOutcome outcome = check::run_msccl(program, in_place, 1);
  return outcome.stuck + outcome.wrong.value_or("") + outcome.race.value_or("");
}

check::MscclppProgram program_of_puts(const Plan& plan, bool in_place) {
  const lower::PutProgram program = lower::lower_to_puts(plan, in_place, mscclpp_limits());
  return read_mscclpp(format_mscclpp(program, {}), "program");
}

/// Empty if the execution plan of MSCCL++ is right, with relaxed signals trusted no more than they must be.
std::string judged_puts(const Plan& plan, bool in_place) {
  const check::MscclppProgram program = program_of_puts(plan, in_place);
  for (const std::string& fault : check::mscclpp_faults(program)) return fault;
  for (const std::string& excess : check::mscclpp_excesses(program)) return excess;
  for (const std::string& trap : check::mscclpp_traps(program)) return trap;
  if (const auto reason = check::mscclpp_unjudged(program)) return *reason;
  const check::MscclppOutcome outcome = check::run_mscclpp(program, true);
  return outcome.stuck + outcome.wrong.value_or("") + outcome.race.value_or("") +
         outcome.left_over.value_or("");
}

TEST(Programs, OfEveryPlannerAreRight) {
  std::map<std::string_view, int> programs;
  for (const char* topology :
       {"ring:4", "dgx1", "torus:3x3", "rail:2x4", "switch:6", "random:8,seed=3"}) {
    for (const Collective collective :
         {Collective::allgather, Collective::reducescatter, Collective::allreduce,
          Collective::alltoall, Collective::broadcast, Collective::reduce}) {
      for (const int chunks : {1, 3}) {
        Job job;
        job.name = "job";
        job.collective = collective;
        Topology network = catalogue_topology(topology);
        job.ranks = network.gpus();
        job.size = Bytes{1'000'000};
        job.chunks = chunks;
        const Problem problem = make_problem(std::move(network), {job});
        for (const PlannerRow& row : planners()) {
          // The exact ones take long and make no other kind of plan.
          if (row.compressed || row.name == "milp" || row.name == "lp" || row.name == "rounds")
            continue;
          const Plan plan = planned(row, problem);
          if (plan.sends.empty() || moves_parts(plan)) continue;
          SCOPED_TRACE(std::string(row.name) + " on " + topology + ", " +
                       std::string(to_string(collective)) + ", " + std::to_string(chunks));
          for (const bool in_place : {false, true}) {
            EXPECT_EQ(
                judged(plan, chunks == 1 ? MscclDialect::rccl : MscclDialect::msccl, in_place), "");
            if (chunks == 1) {
              EXPECT_EQ(judged_puts(plan, in_place), "");
            }
            ++programs[row.name];
          }
        }
      }
    }
  }
  for (const auto& [name, count] : programs)
    std::printf("%-20.*s %3d programs right\n", static_cast<int>(name.size()), name.data(), count);
  EXPECT_GT(programs.size(), 8u);
}

/// The greedy plan of one collective on a topology of the catalogue.
Plan greedy(const char* topology, Collective collective, int chunks) {
  Topology network = catalogue_topology(topology);
  Job job;
  job.name = "job";
  job.collective = collective;
  job.ranks = network.gpus();
  job.size = Bytes{1'000'000};
  job.chunks = chunks;
  const Problem problem = make_problem(std::move(network), {job});
  for (const PlannerRow& row : planners()) {
    if (row.name == "greedy") return planned(row, problem);
  }
  return {};
}

/// The interpreter sees whatever is missing: without any one of its operations, no program is right.
TEST(Programs, OfPutsHoldNothingThatCouldBeLeftOut) {
  const auto with_one_less = [](const char* topology, Collective collective, bool in_place) {
    const check::MscclppProgram whole = program_of_puts(greedy(topology, collective, 1), in_place);
    ASSERT_TRUE(check::run_mscclpp(whole, false).right());
    for (std::size_t g = 0; g < whole.gpus.size(); ++g) {
      for (std::size_t b = 0; b < whole.gpus[g].blocks.size(); ++b) {
        for (std::size_t s = 0; s < whole.gpus[g].blocks[b].steps.size(); ++s) {
          check::MscclppProgram less = whole;
          auto& steps = less.gpus[g].blocks[b].steps;
          const std::string op = check::to_string(steps[s].op);
          steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(s));
          EXPECT_FALSE(check::run_mscclpp(less, false).right())
              << op << ", op " << s << " of block " << b << " of GPU " << g << " on " << topology;
        }
      }
    }
  };
  with_one_less("ring:4", Collective::allreduce, true);
  with_one_less("ring:3", Collective::alltoall, true);
  with_one_less("rail:2x2", Collective::allgather, false);  // boxes: ports
  with_one_less("rail:2x2", Collective::reducescatter, true);
}

/// What is sent, without times: chunk, ends, and whether it is a part of a sum; ascending.
std::vector<std::tuple<ChunkId, NodeId, NodeId, bool>> transfers_of(const Plan& plan) {
  std::vector<std::tuple<ChunkId, NodeId, NodeId, bool>> result;
  for (const Send& send : plan.sends) {
    const Topology& topology = plan.problem.topology;
    result.emplace_back(send.chunk, topology.link(send.links.front()).from,
                        topology.link(send.links.back()).to, send.op != Op::copy);
  }
  std::sort(result.begin(), result.end());
  return result;
}

/// From plan to program and back: the same transfers, and hardly later although programs do not say which of several connections
/// has a link first.
TEST(Programs, ComeBackAsThePlansThatTheyWereMadeOf) {
  double worst = 1;
  const auto comes_back = [&](const Plan& plan, const check::History& history,
                              std::string_view collective) {
    const lower::Lifted lifted = lower::lift(history, collective, plan.problem.jobs[0].size,
                                             plan.problem.topology, "program");
    EXPECT_EQ(lifted.plan.problem.chunks, plan.problem.chunks);
    EXPECT_EQ(transfers_of(lifted.plan), transfers_of(plan));
    EXPECT_EQ(judge(lifted.plan).value_or("valid"), "valid");
    const Time before = simulate(plan.problem, plan.sends).transfer_time;
    const double ratio = lifted.plan.result.transfer_time.seconds() / before.seconds();
    EXPECT_LT(ratio, 1.5);
    worst = std::max(worst, ratio);
  };
  for (const char* topology : {"dgx1", "rail:2x3"}) {
    for (const Collective collective : {Collective::allgather, Collective::reducescatter,
                                        Collective::allreduce, Collective::alltoall}) {
      Job job;
      job.name = "imported";
      job.collective = collective;
      Topology network = catalogue_topology(topology);
      job.ranks = network.gpus();
      job.size = Bytes{1'000'000};
      job.chunks = 2;
      const Problem problem = make_problem(std::move(network), {job});
      for (const PlannerRow& row : planners()) {
        // These take long and make no other kind of plan.
        if (row.compressed || row.name == "milp" || row.name == "lp" || row.name == "rounds" ||
            row.name == "search" || row.name == "joint")
          continue;
        const Plan plan = planned(row, problem);
        if (plan.sends.empty() || moves_parts(plan)) continue;
        SCOPED_TRACE(std::string(row.name) + " on " + topology + ", " +
                     std::string(to_string(collective)));
        const bool in_place = job.collective != Collective::allgather;
        const check::MscclProgram steps = read_msccl_xml(
            format_msccl_xml(lower::lower_plan(plan, in_place, msccl_limits(MscclDialect::msccl)),
                             MscclDialect::msccl, {}),
            "program");
        check::History history;
        check::run_msccl(steps, in_place, 1, &history);
        comes_back(plan, history, steps.collective);
        const check::MscclppProgram puts = program_of_puts(plan, in_place);
        check::History other;
        check::run_mscclpp(puts, false, &other);
        comes_back(plan, other, puts.collective);
      }
    }
  }
  std::printf("at most %.3f of the time before\n", worst);
}

using check::MscclOp;

/// One step a thread block: on GPU `gpu`, to and from a peer (or -1), all on channels of their own where they meet.
void add_step(check::MscclProgram& program, int gpu, int send, int receive, check::MscclStep step) {
  auto& blocks = program.gpus[static_cast<std::size_t>(gpu)].blocks;
  check::MscclBlock block;
  block.id = static_cast<int>(blocks.size());
  block.send = send;
  block.receive = receive;
  block.steps = {std::move(step)};
  blocks.push_back(std::move(block));
}

check::MscclProgram program_of(const char* collective, int gpus, int chunks, int scratch) {
  check::MscclProgram program;
  program.collective = collective;
  program.chunks = chunks;
  program.in_place = true;
  for (int g = 0; g < gpus; ++g) {
    check::MscclGpu gpu;
    gpu.id = g;
    gpu.input = program.collective == "allgather" ? chunks / gpus : chunks;
    gpu.output = chunks;
    gpu.scratch = scratch;
    program.gpus.push_back(gpu);
  }
  return program;
}

lower::Lifted lifted_to(const char* topology, const check::MscclProgram& program) {
  EXPECT_EQ(check::msccl_faults(program), std::vector<std::string>{});
  check::History history;
  const check::MscclOutcome outcome = check::run_msccl(program, true, 2, &history);
  EXPECT_EQ(outcome.stuck + outcome.wrong.value_or("") + outcome.race.value_or(""), "");
  return lower::lift(history, program.collective, Bytes{1'000'000}, catalogue_topology(topology),
                     "program");
}

TEST(Programs, WhatBringsNothingIsWasteOrLeftOut) {
  // An AllGather of two GPUs; GPU 0 sends its chunk twice, and one more time what nobody has written.
  check::MscclProgram program = program_of("allgather", 2, 2, 1);
  add_step(program, 0, 1, -1, {.op = MscclOp::send, .src = {'o', 0}, .dst = {'o', 0}});
  program.gpus[0].blocks[0].steps.push_back(program.gpus[0].blocks[0].steps[0]);
  program.gpus[0].blocks[0].steps.push_back(
      {.op = MscclOp::send, .src = {'s', 0}, .dst = {'s', 0}});
  add_step(program, 1, -1, 0, {.op = MscclOp::receive, .src = {'o', 0}, .dst = {'o', 0}});
  program.gpus[1].blocks[0].steps.push_back(program.gpus[1].blocks[0].steps[0]);
  program.gpus[1].blocks[0].steps.push_back(
      {.op = MscclOp::receive, .src = {'s', 0}, .dst = {'s', 0}});
  add_step(program, 1, 0, -1, {.op = MscclOp::send, .src = {'o', 1}, .dst = {'o', 1}});
  add_step(program, 0, -1, 1, {.op = MscclOp::receive, .src = {'o', 1}, .dst = {'o', 1}});
  EXPECT_EQ(lifted_to("full:2", program).plan.sends.size(), 3u);
  // An AllReduce in which GPU 1's addend arrives a second time, in scratch, where nobody looks.
  program = program_of("allreduce", 2, 1, 1);
  add_step(program, 1, 0, -1, {.op = MscclOp::send, .src = {'i', 0}, .dst = {'i', 0}});
  program.gpus[1].blocks[0].steps.push_back(program.gpus[1].blocks[0].steps[0]);
  program.gpus[1].blocks[0].steps.back().awaited = true;
  add_step(program, 0, -1, 1, {.op = MscclOp::receive, .src = {'s', 0}, .dst = {'s', 0}});
  program.gpus[0].blocks[0].steps.push_back(
      {.op = MscclOp::receive_reduce_copy, .src = {'i', 0}, .dst = {'i', 0}, .awaited = true});
  add_step(
      program, 0, 1, -1,
      {.op = MscclOp::send, .src = {'i', 0}, .dst = {'i', 0}, .wait_block = 0, .wait_step = 1});
  add_step(
      program, 1, -1, 0,
      {.op = MscclOp::receive, .src = {'i', 0}, .dst = {'i', 0}, .wait_block = 0, .wait_step = 1});
  const lower::Lifted lifted = lifted_to("full:2", program);
  EXPECT_EQ(lifted.left_out, 1u);
  ASSERT_EQ(lifted.plan.sends.size(), 2u);
  EXPECT_EQ(lifted.plan.problem.jobs[0].collective, Collective::custom);  // half a chunk a GPU
}

TEST(Programs, SumsThatPlansCannotHoldAreRefusedWithTheStep) {
  // An AllReduce of three GPUs along a line: GPU 1 passes the addend of GPU 0 on before it adds its own, and then its own.
  check::MscclProgram program = program_of("allreduce", 3, 1, 2);
  add_step(program, 0, 1, -1, {.op = MscclOp::send, .src = {'i', 0}, .dst = {'i', 0}});
  add_step(program, 1, 2, 0, {.op = MscclOp::receive_copy_send, .src = {'s', 0}, .dst = {'s', 0}});
  program.gpus[1].blocks[0].steps.push_back(
      {.op = MscclOp::send, .src = {'i', 0}, .dst = {'i', 0}});
  program.gpus[1].blocks[0].steps.back().awaited = true;
  add_step(program, 2, -1, 1,
           {.op = MscclOp::receive_reduce_copy, .src = {'i', 0}, .dst = {'i', 0}});
  program.gpus[2].blocks[0].steps.push_back(
      {.op = MscclOp::receive_reduce_copy, .src = {'i', 0}, .dst = {'i', 0}, .awaited = true});
  // GPU 2 has the sum, and sends it back.
  add_step(
      program, 2, 1, -1,
      {.op = MscclOp::send, .src = {'i', 0}, .dst = {'i', 0}, .wait_block = 0, .wait_step = 1});
  add_step(program, 1, 0, 2,
           {.op = MscclOp::receive_copy_send,
            .src = {'i', 0},
            .dst = {'i', 0},
            .wait_block = 0,
            .wait_step = 1});
  program.gpus[0].blocks[0].steps[0].awaited = true;
  add_step(
      program, 0, -1, 1,
      {.op = MscclOp::receive, .src = {'i', 0}, .dst = {'i', 0}, .wait_block = 0, .wait_step = 0});
  // That is a plan: GPU 1's own addend goes first.
  EXPECT_EQ(lifted_to("full:3", program).plan.sends.size(), 5u);
  // But not if GPU 1 needs both again: it adds what GPU 2 has sent, and tells GPU 0.
  program = program_of("allreduce", 3, 1, 1);
  add_step(program, 0, 1, -1,
           {.op = MscclOp::send, .src = {'i', 0}, .dst = {'i', 0}, .awaited = true});
  add_step(
      program, 0, -1, 1,
      {.op = MscclOp::receive, .src = {'i', 0}, .dst = {'i', 0}, .wait_block = 0, .wait_step = 0});
  add_step(program, 1, 2, 0, {.op = MscclOp::receive_copy_send, .src = {'s', 0}, .dst = {'s', 0}});
  program.gpus[1].blocks[0].steps.push_back(
      {.op = MscclOp::send, .src = {'i', 0}, .dst = {'i', 0}, .awaited = true});
  add_step(program, 1, -1, 2,
           {.op = MscclOp::receive_reduce_copy,
            .src = {'i', 0},
            .dst = {'i', 0},
            .wait_block = 0,
            .wait_step = 1,
            .awaited = true});
  add_step(program, 1, -1, -1,
           {.op = MscclOp::reduce,
            .src = {'s', 0},
            .dst = {'i', 0},
            .wait_block = 1,
            .wait_step = 0,
            .awaited = true});
  add_step(
      program, 1, 0, -1,
      {.op = MscclOp::send, .src = {'i', 0}, .dst = {'i', 0}, .wait_block = 2, .wait_step = 0});
  add_step(program, 2, 1, -1,
           {.op = MscclOp::send, .src = {'i', 0}, .dst = {'i', 0}, .awaited = true});
  add_step(program, 2, -1, 1,
           {.op = MscclOp::receive_reduce_copy,
            .src = {'i', 0},
            .dst = {'i', 0},
            .wait_block = 0,
            .wait_step = 0});
  program.gpus[2].blocks[1].steps.push_back(
      {.op = MscclOp::receive_reduce_copy, .src = {'i', 0}, .dst = {'i', 0}});
  const auto refusal = [&](const char* topology) {
    try {
      lifted_to(topology, program);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unreadable_input);
      return std::string(error.what());
    }
    return std::string("a plan");
  };
  EXPECT_EQ(refusal("full:4"), "program: the program is for 3 GPUs, topology 'full-4' has 4");
  EXPECT_EQ(refusal("full:3"),
            "program: GPU 1, thread block 0, step 0: sends a part of what gpu1 has of a sum and "
            "keeps another part that it needs, but a GPU has one partial sum of a chunk in a plan");
}

TEST(Programs, LimitsOfRuntimesAskForChannelsOrRefuse) {
  Job job;
  job.name = "job";
  job.ranks = catalogue_topology("ring:8").gpus();
  job.size = Bytes{1'000'000};
  const auto plan = [&](int chunks) {
    job.chunks = chunks;
    for (const PlannerRow& row : planners()) {
      if (row.name == "ring")
        return planned(row, make_problem(catalogue_topology("ring:8"), {job}));
    }
    return Plan{};
  };
  // 7 * 32 sends over two links: more than 64 steps a thread block.
  const lower::Program wide = lower::lower_plan(plan(32), false, msccl_limits(MscclDialect::rccl));
  EXPECT_GT(wide.channels, 1);
  EXPECT_EQ(judged(plan(32), MscclDialect::rccl, false), "");
  try {
    lower::lower_plan(plan(400), false, msccl_limits(MscclDialect::rccl));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsolved);
    EXPECT_NE(std::string(error.what()).find("not expressible for rccl: "), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("--chunks"), std::string::npos) << error.what();
  }
}

TEST(Programs, OfPutsSpreadOverBlocksOrAreRefused) {
  // 64 chunks at each rank: more operations than a block holds.
  const Plan plan = greedy("ring:8", Collective::allgather, 8);
  const lower::PutProgram program = lower::lower_to_puts(plan, false, mscclpp_limits());
  EXPECT_GT(program.ranks[0].blocks.size(), 8u);
  EXPECT_EQ(judged_puts(plan, false), "");
  lower::PutLimits tight = mscclpp_limits();
  const auto refused = [&](const Plan& what) {
    try {
      lower::lower_to_puts(what, false, tight);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsolved);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  tight.blocks = 2;
  EXPECT_NE(refused(plan).find("not expressible for mscclpp: operations of a thread block: "),
            std::string::npos)
      << refused(plan);
  EXPECT_NE(refused(plan).find("--chunks"), std::string::npos);
  tight = mscclpp_limits();
  tight.channels = 1;
  EXPECT_NE(refused(greedy("switch:4", Collective::allgather, 1)).find("peers of a thread block"),
            std::string::npos);
}

TEST(Programs, WhatRuntimesCannotDoIsRefusedWithTheReason) {
  const auto refused = [](const char* topology, Job job, const char* planner, Relays relays) {
    Topology network = catalogue_topology(topology);
    if (job.ranks.empty()) job.ranks = network.gpus();
    const Problem problem = make_problem(std::move(network), {job}, relays);
    for (const PlannerRow& row : planners()) {
      if (row.name != planner) continue;
      try {
        lower::lower_plan(planned(row, problem), false, msccl_limits(MscclDialect::rccl));
      } catch (const Error& error) {
        return std::string(error.what());
      }
    }
    return std::string("accepted");
  };
  Job job;
  job.name = "job";
  job.size = Bytes{1'000'000};
  EXPECT_NE(refused("switch:4,multicast", job, "greedy", Relays::all).find("multicast"),
            std::string::npos);
  job.ranks = {NodeId(0), NodeId(2)};
  EXPECT_NE(refused("ring:4", job, "greedy", Relays::all).find("forwards data but is no rank"),
            std::string::npos);
  job.ranks.clear();
  job.collective = Collective::gather;
  EXPECT_NE(refused("ring:4", job, "greedy", Relays::all).find("no gather"), std::string::npos);
  job.collective = Collective::allgather;
  job.size = Bytes{12};
  job.chunks = 8;
  EXPECT_NE(refused("ring:4", job, "greedy", Relays::all).find("too small for 8 chunks"),
            std::string::npos);
}

}  // namespace
}  // namespace stellwerk
