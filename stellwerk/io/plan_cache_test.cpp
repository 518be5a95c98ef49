// The cache's rules one by one, then processes that are killed while they write.
#include "stellwerk/io/plan_cache.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/rng.hpp"
#include "stellwerk/check/simulate.hpp"
#include "stellwerk/check/verify.hpp"
#include "tests/support/small_world.hpp"

namespace stellwerk {
namespace {

using test_support::send_over;
using test_support::SmallWorld;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A file in a folder of its own, which goes away with it.
class CacheFile {
 public:
  CacheFile() {
    std::string pattern = (std::filesystem::temp_directory_path() / "stellwerk-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~CacheFile() { std::filesystem::remove_all(folder_); }
  CacheFile(const CacheFile&) = delete;
  CacheFile& operator=(const CacheFile&) = delete;
  std::string path() const { return folder_ + "/deep/plans.sqlite"; }

 private:
  std::string folder_;
};

/// A plan of one send of so many bytes or of many, whose random sizes do not compress.
Plan plan_of(std::int64_t bytes, int chunks = 1) {
  SmallWorld world(2);
  world.link(0, 1);
  Rng rng(static_cast<std::uint64_t>(bytes));
  for (int c = 0; c < chunks; ++c) {
    world.data(chunks == 1 ? bytes : rng.between(1, 1'000'000'000), {0}, {1});
  }
  Plan plan;
  plan.problem = world.problem();
  Schedule sends;
  for (int c = 0; c < chunks; ++c) sends.push_back(send_over(plan.problem, c, c, {0}));
  Simulation simulation = simulate(plan.problem, sends);
  plan.sends = simulation.sends;
  sort_sends(plan.problem.topology, plan.sends);
  plan.result.transfer_time = simulation.transfer_time;
  plan.result.job_finish = simulation.job_finish;
  plan.result.planner = "test";
  return plan;
}

std::vector<std::string> keys(PlanCache& cache) {
  std::vector<std::string> result;
  for (const CacheEntry& entry : cache.entries()) result.push_back(entry.key);
  return result;
}

TEST(PlanCache, KeepsPlansAcrossConnections) {
  const CacheFile file;
  const Plan plan = plan_of(1000);
  {
    PlanCache cache(file.path());
    EXPECT_FALSE(cache.get("a"));
    cache.put("a", "one send", plan);
  }
  PlanCache cache(file.path());
  const std::optional<Plan> found = cache.get("a");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->sends, plan.sends);
  EXPECT_EQ(found->problem.jobs, plan.problem.jobs);
  EXPECT_TRUE(verify(*found).valid());
  const std::vector<CacheEntry> entries = cache.entries();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].summary, "one send");
  EXPECT_EQ(entries[0].transfer_time, plan.result.transfer_time);
  cache.clear();
  EXPECT_FALSE(cache.get("a"));
}

TEST(PlanCache, DropsWhatWasNotUsedForLongest) {
  const CacheFile file;
  PlanCache cache(file.path());
  for (const char* key : {"a", "b", "c"}) cache.put(key, "", plan_of(1000));
  const std::int64_t size = cache.entries().front().bytes.value;
  cache.set_limit(Bytes{3 * size + size / 2});
  cache.get("a");
  EXPECT_THAT(keys(cache), ElementsAre("a", "c", "b"));
  cache.put("d", "", plan_of(1000));
  EXPECT_THAT(keys(cache), ElementsAre("d", "a", "c"));
  cache.set_limit(Bytes{size});
  EXPECT_THAT(keys(cache), ElementsAre("d"));
  EXPECT_EQ(PlanCache(file.path()).limit(), Bytes{size});
  // What does not fit at all drives nothing out.
  cache.put("e", "", plan_of(2, 500));
  EXPECT_THAT(keys(cache), ElementsAre("d"));
}

TEST(PlanCache, KeyCoversAllThatDecidesThePlan) {
  const Plan plan = plan_of(1000);
  const Topology& topology = plan.problem.topology;
  std::vector<Job> jobs = plan.problem.jobs;
  const std::string key = cache_key(topology, jobs, Relays::all, {{"a", "1"}, {"b", "2"}});
  EXPECT_EQ(key, cache_key(topology, jobs, Relays::all, {{"b", "2"}, {"a", "1"}}));
  EXPECT_NE(key, cache_key(topology, jobs, Relays::members, {{"a", "1"}, {"b", "2"}}));
  EXPECT_NE(key, cache_key(topology, jobs, Relays::all, {{"a", "1"}, {"b", "3"}}));
  EXPECT_NE(key, cache_key(topology, jobs, Relays::all, {{"a", "1\nb 1 2"}}));
  jobs[0].custom[0].bytes.value += 1;
  EXPECT_NE(key, cache_key(topology, jobs, Relays::all, {{"a", "1"}, {"b", "2"}}));
}

TEST(PlanCache, RefusesFilesOfOtherKinds) {
  const CacheFile file;
  std::filesystem::create_directories(std::filesystem::path(file.path()).parent_path());
  std::ofstream(file.path()) << std::string(5000, 'x');
  try {
    PlanCache cache(file.path());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unreadable_input);
    EXPECT_THAT(error.what(), HasSubstr("is not a plan cache"));
  }
}

/// Puts and gets entries for ever; exits with 1 when one is not what it should be.
[[noreturn]] void hammer(const std::string& path, std::uint64_t seed) {
  Rng rng(seed);
  try {
    PlanCache cache(path);
    for (;;) {
      const std::int64_t bytes = rng.between(1, 20);
      const std::string key = std::to_string(bytes);
      if (rng.below(2) == 0) {
        cache.put(key, key, plan_of(bytes, 200));
      } else if (const std::optional<Plan> plan = cache.get(key)) {
        const Plan expected = plan_of(bytes, 200);
        if (!verify(*plan).valid() || plan->sends != expected.sends) _exit(1);
      }
    }
  } catch (...) {
    _exit(2);
  }
}

TEST(PlanCache, SurvivesProcessesThatAreKilled) {
  const CacheFile file;
  PlanCache(file.path()).set_limit(Bytes{20'000});  // so that entries are driven out, too
  Rng rng(3);
  std::vector<pid_t> workers;
  const auto begin = [&](std::uint64_t seed) {
    const pid_t pid = fork();
    if (pid == 0) hammer(file.path(), seed);
    return pid;
  };
  for (std::uint64_t w = 0; w < 4; ++w) workers.push_back(begin(w));
  for (std::uint64_t round = 0; round < 25; ++round) {
    usleep(static_cast<useconds_t>(rng.between(1'000, 30'000)));
    pid_t& victim = workers[rng.below(workers.size())];
    kill(victim, SIGKILL);
    int status = 0;
    waitpid(victim, &status, 0);
    // Whoever ended by itself had found something wrong.
    EXPECT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
    victim = round < 24 ? begin(100 + round) : 0;
  }
  for (const pid_t worker : workers) {
    if (worker == 0) continue;
    kill(worker, SIGKILL);
    waitpid(worker, nullptr, 0);
  }
  PlanCache cache(file.path());
  std::int64_t total = 0;
  for (const CacheEntry& entry : cache.entries()) {
    total += entry.bytes.value;
    const std::optional<Plan> plan = cache.get(entry.key);
    ASSERT_TRUE(plan);
    EXPECT_TRUE(verify(*plan).valid());
  }
  EXPECT_GT(total, 0);
  EXPECT_LE(total, 20'000);
}

}  // namespace
}  // namespace stellwerk
