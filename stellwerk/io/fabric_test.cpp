#include "stellwerk/io/fabric.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "stellwerk/base/error.hpp"
#include "stellwerk/graph/union_find.hpp"
#include "stellwerk/io/compose.hpp"
#include "stellwerk/io/file.hpp"
#include "stellwerk/io/formats.hpp"
#include "stellwerk/io/machine_topology.hpp"
#include "tests/support/expect_refused.hpp"
#include "tests/support/paths.hpp"

namespace stellwerk {
namespace {

using testing::expect_refused;

using Names = std::vector<std::string>;

TEST(Hostlist, RangesKeepTheirWidth) {
  EXPECT_EQ(expand_hostlist("n[1-3,07-08],login"),
            (Names{"n1", "n2", "n3", "n07", "n08", "login"}));
  EXPECT_EQ(expand_hostlist("a"), Names{"a"});
  EXPECT_EQ(expand_hostlist("r[1-2]-x"), (Names{"r1-x", "r2-x"}));
  for (const char* bad :
       {"", "n[", "n]", "n[1", "n[2-1]", "n[a-b]", "n[1-2]x[3]", "a,,b", "n[1-2000000]"}) {
    EXPECT_FALSE(expand_hostlist(bad)) << bad;
  }
}

/// Two leaves, a spine that two cables lead to, a node on each leaf.
const std::string kDump =
    "#\n# Topology file\n#\n\nvendid=0x2c9\nswitchguid=0x1(1)\n"
    "Switch\t65 \"S-01\"\t\t# \"MF0;leaf1:MQM9700/U1\" enhanced port 0 lid 1 lmc 0\n"
    "[1]\t\"H-11\"[1](11) \t\t# \"node1 mlx5_0\" lid 3 4xNDR\n"
    "[2]\t\"S-03\"[1]\t\t# \"MF0;spine:MQM9700/U1\" lid 9 4xNDR s=4 w=2\n"
    "[3]\t\"S-03\"[2]\t\t# \"MF0;spine:MQM9700/U1\" lid 9 4xNDR\n"
    "[65]\t\"H-99\"[1](99) \t\t# \"Mellanox Technologies Aggregation Node\" lid 5 4xNDR\n\n"
    "switchguid=0x2(2)\nSwitch\t65 \"S-02\"\t\t# \"MF0;leaf2:MQM9700/U1\" base port 0 lid 2 lmc 0\n"
    "[1]\t\"H-12\"[1](12) \t\t# \"node2 mlx5_0\" lid 4 4xHDR\n"
    "[2]\t\"S-03\"[3]\t\t# \"MF0;spine:MQM9700/U1\" lid 9 4xNDR\n\n"
    "switchguid=0x3(3)\nSwitch\t65 \"S-03\"\t\t# \"MF0;spine:MQM9700/U1\" base port 0 lid 9 lmc 0\n"
    "[1]\t\"S-01\"[2]\t\t# \"MF0;leaf1:MQM9700/U1\" lid 1 4xNDR\n"
    "[2]\t\"S-01\"[3]\t\t# \"MF0;leaf1:MQM9700/U1\" lid 1 4xNDR\n"
    "[3]\t\"S-02\"[2]\t\t# \"MF0;leaf2:MQM9700/U1\" lid 2 4xNDR\n\n"
    "caguid=0x11\nCa\t1 \"H-11\"\t\t# \"node1 mlx5_0\"\n[1](11) \t\"S-01\"[1]\t\t# lid 3 lmc 0 "
    "\"MF0;leaf1:MQM9700/U1\" lid 1 4xNDR\n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(Ibnetdiscover, CablesAndPortsAreCountedOnce) {
  EXPECT_TRUE(looks_like_ibnetdiscover(kDump));
  const ClusterFabric fabric = read_ibnetdiscover(kDump, "ib.txt");
  ASSERT_EQ(fabric.switches.size(), 3u);
  EXPECT_EQ(fabric.switches[0].name, "leaf1:MQM9700/U1");
  EXPECT_EQ(fabric.cables.size(), 3u);
  ASSERT_EQ(fabric.ports.size(), 2u);  // the switch's own adapter is none
  EXPECT_EQ(fabric.ports[0].host, "node1");
  EXPECT_EQ(fabric.ports[0].nic, "mlx5_0");
  EXPECT_EQ(fabric.ports[0].bandwidth, Bandwidth{50'000'000'000});
  EXPECT_EQ(fabric.ports[1].bandwidth, Bandwidth{25'000'000'000});
  EXPECT_EQ(fabric.hosts(), (Names{"node1", "node2"}));
  EXPECT_EQ(fabric.notes, Names{"2 cables are listed from one end only"});
}

TEST(Ibnetdiscover, ContradictionsAreRefusedWithTheirLine) {
  const auto with = [](const std::string& from, const std::string& to) {
    return [=] { read_ibnetdiscover(replaced(kDump, from, to), "ib.txt"); };
  };
  expect_refused(with("[2]\t\"S-01\"[3]", "[2]\t\"S-01\"[9]"), "which leads elsewhere");
  expect_refused(with("[2]\t\"S-01\"[3]", "[1]\t\"S-01\"[3]"),
                 "ib.txt:21: port 1 of 'S-03' is there twice");
  expect_refused(with("Switch\t65 \"S-02\"", "Switch\t65 \"S-01\""),
                 "'S-01' is there twice (first in line 7)");
  expect_refused(with("\"S-03\"[3]", "\"S-04\"[3]"), "'S-04', which is not in the file");
  expect_refused(with("\"S-03\"[3]", "\"S-03[3]"), "ib.txt:16:");
}

TEST(SlurmTopology, TreesAndBlocksAreRead) {
  const std::string tree =
      "# comment\nSwitchName=core Switches=leaf[1-2]\nSwitchName=leaf1 "
      "Nodes=n[1-2]\nswitchname=leaf2 nodes=n3 LinkSpeed=900\n";
  EXPECT_TRUE(looks_like_slurm_topology(tree));
  const ClusterFabric fabric = read_slurm_topology(tree, "t.conf");
  EXPECT_EQ(fabric.switches.size(), 3u);
  EXPECT_EQ(fabric.cables.size(), 2u);
  EXPECT_EQ(fabric.hosts(), (Names{"n1", "n2", "n3"}));
  const ClusterFabric blocks = read_slurm_topology(
      "BlockName=a Nodes=n[1-2]\nBlockName=b Nodes=n3\nBlockSizes=1,2\n", "t.conf");
  EXPECT_EQ(blocks.switches.size(), 3u);
  EXPECT_EQ(blocks.cables.size(), 2u);
  const auto bad = [](const std::string& text) {
    return [=] { read_slurm_topology(text, "t.conf"); };
  };
  expect_refused(bad(tree + "SwitchName=leaf1 Nodes=n9\n"), "t.conf:5: 'leaf1' is there twice");
  expect_refused(bad(tree + "SwitchName=x Nodes=n1\n"), "node 'n1' is below two switches");
  expect_refused(bad(tree + "SwitchName=x Switches=y\n"), "switch 'y' is not in the file");
  expect_refused(bad(tree + "SwitchName=x\n"), "neither Nodes= nor Switches=");
  expect_refused(bad(tree + "SwitchName=x Nodes=n[4\n"), "not a list of hosts");
}

TEST(SlurmYaml, TreesAndBlocksAreRead) {
  const std::string tree =
      "---\n# made by a tool\n- topology: gpus\n  tree:\n    switches:\n"
      "      - switch: core   # the top\n        children: leaf[1-2]\n"
      "      - switch: leaf1\n        nodes: n[1-2]\n"
      "      - {switch: 'leaf2', nodes: \"n3,n[5-6]\"}\n"
      "- topology: other\n  cluster_default: false\n  flat: true\n";
  EXPECT_EQ(recognise(tree)->name, "slurm-yaml");
  const ClusterFabric fabric = read_fabric(tree, "t.yaml", std::nullopt);
  EXPECT_EQ(fabric.switches.size(), 3u);
  EXPECT_EQ(fabric.cables.size(), 2u);
  EXPECT_EQ(fabric.hosts(), (Names{"n1", "n2", "n3", "n5", "n6"}));
  EXPECT_EQ(fabric.ports[2].at, 2u);
  const ClusterFabric blocks = read_slurm_yaml(
      "- topology: b\n  cluster_default: true\n  block:\n    block_sizes: [2, 4]\n    blocks:\n"
      "    - block: a\n      nodes: n[1-2]\n    - block: b\n      nodes: n3\n",
      "t.yaml");
  EXPECT_EQ(blocks.switches.size(), 3u);
  EXPECT_EQ(blocks.cables.size(), 2u);
  const auto bad = [](const std::string& text) { return [=] { read_slurm_yaml(text, "t.yaml"); }; };
  expect_refused(bad(replaced(tree, "leaf[1-2]", "leaf[1-3]")),
                 "t.yaml:6: switch 'leaf3' is not in the file");
  expect_refused(bad(replaced(tree, "'leaf2'", "core")), "t.yaml:10: 'core' is there twice");
  expect_refused(bad(replaced(tree, "children: leaf[1-2]", "kids: 1")), "neither 'children'");
  expect_refused(bad("- topology: x\n  flat: true\n"), "t.yaml:2: a flat topology says nothing");
  expect_refused(bad(replaced(tree, "'leaf2', ", "'leaf2' ")), "t.yaml:10: '}' is missing");
  expect_refused(bad(replaced(tree, "nodes: n[1-2]", "nodes: &x n[1-2]")), "not read here");
  expect_refused(bad(replaced(tree, "        nodes: n", "\tnodes: n")), "t.yaml:9: a tab");
  expect_refused(bad(replaced(tree, "        nodes: n", "         nodes: n")),
                 "t.yaml:9: 'nodes: n[1-2]' belongs to nothing");
}

TEST(Topograph, ModelsAndGraphsAreRead) {
  const std::string model =
      "switches:\n  core:\n    labels: {zone: a}\n    switches:\n    - s1\n    - s2\nblocks:\n"
      "- switch: s1\n  nodes: [\"I[21-22]\", \"I25\"]\n- switch: s2\n  nodes:\n  - J1\n"
      "  annotations:\n    accelerator: nvl1\n";
  const ClusterFabric fabric = read_fabric(model, "m.yaml", std::nullopt);
  EXPECT_EQ(fabric.switches.size(), 3u);
  EXPECT_EQ(fabric.cables.size(), 2u);
  EXPECT_EQ(fabric.hosts(), (Names{"I21", "I22", "I25", "J1"}));
  EXPECT_EQ(fabric.notes.size(), 1u);
  expect_refused([&] { read_topograph_model(replaced(model, "- J1", "- I25"), "m.yaml"); },
                 "m.yaml:12: node 'I25' is below two switches");
  const std::string graph =
      R"({"instances": [{"id": "a", "network_layers": ["l1", "spine"], "labels": {}},
          {"id": "b", "network_layers": ["l1", "spine"]}, {"id": "c", "network_layers": ["l2", "spine"]}]})";
  const ClusterFabric layers = read_fabric(graph, "g.json", std::nullopt);
  EXPECT_EQ(layers.switches.size(), 3u);
  EXPECT_EQ(layers.cables.size(), 2u);
  EXPECT_EQ(layers.hosts(), (Names{"a", "b", "c"}));
  const auto bad = [&](const std::string& from, const std::string& to) {
    return [=] { read_topograph_graph(replaced(graph, from, to), "g.json"); };
  };
  expect_refused(bad(R"("c", "network_layers": ["l2)", R"("c", "network_layers": ["spine)"),
                 "g.json: /instances/2: ");
  expect_refused(bad(R"(["l2", "spine"])", "[]"), "no switch is named above 'c'");
  expect_refused(bad(R"(["l2", "spine"])", R"(["l1", "other"])"), "'l1' is below two switches");
}

/// Two GPUs on NVLink, each with a NIC behind its own PCIe switch.
Machine pair() {
  Machine machine;
  machine.name = "pair";
  Device socket;
  socket.kind = Device::Kind::socket;
  socket.name = "cpu0";
  const std::size_t cpu = machine.add(socket);
  std::vector<std::size_t> gpus;
  for (int k = 0; k < 2; ++k) {
    Device bridge, gpu, nic;
    bridge.kind = Device::Kind::bridge;
    bridge.name = "pci" + std::to_string(k);
    gpu.name = "gpu" + std::to_string(k);
    gpu.model = "h100";
    nic.kind = Device::Kind::nic;
    nic.name = "mlx5_" + std::to_string(k);
    const std::size_t b = machine.add(bridge), g = machine.add(gpu), n = machine.add(nic);
    const Bandwidth pcie{48'000'000'000};
    machine.wires.push_back({Wire::Kind::pcie, cpu, b, std::nullopt, pcie, "file"});
    machine.wires.push_back({Wire::Kind::pcie, b, g, std::nullopt, pcie, "file"});
    machine.wires.push_back({Wire::Kind::pcie, b, n, std::nullopt, pcie, "file"});
    gpus.push_back(g);
  }
  machine.wires.push_back({Wire::Kind::nvlink, gpus[0], gpus[1], 18, std::nullopt, "file"});
  return filled(machine, std::nullopt);
}

std::int64_t gigabytes(const Topology& topology, const std::string& from, const std::string& to) {
  std::int64_t sum = 0;
  for (const LinkId id : topology.out(*topology.find(from))) {
    if (topology.node(topology.link(id).to).name == to)
      sum += topology.link(id).bandwidth.bytes_per_second;
  }
  return sum / 1'000'000'000;
}

TEST(Compose, RailsJoinGpusThroughTheirNics) {
  const Machine machine = pair();
  const Topology topology =
      machine_topology(composed(machine, generated_fabric("rails", machine, 3), {},
                                {Bandwidth{50'000'000'000}, std::nullopt}),
                       "m");
  EXPECT_EQ(topology.gpus().size(), 6u);
  EXPECT_EQ(topology.nodes().size(), 8u);  // and two rails: NICs and PCIe switches are links now
  EXPECT_EQ(gigabytes(topology, "h1.gpu0", "rail0"), 48);  // PCIe is slower than the NIC
  EXPECT_EQ(gigabytes(topology, "h1.gpu0", "rail1"), 0);
  EXPECT_EQ(gigabytes(topology, "h1.gpu0", "h1.gpu1"), 450);
  EXPECT_EQ(topology.node(*topology.find("h2.gpu1")).host, "h2");
  expect_refused(
      [&] {
        machine_topology(composed(machine, generated_fabric("switch", machine, 2), {}, {}), "m");
      },
      "--nic-speed");
  EXPECT_THROW(generated_fabric("ring", machine, 2), Error);
}

TEST(Compose, FabricsFromFilesPlugInNicsByName) {
  const ClusterFabric fabric = read_ibnetdiscover(kDump, "ib.txt");
  // mlx5_1 is not plugged in: gpu1 reaches the network through gpu0.
  const Topology topology = machine_topology(composed(pair(), fabric, {}, {}), "m");
  EXPECT_EQ(topology.gpus().size(), 4u);
  // leaf2 joins node2 to the spine only, and is one link with it; two cables between leaf1 and the spine.
  EXPECT_EQ(topology.nodes().size(), 4u) << "a chain of switches is one link";
  EXPECT_EQ(gigabytes(topology, "node1.gpu0", "node2.gpu0"), 25);
  expect_refused([&] { composed(pair(), fabric, {"node1", "node3"}, {}); },
                 "there is no host 'node3' for --hosts; did you mean 'node1'?; the network has 2 "
                 "hosts: node1, node2");
  Machine other = pair();
  for (Device& device : other.devices) {
    if (device.kind == Device::Kind::nic) device.name += "x";
  }
  expect_refused([&] { composed(other, fabric, {}, {}); },
                 "has 1 ports (the first 'mlx5_0'), the machine 2 NICs");
  ClusterFabric apart = fabric;
  apart.cables.clear();
  expect_refused([&] { composed(pair(), apart, {}, {}); }, "nothing joins host 'node2' to 'node1'");
}

// 70 kB that name 400 million switches filled the memory.
TEST(Fabrics, FewLinesThatNameManySwitchesAreRefused) {
  const std::string text = "SwitchName=a Switches=t[1-150000]\nSwitchName=b Switches=t[1-150000]\n";
  expect_refused([&] { read_slurm_topology(text, "t.conf"); },
                 "t.conf:2: more than 262144 switches below others");
}

TEST(Fabrics, SlurmLinesGoOnAfterABackslash) {
  const ClusterFabric fabric = read_slurm_topology(
      "SwitchName=s0 \\ # four\n  Nodes=n[0-3]\nSwitchName=s1 Nodes=n[4-7]\n"
      "SwitchName=top Switches=s[0-1]\\",
      "t.conf");
  EXPECT_EQ(fabric.switches.size(), 3u);
  EXPECT_EQ(fabric.hosts().size(), 8u);
  expect_refused(
      [] { read_slurm_topology("SwitchName=a \\\nNodes=n1\nInclude /etc/more.conf\n", "t.conf"); },
      "t.conf:3: Include is not followed: put the lines of that file in its place");
}

/// A port of the dump that is none of the machine's NICs: the cable is left out, but not silently.
TEST(Compose, PortsThatMatchNoNicAreNoted) {
  Machine machine = pair();
  for (Device& device : machine.devices) {
    if (device.name == "mlx5_1") device.name = "mlx5_7";
  }
  ClusterFabric fabric = generated_fabric("rails", pair(), 3);
  const Machine cluster =
      composed(machine, fabric, {"h0", "h2"}, {Bandwidth{50'000'000'000}, std::nullopt});
  ASSERT_EQ(cluster.notes.size(), 1u);
  EXPECT_EQ(cluster.notes[0],
            "port 'mlx5_1' of 2 hosts (the first 'h0') is left out: the machine's NICs are "
            "mlx5_0, mlx5_7");
  EXPECT_TRUE(composed(pair(), fabric, {}, {}).notes.empty());
}

/// Both GPUs on one socket, the NIC on the other: NCCL goes there, and so do we.
constexpr const char* kFarNic = R"(<system version="1">
<cpu numaid="0" arch="x86_64" vendor="AuthenticAMD">
<pci busid="1" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16"><gpu dev="0" sm="80">
  <nvlink target="2" count="12" tclass="0x030200"/></gpu></pci>
<pci busid="2" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16"><gpu dev="1" sm="80">
  <nvlink target="1" count="12" tclass="0x030200"/></gpu></pci></cpu>
<cpu numaid="1" arch="x86_64" vendor="AuthenticAMD">
<pci busid="3" class="0x020700" link_speed="16.0 GT/s PCIe" link_width="16">
  <nic><net name="mlx5_4" dev="1" speed="200000"/></nic></pci></cpu></system>)";

TEST(Compose, NicsFarFromAllGpusJoinTheHostsAllTheSame) {
  const Machine machine = filled(read_machine(kFarNic, "far.xml", std::nullopt), std::nullopt);
  const ClusterFabric rails = generated_fabric("rails", machine, 2);
  const Topology topology = machine_topology(composed(machine, rails, {}, {}), "far.xml");
  EXPECT_EQ(gigabytes(topology, "h0.gpu1", "h0.cpu0"), 24);
  EXPECT_EQ(gigabytes(topology, "h0.cpu0", "h1.cpu0"), 16);  // from socket to socket
  // Both NICs are named, with their numbers in NCCL, though all else of them is gone.
  const Link& link = topology.link(topology.out(*topology.find("h0.cpu0"))[2]);
  for (const char* nic : {"; through h0.mlx5_4 (net 1)", "; through h1.mlx5_4 (net 1)"})
    EXPECT_NE(link.source.find(nic), std::string::npos) << link.source;
  // Nothing says where the NIC is: hosts that are not joined are not handed out as a cluster.
  Machine pieces = composed(machine, rails, {}, {});
  std::erase_if(pieces.wires,
                [](const Wire& wire) { return wire.kind == Wire::Kind::between_sockets; });
  expect_refused([&] { machine_topology(pieces, "far.xml"); },
                 "far.xml: nothing joins host 'h1' to 'h0'");
}

/// Every machine of the corpus that has a NIC makes clusters whose hosts are joined.
TEST(Compose, MachinesOfTheCorpusAreJoined) {
  const std::filesystem::path corpus =
      std::filesystem::path(testing::kSourceDir) / ".." / "shared" / "corpus";
  if (!std::filesystem::is_directory(corpus)) GTEST_SKIP() << "SKIPPED: no ../shared here";
  std::size_t made = 0;
  for (const char* folder : {"smi", "nccl_topo", "rccl_topo"}) {
    for (const auto& entry : std::filesystem::directory_iterator(corpus / folder)) {
      const std::string path = entry.path().string();
      std::optional<Machine> machine;
      try {
        machine = filled(read_machine(read_file(path), path, std::nullopt), "h100");
      } catch (const Error&) {
        continue;  // three of them: Machines.TheCorpusIsReadOrRefusedByName
      }
      if (machine->count(Device::Kind::nic) == 0) continue;
      for (const char* kind : {"rails", "switch"}) {
        const Topology topology =
            machine_topology(composed(*machine, generated_fabric(kind, *machine, 2), {},
                                      {Bandwidth{25'000'000'000}, std::nullopt}),
                             path);
        graph::UnionFind joined(topology.nodes().size());
        for (const Link& link : topology.links()) joined.join(link.from.index(), link.to.index());
        const auto h1 = topology.find("h1.gpu0"), h0 = topology.find("h0.gpu0");
        ASSERT_TRUE(h0 && h1) << path;
        EXPECT_EQ(joined.root(h0->index()), joined.root(h1->index())) << path << " " << kind;
        ++made;
      }
    }
  }
  EXPECT_EQ(made, 2u * 33u);
}

TEST(Fabrics, TheCorpusIsRead) {
  const std::filesystem::path corpus =
      std::filesystem::path(testing::kSourceDir) / ".." / "shared" / "corpus" / "fabric";
  if (!std::filesystem::is_directory(corpus)) GTEST_SKIP() << "SKIPPED: no ../shared here";
  const auto fabric = [&](const char* name) {
    return read_fabric(read_file((corpus / name).string()), name, std::nullopt);
  };
  const ClusterFabric large = fabric("topograph_ibnetdiscover_anon_full.txt");
  EXPECT_EQ(large.switches.size(), 40u);
  EXPECT_GT(large.hosts().size(), 50u);
  const ClusterFabric faked = fabric("superbench_ibnetdiscover.txt");
  EXPECT_GT(faked.switches.size(), 5u);
  EXPECT_GT(faked.hosts().size(), 1u);
  EXPECT_EQ(fabric("topograph_ci_expected.slinky-dra-block.conf").switches.size(), 13u);
  EXPECT_GT(fabric("topograph_ci_expected.slinky-oci-sim-tree.conf").cables.size(), 10u);
  expect_refused([&] { fabric("topograph_output_ibnetdiscover_example-bad.out"); },
                 "example-bad.out:11: no port of it is connected");
  EXPECT_EQ(fabric("topograph_models_nvl72.yaml").hosts().size(), 72u);
  EXPECT_EQ(fabric("topograph_models_small-tree.yaml").switches.size(), 3u);
}

}  // namespace
}  // namespace stellwerk
