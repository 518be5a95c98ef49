#include "stellwerk/io/plan_file.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "stellwerk/base/error.hpp"
#include "stellwerk/core/metrics.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/io/random_for_test.hpp"

namespace stellwerk {
namespace {

/// Two GPUs exchange 1000 bytes each at 50 GB/s: 20 ns after 700 ns.
Plan small_plan() {
  Job job;
  job.name = "j";
  job.ranks = {NodeId(0), NodeId(1)};
  job.size = Bytes{2000};
  Plan plan;
  plan.problem = make_problem(catalogue_topology("ring:2"), {job});
  for (int i = 0; i < 2; ++i) {
    plan.sends.push_back(whole_chunk_send(plan.problem.topology, plan.problem.chunks[ChunkId(i)],
                                          ChunkId(i), Op::copy, Time{0}, {LinkId(i)}));
  }
  plan.result.transfer_time = Time{720'000};
  plan.result.job_finish = {Time{720'000}};
  Certificate cut;
  cut.kind = Certificate::Kind::cut;
  cut.set = {NodeId(1)};
  cut.target = NodeId(1);
  plan.result.bound = Bound{Time{720'000}, cut};
  plan.result.planner = "hand";
  plan.result.options = {{"gap", "0.01"}};
  plan.result.version = "0.1.0";
  plan.result.termination = {Termination::Reason::optimal, Limit::none};
  plan.result.epoch = EpochRecord{Time{20'000}, 36, 36};
  plan.result.solver_time_s = 0.25;
  plan.result.core_seconds = 0.5;
  plan.result.peak_rss_bytes = 1 << 20;
  return plan;
}

void expect_same(const Plan& a, const Plan& b) {
  EXPECT_EQ(a.problem.topology, b.problem.topology);
  EXPECT_EQ(a.problem.jobs, b.problem.jobs);
  EXPECT_EQ(a.problem.relays, b.problem.relays);
  EXPECT_EQ(a.problem.chunks, b.problem.chunks);
  EXPECT_EQ(a.sends, b.sends);
  Result ra = a.result;
  Result rb = b.result;
  ra.recorded.reset();
  rb.recorded.reset();
  EXPECT_EQ(ra, rb);
}

RC_GTEST_PROP(PlanFile, ReadsBackExactly, (std::uint64_t seed)) {
  Rng rng(seed);
  const Plan plan = testing::random_plan(rng);
  const std::string text = format_plan(plan);
  const Plan again = parse_plan(text, "f");
  expect_same(again, plan);
  RC_ASSERT(!::testing::Test::HasFailure());
  RC_ASSERT(again.result.recorded.has_value());
  RC_ASSERT(*again.result.recorded == derive_metrics(plan));
  RC_ASSERT(first_difference(*again.result.recorded, derive_metrics(again)).empty());
  RC_ASSERT(format_plan(again) == text);
}

TEST(PlanFile, LooksLikeThis) {
  const std::string text = format_plan(small_plan());
  EXPECT_EQ(text.substr(text.find("  \"jobs\"")), R"(  "jobs": [
    {"name": "j", "collective": "allgather", "ranks": ["gpu0", "gpu1"], "size": 2000, "chunks": 1}
  ],
  "relays": "all",
  "chunks": [
    {"job":0,"bytes":1000,"origins":[0],"destinations":[1],"ready_ps":0,"owner":0,"contributors":null,"slot":0},
    {"job":0,"bytes":1000,"origins":[1],"destinations":[0],"ready_ps":0,"owner":1,"contributors":null,"slot":1}
  ],
  "sends": {
    "chunk": [0,1],
    "op": ["copy","copy"],
    "start_ps": [0,0],
    "rate": [50000000000,50000000000],
    "links": [[0],[1]],
    "offset": null,
    "bytes": null
  },
  "result": {
    "transfer_time_ps": 720000,
    "bound_ps": 720000,
    "bound_kind": "cut",
    "gap": 0,
    "bound_certificate": {"kind": "cut", "set": [1], "target": 1},
    "bound_chunked_ps": null,
    "gap_chunked": null,
    "bound_chunked_certificate": null,
    "algbw": 2777777777.7777777,
    "busbw": 1388888888.8888888,
    "size_bytes": 2000,
    "output_bytes": 2000,
    "chunks_per_block": 1,
    "jobs": [
      {"name": "j", "finish_ps": 720000, "algbw": 2777777777.7777777, "busbw": 1388888888.8888888, "size_bytes": 2000, "output_bytes": 2000}],
    "planner": "hand",
    "options": {"gap": "0.01"},
    "seed": 1,
    "version": "0.1.0",
    "termination": {"reason": "optimal", "limit": "none"},
    "epoch": {"duration_ps": 20000, "epochs": 36, "proven_epochs": 36},
    "solver_time_s": 0.25,
    "core_seconds": 0.5,
    "peak_rss_bytes": 1048576
  }
}
)");
}

TEST(PlanFile, OnDiskPlainAndCompressed) {
  const auto folder = std::filesystem::temp_directory_path();
  for (const std::string ending : {".plan.json", ".plan.json.zst"}) {
    const std::string path =
        (folder / ("stellwerk-plan-" + std::to_string(::getpid()) + ending)).string();
    write_plan(small_plan(), path);
    expect_same(read_plan(path), small_plan());
    std::filesystem::remove(path);
  }
}

TEST(PlanFile, KeepsFalsifiedFiguresForTheVerifier) {
  std::string text = format_plan(small_plan());
  text.replace(text.find("\"gap\": 0,"), 9, "\"gap\": 0.5,");
  const Plan plan = parse_plan(text, "f");
  EXPECT_EQ(plan.result.recorded->gap, 0.5);
  EXPECT_EQ(first_difference(*plan.result.recorded, derive_metrics(plan)), "gap");
}

std::string replaced(std::string text, const std::string& part, const std::string& replacement) {
  const std::size_t at = text.find(part);
  EXPECT_NE(at, text.npos) << part;
  return text.replace(at, part.size(), replacement);
}

TEST(PlanFile, OptionalPartsMayBeAbsent) {
  std::string text = format_plan(small_plan());
  text = replaced(text, ",\n    \"offset\": null,\n    \"bytes\": null", "");
  text = replaced(text, "\"relays\": \"all\",", "");
  const std::size_t begin = text.find(",\n    \"planner\"");
  text = text.substr(0, begin) + "}}";
  const Plan plan = parse_plan(text, "f");
  EXPECT_EQ(plan.sends, small_plan().sends);
  EXPECT_EQ(plan.result.planner, "");
}

TEST(PlanFile, BrokenFilesAreRefusedInOneLine) {
  const std::string good = format_plan(small_plan());
  const std::string cut = R"({"kind": "cut", "set": [1], "target": 1})";
  std::string many_zeros, many_rows;
  for (int k = 0; k < 1100; ++k) many_zeros += "0,";
  for (int k = 0; k < 10'000; ++k) many_rows += "[0,1],";
  const std::vector<std::tuple<std::string, std::string, std::string>> cases = {
      {"plan/1", "topology/1",
       "f: /format: this is 'stellwerk.topology/1', but 'stellwerk.plan/1' is expected here"},
      {"topology/1", "plan/1",
       "f: /topology/format: this is 'stellwerk.plan/1', but 'stellwerk.topology/1' is expected "
       "here"},
      {"\"sends\"", "\"send\"", "f: /send: unknown key 'send'; did you mean 'sends'?"},
      {"\"to\": \"gpu1\"", "\"to\": \"gpu2\"",
       "f: /topology/links/0/to: there is no node 'gpu2'; did you mean 'gpu0'?"},
      {"\"chunks\": 1", "\"chunks\": \"auto\"",
       "f: /jobs/0/chunks: a plan records the number of chunks that was chosen, not \"auto\""},
      {"\"relays\": \"all\"", "\"relays\": \"some\"",
       "f: /relays: must be \"all\" or \"members\", not 'some'"},
      {"\"job\":0", "\"job\":1",
       "f: /chunks/0/job: there is no job 1: there are 1, counted from 0"},
      {"\"owner\":0", "\"owner\":-1",
       "f: /chunks/0/owner: there is no node -1: there are 2, counted from 0"},
      {"\"origins\":[1]", "\"origins\":[2]",
       "f: /chunks/1/origins/0: there is no node 2: there are 2, counted from 0"},
      {"\"origins\":[1]", "\"origins\":[\"gpu1\"]",
       "f: /chunks/1/origins/0: must be a whole number, not a string"},
      {"\"origins\":[1]", "\"origins\":1",
       "f: /chunks/1/origins: must be an array, not an integer"},
      {"\"slot\":1", "\"slot\":1.5",
       "f: /chunks/1/slot: must be a whole number, not a number with a fraction or an exponent"},
      {"\"owner\":1,", "", "f: /chunks/1: the key 'owner' is missing: add it"},
      {"[0,1],\n    \"op\"", "[0,2],\n    \"op\"",
       "f: /sends/chunk/1: there is no chunk 2: there are 2, counted from 0"},
      {"[0,1],\n    \"op\"", "[0],\n    \"op\"",
       "f: /sends/op: has 2 entries, but chunk has 1: entry k of every array is send k"},
      {"\"copy\"]", "\"move\"]", "f: /sends/op/1: must be one of copy, reduce, share, not 'move'"},
      {"\"copy\"]", "3]", "f: /sends/op/1: must be a string, not an integer"},
      {"[[0],[1]]", "[[0],[9]]",
       "f: /sends/links/1/0: there is no link 9: there are 2, counted from 0"},
      // Lists beyond what there is were copied first: 50 million nodes of two took 700 MB.
      {"\"origins\":[1]", "\"origins\":[" + many_zeros + "1]",
       "f: /chunks/1/origins: lists 1101 entries, but there are only 2 to list (nodes)"},
      {"\"jobs\": [", "\"symmetry\": {\"generators\": [" + many_rows + "[0,1]]}, \"jobs\": [",
       "f: /symmetry/generators: has 10001 entries: at most 10000 are read"},
      {"[[0],[1]]", "[[0],[]]", "f: /sends/links/1: a send needs at least one link"},
      {"[[0],[1]]", "[[0],1]", "f: /sends/links/1: must be an array, not an integer"},
      {"[[0],[1]]", "[0,1]", "f: /sends/links/0: must be an array, not an integer"},
      {"\"start_ps\": [0,0]", "\"start_ps\": [0,\"0us\"]",
       "f: /sends/start_ps/1: must be a whole number, not a string"},
      {"\"offset\": null", "\"offset\": [0,0]",
       "f: /sends: offset and bytes go together: give both arrays or neither"},
      {"\"transfer_time_ps\": 720000,", "",
       "f: /result: the key 'transfer_time_ps' is missing: add it"},
      {"\"bound_kind\": \"cut\"", "\"bound_kind\": \"metric\"",
       "f: /result/bound_kind: is 'metric', but the bound's certificate is 'cut'"},
      {"\"bound_ps\": 720000", "\"bound_ps\": null",
       "f: /result: bound_ps and bound_certificate go together: a bound needs its certificate"},
      {cut, R"({"kind": "cat"})",
       "f: /result/bound_certificate/kind: must be one of none, cut, metric, latency, partition, "
       "chunk_cut, dynamic_cut, gossip, not 'cat'"},
      {cut, R"({"kind": "cut", "set": [5]})",
       "f: /result/bound_certificate/set/0: there is no node 5: there are 2, counted from 0"},
      {cut, R"({"kind": "cut", "set": [1], "lengths": []})",
       "f: /result/bound_certificate/lengths: unknown key 'lengths': known are kind, set, target, "
       "jobs"},
      {"\"finish_ps\": 720000", "\"finish\": 720000",
       "f: /result/jobs/0/finish: unknown key 'finish': known are name, finish_ps, alone_ps, "
       "slowdown, size_bytes, "
       "output_bytes, output_bytes_smallest, algbw, busbw"},
      {"{\"name\": \"j\", \"finish", "{\"name\": \"k\", \"finish",
       "f: /result/jobs/0/name: is 'k', but job 0 is 'j': one entry a job, in their order"},
      {"\"optimal\"", "\"best\"",
       "f: /result/termination/reason: must be one of optimal, feasible, infeasible, no_solution, "
       "unsupported, not 'best'"},
      {"\"epochs\": 36", "\"epochs\": -1",
       "f: /result/epoch/epochs: is -1, but must be at least 0"},
      {"\"gap\": 0,", "\"gap\": \"0%\",", "f: /result/gap: must be a number, not a string"},
      {"\"seed\": 1", "\"seed\": -1", "f: /result/seed: is -1, but must be at least 0"},
      {"\"relays\"", "\"symmetry\": {\"generators\": [[0, 0]]}, \"relays\"",
       "f: /symmetry/generators/0: must be a permutation of the 2 nodes"},
  };
  for (const auto& [part, replacement, expected] : cases) {
    std::string message;
    try {
      parse_plan(replaced(good, part, replacement), "f");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unreadable_input);
      message = error.what();
    }
    EXPECT_EQ(message, expected) << part << " -> " << replacement;
  }
}

// Damage of single bytes: an Error in one line, or a plan whose ids are in range.
RC_GTEST_PROP(PlanFile, DamagedTextsNeverCrash, (std::uint64_t seed)) {
  Rng rng(seed);
  std::string text = format_plan(testing::random_plan(rng));
  for (std::size_t k = 1 + rng.below(3); k > 0; --k) {
    static const std::string kAlphabet = "0123456789[]{},:\"-.eE null";
    text[rng.below(text.size())] = kAlphabet[rng.below(kAlphabet.size())];
  }
  try {
    const Plan plan = parse_plan(text, "f");
    format_plan(plan);
  } catch (const Error& error) {
    RC_ASSERT(std::string(error.what()).find('\n') == std::string::npos);
  }
}

}  // namespace
}  // namespace stellwerk
