#include "stellwerk/io/jobs_file.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/io/random_for_test.hpp"

namespace stellwerk {
namespace {

const Topology& three() {
  static const Topology topology = catalogue_topology("full:3");
  return topology;
}

RC_GTEST_PROP(JobsFile, ReadBackExactly, (std::uint64_t seed)) {
  Rng rng(seed);
  const Topology topology = testing::random_topology(rng);
  std::vector<Job> jobs = testing::random_jobs(rng, topology);
  for (Job& job : jobs) {
    if (job.collective != Collective::custom && rng.below(4) == 0) {
      job.auto_chunks = true;
      job.chunks = 1;
    }
  }
  const std::string text = format_jobs(jobs, topology);
  const std::vector<Job> again = parse_jobs(text, "f", topology);
  RC_ASSERT(again == jobs);
  RC_ASSERT(format_jobs(again, topology) == text);
}

TEST(JobsFile, LooksLikeThis) {
  Job gather;
  gather.name = "dp";
  gather.ranks = three().gpus();
  gather.size = Bytes{64'000'000};
  gather.auto_chunks = true;
  Job exchange;
  exchange.name = "moe";
  exchange.collective = Collective::alltoallv;
  exchange.ranks = {NodeId(2), NodeId(0)};
  exchange.matrix = {{Bytes{0}, Bytes{4096}}, {Bytes{1}, Bytes{0}}};
  Job custom;
  custom.name = "kv";
  custom.collective = Collective::custom;
  custom.ranks = {NodeId(0), NodeId(1)};
  custom.custom = {{Bytes{65536}, {NodeId(0)}, {NodeId(1)}, Time{3'000'000}, {}}};
  custom.start = Time{500'000};
  custom.weight = 2;
  EXPECT_EQ(format_jobs({gather, exchange, custom}, three()), R"({
  "format": "stellwerk.jobs/1",
  "jobs": [
    {"name": "dp", "collective": "allgather", "ranks": "all", "size": "64MB", "chunks": "auto"},
    {"name": "moe", "collective": "alltoallv", "ranks": ["gpu2", "gpu0"], "chunks": 1,
     "bytes": [
       [0, 4096],
       [1, 0]]},
    {"name": "kv", "collective": "custom", "ranks": ["gpu0", "gpu1"], "start": "0.5us", "weight": 2,
     "chunks": [
       {"bytes": 65536, "origins": ["gpu0"], "destinations": ["gpu1"], "ready": "3us"}]}
  ]
}
)");
}

TEST(JobsFile, ACustomJobWithoutRanksTakesTheNodesThatItNames) {
  const auto jobs = parse_jobs(R"({"format": "stellwerk.jobs/1", "jobs": [
    {"name": "kv", "collective": "custom", "chunks": [
      {"bytes": "64KiB", "origins": ["gpu2"], "destinations": ["gpu0"], "ready": "3us", "contributors": null}]}]})",
                               "f", three());
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].ranks, (std::vector<NodeId>{NodeId(0), NodeId(2)}));
  EXPECT_EQ(jobs[0].custom[0].bytes, Bytes{65536});
}

TEST(JobsFile, BrokenFilesAreRefusedInOneLine) {
  const auto job = [](const std::string& rest) {
    return R"({"format": "stellwerk.jobs/1", "jobs": [{"name": "j", )" + rest + "}]}";
  };
  const auto gather = [&](const std::string& rest) {
    return job(R"("collective": "allgather", )" + rest);
  };
  const std::string good = R"("ranks": "all", "size": "1MB")";
  std::string many_jobs = R"({"name": "j"})";
  for (int k = 0; k < 100'000; ++k) many_jobs += R"(,{"name":"j"})";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {gather(good), ""},
      {R"({"format": "stellwerk.jobs/1", "jobs": []})",
       "f: /jobs: there is no job: name a collective or a jobs file"},
      {R"({"format": "stellwerk.jobs/2", "jobs": []})",
       "f: /format: this is 'stellwerk.jobs/2', but 'stellwerk.jobs/1' is expected here"},
      {R"({"format": "stellwerk.jobs/1", "jobs": 4})",
       "f: /jobs: must be an array, not an integer"},
      {job(R"("collective": "allgathr", )" + good),
       "f: /jobs/0/collective: there is no collective 'allgathr'; did you mean 'allgather'?"},
      {job(good), "f: /jobs/0: the key 'collective' is missing: add it"},
      {gather(R"("ranks": "some", "size": 1)"),
       "f: /jobs/0/ranks: must be a list of node names or \"all\", not 'some'"},
      {gather(R"("ranks": ["gpu0", "gpu7"], "size": 1)"),
       "f: /jobs/0/ranks/1: there is no node 'gpu7'; did you mean 'gpu0'?"},
      {gather(R"("ranks": ["gpu0", 1], "size": 1)"),
       "f: /jobs/0/ranks/1: must be a string, not an integer"},
      {gather(R"("ranks": ["gpu0", "gpu0"], "size": 1)"),
       "f: /jobs/0: job 'j': ranks: 'gpu0' is listed twice"},
      {gather(R"("ranks": ["gpu0"], "size": 1)"),
       "f: /jobs/0: job 'j': a collective needs at least two ranks, 1 given"},
      {gather(R"("ranks": "all")"), "f: /jobs/0: the key 'size' is missing: add it"},
      {gather(R"("ranks": "all", "size": 0)"), "f: /jobs/0: job 'j': size must be positive"},
      {gather(R"("ranks": "all", "size": "1.5B")"),
       "f: /jobs/0/size: '1.5B' is not a size: it is not a whole number of base units"},
      {gather(R"("ranks": "all", "size": "9000PB")"),
       "f: /jobs/0/size: '9000PB' is not a size: write bytes, or a number and a unit: KB, MB, GB "
       "(decimal), KiB, MiB, GiB or K, M, G (binary)"},
      {gather(R"("ranks": "all", "size": 9223372036854775807)"),
       "f: /jobs/0: job 'j': asks for more than 2^60 bytes in all: lower the size"},
      {gather(good + R"(, "chunks": 0)"),
       "f: /jobs/0/chunks: is 0, but must be from 1 to 2147483647"},
      {gather(good + R"(, "chunks": "four")"),
       "f: /jobs/0/chunks: must be a number or \"auto\", not 'four'"},
      {gather(good + R"(, "chunks": 2000000000)"),
       "f: /jobs/0: job 'j': is cut into more than 50000000 chunks: lower chunks"},
      {gather(good + R"(, "root": 3)"),
       "f: /jobs/0: job 'j': root 3 is not a position in the list of 3 ranks"},
      {gather(good + R"(, "start": "3")"),
       "f: /jobs/0/start: '3' has no unit: write it as in \"0.7us\", or a plain number of ps"},
      {gather(good + R"(, "weight": 0)"), "f: /jobs/0/weight: is 0, but must be at least 1"},
      {gather(good + R"(, "bytes": [[0]])"),
       "f: /jobs/0/bytes: is for alltoallv only: use size, or chunks in a custom job"},
      {gather(good + R"(, "weigth": 1)"),
       "f: /jobs/0/weigth: unknown key 'weigth'; did you mean 'weight'?"},
      {job(R"("collective": "alltoallv", "ranks": "all", "bytes": [[0, 1, 1], [1, 0, 1]])"),
       "f: /jobs/0: job 'j': bytes has 2 rows, but the job has 3 ranks"},
      {job(R"("collective": "alltoallv", "ranks": "all", "bytes": [[0, 1, 1], [1, 0], [0, 0, 0]])"),
       "f: /jobs/0: job 'j': row 1 of bytes has 2 entries, but the job has 3 ranks"},
      {job(R"("collective": "alltoallv", "ranks": "all", "bytes": [[5, 0, 0], [0, 5, 0], [0, 0, 5]])"),
       "f: /jobs/0: job 'j': bytes asks for no transfer between different ranks"},
      {job(R"("collective": "alltoallv", "ranks": "all", "bytes": [[0, -1, 1], [1, 0, 1], [0, 0, 0]])"),
       "f: /jobs/0/bytes/0/1: is -1, but must not be negative"},
      {job(R"("collective": "alltoallv", "ranks": "all", "size": 1, "bytes": [])"),
       "f: /jobs/0/size: alltoallv takes its sizes from bytes: remove size"},
      {R"({"format": "stellwerk.jobs/1", "jobs": [)" + many_jobs + "]}",
       "f: /jobs: has 100001 jobs: at most 100000 are read"},
      {job(R"("collective": "custom", "chunks": 4)"),
       "f: /jobs/0/chunks: of a custom job must be a list of chunks, not an integer"},
      {job(R"("collective": "custom", "chunks": [])"),
       "f: /jobs/0: job 'j': a custom job needs a list of chunks"},
      {job(R"("collective": "custom", "chunks": [{"bytes": 1, "destinations": ["gpu0"]}])"),
       "f: /jobs/0/chunks/0: give either origins, or contributors for a reduction"},
      {job(R"("collective": "custom", "chunks": [{"bytes": 0, "origins": ["gpu1"], "destinations": ["gpu0"]}])"),
       "f: /jobs/0: job 'j': chunk 0: bytes must be positive"},
      {job(R"("collective": "custom", "ranks": ["gpu0"], "chunks": [{"bytes": 1, "origins": ["gpu1"], "destinations": ["gpu0"]}])"),
       "f: /jobs/0: job 'j': chunk 0: 'gpu1' is not among the job's ranks"},
      {R"({"format": "stellwerk.jobs/1", "jobs": [{"name": "j", "collective": "allgather", "ranks": "all", "size": 1},
           {"name": "j", "collective": "allgather", "ranks": "all", "size": 1}]})",
       "f: /jobs: job 'j': another job has the same name: names must be unique"},
  };
  for (const auto& [text, expected] : cases) {
    std::string message;
    try {
      parse_jobs(text, "f", three());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unreadable_input);
      message = error.what();
    }
    EXPECT_EQ(message, expected) << text;
    EXPECT_EQ(message.find('\n'), message.npos);
  }
}

}  // namespace
}  // namespace stellwerk
