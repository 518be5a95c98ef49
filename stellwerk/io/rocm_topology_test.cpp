#include "stellwerk/io/rocm_topology.hpp"

#include <gtest/gtest.h>

#include <string>

#include "stellwerk/base/error.hpp"

namespace stellwerk {
namespace {

const std::string kThree =
    "===== Hops between two GPUs =====\n"
    "       GPU0   GPU1   GPU2\nGPU0   0      1      2\nGPU1   1      0      1\nGPU2   2      1    "
    "  0\n\n"
    "===== Link Type between two GPUs =====\n"
    "       GPU0   GPU1   GPU2\nGPU0   0      XGMI   XGMI\nGPU1   XGMI   0      XGMI\nGPU2   XGMI  "
    " XGMI   0\n\n"
    "===== Numa Nodes =====\nGPU[0]  : (Topology) Numa Node: 0\nGPU 1   : (Topology) Numa Node: 1\n"
    "GPU[2]  : (Topology) Numa Node: 1\n";

void expect_refused(const std::string& text, const std::string& part) {
  try {
    read_rocm_topology(text, "r.txt");
    FAIL() << "accepted; wanted: " << part;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(RocmTopology, TwoHopsAreNoLink) {
  EXPECT_TRUE(looks_like_rocm_topology(kThree));
  const Machine machine = read_rocm_topology(kThree, "r.txt");
  EXPECT_EQ(machine.count(Device::Kind::gpu), 3u);
  EXPECT_EQ(machine.count(Device::Kind::socket), 2u);
  std::size_t xgmi = 0;
  for (const Wire& wire : machine.wires) xgmi += wire.kind == Wire::Kind::xgmi;
  EXPECT_EQ(xgmi, 2u);  // 0-1 and 1-2
  EXPECT_EQ(machine.devices[0].numa, 0);
  EXPECT_EQ(machine.devices[2].numa, 1);
}

TEST(RocmTopology, TablesByBusIdAreRead) {
  const Machine machine = read_rocm_topology(
      "LINK TYPE TABLE:\n             0000:0c:00.0 0000:22:00.0\n0000:0c:00.0 SELF         "
      "PCIE\n0000:22:00.0 PCIE         SELF\n",
      "r.txt");
  EXPECT_EQ(machine.count(Device::Kind::gpu), 2u);
  EXPECT_EQ(machine.devices[1].id, "0000:22:00.0");
  EXPECT_EQ(machine.wires.size(), 2u);  // to one socket
}

TEST(RocmTopology, DamageIsRefusedByRowAndColumn) {
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = kThree;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos);
    return text.replace(at, from.size(), to);
  };
  expect_refused(with("GPU1   XGMI   0      XGMI", "GPU1   PCIE   0      XGMI"),
                 "row GPU0, column GPU1: XGMI, but 'PCIE' the other way");
  expect_refused(with("GPU1   XGMI   0      XGMI", "GPU1   XGMI   0"),
                 "row GPU1 has 2 cells for 3 columns");
  expect_refused(with("GPU1   XGMI   0      XGMI", "GPU1   XGMI   XGMI   XGMI"),
                 "'XGMI' of a GPU to itself");
  expect_refused(with("GPU2   XGMI   XGMI   0\n", ""), "row GPU2 of the link types is missing");
  expect_refused("nothing", "there is no section of link types");
}

}  // namespace
}  // namespace stellwerk
