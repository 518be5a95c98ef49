#include "stellwerk/io/smi_matrix.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "stellwerk/base/error.hpp"

namespace stellwerk {
namespace {

/// Two pairs on NVLink, a NIC beside each pair, two sockets.
const std::string kPairs =
    "\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\n"
    "GPU0\t X \tNV4\tSYS\tSYS\tPIX\tSYS\t0-15\t0\n"
    "GPU1\tNV4\t X \tSYS\tSYS\tNODE\tSYS\t0-15\t0\n"
    "GPU2\tSYS\tSYS\t X \tNV4\tSYS\tPIX\t16-31\t1\n"
    "GPU3\tSYS\tSYS\tNV4\t X \tSYS\tNODE\t16-31\t1\n"
    "NIC0\tPIX\tNODE\tSYS\tSYS\t X \tSYS\t\t\n"
    "NIC1\tSYS\tSYS\tPIX\tNODE\tSYS\t X \t\t\n"
    "\nLegend:\n\n  X    = Self\n\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_1\n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// Devices and wires as text, sorted: what two readings must agree on.
std::vector<std::string> picture(const Machine& machine) {
  std::vector<std::string> result;
  for (const Wire& wire : machine.wires) {
    std::string a = machine.devices[wire.a].name, b = machine.devices[wire.b].name;
    if (b < a) std::swap(a, b);
    result.push_back(a + "-" + b + " " + to_string(wire.kind) + " " +
                     std::to_string(wire.count.value_or(0)));
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<std::string> read(const std::string& text) {
  return picture(read_smi_matrix(text, "m"));
}

void expect_refused(const std::string& text, const std::string& part) {
  try {
    read_smi_matrix(text, "m.txt");
    FAIL() << "accepted; wanted: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unreadable_input);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).find("m.txt"), 0u) << error.what();
  }
}

TEST(SmiMatrix, BecomesNvlinksAndATreeOfPcie) {
  EXPECT_TRUE(looks_like_smi_matrix(kPairs));
  EXPECT_EQ(read(kPairs), (std::vector<std::string>{
                              "cpu0-cpu1 between sockets 0", "cpu0-gpu1 PCIe 0", "cpu0-pci0 PCIe 0",
                              "cpu1-gpu3 PCIe 0", "cpu1-pci1 PCIe 0", "gpu0-gpu1 NVLink 4",
                              "gpu0-pci0 PCIe 0", "gpu2-gpu3 NVLink 4", "gpu2-pci1 PCIe 0",
                              "mlx5_0-pci0 PCIe 0", "mlx5_1-pci1 PCIe 0"}));
}

TEST(SmiMatrix, BlanksPrefixesAndPromptsDoNotMatter) {
  const auto wanted = read(kPairs);
  std::string blanks = kPairs;
  std::replace(blanks.begin(), blanks.end(), '\t', ' ');
  EXPECT_EQ(read(blanks), wanted);
  std::string commented;
  for (std::size_t at = 0; at < kPairs.size();) {
    const std::size_t end = kPairs.find('\n', at) + 1;
    commented += "# " + kPairs.substr(at, end - at);
    at = end;
  }
  EXPECT_EQ(read("> nvidia-smi topo -m\n" + commented), wanted);
  EXPECT_EQ(read(replaced(kPairs, "\tPIX\tSYS\t0-15", "\tPIXSYS\t0-15")), wanted);
  EXPECT_EQ(read(replaced(kPairs, "\tNODE\tSYS\t0-15\t0", "\tNODE SYS\t-15")), wanted);
}

TEST(SmiMatrix, MissingCellsComeFromTheirMirrorImages) {
  const auto wanted = read(kPairs);
  // The last row is cut off, or missing with its neighbour.
  EXPECT_EQ(read(replaced(kPairs, "NIC1\tSYS\tSYS\tPIX\tNODE\tSYS\t X ", "NIC1\tSYS")), wanted);
  const std::size_t nics = kPairs.find("NIC0\tPIX"), legend = kPairs.find("\nLegend");
  EXPECT_EQ(read(kPairs.substr(0, nics) + kPairs.substr(legend)), wanted);
  // A cell is missing in the middle, and only one place is left for it.
  EXPECT_EQ(read(replaced(kPairs, "GPU1\tNV4\t X \tSYS\tSYS\tNODE", "GPU1\t X \tSYS\tSYS\tNODE")),
            wanted);
}

TEST(SmiMatrix, DamageWithoutAUniqueRepairIsRefusedByRowAndColumn) {
  expect_refused(replaced(kPairs, "GPU1\tNV4", "GPU1\tNV2"),
                 "row GPU0, column GPU1: NV4, but NV2 the other way");
  expect_refused(replaced(kPairs, "GPU1\tNV4", "GPU1\tVN4"), "row GPU1, column GPU0: 'VN4'");
  expect_refused(replaced(kPairs, "GPU2\tSYS\tSYS\t X ", "GPU2\tSYS\tX\tSYS"),
                 "row GPU1, column GPU2: SYS, but X the other way");
  // One of two equal cells is missing, but the other rows do not say which: both rows lack it.
  expect_refused(replaced(replaced(kPairs, "GPU2\tSYS\tSYS\t X ", "GPU2\tSYS\t X "),
                          "GPU1\tNV4\t X \tSYS\tSYS", "GPU1\tNV4\t X \tSYS"),
                 "more than one place");
  const std::size_t row = kPairs.find("GPU3\tSYS");
  const std::size_t before = kPairs.find("GPU2\tSYS");
  std::string two = kPairs;
  two.erase(before, kPairs.find("NIC0\tPIX") - before);
  EXPECT_LT(before, row);
  expect_refused(two, "row GPU2, column GPU3 is missing");
  expect_refused(replaced(kPairs, "GPU3\tSYS", "GPU2\tSYS"), "row GPU2 is there twice");
  expect_refused(replaced(kPairs, "GPU3\tSYS", "GPU9\tSYS"), "row GPU9 has no column");
  expect_refused("nothing here\n", "no line of column names");
  expect_refused("\tGPU0\tGPU0\n", "column GPU0 is there twice");
}

TEST(SmiMatrix, MoreLinksThanAGpuHasMeanASwitch) {
  const auto matrix = [](int gpus, const std::string& cell) {
    std::string text;
    for (int g = 0; g < gpus; ++g) text += "\tGPU" + std::to_string(g);
    for (int g = 0; g < gpus; ++g) {
      text += "\nGPU" + std::to_string(g);
      for (int h = 0; h < gpus; ++h) text += "\t" + (g == h ? std::string("X") : cell);
    }
    return text + "\n";
  };
  // Four GPUs, NV4: a mesh of 12 links each. Eight with NV12, or four with NV18: a switch.
  EXPECT_EQ(read(matrix(4, "NV4")).size(), 6u);
  EXPECT_EQ(read(matrix(4, "NV18")).size(), 4u);
  EXPECT_EQ(read(matrix(8, "NV12")),
            (std::vector<std::string>{"gpu0-nvswitch NVLink 12", "gpu1-nvswitch NVLink 12",
                                      "gpu2-nvswitch NVLink 12", "gpu3-nvswitch NVLink 12",
                                      "gpu4-nvswitch NVLink 12", "gpu5-nvswitch NVLink 12",
                                      "gpu6-nvswitch NVLink 12", "gpu7-nvswitch NVLink 12"}));
}

/// A column whose name is the first word of a row is a device, whatever its name.
TEST(SmiMatrix, NicsMayHaveAnyName) {
  for (const std::string name : {"mlx5_bond_0", "rocep1s0", "storage"}) {
    const Machine machine = read_smi_matrix(
        "\tGPU0\tGPU1\t" + name + "\tCPU Affinity\n" + "GPU0\t X \tNV12\tPIX\t0-31\n" +
            "GPU1\tNV12\t X \tPIX\t0-31\n" + name + "\tPIX\tPIX\t X\n",
        "smi.txt");
    const std::vector<std::size_t> nics = machine.all(Device::Kind::nic);
    ASSERT_EQ(nics.size(), 1u) << name;
    EXPECT_EQ(machine.devices[nics[0]].name, name);
    EXPECT_EQ(machine.count(Device::Kind::gpu), 2u);
  }
}

}  // namespace
}  // namespace stellwerk
