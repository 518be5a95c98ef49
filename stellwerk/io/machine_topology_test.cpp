#include "stellwerk/io/machine_topology.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/file.hpp"
#include "stellwerk/io/formats.hpp"
#include "tests/support/paths.hpp"

namespace stellwerk {
namespace {

/// GPUs of one model, each alone behind a PCIe switch of a socket.
Machine board(std::size_t gpus, const std::string& model) {
  Machine machine;
  Device socket;
  socket.kind = Device::Kind::socket;
  socket.name = "cpu0";
  const std::size_t cpu = machine.add(socket);
  for (std::size_t g = 0; g < gpus; ++g) {
    Device bridge, gpu;
    bridge.kind = Device::Kind::bridge;
    bridge.name = "pci" + std::to_string(g);
    gpu.name = "gpu" + std::to_string(g);
    gpu.model = model;
    const std::size_t b = machine.add(bridge), at = machine.add(gpu);
    machine.wires.push_back(
        {Wire::Kind::pcie, cpu, b, std::nullopt, Bandwidth{48'000'000'000}, "file"});
    machine.wires.push_back(
        {Wire::Kind::pcie, b, at, std::nullopt, Bandwidth{24'000'000'000}, "file"});
  }
  return machine;
}

TEST(MachineTopology, BoardsOfEightGetTheirSwitchFromTheTable) {
  const Topology topology = machine_topology(filled(board(8, "h100"), std::nullopt), "m");
  EXPECT_EQ(topology.gpus().size(), 8u);
  const auto hub = topology.find("nvswitch");
  ASSERT_TRUE(hub);
  EXPECT_EQ(topology.in(*hub).size(), 8u);
  const Link& link = topology.link(topology.in(*hub)[0]);
  EXPECT_EQ(link.bandwidth.bytes_per_second, 450'000'000'000);
  EXPECT_NE(link.source.find("from table"), std::string::npos) << link.source;
  // No runtime sends over PCIe between GPUs that NVLink joins.
  EXPECT_EQ(topology.nodes().size(), 9u);
}

TEST(MachineTopology, GpusWithoutNvlinkMeetOnPcie) {
  const Topology topology = machine_topology(filled(board(4, "pcie4"), std::nullopt), "m");
  // The bridges join two devices each and are gone: one link, as slow as the slower half.
  EXPECT_EQ(topology.nodes().size(), 5u);
  const Link& pcie = topology.link(topology.in(*topology.find("cpu0"))[0]);
  EXPECT_EQ(pcie.bandwidth.bytes_per_second, 24'000'000'000);
  EXPECT_EQ(pcie.latency.ps, 1'000'000);
}

TEST(MachineTopology, UnknownGpusAreAskedFor) {
  try {
    machine_topology(filled(board(8, ""), std::nullopt), "m.xml");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("--gpu"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(machine_topology(filled(board(8, ""), "h100"), "m").find("nvswitch"));
  EXPECT_FALSE(machine_topology(filled(board(8, ""), "pcie5"), "m").find("nvswitch"));
  EXPECT_THROW(filled(board(8, ""), "h1000"), Error);
  // What the file says goes first.
  EXPECT_EQ(filled(board(2, "v100"), "h100").devices[2].model, "v100");
}

TEST(MachineTopology, LinksOfXgmiAreDividedEvenlyOrNotAtAll) {
  const auto mesh = [](std::size_t gpus) {
    Machine machine;
    for (std::size_t g = 0; g < gpus; ++g) {
      Device gpu;
      gpu.name = "gpu" + std::to_string(g);
      machine.add(gpu);
    }
    for (std::size_t a = 0; a < gpus; ++a) {
      for (std::size_t b = a + 1; b < gpus; ++b)
        machine.wires.push_back({Wire::Kind::xgmi, a, b, std::nullopt, std::nullopt, ""});
    }
    return machine;
  };
  EXPECT_TRUE(unknown_wires(filled(mesh(8), "mi300x")).empty());
  EXPECT_EQ(filled(mesh(8), "mi300x").wires[0].bandwidth, Bandwidth{64'000'000'000});
  EXPECT_EQ(unknown_wires(filled(mesh(6), "mi300x")).size(), 15u);  // 7 links, 5 peers
}

/// Every machine of the corpus is read, or refused with a line that names the file. What each is, as a sample: kind of
/// device counted by hand from the file.
TEST(Machines, TheCorpusIsReadOrRefusedByName) {
  const std::filesystem::path corpus =
      std::filesystem::path(testing::kSourceDir) / ".." / "shared" / "corpus";
  if (!std::filesystem::is_directory(corpus)) GTEST_SKIP() << "SKIPPED: no ../shared here";
  struct Row {
    std::size_t gpus, nics, nvlinks;
    const char* gpu;  ///< hint that makes it a topology; "" if none is needed
  };
  // NVLinks or xGMI: cables of one or more.
  const std::map<std::string, Row> wanted = {
      {"smi/dgx1_v100_mlx5names.txt", {8, 4, 16, "v100"}},
      {"smi/dgx_h100_truncated_nic_rows.txt", {8, 12, 8, "h100"}},
      {"smi/gb200_4gpu.txt", {4, 0, 4, "b200"}},
      {"smi/a100x4_nv4_indented.txt", {4, 4, 6, "a100"}},
      {"smi/pcie_4gpu_mlx4_soc.txt", {4, 1, 0, "pcie3"}},
      {"nccl_topo/azure_ndv5-topo.xml", {8, 8, 8, "h100"}},
      {"nccl_topo/aws_p4d-24xl-topo.xml", {8, 4, 8, ""}},
      {"rccl_topo/topo_16p1h.xml", {16, 8, 28, ""}},
      {"rccl_topo/topo_4p4h.xml", {16, 16, 24, ""}},
      {"rccl_topo/topo_8p_940.xml", {8, 8, 28, ""}},
      {"rocm/amdsmi_mi300x_bdf_tables.txt", {8, 0, 28, "mi300x"}},
      {"rocm/mi210_4gpu_full_sections.txt", {4, 0, 6, "mi210"}},
  };
  std::size_t read = 0, refused = 0;
  for (const char* folder : {"smi", "nccl_topo", "rccl_topo", "rocm"}) {
    for (const auto& entry : std::filesystem::directory_iterator(corpus / folder)) {
      const std::string name = std::string(folder) + "/" + entry.path().filename().string();
      try {
        const Machine machine = read_machine(read_file(entry.path().string()), name, std::nullopt);
        ++read;
        const auto row = wanted.find(name);
        if (row == wanted.end()) continue;
        const Machine full =
            filled(machine,
                   row->second.gpu[0] ? std::optional<std::string>(row->second.gpu) : std::nullopt);
        EXPECT_EQ(full.count(Device::Kind::gpu), row->second.gpus) << name;
        EXPECT_EQ(full.count(Device::Kind::nic), row->second.nics) << name;
        EXPECT_EQ(static_cast<std::size_t>(std::count_if(full.wires.begin(), full.wires.end(),
                                                         [](const Wire& w) {
                                                           return w.kind == Wire::Kind::nvlink ||
                                                                  w.kind == Wire::Kind::xgmi;
                                                         })),
                  row->second.nvlinks)
            << name;
        EXPECT_EQ(machine_topology(full, name).gpus().size(), row->second.gpus);
      } catch (const Error& error) {
        ++refused;
        EXPECT_EQ(error.code(), ErrorCode::unreadable_input);
        EXPECT_EQ(std::string(error.what()).find(name), 0u) << error.what();
      }
    }
  }
  EXPECT_EQ(read, 45u);
  EXPECT_EQ(refused, 3u);  // two excerpts and one file that holds no GPU
}

/// Every file of the corpus is of a kind that is known by name.
TEST(Machines, EveryKindOfTheCorpusIsRecognised) {
  const std::filesystem::path corpus =
      std::filesystem::path(testing::kSourceDir) / ".." / "shared" / "corpus";
  if (!std::filesystem::is_directory(corpus)) GTEST_SKIP() << "SKIPPED: no ../shared here";
  const std::map<std::string, std::set<std::string_view>> wanted = {
      {"astrasim", {"astra-network", "astra-system", "astra-htsim", "chakra"}},
      {"fabric", {"ibnetdiscover", "slurm", "topograph"}},
      {"msccl_xml", {"msccl-xml"}},
      {"mscclpp_plan", {"mscclpp"}},
      {"nccl_graph", {"nccl-graph"}},
      {"nccl_topo", {"nccl-topology"}},
      {"nccltests", {"nccl-tests"}},
      {"rccl_topo", {"nccl-topology"}},
      {"rocm", {"rocm-smi"}},
      {"smi", {"nvidia-smi"}},
      {"taccl", {"taccl-topology", "taccl-sketch"}},
      {"teccl", {"teccl-input", "teccl-schedule"}},
  };
  std::map<std::string, std::set<std::string_view>> found;
  for (const auto& [folder, kinds] : wanted) {
    for (const auto& entry : std::filesystem::directory_iterator(corpus / folder)) {
      const FormatRow* row = recognise(read_file(entry.path().string()));
      ASSERT_TRUE(row) << entry.path();
      found[folder].insert(row->name);
    }
  }
  EXPECT_EQ(found, wanted);
}

}  // namespace
}  // namespace stellwerk
