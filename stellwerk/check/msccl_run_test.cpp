#include "stellwerk/check/msccl_run.hpp"

#include <gtest/gtest.h>

#include <string>

namespace stellwerk::check {
namespace {

MscclStep step(MscclOp op, MscclRange src, MscclRange dst) {
  MscclStep result;
  result.op = op;
  result.src = src;
  result.dst = dst;
  return result;
}

MscclBlock block(int id, int send, int receive, std::vector<MscclStep> steps) {
  MscclBlock result;
  result.id = id;
  result.send = send;
  result.receive = receive;
  result.steps = std::move(steps);
  return result;
}

/// AllGather around a ring of n, out of place: every rank copies its own chunk and passes on what it gets.
MscclProgram ring(int n) {
  MscclProgram program;
  program.collective = "allgather";
  program.chunks = n;
  for (int g = 0; g < n; ++g) {
    MscclGpu gpu;
    gpu.id = g;
    gpu.input = 1;
    gpu.output = n;
    std::vector<MscclStep> steps = {step(MscclOp::copy, {'i', 0}, {'o', g}),
                                    step(MscclOp::send, {'i', 0}, {'o', g})};
    for (int k = 1; k < n; ++k) {
      const MscclRange place{'o', (g + n - k) % n};
      steps.push_back(
          step(k + 1 < n ? MscclOp::receive_copy_send : MscclOp::receive, place, place));
    }
    gpu.blocks.push_back(block(0, (g + 1) % n, (g + n - 1) % n, steps));
    program.gpus.push_back(gpu);
  }
  return program;
}

TEST(MscclRun, ARingGathers) {
  const MscclProgram program = ring(4);
  EXPECT_TRUE(msccl_faults(program).empty());
  const MscclOutcome outcome = run_msccl(program, false, 2);
  EXPECT_TRUE(outcome.right()) << outcome.stuck << outcome.wrong.value_or("");
  EXPECT_FALSE(outcome.race) << *outcome.race;
  // Everybody has sent once: to pass on what comes in, a second step needs room.
  EXPECT_FALSE(run_msccl(program, false, 1).complete);
  EXPECT_EQ(least_msccl_capacity(program, false), 2);
}

TEST(MscclRun, WrongChunksAreTold) {
  MscclProgram program = ring(3);
  program.gpus[1].blocks[0].steps[3].dst.offset = 1;  // over its own
  const MscclOutcome outcome = run_msccl(program, false, 2);
  ASSERT_TRUE(outcome.wrong);
  EXPECT_EQ(*outcome.wrong,
            "GPU 1, output chunk 1 holds chunk 0 of GPU 2 instead of chunk 0 of GPU 1");
}

TEST(MscclRun, SendingBeforeReceivingNeedsRoom) {
  // Everybody sends two chunks of two before it receives: two steps' room.
  MscclProgram program;
  program.collective = "alltoall";
  program.chunks = 4;
  for (int g = 0; g < 2; ++g) {
    MscclGpu gpu;
    gpu.id = g;
    gpu.input = gpu.output = 4;
    const int peer = 1 - g;
    gpu.blocks = {block(0, peer, peer,
                        {step(MscclOp::send, {'i', 2 * peer}, {'o', 0}),
                         step(MscclOp::send, {'i', 2 * peer + 1}, {'o', 0}),
                         step(MscclOp::receive, {'i', 0}, {'o', 2 * peer}),
                         step(MscclOp::receive, {'i', 0}, {'o', 2 * peer + 1}),
                         step(MscclOp::copy, {'i', 2 * g}, {'o', 2 * g}),
                         step(MscclOp::copy, {'i', 2 * g + 1}, {'o', 2 * g + 1})})};
    program.gpus.push_back(gpu);
  }
  EXPECT_TRUE(msccl_faults(program).empty());
  const MscclOutcome stuck = run_msccl(program, false, 1);
  EXPECT_FALSE(stuck.complete);
  EXPECT_NE(stuck.stuck.find("GPU 0, tb 0, step 1 (s, line 0) waits for GPU 1 to receive"),
            std::string::npos)
      << stuck.stuck;
  EXPECT_EQ(least_msccl_capacity(program, false), 2);
  EXPECT_TRUE(run_msccl(program, false, 2).right());
}

/// Two ranks sum in place: 0 sends to 1, which adds, and sends back through a second thread block.
MscclProgram pair_sum(bool wait) {
  MscclProgram program;
  program.collective = "allreduce";
  program.chunks = 1;
  program.in_place = true;
  program.out_of_place = false;
  for (int g = 0; g < 2; ++g) {
    MscclGpu gpu;
    gpu.id = g;
    gpu.input = 1;
    program.gpus.push_back(gpu);
  }
  program.gpus[0].blocks = {
      block(0, 1, 1,
            {step(MscclOp::send, {'i', 0}, {'i', 0}), step(MscclOp::receive, {'i', 0}, {'i', 0})})};
  MscclStep add = step(MscclOp::receive_reduce_copy, {'i', 0}, {'i', 0});
  add.awaited = true;
  MscclStep back = step(MscclOp::send, {'i', 0}, {'i', 0});
  if (wait) {
    back.wait_block = 0;
    back.wait_step = 0;
  }
  program.gpus[1].blocks = {block(0, -1, 0, {add}), block(1, 0, -1, {back})};
  return program;
}

TEST(MscclRun, StepsInEitherOrderAreARace) {
  const MscclOutcome ordered = run_msccl(pair_sum(true), true, 1);
  EXPECT_TRUE(ordered.right());
  EXPECT_FALSE(ordered.race) << *ordered.race;
  const MscclOutcome loose = run_msccl(pair_sum(false), true, 1);
  ASSERT_TRUE(loose.race);
  EXPECT_NE(loose.race->find("GPU 1, i[0]"), std::string::npos) << *loose.race;
}

TEST(MscclFaults, BrokenRulesAreNamed) {
  const auto faults = [](const MscclProgram& program) {
    std::string text;
    for (const std::string& fault : msccl_faults(program)) text += fault + "\n";
    return text;
  };
  MscclProgram program = pair_sum(true);
  EXPECT_EQ(faults(program), "");
  program.gpus[1].blocks[0].steps[0].awaited = false;
  EXPECT_NE(faults(program).find("hasdep=0"), std::string::npos);
  program = pair_sum(true);
  program.gpus[1].blocks[1].steps[0].wait_block = 1;
  EXPECT_NE(faults(program).find("its own thread block"), std::string::npos);
  program = pair_sum(true);
  program.gpus[1].blocks[0].steps[0].src.offset = 1;
  EXPECT_NE(faults(program).find("outside the buffer"), std::string::npos);
  program = pair_sum(true);
  program.gpus[1].blocks[1].send = -1;
  EXPECT_NE(faults(program).find("no peer to send to"), std::string::npos);
  program = pair_sum(true);
  program.gpus[0].blocks[0].steps.pop_back();
  EXPECT_NE(faults(program).find("which nobody receives"), std::string::npos);
  program = pair_sum(true);
  program.gpus[0].blocks[0].steps[0].count = 2;
  program.gpus[0].input = program.gpus[0].output = 2;
  EXPECT_NE(faults(program).find("receives 1 chunks from GPU 0 to 1 on channel 0 where 2 are sent"),
            std::string::npos)
      << faults(program);
  program = ring(3);
  program.chunks = 4;
  EXPECT_NE(faults(program).find("not a multiple"), std::string::npos);
}

TEST(MscclFaults, WhatEveryRuntimeRejectsIsAFault) {
  MscclProgram program = pair_sum(true);
  program.protocol = "Foo";
  EXPECT_EQ(msccl_faults(program),
            std::vector<std::string>{"proto 'Foo' is none of Simple, LL, LL128"});
  // Two waits: the nop's and the step's own, which must not be left out.
  program = pair_sum(true);
  auto& steps = program.gpus[1].blocks[1].steps;
  steps.insert(steps.begin(), steps[0]);
  steps[0].op = MscclOp::nop;
  EXPECT_TRUE(msccl_faults(program).empty());
  steps[1].wait_block = steps[1].wait_step = -1;
  EXPECT_EQ(msccl_faults(program),
            std::vector<std::string>{
                "line 0: has depid=-1 after a nop that waits: the last wait must be its own"});
  steps[0].wait_block = steps[0].wait_step = -1;
  EXPECT_TRUE(msccl_faults(program).empty());
}

TEST(MscclRun, ProtocolsSayWhatAConnectionHolds) {
  EXPECT_EQ(msccl_capacity("Simple"), 2);
  EXPECT_EQ(msccl_capacity("LL"), 8);
  EXPECT_EQ(msccl_capacity("LL128"), 8);
  EXPECT_EQ(msccl_capacity("simple"), std::nullopt);
}

TEST(MscclRun, WhatACustomCollectivePromisesIsNotKnown) {
  for (const std::string_view name : msccl_collectives()) EXPECT_TRUE(msccl_knows(name)) << name;
  for (const std::string_view name : {"custom", "gather", "alreduce", ""})
    EXPECT_FALSE(msccl_knows(name)) << name;
}

TEST(MscclFaults, LimitsOfRuntimesAreTold) {
  MscclProgram program = ring(70);
  for (const MscclTarget& target : msccl_targets()) {
    const auto excess = msccl_excesses(program, target);
    EXPECT_EQ(excess.empty(), std::string(target.name) == "msccl") << target.name;
  }
  program.channels = 64;
  EXPECT_EQ(msccl_excesses(program, msccl_targets()[0]),
            std::vector<std::string>{"channels: 64 of at most 32"});

  const auto told = [](const MscclProgram& one) {
    std::string text;
    for (const MscclTarget& target : msccl_targets()) {
      for (const std::string& excess : msccl_excesses(one, target))
        text += std::string(target.name) + ": " + excess.substr(0, 40) + "\n";
    }
    return text;
  };
  MscclProgram fine = pair_sum(true);
  EXPECT_EQ(told(fine), "");
  fine.collective = "reduce_scatter";
  EXPECT_EQ(told(fine),
            "azure: coll 'reduce_scatter' is none of reduce,\n"
            "rccl: coll 'reduce_scatter' is none of reduce,\n");
  fine.collective = "reducescatter";
  EXPECT_EQ(told(fine), "msccl: coll 'reducescatter' is none of allreduc\n");
  fine = pair_sum(true);
  fine.syntax.missing = {"name", "outofplace", "minBytes"};
  EXPECT_EQ(told(fine),
            "msccl: <algo> has no name\nazure: <algo> has no outofplace, minBytes\n"
            "rccl: <algo> has no outofplace, minBytes\n");
  fine.syntax = {.declaration = false, .tabs = true, .blanks = false, .missing = {}};
  EXPECT_EQ(told(fine),
            "azure: its parser takes no tabs between element\n"
            "rccl: its parser takes no tabs between element\n");
  fine.syntax = {.declaration = true, .tabs = false, .blanks = false, .missing = {}};
  EXPECT_EQ(told(fine),
            "msccl: its parser takes no <?xml ...?>\nazure: its parser takes no <?xml ...?>\n"
            "rccl: its parser takes no <?xml ...?>\n");
  fine.syntax = {};
  fine.gpus[1].output = 2;
  EXPECT_EQ(told(fine), "msccl: o_chunks of gpu 1: 2 instead of 0 or 1, \n");
}

}  // namespace
}  // namespace stellwerk::check
