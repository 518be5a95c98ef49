#include "stellwerk/io/link_fit.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/rng.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/io/file.hpp"
#include "tests/support/expect_refused.hpp"
#include "tests/support/paths.hpp"

namespace stellwerk {
namespace {

using testing::expect_refused;

/// A log of `ranks` ranks of 8 a host that takes alpha + size / rate.
std::string log_text(std::size_t ranks, double factor, bool new_layout, const std::string& prefix) {
  std::string text;
  const auto line = [&](const std::string& what) { text += prefix + what + "\n"; };
  if (new_layout) line("# Collective test starting: all_reduce_perf");
  line("# Using devices");
  for (std::size_t r = 0; r < ranks; ++r) {
    line("#  Rank " + std::to_string(r) + (new_layout ? " Group 0" : "") + " Pid 7 on h" +
         std::to_string(r / 8) + " device " + std::to_string(r % 8) + " [0x00] NVIDIA H100 80GB");
  }
  line(
      new_layout
          ? "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong timestamp"
          : "# size count type redop time algbw busbw error time algbw busbw error");
  for (std::int64_t bytes = 0; bytes <= std::int64_t{1} << 33; bytes = bytes == 0 ? 8 : bytes * 2) {
    const double us = 20 + static_cast<double>(bytes) / 1e5;  // 100 GB/s
    const double alg = static_cast<double>(bytes) / us / 1e3;
    const std::string cells = std::to_string(us) + " " + std::to_string(alg) + " " +
                              std::to_string(alg * factor) + (new_layout ? " 0" : " N/A");
    line(std::to_string(bytes) + " " + std::to_string(bytes / 4) + " float sum " +
         (new_layout ? "-1 " : "") + cells + " " + cells +
         (new_layout ? " 2026-01-01 12:00:00" : ""));
    if (bytes == 64) line("h0:1:1 [0] NCCL INFO Channel 00/02 : 0 1 2");
    if (bytes == 128) line("256 64 float sum h0:1:1 [0] NCCL INFO cut");
  }
  return text;
}

TEST(NcclTests, LayoutsAndPrefixesAreRead) {
  for (const bool new_layout : {false, true}) {
    for (const char* prefix : {"", "[1,0]<stdout>:", "0: "}) {
      const std::string text = log_text(8, 1.75, new_layout, prefix);
      EXPECT_TRUE(looks_like_nccl_tests(text));
      const NcclTestsLog log = read_nccl_tests(text, "ar.log");
      EXPECT_EQ(log.ranks, 8u);
      EXPECT_EQ(log.hosts, 1u);
      EXPECT_EQ(log.models, std::vector<std::string>{"NVIDIA H100 80GB"});
      EXPECT_EQ(log.rows.size(), 32u);
      EXPECT_EQ(log.collectives, std::vector<Collective>{Collective::allreduce});
      ASSERT_EQ(log.notes.size(), 1u);
      EXPECT_NE(log.notes[0].find("1 rows are cut off"), std::string::npos);
    }
  }
}

TEST(NcclTests, AHeadingCutOffAfterItsSecondTimeIsNoHeading) {
  // Rows below it were once read beyond their ends.
  for (const char* heading : {"time algbw busbw #wrong time", "time time algbw busbw #wrong",
                              "#wrong time algbw busbw time algbw busbw"}) {
    const std::string text =
        std::string("# Rank 0 Pid 7 on h0 device 0 [0x00] H100\n# size count ") + heading +
        "\n8 2 float sum 1 1 1 0 1\n8 2 1 1 1 1\n";
    expect_refused([&] { read_nccl_tests(text, "cut.log"); }, "no row of measurements");
  }
}

TEST(NcclTests, PlansOfOurOwnAreNotTakenForLogs) {
  EXPECT_FALSE(looks_like_nccl_tests(
      R"({"format": "stellwerk.plan/1", "result": {"algbw": 1, "busbw": 1}})"));
  EXPECT_TRUE(
      looks_like_nccl_tests(R"({"results": [{"out_of_place": {"alg_bw": 1.0, "bus_bw": 0.5}}]})"));
}

TEST(NcclTests, JsonIsRead) {
  const std::string row =
      R"({"size": 1024, "count": 256, "type": "float", "redop": "none", "root": "    -1",
          "out_of_place": {"time": 10.5, "alg_bw": 1.0, "bus_bw": 0.5, "nwrong": 0.0},
          "in_place": {"time": 9.5, "alg_bw": 1.1, "bus_bw": 0.55, "nwrong": 3.0}})";
  const std::string text =
      R"({"version": 2, "args": ["build/all_gather_perf", "-g", "2"], "config": {"nthreads": 1, "devices": [
        {"rank": 0, "group": 0, "pid": 1, "hostname": "a", "device": 0, "device_hex": "0", "device_info": "X"},
        {"rank": 1, "group": 0, "pid": 1, "hostname": "a", "device": 1, "device_hex": "1", "device_info": "X"}]},
       "results": [)" +
      row + "]}";
  const NcclTestsLog log = read_nccl_tests(text, "ag.json");
  EXPECT_EQ(log.collectives, std::vector<Collective>{Collective::allgather});
  ASSERT_EQ(log.rows.size(), 1u);
  EXPECT_EQ(log.rows[0].out_of_place_us, 10.5);
  EXPECT_FALSE(log.rows[0].in_place_us) << "its results were wrong";
  EXPECT_EQ(log.ranks, 2u);
  expect_refused([&] { fit_links(log, std::nullopt, false); }, "fewer than two sizes");
}

TEST(LinkFit, RecoversALineAndPlansWithIt) {
  const LinkFit inside =
      fit_links(read_nccl_tests(log_text(8, 1.75, true, ""), "a.log"), {}, false);
  EXPECT_FALSE(inside.between_hosts);
  EXPECT_NEAR(inside.line.alpha_us, 20, 0.01);
  EXPECT_NEAR(static_cast<double>(inside.rate.bytes_per_second), 175e9, 1e7);
  EXPECT_NEAR(inside.step.seconds(), 20e-6 / 14, 1e-9);
  EXPECT_LT(inside.line.largest_error, 1e-4);
  const Topology box = with_fit(catalogue_topology("dgx-h100:1"), inside);
  for (const Link& link : box.links()) {
    EXPECT_EQ(link.bandwidth, inside.rate);
    EXPECT_EQ(link.latency.ps, inside.step.ps / 2) << "GPU to switch to GPU";
    EXPECT_EQ(link.source.substr(0, 13), "fit of a.log ");
  }
  const LinkFit outside = fit_links(read_nccl_tests(log_text(16, 1.875, false, ""), "b.log"),
                                    Collective::allreduce, true);
  EXPECT_TRUE(outside.between_hosts);
  const Topology before = catalogue_topology("dgx-h100:2"), after = with_fit(before, outside);
  double leaving = 0;
  for (const LinkId id : after.link_ids()) {
    const Link& link = after.link(id);
    const std::string &from = after.node(link.from).host, &to = after.node(link.to).host;
    if (from == to) {
      EXPECT_EQ(link, before.link(id));
    }
    if (from == "h0" && to != "h0") leaving += static_cast<double>(link.bandwidth.bytes_per_second);
  }
  EXPECT_NEAR(leaving, 187.5e9, 1e8);
  expect_refused([&] { with_fit(catalogue_topology("ring:4"), outside); },
                 "no links between hosts");
}

/// Noise of 2% and a tenth of the points twice as slow.
TEST(LinkFit, OutliersCountLess) {
  Rng rng(7);
  std::vector<std::pair<std::int64_t, double>> points;
  for (int k = 0; k < 120; ++k) {
    const std::int64_t bytes = std::int64_t{8} << (k % 30);
    const double noise = 1 + 0.02 * (static_cast<double>(rng.below(2001)) / 1000 - 1);
    points.emplace_back(bytes,
                        (12 + static_cast<double>(bytes) / 4e4) * noise * (k % 10 == 3 ? 2 : 1));
  }
  const AlphaBeta fit = fit_line(points, "x");
  EXPECT_NEAR(fit.alpha_us, 12, 0.3);
  EXPECT_NEAR(fit.us_per_byte * 4e4, 1, 0.02);
  EXPECT_NEAR(fit.largest_error, 0.5, 0.03);
}

TEST(LinkFit, WhatALogDoesNotTellIsAsked) {
  std::string text = log_text(8, 1.75, true, "");
  text.erase(0, text.find('\n') + 1);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    for (std::size_t at; (at = changed.find(from)) != std::string::npos;)
      changed.replace(at, from.size(), to);
    return changed;
  };
  EXPECT_EQ(read_nccl_tests(text, "x").collectives.size(), 1u) << "2(n-1)/n and a sum";
  expect_refused([&] { fit_links(read_nccl_tests(with("sum", "none"), "x.log"), {}, false); },
                 "does not tell its collective");
  expect_refused([&] { fit_links(read_nccl_tests(text, "x.log"), Collective::broadcast, false); },
                 "the log is not of broadcast but of allreduce");
  expect_refused([&] { read_nccl_tests(with("#  Rank", "# rank"), "x.log"); }, "who took part");
  expect_refused([&] { read_nccl_tests("algbw busbw", "x.log"); }, "no row of measurements");
}

TEST(LinkFit, TheCorpusIsRead) {
  const std::filesystem::path corpus =
      std::filesystem::path(testing::kSourceDir) / ".." / "shared" / "corpus" / "nccltests";
  if (!std::filesystem::is_directory(corpus)) GTEST_SKIP() << "SKIPPED: no ../shared here";
  const auto log = [&](const std::string& name) {
    return read_nccl_tests(read_file((corpus / name).string()), name);
  };
  using List = std::vector<Collective>;
  EXPECT_EQ(log("superbench_nccl_allreduce.log").collectives, List{Collective::allreduce});
  EXPECT_EQ(log("superbench_nccl_alltoall.log").collectives, List{Collective::alltoall});
  EXPECT_EQ(log("superbench_nccl_broadcast.log").collectives, List{Collective::broadcast});
  EXPECT_EQ(log("superbench_nccl_reduce.log").collectives, List{Collective::reduce});
  const LinkFit fit = fit_links(log("superbench_nccl_allreduce.log"), {}, false);
  EXPECT_GT(fit.rate.bytes_per_second, 200'000'000'000) << "eight A100";
  EXPECT_LT(fit.rate.bytes_per_second, 300'000'000'000);
  const NcclTestsLog amd = log("teccl_amd_32.txt");
  EXPECT_EQ(amd.ranks, 32u);
  EXPECT_EQ(amd.hosts, 2u);
  EXPECT_EQ(amd.collectives, (List{Collective::allgather, Collective::alltoall}));
}

}  // namespace
}  // namespace stellwerk
