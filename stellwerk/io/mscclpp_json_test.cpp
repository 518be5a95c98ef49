#include "stellwerk/io/mscclpp_json.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/mscclpp_run.hpp"
#include "stellwerk/io/file.hpp"
#include "tests/support/paths.hpp"

namespace stellwerk {
namespace {

/// A file of AllReduce in place, given what its GPUs say.
std::string plan(const std::string& gpus, const std::string& more = "") {
  return "{\"name\": \"test\", \"collective\": \"allreduce\", \"protocol\": \"LL\", \"inplace\": "
         "true, " +
         more + "\"gpus\": [" + gpus + "]}";
}
std::string gpu(int id, const std::string& more, const std::vector<std::string>& blocks) {
  std::string list;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    list += std::string(b == 0 ? "" : ", ") + "{\"id\": " + std::to_string(b) +
            ", \"channels\": [], \"remote_buffer_refs\": [{\"access_channel_type\": \"memory\", "
            "\"remote_buffer_ids\": [" +
            (more.find("remote_buffers") != std::string::npos ? "0" : "") + "]}], \"ops\": [" +
            blocks[b] + "]}";
  }
  return "{\"id\": " + std::to_string(id) +
         ", \"input_chunks\": 1, \"output_chunks\": 1, \"scratch_chunks\": 1, \"channels\": [], " +
         more + "\"threadblocks\": [" + list + "]}";
}
std::string move(const std::string& name, const std::string& from, const std::string& to) {
  const auto place = [](const std::string& where) {
    return (where == "remote" ? "{\"buffer_id\": 0" : "{\"type\": \"" + where + "\"") +
           ", \"index\": 0, \"size\": 1}";
  };
  const std::size_t plus = from.find('+');
  const std::string sources =
      plus == std::string::npos ? place(from)
                                : place(from.substr(0, plus)) + ", " + place(from.substr(plus + 1));
  return "{\"name\": \"" + name + "\", \"src_buff\": [" + sources + "], \"dst_buff\": [" +
         place(to) + "], \"channel_type\": \"memory\"}";
}

check::MscclppOutcome outcome(const std::string& text) {
  const check::MscclppProgram program = read_mscclpp(text, "plan.json");
  for (const std::string& fault : check::mscclpp_faults(program)) ADD_FAILURE() << fault;
  EXPECT_EQ(check::mscclpp_unjudged(program).value_or(""), "");
  return check::run_mscclpp(program, false);
}

TEST(Mscclpp, PacketsOrderWhatTheyBringAndNoMore) {
  const auto peer = [](int rank) {
    return "\"remote_buffers\": [{\"rank\": " + std::to_string(rank) +
           ", \"type\": \"s\", \"access_channel_types\": [\"memory\"]}], ";
  };
  const std::string send = move("ppkt", "i", "remote"), add = move("repkt", "i+s", "i");
  const auto both = [&](const std::vector<std::string>& blocks) {
    return gpu(0, peer(1), blocks) + ", " + gpu(1, peer(0), blocks);
  };
  const std::string twice = "\"use_double_scratch_buffer\": true, ";
  const check::MscclppOutcome right = outcome(plan(both({send + ", " + add}), twice));
  EXPECT_TRUE(right.right()) << right.stuck << right.wrong.value_or("") << right.race.value_or("");
  EXPECT_EQ(right.calls, 3);
  // With one scratch for all calls, the peer may still be in the call before.
  EXPECT_TRUE(outcome(plan(both({send + ", " + add}))).race);
  // In two blocks nobody knows whether the input has left before the sum takes its place.
  EXPECT_TRUE(outcome(plan(both({send, add}), twice)).race);
  EXPECT_EQ(outcome(plan(both({add}), twice)).stuck,
            "GPU 0, block 0, op 0 (repkt) waits for packets");
}

TEST(Mscclpp, BarriersAndSemaphoresOrderBlocks) {
  const std::string aside = move("copy", "i", "s"), back = move("copy", "s", "i");
  const std::string nop = "{\"name\": \"nop\"}",
                    meet = "{\"name\": \"barrier\", \"barrier_id\": 0, \"num_threadblocks\": 2}",
                    give = "{\"name\": \"sem_release\", \"semaphore_ids\": [0]}",
                    take = "{\"name\": \"sem_acquire\", \"semaphore_ids\": [0]}";
  const auto run = [&](const std::string& first, const std::string& second, int value = 0) {
    return outcome(
        plan(gpu(0, "\"semaphores\": [{\"init_value\": " + std::to_string(value) + "}], ",
                 {first, second})));
  };
  EXPECT_TRUE(run(aside + "," + meet, meet + "," + back).right());
  EXPECT_TRUE(run(aside + "," + nop + "," + give, take + "," + nop + "," + back).right());
  EXPECT_TRUE(run(aside, back).race);
  // Other threads than the one that waits are not held up, nor does it wait for them before it gives.
  EXPECT_TRUE(run(aside + "," + nop + "," + give, take + "," + back).race);
  EXPECT_TRUE(run(aside + "," + give, take + "," + nop + "," + back).race);
  EXPECT_TRUE(run(aside + "," + nop + "," + give, take + "," + nop + "," + back, 1).race);
  EXPECT_EQ(run(aside + "," + nop + "," + give, nop).left_over,
            "semaphore 0 of GPU 0 ends at 1 and began at 0");
  EXPECT_EQ(run(aside, take + "," + back).stuck,
            "GPU 0, block 1, op 0 (sem_acquire) waits for semaphore 0");
}

TEST(Mscclpp, DamageIsRefusedWithItsPlace) {
  const std::string good = plan(gpu(0, "", {move("copy", "i", "s")}));
  EXPECT_TRUE(looks_like_mscclpp(good));
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    try {
      read_mscclpp(text, "plan.json");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refused("copy", "cpy"),
            "plan.json: /gpus/0/threadblocks/0/ops/0/name: no operation 'cpy' is known here");
  EXPECT_NE(refused("\"type\": \"s\"", "\"type\": \"x\"").find("'x' is none of i, o, s"),
            std::string::npos);
  EXPECT_NE(
      refused("\"input_chunks\": 1", "\"input_chunks\": 99999999999").find("/gpus/0/input_chunks"),
      std::string::npos);
  const auto fault = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    const auto faults = check::mscclpp_faults(read_mscclpp(text, "plan.json"));
    return faults.empty() ? "none" : faults.front();
  };
  EXPECT_EQ(fault("\"scratch_chunks\": 1", "\"scratch_chunks\": 0"),
            "GPU 0, block 0, op 0 (copy): s[0] and 1 chunks are outside the buffer of GPU 0");
  // 4.4 million operations took a minute and gigabytes.
  std::string flood = "{\"name\": \"nop\"}";
  for (int k = 0; k < 20'000; ++k) flood += ", {\"name\": \"nop\"}";
  EXPECT_EQ(refused("\"ops\": [", "\"ops\": [" + flood + ", "),
            "plan.json: /gpus/0/threadblocks/0: has more than 16384 operations: no runtime takes "
            "them, so they are not read");
  EXPECT_EQ(fault("copy", "put"), "GPU 0, block 0, op 0 (put): dst_buff 0 must be a remote buffer");
}

// Keys that nobody knows were passed over without a word.
TEST(Mscclpp, WhatIsPassedOverIsSaid) {
  const std::string block = move("copy", "i", "s");
  const auto read = [](const std::string& text) {
    return read_mscclpp(text, "plan.json").passed_over;
  };
  EXPECT_TRUE(read(plan(gpu(0, "", {block}), "\"num_threads_per_block\": 512, ")).empty());
  EXPECT_EQ(read(plan(gpu(0, "\"speed\": 3, ", {block}))),
            (std::vector<std::string>{"there is no num_threads_per_block: MSCCL++ takes 1024",
                                      "/gpus/0/speed: a key that is not known here"}));
}

/// Published plans. All are right but one, and without any one of its operations (syncs aside) none is.
TEST(Mscclpp, TheCorpusIsJudged) {
  const std::filesystem::path corpus =
      std::filesystem::path(testing::kSourceDir) / ".." / "shared" / "corpus" / "mscclpp_plan";
  if (!std::filesystem::is_directory(corpus)) GTEST_SKIP() << "SKIPPED: no ../shared here";
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    const std::string name = entry.path().filename().string();
    const check::MscclppProgram whole = read_mscclpp(read_file(entry.path().string()), name);
    ++files;
    ASSERT_TRUE(check::mscclpp_faults(whole).empty()) << name;
    ASSERT_TRUE(check::mscclpp_excesses(whole).empty()) << name;
    ASSERT_FALSE(check::mscclpp_unjudged(whole)) << name;
    const check::MscclppOutcome outcome = check::run_mscclpp(whole, false);
    EXPECT_TRUE(outcome.complete && !outcome.wrong && !outcome.left_over) << name;
    if (name == "reduce_tbg.json") {
      // Half of s[1] of GPU 1 is copied by block 1, and fetched by block 0, which only block 0 has signalled to.
      EXPECT_EQ(outcome.race,
                "s[1] of GPU 1: GPU 1, block 1, op 0 (copy) and GPU 0, block 0, op 7 (get) may "
                "come in either order");
      continue;
    }
    EXPECT_TRUE(outcome.right()) << name << outcome.race.value_or("");
    // The last store of reduce_nvls.json is announced by a relaxed signal.
    EXPECT_EQ(check::run_mscclpp(whole, true).right(), name != "reduce_nvls.json") << name;
    for (std::size_t b = 0; b < whole.gpus[0].blocks.size(); ++b) {
      for (std::size_t s = 0; s < whole.gpus[0].blocks[b].steps.size(); ++s) {
        check::MscclppProgram less = whole;
        auto& steps = less.gpus[0].blocks[b].steps;
        if (steps[s].op == check::MscclppOp::nop || steps[s].op == check::MscclppOp::pipeline)
          continue;
        if (name == "reduce.json" && s == 0) continue;  // a copy that nobody reads
        steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(s));
        EXPECT_FALSE(check::run_mscclpp(less, false).right()) << name << " without op " << s;
      }
    }
  }
  EXPECT_EQ(files, 9u);
}

}  // namespace
}  // namespace stellwerk
