#include "stellwerk/io/nccl_topology.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/xml.hpp"

namespace stellwerk {
namespace {

std::string gpu(int number, const std::string& bus, const std::string& links) {
  return "<pci busid=\"" + bus +
         "\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"" +
         std::to_string(number) + "\" sm=\"80\" rank=\"" + std::to_string(number) + "\">" + links +
         "</gpu></pci>\n";
}

std::string nvlink(const std::string& bus, int count) {
  return "<nvlink target=\"" + bus + "\" count=\"" + std::to_string(count) +
         "\" tclass=\"0x030200\"/>";
}

std::string system(const std::string& inside) {
  return "<!-- a <comment> first -->\n<system version=\"1\">\n<cpu numaid=\"0\" arch=\"x86_64\" "
         "vendor=\"AuthenticAMD\">\n" +
         inside + "</cpu>\n</system>\n";
}

const std::string kNic =
    "<pci busid=\"0000:03:00.0\" class=\"0x020000\" link_speed=\"16.0 GT/s PCIe\" link_width=\"8\">"
    "<nic><net name=\"mlx5_0\" dev=\"0\" speed=\"200000\" port=\"1\"/></nic></pci>\n";

std::vector<std::string> wires(const Machine& machine) {
  std::vector<std::string> result;
  for (const Wire& wire : machine.wires) {
    result.push_back(machine.devices[wire.a].name + "-" + machine.devices[wire.b].name + " " +
                     to_string(wire.kind) + " " +
                     (wire.bandwidth ? to_string(*wire.bandwidth)
                                     : "x" + std::to_string(wire.count.value_or(0))));
  }
  return result;
}

void expect_refused(const std::string& text, const std::string& part) {
  try {
    read_nccl_topology(text, "t.xml");
    FAIL() << "accepted; wanted: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unreadable_input);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).find("t.xml:"), 0u) << error.what();
  }
}

TEST(NcclTopology, GpusLinksAndNicsAreRead) {
  const std::string text = system(
      "<pci busid=\"0000:00:01.0\" class=\"0x060400\" link_speed=\"32.0 GT/s PCIe\" "
      "link_width=\"16\">\n" +
      gpu(1, "0000:01:00.0", nvlink("0000:02:00.0", 4)) +
      gpu(0, "0000:02:00.0", nvlink("0000:01:00.0", 4)) + kNic + "</pci>\n");
  EXPECT_TRUE(looks_like_nccl_topology(text));
  const Machine machine = read_nccl_topology(text, "t.xml");
  EXPECT_EQ(machine.count(Device::Kind::gpu), 2u);
  // NVLink both ways is one cable; named by `dev`, not by place.
  EXPECT_EQ(wires(machine),
            (std::vector<std::string>{"cpu0-pci0 PCIe 48 GB/s", "pci0-gpu1 PCIe 24 GB/s",
                                      "pci0-gpu0 PCIe 24 GB/s", "pci0-mlx5_0 PCIe 12 GB/s",
                                      "gpu1-gpu0 NVLink x4"}));
  EXPECT_EQ(machine.devices[machine.all(Device::Kind::gpu)[0]].model, "a100");
  EXPECT_EQ(to_string(*machine.devices[machine.all(Device::Kind::nic)[0]].speed), "25 GB/s");
}

TEST(NcclTopology, NvswitchesAreOneNode) {
  const std::string up =
      "<nvlink target=\"0000:c0:00.0\" count=\"6\" tclass=\"0x068000\"/>"
      "<nvlink target=\"0000:c1:00.0\" count=\"6\" tclass=\"0x068000\"/>";
  const Machine machine =
      read_nccl_topology(system(gpu(0, "0000:01:00.0", up) + gpu(1, "0000:02:00.0", up)), "t.xml");
  EXPECT_EQ(machine.count(Device::Kind::gpu_switch), 1u);
  EXPECT_EQ(wires(machine)[2], "gpu0-nvswitch NVLink x12");
}

TEST(NcclTopology, PartialFilesKnowGpusByTheirClass) {
  const Machine machine = read_nccl_topology(
      system(
          "<pci busid=\"0001:00:00.0\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x1db1\" "
          "link_speed=\"\" link_width=\"0\"/>\n"
          "<pci busid=\"0002:00:00.0\" class=\"0x0302\" link_speed=\"8 GT/s\" link_width=\"16\"/>\n"
          "<pci busid=\"0101:00:00.0\" class=\"0x020700\" link_speed=\"Unknown\" "
          "link_width=\"16\"/>\n"),
      "t.xml");
  EXPECT_EQ(machine.count(Device::Kind::gpu), 2u);
  EXPECT_EQ(machine.count(Device::Kind::nic), 1u);
  EXPECT_EQ(machine.devices[machine.all(Device::Kind::gpu)[0]].model, "v100");
  EXPECT_EQ(machine.devices[machine.all(Device::Kind::gpu)[1]].model, "");
  EXPECT_NE(machine.wires[0].source.find("PCIe 3 assumed, 16 lanes assumed"), std::string::npos)
      << machine.wires[0].source;
}

TEST(NcclTopology, FiguresThatCannotBeAreNotBelieved) {
  std::string nic = kNic;
  nic.replace(nic.find("200000"), 6, "200000000");
  const Machine machine = read_nccl_topology(system(gpu(0, "0000:01:00.0", "") + nic), "t.xml");
  EXPECT_FALSE(machine.devices[machine.all(Device::Kind::nic)[0]].speed);
  ASSERT_EQ(machine.notes.size(), 1u);
  EXPECT_NE(machine.notes[0].find("line 5: speed 200000000"), std::string::npos)
      << machine.notes[0];
}

/// What a job on some of a machine's GPUs dumps: links to the others are in it, the others are not.
TEST(NcclTopology, LinksToGpusOutsideTheJobAreLeftOutWithANote) {
  const Machine machine = read_nccl_topology(
      system(gpu(0, "0000:01:00.0", nvlink("0000:09:00.0", 4) + nvlink("0000:02:00.0", 2)) +
             gpu(1, "0000:02:00.0", nvlink("0000:0a:00.0", 4))),
      "t.xml");
  EXPECT_EQ(wires(machine).back(), "gpu0-gpu1 NVLink x2");
  ASSERT_EQ(machine.notes.size(), 1u);
  EXPECT_EQ(machine.notes[0].find("2 elements name links to GPUs that are not in the file (the "
                                  "first, line 4: gpu0 to '0000:09:00.0')"),
            0u)
      << machine.notes[0];
}

TEST(NcclTopology, SeveralElementsToOneGpuAddUp) {
  const Machine machine = read_nccl_topology(
      system(gpu(0, "0000:01:00.0", nvlink("0000:02:00.0", 2) + nvlink("0000:02:00.0", 1)) +
             gpu(1, "0000:02:00.0", nvlink("0000:01:00.0", 2))),
      "t.xml");
  EXPECT_EQ(wires(machine).back(), "gpu0-gpu1 NVLink x3");
}

/// Dumps of NVLink domains across hosts (GB200) repeat bus ids, GPU numbers and names in each.
TEST(NcclTopology, HostsOfOneFileAreToldApartByTheirHash) {
  const std::string up = "<nvlink target=\"fffffff:ffff:ff\" count=\"18\" tclass=\"0x068000\"/>";
  std::string both;
  for (const char* hash : {"0xa1", "0xb2"}) {
    both += "<cpu host_hash=\"" + std::string(hash) + "\" numaid=\"0\">" +
            gpu(0, "0008:01:00.0", up) + kNic + "</cpu>\n" + "<cpu host_hash=\"" + hash +
            "\" numaid=\"1\">" + gpu(1, "0009:01:00.0", up) + "</cpu>\n";
  }
  const Machine machine =
      read_nccl_topology("<system version=\"1\">" + both + "</system>", "t.xml");
  std::vector<std::string> hosts;
  for (const std::size_t g : machine.all(Device::Kind::gpu)) {
    EXPECT_EQ(machine.devices[g].name.find(machine.devices[g].host + ".gpu"), 0u);
    hosts.push_back(machine.devices[g].host);
  }
  EXPECT_EQ(hosts, (std::vector<std::string>{"host0", "host0", "host1", "host1"}));
  EXPECT_EQ(machine.count(Device::Kind::gpu_switch), 1u);  // that is what joins them
  const std::vector<std::string> all = wires(machine);
  EXPECT_EQ(std::count_if(all.begin(), all.end(),
                          [](const std::string& w) {
                            return w.find("between sockets") != std::string::npos;
                          }),
            2);
  EXPECT_EQ(machine.devices[machine.all(Device::Kind::nic)[1]].name, "host1.mlx5_0");
}

/// A port has the PCIe link of its NIC; a NIC that the file puts right below a CPU has no limit there.
TEST(NcclTopology, PortsHaveTheLinkOfTheirNic) {
  const std::string two =
      "<pci busid=\"0000:03:00.0\" class=\"0x020000\" link_speed=\"16.0 GT/s PCIe\" "
      "link_width=\"16\"><nic><net name=\"mlx5_3\" dev=\"0\" speed=\"200000\"/>"
      "<net name=\"mlx5_1\" dev=\"1\" speed=\"200000\"/></nic></pci>"
      "<nic><net name=\"virtual\" dev=\"2\" speed=\"200000\"/></nic>\n";
  const Machine machine = read_nccl_topology(system(gpu(0, "0000:01:00.0", "") + two), "t.xml");
  EXPECT_EQ(wires(machine),
            (std::vector<std::string>{"cpu0-gpu0 PCIe 24 GB/s", "cpu0-pci0 PCIe 24 GB/s",
                                      "pci0-mlx5_3 PCIe 24 GB/s", "pci0-mlx5_1 PCIe 24 GB/s",
                                      "cpu0-virtual PCIe 5 TB/s"}));
  EXPECT_EQ(machine.devices[machine.all(Device::Kind::nic)[1]].net, 1);
}

TEST(NcclTopology, DamageIsRefusedWithItsLine) {
  expect_refused(system(gpu(0, "0000:01:00.0", "") + gpu(1, "0000:01:00.0", "")),
                 "t.xml:5: busid '0000:01:00.0' is there twice");
  expect_refused(system(gpu(0, "0000:01:00.0", nvlink("0000:01:00.0", -4))), "count=-4");
  expect_refused(system(kNic), "there is no GPU in it");
  expect_refused("<graphs/>", "there is no element <system>");
  expect_refused(system("<pci"), "not well-formed");
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<pci>";
  for (int i = 0; i < 100'000; ++i) deep += "</pci>";
  expect_refused(system(deep), "nested more than " + std::to_string(kMaxXmlDepth));
  std::string wide;  // a million took 6 s and a gigabyte
  for (int i = 0; i < 20'002; ++i)
    wide += "<pci busid=\"" + std::to_string(i) + "\" class=\"0x030200\"/>";
  expect_refused(system(wide), "more than 20000 devices are not one machine");
  std::string sockets;  // joined by pairs
  for (int i = 0; i < 1025; ++i) sockets += "</cpu><cpu numaid=\"" + std::to_string(i) + "\">";
  expect_refused(system(sockets), "more than 1024 sockets are not one machine");
  std::string loops;  // the line of every note was searched from the top: hours for 64 MiB
  for (int i = 0; i < 1200; ++i) loops += nvlink("0000:01:00.0", 1);
  expect_refused(system(gpu(0, "0000:01:00.0", loops)), "more than 1000 such lines");
}

}  // namespace
}  // namespace stellwerk
