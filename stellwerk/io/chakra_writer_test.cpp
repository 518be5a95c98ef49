#include "stellwerk/io/chakra_writer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/io/file.hpp"
#include "stellwerk/plan/planner.hpp"
#include "tests/support/paths.hpp"

namespace stellwerk {
namespace {

// --- A decoder of protobuf that knows nothing of the writer ---------------------------------------

struct Field {
  std::uint64_t number = 0;
  std::uint64_t value = 0;  ///< of a varint
  std::string bytes;
};

std::uint64_t varint(std::string_view& text) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    EXPECT_FALSE(text.empty());
    if (text.empty()) return value;
    const auto byte = static_cast<unsigned char>(text.front());
    text.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 127) << shift;
    if (byte < 128) return value;
  }
}

std::vector<Field> fields(std::string_view text) {
  std::vector<Field> result;
  while (!text.empty()) {
    const std::uint64_t tag = varint(text);
    Field field;
    field.number = tag >> 3;
    if ((tag & 7) == 0) {
      field.value = varint(text);
    } else {
      EXPECT_EQ(tag & 7, 2u);
      const std::uint64_t size = varint(text);
      EXPECT_LE(size, text.size());
      field.bytes = std::string(text.substr(0, size));
      text.remove_prefix(std::min<std::size_t>(size, text.size()));
    }
    result.push_back(std::move(field));
  }
  return result;
}

struct Node {
  std::uint64_t id = 0, type = 0;
  std::vector<std::uint64_t> after;
  std::map<std::string, std::uint64_t> attributes;
};

std::vector<Node> nodes(std::string_view text) {
  std::vector<Node> result;
  bool metadata = true;
  while (!text.empty()) {
    const std::uint64_t size = varint(text);
    const std::string_view record = text.substr(0, size);
    text.remove_prefix(std::min<std::size_t>(size, text.size()));
    if (std::exchange(metadata, false)) continue;
    Node node;
    for (const Field& field : fields(record)) {
      if (field.number == 1) node.id = field.value;
      if (field.number == 3) node.type = field.value;
      if (field.number == 5) {
        for (std::string_view packed = field.bytes; !packed.empty();)
          node.after.push_back(varint(packed));
      }
      if (field.number == 10) {
        std::string name;
        for (const Field& part : fields(field.bytes)) {
          if (part.number == 1) name = part.bytes;
          if (part.number != 1) node.attributes[name] = part.value;
        }
      }
    }
    result.push_back(std::move(node));
  }
  return result;
}

Plan planned(Collective collective, const char* topology) {
  Job job;
  job.name = "job";
  job.collective = collective;
  Topology network = catalogue_topology(topology);
  job.ranks = network.gpus();
  job.size = Bytes{1'000'003};
  job.chunks = 2;
  Plan plan;
  plan.problem = make_problem(std::move(network), {job});
  PlannerContext context;
  context.rng = Rng(1);
  for (const PlannerRow& row : planners()) {
    if (row.name == "greedy") plan.sends = row.plan(plan.problem, {}, context).sends;
  }
  return plan;
}

TEST(Chakra, NodesBytesAndDependenciesAreThoseOfThePlan) {
  for (const Collective collective : {Collective::allgather, Collective::allreduce,
                                      Collective::alltoall, Collective::reducescatter}) {
    const Plan plan = planned(collective, "dgx1");
    const std::vector<std::string> traces = format_chakra(plan, false);
    ASSERT_EQ(traces.size(), 8u);
    // Every transfer leaves one rank and reaches another, with its tag and bytes.
    std::map<std::uint64_t, std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>> sent, received;
    for (std::size_t rank = 0; rank < traces.size(); ++rank) {
      std::set<std::uint64_t> before;
      for (const Node& node : nodes(traces[rank])) {
        EXPECT_EQ(node.id, before.size());
        for (const std::uint64_t other : node.after)
          EXPECT_TRUE(before.contains(other)) << "dependencies point back";
        before.insert(node.id);
        if (node.type == 5)
          sent[node.attributes.at("comm_tag")] = {rank, node.attributes.at("comm_dst"),
                                                  node.attributes.at("comm_size")};
        if (node.type == 6)
          received[node.attributes.at("comm_tag")] = {node.attributes.at("comm_src"), rank,
                                                      node.attributes.at("comm_size")};
      }
    }
    EXPECT_EQ(sent.size(), plan.sends.size());
    EXPECT_EQ(sent, received);
    for (const auto& [tag, transfer] : sent) {
      const Send& send = plan.sends[tag];
      EXPECT_EQ(std::get<0>(transfer), plan.problem.topology.link(send.links.front()).from.index());
      EXPECT_EQ(std::get<1>(transfer), plan.problem.topology.link(send.links.back()).to.index());
      EXPECT_EQ(std::get<2>(transfer), static_cast<std::uint64_t>(send.bytes.value));
    }
  }
}

TEST(Chakra, WhatIsPassedOnWaitsForItsArrival) {
  const Plan plan = planned(Collective::allgather, "ring:4");
  const std::vector<std::string> traces = format_chakra(plan, false);
  for (std::size_t rank = 0; rank < traces.size(); ++rank) {
    const std::vector<Node> list = nodes(traces[rank]);
    for (const Node& node : list) {
      if (node.type != 5) continue;
      const Send& send = plan.sends[node.attributes.at("comm_tag")];
      const bool own = plan.problem.chunks[send.chunk].origins.front() == NodeId(rank);
      const bool waits =
          std::any_of(node.after.begin(), node.after.end(), [&](std::uint64_t other) {
            return list[other].type == 6 &&
                   plan.sends[list[other].attributes.at("comm_tag")].chunk == send.chunk;
          });
      EXPECT_EQ(waits, !own);
    }
  }
}

/// The decoder, on a trace of somebody else.
TEST(Chakra, TheCorpusIsDecodedAlike) {
  const std::filesystem::path corpus =
      std::filesystem::path(testing::kSourceDir) / ".." / "shared" / "corpus" / "astrasim";
  if (!std::filesystem::is_directory(corpus)) GTEST_SKIP() << "SKIPPED: no ../shared here";
  const std::vector<Node> list = nodes(read_file((corpus / "custom_allreduce.0.et").string()));
  EXPECT_EQ(list.size(), 35u);
  EXPECT_EQ(list[0].type, 5u);
  EXPECT_EQ(list[0].attributes.at("comm_size"), 131'072u);
  EXPECT_EQ(list[0].attributes.at("comm_dst"), 1u);
  EXPECT_EQ(list[1].after, std::vector<std::uint64_t>{0});
}

}  // namespace
}  // namespace stellwerk
