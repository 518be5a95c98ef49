// What holds for every kind of file: bombs are refused in one line, and what is written reads back as the same thing.
#include "stellwerk/io/formats.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/rng.hpp"
#include "stellwerk/io/file.hpp"
#include "stellwerk/io/link_fit.hpp"
#include "stellwerk/io/machine_topology.hpp"
#include "stellwerk/io/msccl_xml.hpp"
#include "stellwerk/io/mscclpp_json.hpp"
#include "stellwerk/io/plan_file.hpp"
#include "stellwerk/io/planner_topologies.hpp"
#include "stellwerk/io/sccl_algorithm.hpp"
#include "stellwerk/io/teccl_schedule.hpp"
#include "stellwerk/io/topology_file.hpp"
#include "tests/support/paths.hpp"

namespace stellwerk {
namespace {

std::string repeated(std::string_view what, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += what;
  return text;
}

using Reader = std::function<void(std::string_view text)>;

std::vector<std::pair<std::string, Reader>> readers() {
  std::vector<std::pair<std::string, Reader>> result;
  for (const FormatRow& row : formats()) {
    const std::string name(row.name);
    if (row.read_machine)
      result.emplace_back(name, [&row](std::string_view text) { row.read_machine(text, "f"); });
    if (row.read_fabric)
      result.emplace_back(name, [&row](std::string_view text) { row.read_fabric(text, "f"); });
    if (row.read_topology)
      result.emplace_back(name, [&row](std::string_view text) { row.read_topology(text, "f"); });
  }
  result.emplace_back("nccl-tests", [](std::string_view text) { read_nccl_tests(text, "f"); });
  result.emplace_back("msccl-xml", [](std::string_view text) { read_msccl_xml(text, "f"); });
  result.emplace_back("mscclpp", [](std::string_view text) { read_mscclpp(text, "f"); });
  result.emplace_back("sccl", [](std::string_view text) { parse_sccl_algorithm(text, "f"); });
  result.emplace_back("teccl", [](std::string_view text) { parse_teccl_schedule(text, "f"); });
  result.emplace_back("topology", [](std::string_view text) { parse_topology(text, "f"); });
  return result;
}

TEST(Formats, BombsAreRefusedInOneLine) {
  constexpr std::size_t kBytes = 20'000;
  const std::vector<std::string> bombs = {repeated("[", kBytes),
                                          repeated("{\"a\":", kBytes),
                                          repeated("{\"nodes\": [", kBytes),
                                          "<system version=\"1\">" + repeated("<cpu>", kBytes),
                                          repeated("<algo>", kBytes) + repeated("</algo>", kBytes),
                                          repeated("- ", kBytes),
                                          "switches: " + repeated("[", kBytes),
                                          "switches: " + repeated("{a: ", kBytes),
                                          repeated("'", kBytes),
                                          "SwitchName=a Nodes=" + repeated("n[1-9999],", kBytes),
                                          repeated("\n", kBytes),
                                          repeated(std::string_view("\0", 1), kBytes)};
  for (const auto& [name, read] : readers()) {
    for (const std::string& bomb : bombs) {
      try {
        read(bomb);
        ADD_FAILURE() << name << " accepts " << bomb.substr(0, 20);
      } catch (const Error& error) {
        const std::string message = error.what();
        EXPECT_EQ(message.find('\n'), std::string::npos) << name;
        EXPECT_LT(message.size(), 500u) << name << ": " << message;
      }
    }
  }
}

/// What describes one machine is never large: 64 MiB of empty lines took minutes and gigabytes.
TEST(Formats, EveryKindHasItsSize) {
  const auto complaint = [](const std::string& text, const std::string& format) {
    try {
      read_machine(text, "f", format);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const std::string large((std::size_t{8} << 20) + 1, '\n');
  EXPECT_EQ(complaint(large, "nvidia-smi"),
            "f: too large for the text of nvidia-smi topo -m: at most 8 MiB are read");
  EXPECT_EQ(complaint(large, "rocm-smi"),
            "f: too large for the text of rocm-smi --showtopo or amd-smi topology: at most 8 MiB "
            "are read");
  for (const FormatRow& row : formats()) EXPECT_LE(row.max_bytes, kMaxForeignBytes) << row.name;
}

/// A hundred megabytes of nonsense shall end early, and not fill the memory before.
TEST(Formats, NonsenseInOwnFilesEndsEarly) {
  const auto refused = [](const std::string& text, const std::string& part) {
    try {
      parse_topology(text, "t.json");
      ADD_FAILURE() << "accepted; wanted: " << part;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  const std::string start = R"({"format": "stellwerk.topology/1", "nodes": [)";
  refused(start + repeated("{},", 10'000) + "{}]}",
          "t.json: /nodes/1000: this is one of more than 1000 entries of 'nodes' that are wrong");
  refused(start + "{}], \"links\": []}", "t.json: /nodes/0: the key 'name' is missing");
  // What is ignored takes no room, whatever it is.
  EXPECT_EQ(parse_topology(R"({"format": "stellwerk.topology/1", "x-a": {"b": [[1], {"x-c": 2}]},
                               "nodes": [{"name": "g", "kind": "gpu", "x-b": []}], "links": []})",
                           "t.json")
                .nodes()
                .size(),
            1u);
}

/// A random tree of switches, hosts at its leaves.
struct Tree {
  std::vector<std::size_t> parent;  ///< of switch k + 1
  std::vector<std::size_t> leaf;    ///< of host k
};

std::vector<std::size_t> children(const Tree& tree, std::size_t at) {
  std::vector<std::size_t> result;
  for (std::size_t k = 0; k < tree.parent.size(); ++k) {
    if (tree.parent[k] == at) result.push_back(k + 1);
  }
  return result;
}

Tree random_tree(Rng& rng) {
  Tree tree;
  const std::size_t switches = 2 + rng.below(8);
  for (std::size_t k = 1; k < switches; ++k) tree.parent.push_back(rng.below(k));
  std::vector<std::size_t> leaves;
  for (std::size_t k = 0; k < switches; ++k) {
    if (children(tree, k).empty()) leaves.push_back(k);
  }
  // Every leaf has one, so that every switch is above a host.
  for (const std::size_t leaf : leaves) tree.leaf.push_back(leaf);
  for (std::size_t k = rng.below(10); k > 0; --k)
    tree.leaf.push_back(leaves[rng.below(leaves.size())]);
  return tree;
}

/// The same tree as lines "child below parent" and "host at leaf", sorted.
std::vector<std::string> lines(const Tree& tree) {
  std::vector<std::string> result;
  for (std::size_t k = 0; k < tree.parent.size(); ++k)
    result.push_back("s" + std::to_string(k + 1) + " s" + std::to_string(tree.parent[k]));
  for (std::size_t k = 0; k < tree.leaf.size(); ++k)
    result.push_back("n" + std::to_string(k) + " s" + std::to_string(tree.leaf[k]));
  std::sort(result.begin(), result.end());
  return result;
}
std::vector<std::string> lines(const ClusterFabric& fabric) {
  std::vector<std::string> result;
  for (const ClusterFabric::Cable& cable : fabric.cables)
    result.push_back(fabric.switches[cable.b].name + " " + fabric.switches[cable.a].name);
  for (const ClusterFabric::Port& port : fabric.ports)
    result.push_back(port.host + " " + fabric.switches[port.at].name);
  std::sort(result.begin(), result.end());
  return result;
}

std::string hostlist(char letter, const std::vector<std::size_t>& numbers) {
  std::string text;
  for (const std::size_t number : numbers)
    text += (text.empty() ? "" : ",") + (letter + std::to_string(number));
  return text;
}

std::vector<std::size_t> hosts_at(const Tree& tree, std::size_t at) {
  std::vector<std::size_t> result;
  for (std::size_t k = 0; k < tree.leaf.size(); ++k) {
    if (tree.leaf[k] == at) result.push_back(k);
  }
  return result;
}

TEST(Formats, RandomTreesAreTheSameInEveryFormat) {
  Rng rng(11);
  for (int round = 0; round < 50; ++round) {
    const Tree tree = random_tree(rng);
    std::string conf, yaml = "- topology: t\n  tree:\n    switches:\n", switches = "switches:\n",
                      blocks = "blocks:\n", graph = R"({"instances": [)";
    for (std::size_t s = 0; s <= tree.parent.size(); ++s) {
      const std::string name = "s" + std::to_string(s);
      const std::vector<std::size_t> below = children(tree, s), hosts = hosts_at(tree, s);
      conf +=
          "SwitchName=" + name +
          (below.empty() ? " Nodes=" + hostlist('n', hosts) : " Switches=" + hostlist('s', below)) +
          "\n";
      yaml +=
          "    - switch: " + name + "\n      " +
          (below.empty() ? "nodes: " + hostlist('n', hosts) : "children: " + hostlist('s', below)) +
          "\n";
      if (!below.empty()) {
        switches += "  " + name + ":\n    switches: [" + hostlist('s', below) + "]\n";
      } else {
        blocks += "- switch: " + name + "\n  nodes:\n";
        for (const std::size_t host : hosts) blocks += "  - n" + std::to_string(host) + "\n";
      }
    }
    for (std::size_t k = 0; k < tree.leaf.size(); ++k) {
      std::string layers;
      for (std::size_t s = tree.leaf[k];; s = tree.parent[s - 1]) {
        layers += (layers.empty() ? "" : ", ") + ("\"s" + std::to_string(s)) + "\"";
        if (s == 0) break;
      }
      graph += std::string(k == 0 ? "" : ",") + R"({"id": "n)" + std::to_string(k) +
               R"(", "network_layers": [)" + layers + "]}";
    }
    const std::vector<std::string> wanted = lines(tree);
    for (const std::string& text : {conf, yaml, switches + blocks, graph + "]}"}) {
      EXPECT_EQ(lines(read_fabric(text, "f", std::nullopt)), wanted) << text;
    }
  }
}

TEST(Formats, MachinesOfTheCorpusReadBackAsTheSameTopology) {
  const std::filesystem::path corpus =
      std::filesystem::path(testing::kSourceDir) / ".." / "shared" / "corpus";
  if (!std::filesystem::is_directory(corpus)) GTEST_SKIP() << "SKIPPED: no ../shared here";
  int machines = 0;
  for (const char* folder : {"nccl_topo", "rccl_topo", "smi", "rocm"}) {
    for (const auto& entry : std::filesystem::directory_iterator(corpus / folder)) {
      const std::string text = read_file(entry.path().string());
      try {
        const Machine machine = filled(read_machine(text, "f", std::nullopt), "h100");
        const Topology topology = machine_topology(machine, "f");
        EXPECT_EQ(parse_topology(format_topology(topology), "again"), topology) << entry.path();
        ++machines;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::unreadable_input) << entry.path();
      }
    }
  }
  EXPECT_GT(machines, 30);
}

}  // namespace
}  // namespace stellwerk
