#include "stellwerk/io/soundness.hpp"

#include <gtest/gtest.h>

#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/io/compose.hpp"
#include "stellwerk/io/machine_topology.hpp"
#include "stellwerk/io/nccl_topology.hpp"

namespace stellwerk {
namespace {

/// "fault: 1 GPU ... (where)", one a line, remarks left out.
std::string text(const std::vector<Finding>& list) {
  std::string result;
  for (const Finding& finding : list) {
    if (finding.level == Finding::Level::remark) continue;
    result +=
        std::string(to_string(finding.level)) + ": " + finding.what + " (" + finding.where + ")\n";
  }
  return result;
}

TEST(Soundness, TheCatalogueIsSound) {
  for (const char* name : {"dgx1", "dgx-h100:2", "mi250:2", "torus:4x4", "leaf-spine:16x8"}) {
    EXPECT_EQ(text(findings(catalogue_topology(name))), "") << name;
  }
  EXPECT_EQ(text(findings(catalogue_topology("ndv2:2"))),
            "doubt: 2 pairs of nodes are joined one way only (h0.gpu0->h1.gpu1)\n");
}

TEST(Soundness, WhatIsWrongIsSaidWithItsPlace) {
  const Topology ring = catalogue_topology("ring:4");
  IdVector<NodeId, Node> nodes = ring.nodes();
  IdVector<LinkId, Link> links = ring.links();
  Node lonely, hub;
  lonely.name = "lonely";
  hub.name = "hub";
  hub.kind = NodeKind::switch_;
  nodes.push_back(lonely);
  nodes.push_back(hub);
  links[LinkId(0)].bandwidth = Bandwidth{1000};
  links[LinkId(1)].latency = Time{};
  links[LinkId(2)].latency = Time{1'000'000'000};
  links.push_back({NodeId(0), NodeId(5), Time{1000}, Bandwidth{1'000'000'000'000'000}, ""});
  const std::string found = text(findings(Topology("x", "", nodes, links)));
  const std::string first = ring.link_name(LinkId(0));
  for (const std::string& part : {
           std::string("fault: 1 GPU cannot exchange data with the first one (gpu0 and lonely)"),
           std::string(
               "doubt: 1 switch or relay cannot forward: it has no link in, or none out (hub)"),
           "doubt: 1 pair of nodes has different rates there and back (" + first + ")",
           std::string("doubt: 1 pair of nodes is joined one way only (gpu0->hub)"),
           "doubt: 1 link is slower than 100 MB/s (" + first + ": 1 KB/s)",
           std::string("doubt: 1 link is faster than 10 TB/s (gpu0->hub: 1000 TB/s)"),
           std::string("doubt: 1 link has no latency ("),
           std::string("more than 100 us of latency ("),
       }) {
    EXPECT_NE(found.find(part), std::string::npos) << part << "\nin\n" << found;
  }
}

TEST(Soundness, MachinesAndNetworksAreLookedAt) {
  const std::string xml =
      R"(<system version="1"><cpu numaid="0"><pci busid="a" class="0x030200"><gpu dev="0" sm="1"/></pci>
         <pci busid="b" class="0x030200"><gpu dev="1" sm="1"/></pci>
         <pci busid="c" class="0x020700"><nic><net name="n0" dev="0" speed="200000000"/></nic></pci></cpu></system>)";
  Machine machine = filled(read_nccl_topology(xml, "m.xml"), std::nullopt);
  for (Device& device : machine.devices) {
    if (device.kind == Device::Kind::nic) device.speed = Bandwidth{1000};
  }
  const std::string found = text(findings(machine, "m.xml"));
  EXPECT_NE(found.find("doubt: 1 NIC has a speed that no NIC has ("), std::string::npos) << found;
  EXPECT_NE(found.find("fault: m.xml: neither links between GPUs nor their model are in it"),
            std::string::npos)
      << found;
  ClusterFabric fabric = generated_fabric("rails", machine, 3);
  EXPECT_EQ(text(findings(fabric)), "");
  fabric.switches.push_back({"alone", ""});
  fabric.ports.push_back({"h2", "n1", fabric.switches.size() - 1, std::nullopt, ""});
  EXPECT_EQ(text(findings(fabric)),
            "doubt: 1 port is in a part of the network of its own (h2 n1, not joined to h0)\n"
            "doubt: 1 host has another number of ports than most (h2: 2, most have 1)\n");
}

}  // namespace
}  // namespace stellwerk
