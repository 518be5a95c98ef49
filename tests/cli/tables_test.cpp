// stellwerk compare and stellwerk bench: tables, files, Ctrl-C, several processes, broken input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "process.hpp"
#include "stellwerk/exec/process_group.hpp"
#include "stellwerk/plan/planner.hpp"
#include "tests/support/paths.hpp"

namespace stellwerk::tests {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

/// A field of a line of CSV, by the name of its column.
std::string field(const std::vector<std::string>& csv, std::size_t line, const std::string& key) {
  const auto split_line = [](const std::string& text) {
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (const char c : text) {
      if (c == '"') {
        quoted = !quoted;
      } else if (c == ',' && !quoted) {
        fields.emplace_back();
      } else {
        fields.back() += c;
      }
    }
    return fields;
  };
  const auto header = split_line(csv.front());
  const auto at = std::find(header.begin(), header.end(), key) - header.begin();
  return split_line(csv.at(line)).at(static_cast<std::size_t>(at));
}

const std::string kReference =
    "topology,chassis,collective,epoch_mode,output_size,finish_us,solver_s\n"
    "NDv2,2,alltoall,Fast,1MB,290,1515\n"
    "NDv2,2,alltoall,Slow,1MB,315,477\n"
    "NDv2,2,alltoall,Fast,4MB,1000,1529\n";

TEST(Tables, CompareOnTheSameSimulator) {
  const Sandbox box;
  const Outcome outcome = box.run(
      "compare -t ring:4,bandwidth=1GB/s,latency=1us -c allgather -s 1MB..4MB -p "
      "auto,ring,direct,bidirectional-ring,rabenseifner --csv t.csv --markdown t.md");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(box.files(), ElementsAre("t.csv", "t.md"));
  const auto lines = lines_of(outcome.out);
  ASSERT_EQ(lines.size(), 1 + 2 * 5 + 2U) << outcome.out;
  EXPECT_THAT(lines[0], AllOf(StartsWith("size  planner"), HasSubstr("transfer time"),
                              HasSubstr("gap"), HasSubstr("algbw"), HasSubstr("busbw"),
                              HasSubstr("output buffer"), HasSubstr("solver time")));
  EXPECT_THAT(lines[5], HasSubstr("do not serve allgather"));
  const auto csv = lines_of(box.read("t.csv"));
  ASSERT_EQ(csv.size(), 11U);
  long least = -1;
  for (std::size_t i = 1; i <= 5; ++i) {
    EXPECT_EQ(field(csv, i, "size_bytes"), "1000000");
    const std::string time = field(csv, i, "transfer_time_ps");
    EXPECT_EQ(time.empty(), i == 5);
    if (time.empty()) continue;
    if (i == 1) least = std::stol(time);
    EXPECT_GE(std::stol(time), least) << "auto is never above a baseline";
    EXPECT_GE(std::stol(time), std::stol(field(csv, i, "bound_ps")));
    EXPECT_EQ(field(csv, i, "output_bytes"), "1000000");
  }
  EXPECT_EQ(field(csv, 6, "size_bytes"), "4000000");
  EXPECT_THAT(lines_of(box.read("t.md")).at(2), StartsWith("| size | planner | transfer time |"));
}

TEST(Tables, CompareTakesAllBaselinesByDefault) {
  const Sandbox box;
  const Outcome outcome =
      box.run("compare -t full:4 -c alltoall -s 1MB --chunks 1 --parallel 3 --csv t.csv");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const auto csv = lines_of(box.read("t.csv"));
  std::size_t baselines = 0;
  for (const PlannerRow& row : planners()) baselines += row.kind == PlannerKind::baseline ? 1 : 0;
  ASSERT_EQ(csv.size(), 2 + baselines);
  EXPECT_EQ(field(csv, 1, "planner"), "auto");
  EXPECT_EQ(field(csv, 2, "planner"), "direct");
}

TEST(Tables, PublishedInstancesWithRatiosAndMeans) {
  const Sandbox box;
  box.write("ref.csv", kReference);
  const Outcome outcome =
      box.run("bench published --reference ref.csv --csv t.csv --markdown t.md");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const auto csv = lines_of(box.read("t.csv"));
  ASSERT_EQ(csv.size(), 1 + 2 + 2U);
  EXPECT_EQ(field(csv, 1, "topology"), "ndv2:2");
  EXPECT_EQ(field(csv, 1, "ratio_to_published"), "");
  EXPECT_EQ(field(csv, 3, "published_us"), "290");
  EXPECT_EQ(field(csv, 3, "topology"), "ndv2-2-as-published");
  EXPECT_EQ(field(csv, 3, "size_bytes"), "937500");
  const double ratio = std::stod(field(csv, 3, "ratio_to_published"));
  EXPECT_NEAR(ratio, std::stod(field(csv, 3, "transfer_time_ps")) / 290e6, 1e-9);
  EXPECT_LT(ratio, 1);
  EXPECT_GT(std::stod(field(csv, 4, "ratio_to_published")), 1);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr(" behind"), HasSubstr("geometric mean"),
                                 HasSubstr("all NDv2 AllToAll")));
  EXPECT_THAT(box.read("t.md"), HasSubstr("| NDv2 x 2 AllToAll | 2 |"));
}

TEST(Tables, InterruptedTablesKeepWhatThereIs) {
  const Sandbox box;
  const pid_t process = box.start(
      split("bench published --csv t.csv --markdown t.md --time-limit 60s --gap 0% --parallel 1"));
  const auto begin = std::chrono::steady_clock::now();
  while (!box.exists("t.csv.partial") || lines_of(box.read("t.csv.partial")).size() < 2) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(60)) break;
    // The first rows may take all of their time: then they are cut short, and count as well.
    if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(3)) break;
  }
  ASSERT_EQ(kill(process, SIGINT), 0);
  const Outcome outcome = box.wait(process);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("stopped by Ctrl-C: "));
  EXPECT_THAT(outcome.out, HasSubstr("of 88 rows, kept in t.csv.partial"));
  EXPECT_THAT(box.files(), ElementsAre("t.csv.partial", "t.md.partial"));
  EXPECT_GE(lines_of(box.read("t.csv.partial")).size(), 2U);
}

TEST(Tables, ProcessesOfMpirunShareTheRows) {
  if (!ProcessGroup::has_mpi()) GTEST_SKIP() << "SKIPPED: built without MPI";
  if (std::system("mpirun --version >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "SKIPPED: no mpirun here";
  }
  const Sandbox box;
  const std::string command = "cd '" + box.path("").string() +
                              "' && timeout 120 mpirun --allow-run-as-root --oversubscribe -n 3 '" +
                              std::string(testing::kToolPath) +
                              "' compare -t ring:4 -c allgather -s 1KB..1MB -p ring,direct "
                              "--csv t.csv >out 2>err </dev/null";
  const int status = std::system(command.c_str());
  ASSERT_EQ(status, 0) << box.read("err");
  const auto csv = lines_of(box.read("t.csv"));
  ASSERT_EQ(csv.size(), 1 + 6 * 2U);
  for (std::size_t i = 1; i < csv.size(); ++i) {
    EXPECT_EQ(field(csv, i, "planner"), i % 2 == 1 ? "ring" : "direct");
    EXPECT_NE(field(csv, i, "transfer_time_ps"), "") << csv[i];
  }
  EXPECT_EQ(lines_of(box.read("out")).size(), 1 + 12 + 1U) << "one process prints";
}

TEST(Tables, BrokenInputDrawsOneLine) {
  struct Case {
    std::string arguments;
    int status;
    std::string line;
  };
  std::string names;
  for (const PlannerRow& row : planners())
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  const std::vector<Case> cases = {
      {"compare", 2,
       "--topology is missing: name one, as in --topology ndv2:2 (see 'stellwerk topo list')"},
      {"compare -t ring:4", 2, "--collective is missing: name one, as in --collective allgather"},
      {"compare -t ring:4 -c allgather", 2,
       "--sizes is missing: give sizes or a range, as in --sizes 1KB..1GB"},
      {"compare -t ring:4 -c alltoallv -s 1K", 2,
       "--collective alltoallv needs more than a size, so there is nothing to compare over sizes"},
      {"compare -t ring:4 -c allgather -s 4K..1K", 2,
       "--sizes: '4K..1K' runs downwards: write the smaller size first"},
      {"compare -t ring:4 -c allgather -s 1K..4K*1", 2,
       "--sizes: '1' is too small: the least is 2"},
      {"compare -t ring:4 -c allgather -s 0,1K", 2, "--sizes: sizes must be positive"},
      {"compare -t ring:4 -c allgather -s 1K,,2K", 2,
       "--sizes: '' is not a size: write bytes, or a number and a unit: KB, MB, GB (decimal), KiB, "
       "MiB, GiB or K, M, G (binary)"},
      {"compare -t ring:4 -c allgather -s 1K -p auto,rings", 2,
       "--planners: 'rings' is not a planner: choose one of " + names + ", or auto, or baselines"},
      {"compare -t ring:4 -c allgather -s 1K -p ring,", 2,
       "--planners: there is nothing between two commas or at an end"},
      {"compare -t ring:4 -c allgather -s 1K --parallel 0", 2,
       "--parallel: '0' is too small: the least is 1"},
      {"compare -t ring:1 -c allgather -s 1K", 2,
       "topology 'ring:1': a ring needs at least two GPUs"},
      {"compare -t ring:4 -c allgather -s 1K --csv missing/t.csv", 3,
       "missing/t.csv: cannot be written: No such file or directory"},
      {"compare -t ring:4 -c allgather -s 1K --markdown /", 3,
       "/: cannot be written: it is a folder"},
      {"compare -t ring:4 -c allgather -s 1K --topolgy x", 2,
       "unknown option '--topolgy'; did you mean '--topology'?"},
      {"bench", 2,
       "'bench' needs one of: published, scale, peers, random, jitter, experts, jobs, replan, "
       "online"},
      {"bench publishd", 2, "unknown command 'bench publishd'; did you mean 'bench published'?"},
      {"bench published --reference missing.csv", 3,
       "missing.csv: cannot be opened: No such file or directory"},
      {"bench published --reference broken.csv", 3,
       "broken.csv: line 2, topology: 'X' is neither NDv2 nor DGX2"},
      {"bench published --only nothing", 2,
       "--only: no row has 'nothing' in its topology or group: leave it out to see them all"},
      {"bench published --time-limit 1s --total-time 9s", 2,
       "--total-time contradicts --time-limit, which is for each plan: give one of them"},
      {"bench published --total-time 0s", 2, "--total-time must be positive"},
      {"bench scale --gpus 65..70", 2,
       "--gpus: there are fabrics of 64 to 16384 GPUs, none of 65..70"},
      {"bench scale --gpus 64..many", 2, "--gpus: 'many' is not an integer"},
      {"bench scale --relabel x", 2, "--relabel: 'x' is not an integer"},
      {"bench peers --gap x", 2,
       "--gap: 'x' is not a ratio: write a fraction (0.01) or a percentage (1%)"},
      {"bench peers --memory-limit 0", 2, "--memory-limit must be positive"},
  };
  for (const Case& broken : cases) {
    const Sandbox box;
    box.write("broken.csv", "topology\nX\n");
    const Outcome outcome = box.run(broken.arguments);
    EXPECT_EQ(outcome.status, broken.status) << broken.arguments;
    EXPECT_EQ(outcome.err, "stellwerk: " + broken.line + "\n") << broken.arguments;
    EXPECT_EQ(outcome.out, "") << broken.arguments;
    EXPECT_THAT(box.files(), ElementsAre("broken.csv")) << broken.arguments;
  }
}

TEST(Tables, BenchHelpListsItsCommands) {
  const Sandbox box;
  for (const char* arguments : {"bench --help", "help bench"}) {
    const Outcome help = box.run(arguments);
    EXPECT_EQ(help.status, 0);
    EXPECT_THAT(help.out, AllOf(HasSubstr("  bench published"), HasSubstr("  bench scale"),
                                HasSubstr("  bench peers"), HasSubstr("  bench random"),
                                Not(HasSubstr("topo"))));
  }
}

TEST(Tables, ScaleAndPeersMeasureWhatTheySay) {
  const Sandbox box;
  const Outcome scale =
      box.run("bench scale --gpus 64 --only torus --time-limit 1s --gap 50% --csv s.csv");
  EXPECT_EQ(scale.status, 0) << scale.err;
  const auto csv = lines_of(box.read("s.csv"));
  ASSERT_EQ(csv.size(), 1 + 5U);
  for (std::size_t i = 1; i < csv.size(); ++i) EXPECT_EQ(field(csv, i, "gpus"), "64");
  const Outcome peers = box.run("bench peers --only mesh:4x4 --csv p.csv");
  EXPECT_EQ(peers.status, 0) << peers.err;
  const auto rows = lines_of(box.read("p.csv"));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_GT(std::stod(field(rows, 1, "share_of_optimum")), 0.99);
  EXPECT_EQ(field(rows, 1, "tacos_algbw"), "106500000000");
}

TEST(Tables, RandomProblemsBesideTheBestBaseline) {
  const Sandbox box;
  const Outcome outcome = box.run("bench random --count 12 --time-limit 0.2s --csv r.csv");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const auto csv = lines_of(box.read("r.csv"));
  ASSERT_EQ(csv.size(), 1 + 12U);
  EXPECT_EQ(field(csv, 12, "problem"), "12");
  EXPECT_NE(field(csv, 1, "baseline_time_ps"), "");
  const auto lines = lines_of(outcome.out);
  ASSERT_EQ(lines.size(), 1 + 10 + 1 + 2 + 1U) << outcome.out;
  EXPECT_THAT(lines[12], AllOf(HasSubstr("above a baseline"), HasSubstr("median gap")));
}

}  // namespace
}  // namespace stellwerk::tests
