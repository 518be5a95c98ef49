// Measurements, tables and lists of instances.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

#include "stellwerk/base/error.hpp"
#include "stellwerk/bench/compare.hpp"
#include "stellwerk/bench/published.hpp"
#include "stellwerk/bench/random_problem.hpp"
#include "stellwerk/bench/random_suite.hpp"
#include "stellwerk/bench/results_file.hpp"
#include "stellwerk/bench/runner.hpp"
#include "stellwerk/bench/suites.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/io/file.hpp"
#include "stellwerk/plan/planner.hpp"
#include "tests/support/sanitized.hpp"

namespace stellwerk {
namespace {

using ::testing::HasSubstr;

Case small_case(const std::string& topology, const std::string& planner = "ring") {
  Case what;
  what.topology = topology;
  what.collective = Collective::allgather;
  what.size = Bytes{4'000'000};
  what.planner = planner;
  what.chunks = 1;
  return what;
}

TEST(Measure, SaysWhatThePlanSays) {
  const Measurement m = measure(small_case("ring:4,bandwidth=1GB/s,latency=1us"));
  ASSERT_TRUE(m.planned) << m.note;
  // Three steps of 1 MB; two rings, of which each gets two blocks.
  EXPECT_GE(m.transfer_time, Time{1'501'000'000});
  EXPECT_EQ(m.gpus, 4);
  EXPECT_EQ(m.planner, "ring");
  EXPECT_EQ(m.chunks_per_block, 1);
  EXPECT_EQ(m.sends, 12);
  EXPECT_EQ(m.symmetry, 1);
  EXPECT_EQ(m.output_bytes, Bytes{4'000'000});
  ASSERT_TRUE(m.bound && m.gap && m.algbw && m.busbw);
  EXPECT_LE(*m.bound, m.transfer_time);
  EXPECT_NEAR(*m.algbw, 4e6 / m.transfer_time.seconds(), 1);
  EXPECT_NEAR(*m.busbw, *m.algbw * 3 / 4, 1);
  EXPECT_NEAR(*m.gap, m.transfer_time.seconds() / m.bound->seconds() - 1, 1e-9);
  EXPECT_GT(m.peak_rss_bytes, 0);
}

TEST(Measure, NoPlanIsAResultAndABrokenTopologyAnError) {
  const Measurement none = measure(small_case("ring:4", "rabenseifner"));
  EXPECT_FALSE(none.planned);
  EXPECT_THAT(none.note, HasSubstr("do not serve allgather"));
  EXPECT_EQ(none.gpus, 4);
  EXPECT_THROW(measure(small_case("rings:4")), Error);
}

TEST(Measure, TravelsAsALine) {
  Measurement m = measure(small_case("ring:3"));
  m.note = "a note, with \"quotes\"";
  EXPECT_EQ(measurement_from_line(to_line(m)), m);
  const Measurement empty;
  EXPECT_EQ(measurement_from_line(to_line(empty)), empty);
  m.note = "two\nlines";
  EXPECT_EQ(measurement_from_line(to_line(m)).note, "two lines");
  const std::string line = to_line(m);
  for (const std::string& damaged :
       {std::string(), line.substr(0, line.size() / 2), line + '\x1f' + "1", "x" + line}) {
    EXPECT_THROW(measurement_from_line(damaged), Error);
  }
}

TEST(Columns, CsvAndMarkdownQuoteWhatTheyMust) {
  struct Row {
    std::string name;
    int value;
  };
  const std::vector<Column<Row>> columns = {
      {"name", "name", [](const Row& r) { return r.name; }, nullptr},
      {"value", "value_x2", [](const Row& r) { return std::to_string(r.value) + " us"; },
       [](const Row& r) { return std::to_string(2 * r.value); }},
      {"", "hidden", nullptr, [](const Row&) { return std::string("h"); }},
      {"shown", "", [](const Row&) { return std::string("s|t"); }, nullptr}};
  const std::vector<Row> rows = {{"plain", 1}, {"a,\"b\"\nc", 2}};
  EXPECT_EQ(csv(columns, rows), "name,value_x2,hidden\nplain,2,h\n\"a,\"\"b\"\"\nc\",4,h\n");
  EXPECT_EQ(markdown(columns, rows),
            "| name | value | shown |\n|---|---|---|\n| plain | 1 us | s\\|t |\n"
            "| a,\"b\" c | 2 us | s\\|t |\n");
}

TEST(Columns, TheTablesHaveOneNameForEachColumn) {
  const auto check = [](const auto& columns) {
    std::set<std::string> keys, headings;
    for (const auto& column : columns) {
      EXPECT_TRUE(column.text || column.value);
      if (!column.key.empty()) {
        EXPECT_TRUE(keys.insert(column.key).second) << column.key;
      }
      if (!column.heading.empty()) {
        EXPECT_TRUE(headings.insert(column.heading).second) << column.heading;
      }
    }
    for (const char* key : {"topology", "transfer_time_ps", "bound_ps", "gap", "algbw_bytes_per_s",
                            "busbw_bytes_per_s", "output_bytes", "solver_time_s"}) {
      EXPECT_TRUE(keys.contains(key)) << key;
    }
  };
  check(compare_columns());
  check(published_columns());
  check(scale_columns());
  check(peer_columns());
  check(random_columns());
}

TEST(Compare, EverySizeWithEveryPlanner) {
  Case common = small_case("ring:4", "");
  const auto rows = compare_cases(common, {Bytes{1}, Bytes{2}}, {"auto", "ring"});
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].what.planner, "");
  EXPECT_EQ(planner_label(rows[0].what), "auto");
  EXPECT_EQ(rows[1].what.planner, "ring");
  EXPECT_EQ(rows[3].what.size, Bytes{2});
}

TEST(Published, SixtySixInstancesAndTheTrueNdv2) {
  const auto instances = parse_published(published_csv(), "built in");
  EXPECT_EQ(instances.size(), 66U);
  const auto rows = published_rows(instances, Case{});
  ASSERT_EQ(rows.size(), 88U);
  std::map<std::string, int> groups;
  for (const PublishedRow& row : rows) {
    ++groups[row.group];
    EXPECT_EQ(row.compared, row.measured.what.topology != "ndv2:2");
    EXPECT_TRUE(is_catalogue_name(row.measured.what.topology));
  }
  EXPECT_EQ(groups.size(), 8U);
  for (const auto& [group, count] : groups) EXPECT_EQ(count, 11) << group;
  const auto find = [&](const std::string& group, const std::string& label) -> const PublishedRow& {
    for (const PublishedRow& row : rows) {
      if (row.group == group && row.published.label == label) return row;
    }
    throw std::runtime_error("no " + group);
  };
  // The least time over the epoch modes; early stop with its double chunks left out for DGX2 only.
  EXPECT_DOUBLE_EQ(find("NDv2 x 4 AllGather", "1GB").published.finish_us, 65000);
  EXPECT_EQ(find("NDv2 x 4 AllGather", "1GB").published.epoch_mode, "Slow");
  EXPECT_DOUBLE_EQ(find("DGX2 x 2 AllGather", "64KB").published.finish_us, 4.32);
  EXPECT_DOUBLE_EQ(find("NDv2 x 2 AllGather", "16KB").published.finish_us, 4.44);
  // 15 ranks of a sixteenth each.
  const Case& odd = find("NDv2 x 2 AllGather", "1GB").measured.what;
  EXPECT_EQ(odd.topology, "ndv2-2-as-published");
  EXPECT_EQ(odd.size, Bytes{937'500'000});
  EXPECT_EQ(find("NDv2 x 2 of 16 GPUs AllToAll", "1GB").measured.what.size, Bytes{1'000'000'000});
}

PublishedRow row_of(double published_us, std::int64_t ours_ps, std::int64_t bound_ps) {
  PublishedRow row;
  row.group = "group";
  row.published.topology = "NDv2";
  row.published.finish_us = published_us;
  row.measured.result.planned = ours_ps > 0;
  row.measured.result.transfer_time = Time{ours_ps};
  row.measured.result.bound = Time{bound_ps};
  row.measured.result.solver_time_s = 0.5;
  return row;
}

TEST(Published, KeepingUpAndMeans) {
  EXPECT_TRUE(keeps_up(row_of(10, 10'000'000, 9'000'000)));
  EXPECT_FALSE(keeps_up(row_of(10, 10'000'001, 9'000'000)));
  // A published time below a valid bound: within 0.05% of the bound will do.
  EXPECT_TRUE(keeps_up(row_of(10, 11'005'000, 11'000'000)));
  EXPECT_FALSE(keeps_up(row_of(10, 11'006'000, 11'000'000)));
  EXPECT_FALSE(keeps_up(row_of(10, 0, 9'000'000)));
  PublishedRow reported = row_of(10, 0, 9'000'000);
  reported.compared = false;
  reported.group = "reported";
  EXPECT_TRUE(keeps_up(reported));

  const auto summaries =
      summarise({row_of(10, 10'000'000, 10'000'000), row_of(10, 40'000'000, 10'000'000), reported});
  ASSERT_EQ(summaries.size(), 3U);
  EXPECT_EQ(summaries[0].group, "group");
  EXPECT_EQ(summaries[0].rows, 2U);
  EXPECT_NEAR(*summaries[0].to_bound, 2, 1e-12);
  EXPECT_NEAR(*summaries[0].to_published, 2, 1e-12);
  EXPECT_NEAR(summaries[0].worst_to_bound, 4, 1e-12);
  EXPECT_EQ(summaries[0].behind, 1U);
  EXPECT_EQ(summaries[1].group, "reported");
  EXPECT_EQ(summaries[1].rows, 0U);
  EXPECT_FALSE(summaries[1].to_bound);
  EXPECT_EQ(summaries[2].group, "all NDv2 AllGather");
  EXPECT_EQ(summaries[2].rows, 2U);
}

TEST(Published, BrokenListsAreRefused) {
  const std::string header =
      "topology,chassis,collective,epoch_mode,output_size,finish_us,solver_s\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "f.csv: is empty: give a CSV with a line of column names"},
      {"a,b\n1,2\n", "f.csv: has no column 'topology': is it a list of published results?"},
      {header, "f.csv: lists no results"},
      {header + "DGX3,2,allgather,Fast,1KB,1,1\n",
       "f.csv: line 2, topology: 'DGX3' is neither NDv2 nor DGX2"},
      {header + "\r\nNDv2,2.5,allgather,Fast,1KB,1,1\r\n",
       "f.csv: line 3, chassis: '2.5' is not a number of chassis"},
      {header + "NDv2,2,allreduce,Fast,1KB,1,1\n",
       "f.csv: line 2, collective: 'allreduce' is neither allgather nor alltoall"},
      {header + "NDv2,2,allgather,Fast,1XB,1,1\n",
       "f.csv: line 2, output_size: '1XB' is not a size"},
      {header + "NDv2,2,allgather,Fast,1KB,-1,1\n",
       "f.csv: line 2, finish_us: '-1' is not a positive number"},
      {header + "NDv2,2,allgather,Fast,1KB,nan,1\n",
       "f.csv: line 2, finish_us: 'nan' is not a positive number"},
      {header + "NDv2,2,allgather,Fast,1KB,1\n", "f.csv: line 2, solver_s: is missing"},
  };
  for (const auto& [text, expected] : cases) {
    try {
      parse_published(text, "f.csv");
      ADD_FAILURE() << "accepted: " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unreadable_input);
      EXPECT_EQ(error.what(), expected);
    }
  }
  EXPECT_EQ(parse_published(header + "NDv2,2,\"allgather\",\"a,\"\"b\"\"\",1KB,1,1\n", "f").size(),
            1U);
}

TEST(Suites, ListsAreOfTheCatalogue) {
  std::set<std::string> names;
  for (const MeasuredCase& row : scale_cases(Case{}, 1, 1100, 3)) {
    names.insert(row.what.topology);
    EXPECT_THAT(row.what.topology, HasSubstr(",relabel=3"));
  }
  EXPECT_EQ(names.size(), 13U);
  for (const std::string& name : names) {
    const Topology topology = catalogue_topology(name);
    EXPECT_GE(topology.gpus().size(), 64U);
  }
  for (const MeasuredCase& row : scale_cases(Case{}, 64, 16384, std::nullopt)) {
    if (row.result.gpus > 256) continue;
    EXPECT_EQ(catalogue_topology(row.what.topology).gpus().size(),
              static_cast<std::size_t>(row.result.gpus));
  }
  EXPECT_EQ(scale_cases(Case{}, 4096, 4096, 1).size(), 10U);
  EXPECT_TRUE(scale_cases(Case{}, 65, 70, 1).empty());
  PeerRow row = peer_rows(Case{}).front();
  EXPECT_EQ(row.measured.what.topology, "dgx1");
  EXPECT_FALSE(share_of_optimum(row));
  row.measured.result.algbw = 171.4e9 / 2;
  EXPECT_NEAR(*share_of_optimum(row), 0.5, 1e-9);
}

TEST(RandomSuite, AlwaysTheSameProblemsOfEveryCollective) {
  std::map<Collective, int> collectives_seen;
  int two_jobs = 0, subsets = 0, sums = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const RandomProblem problem = random_problem(seed);
    const RandomProblem again = random_problem(seed);
    EXPECT_EQ(problem.topology, again.topology);
    EXPECT_EQ(problem.jobs, again.jobs);
    const Topology topology = catalogue_topology(problem.topology);
    EXPECT_GE(topology.gpus().size(), 4U) << problem.topology;
    EXPECT_LE(topology.gpus().size(), 64U) << problem.topology;
    ++collectives_seen[problem.jobs.front().collective];
    two_jobs += problem.jobs.size() == 2 ? 1 : 0;
    subsets += problem.jobs.front().ranks.size() < topology.gpus().size() ? 1 : 0;
    for (const CustomChunk& chunk : problem.jobs.front().custom)
      sums += chunk.contributors.size() > 1 ? 1 : 0;
  }
  EXPECT_EQ(collectives_seen.size(), collectives().size());
  for (const auto& [collective, count] : collectives_seen) EXPECT_GE(count, 9);
  EXPECT_GT(two_jobs, 10);
  EXPECT_GT(subsets, 10);
  EXPECT_GT(sums, 0);
}

TEST(RandomSuite, ThePortfolioIsNotAboveTheBestBaseline) {
  Case common;
  common.limit_s = 60;  // never met
  common.gap = 1;       // whatever comes first
  for (RandomRow& row : random_rows(common, 6, testing::rounds(5, 2))) {
    ASSERT_TRUE(row.measured.what.rival);
    row.measured.result = measure(row.measured.what);
    const Measurement& m = row.measured.result;
    ASSERT_TRUE(m.planned) << m.note;
    ASSERT_TRUE(m.rival_time);
    EXPECT_FALSE(m.rival.empty());
    EXPECT_FALSE(above_baseline(row)) << row.demand << " on " << row.measured.what.topology;
    EXPECT_EQ(measurement_from_line(to_line(m)), m);
  }
}

TEST(RandomSuite, SummaryAndWorst) {
  const auto row = [](double gap, std::int64_t ours, std::int64_t baseline) {
    RandomRow result;
    result.measured.result.planned = ours > 0;
    result.measured.result.transfer_time = Time{ours};
    if (ours > 0) result.measured.result.gap = gap;
    if (baseline > 0) result.measured.result.rival_time = Time{baseline};
    return result;
  };
  const std::vector<RandomRow> rows = {row(0.02, 10, 20), row(0, 10, 80), row(0.5, 11, 10),
                                       row(0, 0, 0), row(0.01, 10, 0)};
  EXPECT_FALSE(above_baseline(rows[0]));
  EXPECT_TRUE(above_baseline(rows[2]));
  EXPECT_FALSE(above_baseline(rows[3]));
  EXPECT_TRUE(above_baseline(row(0, 0, 5))) << "a baseline has a plan, and we have none";
  const RandomSummary summary = summarise(rows);
  EXPECT_EQ(summary.problems, 5U);
  EXPECT_EQ(summary.plans, 4U);
  EXPECT_EQ(summary.optimal, 1U);
  EXPECT_EQ(summary.above_baseline, 1U);
  EXPECT_NEAR(*summary.median_gap, 0.01, 1e-12);
  EXPECT_NEAR(*summary.largest_gap, 0.5, 1e-12);
  EXPECT_NEAR(*summary.gain, std::cbrt(2 * 8 * 10 / 11.0), 1e-9);
  const std::vector<RandomRow> worst_two = worst(rows, 2);
  ASSERT_EQ(worst_two.size(), 2U);
  EXPECT_FALSE(worst_two[0].measured.result.planned);
  EXPECT_EQ(worst_two[1].measured.result.gap, 0.5);
}

class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("stellwerk-bench-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

TEST(ResultsFile, KeepsLinesUntilTheEnd) {
  const Folder folder;
  ResultsFile file(folder / "t.csv", "head\n");
  file.add("one\n");
  EXPECT_EQ(read_file(folder / "t.csv.partial"), "head\none\n");
  EXPECT_FALSE(std::filesystem::exists(folder / "t.csv"));
  file.finish("head\none\ntwo\n");
  EXPECT_EQ(read_file(folder / "t.csv"), "head\none\ntwo\n");
  EXPECT_FALSE(std::filesystem::exists(folder / "t.csv.partial"));
  EXPECT_THROW(ResultsFile(folder / "missing/t.csv", "head\n"), Error);
}

TEST(Runner, EveryCaseGetsItsMeasurement) {
  std::vector<Case> cases;
  for (int i = 0; i < 5; ++i) cases.push_back(small_case("ring:" + std::to_string(3 + i)));
  cases.push_back(small_case("rings:4"));
  struct Listener : RunnerListener {
    std::map<std::size_t, Measurement> seen;
    std::size_t most_running = 0;
    void finished(std::size_t which, const Measurement& measurement) override {
      EXPECT_TRUE(seen.emplace(which, measurement).second);
    }
    void status(const RunnerStatus& status) override {
      EXPECT_EQ(status.count, 6U);
      most_running = std::max(most_running, status.running.size());
    }
  };
  const ProcessGroup group;
  EXPECT_EQ(group.size(), 1);
  for (const int parallel : {1, 3}) {
    Listener listener;
    RunnerOptions options;
    options.parallel = parallel;
    options.total_s = parallel == 1 ? 0 : 30;
    EXPECT_TRUE(run_cases(cases, options, group, listener));
    ASSERT_EQ(listener.seen.size(), 6U);
    EXPECT_EQ(listener.most_running, static_cast<std::size_t>(parallel));
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_TRUE(listener.seen[i].planned) << listener.seen[i].note;
      EXPECT_EQ(listener.seen[i].gpus, static_cast<std::int64_t>(3 + i));
    }
    EXPECT_FALSE(listener.seen[5].planned);
    EXPECT_THAT(listener.seen[5].note, HasSubstr("'rings:4' is neither a file nor"));
  }
}

}  // namespace
}  // namespace stellwerk
