#include "stellwerk/io/teccl_schedule.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/io/file.hpp"
#include "tests/support/paths.hpp"

namespace stellwerk {
namespace {

std::string schedule(const std::string& flows) {
  return R"({"1-Epoch_Duration": 0.001, "4-Collective_Finish_Time": 0.002, "6-Demand_Met":
    {"GPU 0": {"GPU 1": {"Chunk 0": 0.001}, "GPU 2": {"Chunk 0": 0.002}}}, "7-Flows": [)" +
         flows + "]}";
}
const std::string kLine =
    R"("Chunk 0 from 0 traveled over 1->2 in epoch 1", "Chunk 0 from 0 traveled over 0->1 in epoch 0")";

void expect_refused(const std::string& flows, const char* topology, const std::string& part) {
  try {
    teccl_plan(parse_teccl_schedule(schedule(flows), "s.json"), catalogue_topology(topology),
               Bytes{1000}, "s.json");
    FAIL() << "accepted; wanted: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("s.json: "), 0u) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(TecclSchedule, BecomesAPlanInContinuousTime) {
  const TecclSchedule read = parse_teccl_schedule(schedule(kLine), "s.json");
  EXPECT_EQ(read.epoch, Time{1'000'000'000});
  ASSERT_EQ(read.flows.size(), 2u);
  EXPECT_EQ(read.flows[0].from, 0);  // by epoch, whatever the order in the file
  // On its own network a chunk takes an epoch a link; on a ring of 50 GB/s and 0.7 us it takes what it takes.
  EXPECT_EQ(teccl_plan(read, teccl_network(read, Bytes{1000}), Bytes{1000}, "s.json")
                .result.transfer_time,
            Time{2'000'000'000});
  const Plan plan = teccl_plan(read, catalogue_topology("ring:4"), Bytes{1'000'000}, "s.json");
  EXPECT_EQ(plan.problem.jobs[0].collective, Collective::custom);
  EXPECT_EQ(plan.result.transfer_time, Time{2 * 20'700'000});
  EXPECT_TRUE(verify(plan).valid()) << verify(plan).message;
}

TEST(TecclSchedule, FlowsThroughASwitchAreOneMulticast) {
  const std::string flows =
      R"("Chunk 0 from 0 traveled over 0->1 in epoch 0 via switches 3", "Chunk 0 from 0 traveled over 0->2 in epoch 0 via switches 3")";
  const TecclSchedule read = parse_teccl_schedule(schedule(flows), "s.json");
  const Plan plan = teccl_plan(read, teccl_network(read, Bytes{1000}), Bytes{1000}, "s.json");
  ASSERT_EQ(plan.sends.size(), 1u);
  EXPECT_EQ(plan.sends[0].links.size(), 3u);
  EXPECT_TRUE(verify(plan).valid()) << verify(plan).message;
}

TEST(TecclSchedule, DamageIsRefused) {
  expect_refused(R"("Chunk 0 from 0 travelled over 0->1 in epoch 0")", "ring:4", "/7-Flows/0: ");
  expect_refused(R"("Chunk 0 from 0 traveled over 0->9 in epoch 0")", "ring:4",
                 "node 9 is beyond the 4 nodes");
  expect_refused(R"("Chunk 0 from 0 traveled over 0->2 in epoch 0")", "ring:4", "has no link");
  expect_refused(R"("Chunk 0 from 0 traveled over 1->2 in epoch 0")", "ring:4",
                 "leaves 1 in epoch 0 before it arrives");
  expect_refused(R"("Chunk 0 from 0 traveled over 0->1 in epoch 0")", "ring:4",
                 "never bring chunk 0");
  expect_refused(R"("Chunk 1 from 0 traveled over 0->1 in epoch 0")", "ring:4", "nobody wants it");
}

/// What TE-CCL shipped. The order of its sends, on the network that it was made for.
TEST(TecclSchedule, TheCorpusIsTimedAnew) {
  const std::filesystem::path corpus =
      std::filesystem::path(testing::kSourceDir) / ".." / "shared" / "corpus" / "teccl";
  if (!std::filesystem::is_directory(corpus)) GTEST_SKIP() << "SKIPPED: no ../shared here";
  const auto read = [&](const char* name) {
    return parse_teccl_schedule(read_file((corpus / name).string()), name);
  };
  const TecclSchedule mesh = read("out_mesh_4.json");
  const Plan on_mesh =
      teccl_plan(mesh, teccl_network(mesh, Bytes{1'000'000'000}), Bytes{1'000'000'000}, "mesh");
  EXPECT_EQ(on_mesh.problem.jobs[0].collective, Collective::allgather);
  EXPECT_TRUE(verify(on_mesh).valid()) << verify(on_mesh).message;
  EXPECT_LE(on_mesh.result.transfer_time, mesh.finish);
  const TecclSchedule ndv2 = read("out_ndv2_schedule.json");
  const Plan on_ndv2 =
      teccl_plan(ndv2, catalogue_topology("ndv2-2-as-published"), Bytes{62'500'000}, "ndv2");
  EXPECT_TRUE(verify(on_ndv2).valid()) << verify(on_ndv2).message;
  // It takes a chunk to be over a 25 GB/s link in an epoch of 1.25 ms once: one epoch more in truth.
  EXPECT_LE(on_ndv2.result.transfer_time, ndv2.finish + Time{1'255'000'000});
}

}  // namespace
}  // namespace stellwerk
