#include "stellwerk/io/trace_writer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "stellwerk/io/catalogue.hpp"

namespace stellwerk {
namespace {

/// Broadcast along a line of three through a switch, the first link shared by two halves at half rate.
Plan line() {
  IdVector<NodeId, Node> nodes(4);
  nodes[NodeId(0)].name = "a";
  nodes[NodeId(1)].name = "the \"hub\"";
  nodes[NodeId(1)].kind = NodeKind::switch_;
  nodes[NodeId(2)].name = "b";
  nodes[NodeId(3)].name = "c";
  IdVector<LinkId, Link> links;
  const auto link = [&](int from, int to) {
    links.push_back({NodeId(from), NodeId(to), Time{1000}, Bandwidth{2'000'000'000}, ""});
  };
  link(0, 1);
  link(1, 2);
  link(2, 3);
  Job job;
  job.name = "job";
  job.collective = Collective::broadcast;
  job.ranks = {NodeId(0), NodeId(2), NodeId(3)};
  job.size = Bytes{4000};
  job.chunks = 2;
  Plan plan;
  plan.problem = make_problem(Topology("line", "", std::move(nodes), std::move(links)), {job});
  for (const int chunk : {0, 1}) {
    plan.sends.push_back({ChunkId(chunk),
                          Op::copy,
                          Time{0},
                          Bandwidth{1'000'000'000},
                          {LinkId(0), LinkId(1)},
                          Bytes{0},
                          Bytes{2000}});
  }
  for (const int chunk : {0, 1}) {
    plan.sends.push_back({ChunkId(chunk),
                          Op::copy,
                          Time{2'002'000 + 1'000'000 * chunk},
                          Bandwidth{2'000'000'000},
                          {LinkId(2)},
                          Bytes{0},
                          Bytes{2000}});
  }
  return plan;
}

TEST(Trace, SlicesNestAndArrowsHaveBothEnds) {
  const nlohmann::json trace = nlohmann::json::parse(format_trace(line()));
  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> tracks;
  std::map<int, std::pair<int, int>> arrows;
  std::map<int, std::string> processes;
  for (const auto& event : trace["traceEvents"]) {
    const std::string kind = event["ph"];
    if (kind == "X")
      tracks[{event["pid"], event["tid"]}].emplace_back(
          event["ts"], event["ts"].get<double>() + event["dur"].get<double>());
    if (kind == "s") ++arrows[event["id"]].first;
    if (kind == "f") ++arrows[event["id"]].second;
    if (kind == "M" && event["name"] == "process_name")
      processes[event["pid"]] = event["args"]["name"];
  }
  EXPECT_EQ(processes, (std::map<int, std::string>{{1, "a"}, {2, "the \"hub\""}, {3, "b"}}));
  std::size_t slices = 0;
  for (auto& [track, list] : tracks) {
    std::sort(list.begin(), list.end());
    for (std::size_t k = 0; k + 1 < list.size(); ++k)
      EXPECT_LE(list[k].second, list[k + 1].first + 1e-9);
    slices += list.size();
  }
  EXPECT_EQ(slices, 6u);         // two sends over two links, two over one
  EXPECT_EQ(tracks.size(), 5u);  // the shared links twice
  EXPECT_EQ(arrows.size(), 2u);
  for (const auto& [id, ends] : arrows) EXPECT_EQ(ends, std::pair(1, 1)) << id;
}

TEST(Trace, CsvHasALineForEverySend) {
  const std::string csv = format_sends_csv(line());
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 5);
  EXPECT_NE(csv.find("2,0,copy,b,c,0,2000,2000000000,2002000,3003000,b->c\n"), std::string::npos)
      << csv;
  EXPECT_NE(csv.find("\"a->the \"\"hub\"\" the \"\"hub\"\"->b\""), std::string::npos) << csv;
}

}  // namespace
}  // namespace stellwerk
