#include "stellwerk/io/topology_file.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/json.hpp"
#include "stellwerk/io/random_for_test.hpp"

namespace stellwerk {
namespace {

std::string complaint(const std::string& text) {
  try {
    parse_topology(text, "f.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unreadable_input);
    return error.what();
  }
  return "(read without complaint)";
}

RC_GTEST_PROP(TopologyFile, ReadsBackExactly, (std::uint64_t seed)) {
  Rng rng(seed);
  const Topology topology = testing::random_topology(rng);
  const std::string text = format_topology(topology);
  const Topology again = parse_topology(text, "f");
  RC_ASSERT(again == topology);
  RC_ASSERT(format_topology(again) == text);
}

TEST(TopologyFile, LooksLikeThis) {
  IdVector<NodeId, Node> nodes(3);
  nodes[NodeId(0)].name = "h0.gpu0";
  nodes[NodeId(0)].host = "h0";
  nodes[NodeId(0)].buffer = Bytes{1'500'000};
  nodes[NodeId(1)].name = "cpu";
  nodes[NodeId(1)].kind = NodeKind::relay;
  nodes[NodeId(1)].injection = Bandwidth{450'000'000'000};
  nodes[NodeId(2)].name = "sw";
  nodes[NodeId(2)].kind = NodeKind::switch_;
  nodes[NodeId(2)].multicast = true;
  nodes[NodeId(2)].rail = 3;
  IdVector<LinkId, Link> links = {
      {NodeId(0), NodeId(2), Time{700'000}, Bandwidth{12'500'000'000}, "table"},
      {NodeId(2), NodeId(0), Time{1'234'567}, Bandwidth{7}, ""}};
  EXPECT_EQ(format_topology(Topology("t", "", nodes, links)), R"({
  "format": "stellwerk.topology/1",
  "name": "t",
  "nodes": [
    {"name": "h0.gpu0", "kind": "gpu", "host": "h0", "buffer": "1.5MB"},
    {"name": "cpu", "kind": "relay", "injection": "450GB/s"},
    {"name": "sw", "kind": "switch", "rail": 3, "multicast": true}
  ],
  "links": [
    {"from": "h0.gpu0", "to": "sw", "bandwidth": "12.5GB/s", "latency": "0.7us", "source": "table"},
    {"from": "sw", "to": "h0.gpu0", "bandwidth": "7B/s", "latency": "1234.567ns"}
  ]
}
)");
}

TEST(TopologyFile, ReadsBaseUnitsBitsAndIgnoredKeys) {
  const Topology topology =
      parse_topology(R"({"format": "stellwerk.topology/1", "x-mine": {"a": [1, null]},
    "nodes": [{"name": "a", "kind": "gpu", "x-slot": 4}, {"name": "b", "kind": "gpu", "buffer": "1GiB"}],
    "links": [{"from": "a", "to": "b", "bandwidth": "400Gbps", "latency": 350000},
              {"from": "b", "to": "a", "bandwidth": 50000000000, "latency": "2 us"}]})",
                     "f");
  EXPECT_EQ(topology.link(LinkId(0)).bandwidth.bytes_per_second, 50'000'000'000);
  EXPECT_EQ(topology.link(LinkId(0)).latency.ps, 350'000);
  EXPECT_EQ(topology.link(LinkId(1)).bandwidth.bytes_per_second, 50'000'000'000);
  EXPECT_EQ(topology.link(LinkId(1)).latency.ps, 2'000'000);
  EXPECT_EQ(topology.node(NodeId(1)).buffer, Bytes{std::int64_t{1} << 30});
}

/// A valid text with one part replaced.
std::string with(const std::string& part, const std::string& replacement) {
  std::string text = R"({"format": "stellwerk.topology/1",
 "nodes": [{"name": "h0.gpu0", "kind": "gpu"}, {"name": "sw", "kind": "switch"}],
 "links": [{"from": "h0.gpu0", "to": "sw", "bandwidth": "50GB/s", "latency": "0.7us"}]})";
  const std::size_t at = text.find(part);
  EXPECT_NE(at, text.npos) << part;
  return text.replace(at, part.size(), replacement);
}

TEST(TopologyFile, BrokenFilesAreRefusedInOneLine) {
  ASSERT_EQ(complaint(with("", "")), "(read without complaint)");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "f.json: is empty"},
      {" \n", "f.json: is empty"},
      {"{\"format\": \"stellwerk.topology/1\",\n \"nodes\": [}",
       "f.json: line 2, column 12: this is not JSON: Invalid value"},
      {with("]}", "]"),
       "f.json: line 3, column 87: this is not JSON: Missing a comma or '}' after an object member "
       "(the text ends here)"},
      {with("\"sw\"", "\"\xff\""),
       "f.json: line 2, column 58: this is not JSON: Invalid encoding in string"},
      {with("0.7us\"", "0.7us"),
       "f.json: line 3, column 87: this is not JSON: Missing a closing quotation mark in string "
       "(the "
       "text ends here)"},
      {"[1, 2]", "f.json: must be an object, not an array"},
      {"null", "f.json: must be an object, not null"},
      {"{}", "f.json: the key 'format' is missing: expected \"format\": \"stellwerk.topology/1\""},
      {R"({"format": 1})", "f.json: /format: must be a string, not an integer"},
      {with("topology/1", "jobs/1"),
       "f.json: /format: this is 'stellwerk.jobs/1', but 'stellwerk.topology/1' is expected here"},
      {with("\"nodes\"", "\"knots\""),
       "f.json: /knots: unknown key 'knots': known are format, name, note, nodes, links"},
      {with("\"nodes\"", "\"node\""), "f.json: /node: unknown key 'node'; did you mean 'nodes'?"},
      {with("\"kind\": \"gpu\"", "\"knd\": \"gpu\""),
       "f.json: /nodes/0/knd: unknown key 'knd'; did you mean 'kind'?"},
      {with(", \"kind\": \"gpu\"", ""), "f.json: /nodes/0: the key 'kind' is missing: add it"},
      {with("\"gpu\"", "\"cpu\""),
       "f.json: /nodes/0/kind: there is no node kind 'cpu': use gpu, switch or relay"},
      {with("\"gpu\"", "7"), "f.json: /nodes/0/kind: must be a string, not an integer"},
      {with("\"name\": \"sw\"", "\"name\": \"h0.gpu0\""),
       "f.json: /nodes/1/name: 'h0.gpu0' is the name of node 0, too: names must be unique"},
      {with("\"name\": \"sw\"", "\"name\": \"\""),
       "f.json: /nodes/1: the node has no name: give it one"},
      {with("\"name\": \"sw\"", "\"name\": \"s\\nw\""),
       "f.json: /nodes/1: 's\\x0aw': the name contains a control character: remove it"},
      {with("\"name\": \"sw\"", "\"name\": \"sw\", \"name\": \"sx\""),
       "f.json: /nodes/1/name: the key appears twice in one object: remove one of them"},
      {with("\"kind\": \"gpu\"", "\"kind\": \"gpu\", \"multicast\": true"),
       "f.json: /nodes/0: 'h0.gpu0': multicast, reduce and max_groups are for switches: remove "
       "them or make it a switch"},
      {with("\"kind\": \"switch\"", "\"kind\": \"switch\", \"multicast\": 1"),
       "f.json: /nodes/1/multicast: must be true or false, not an integer"},
      {with("\"kind\": \"switch\"", "\"kind\": \"switch\", \"buffer\": \"1GiB\""),
       "f.json: /nodes/1: 'sw': a switch stores nothing: remove its buffer"},
      {with("\"kind\": \"switch\"", "\"kind\": \"switch\", \"max_groups\": -1"),
       "f.json: /nodes/1/max_groups: is -1, but must be from 0 to 2147483647"},
      {with("\"kind\": \"gpu\"", "\"kind\": \"gpu\", \"rail\": 1.5"),
       "f.json: /nodes/0/rail: must be a whole number, not a number with a fraction or an "
       "exponent"},
      {with("\"kind\": \"gpu\"", "\"kind\": \"relay\""),
       "f.json: the topology '' has no GPU: add nodes of kind \"gpu\""},
      {with("\"from\": \"h0.gpu0\"", "\"from\": \"h0.gpu\""),
       "f.json: /links/0/from: there is no node 'h0.gpu'; did you mean 'h0.gpu0'?"},
      {with("\"from\": \"h0.gpu0\"", "\"from\": \"elsewhere\""),
       "f.json: /links/0/from: there is no node 'elsewhere': use the name of a node of the "
       "topology"},
      {with("\"to\": \"sw\"", "\"to\": \"h0.gpu0\""),
       "f.json: /links/0: the link leads from a node to itself: remove it"},
      {with("\"50GB/s\"", "\"50GB\""),
       "f.json: /links/0/bandwidth: '50GB' is not a bandwidth: write bytes per second, or a number "
       "and a unit, as in 50GB/s or 400Gbps"},
      {with("\"50GB/s\"", "\"50\""),
       "f.json: /links/0/bandwidth: '50' has no unit: write it as in \"50GB/s\", or a plain number "
       "of bytes/s"},
      {with("\"50GB/s\"", "0"),
       "f.json: /links/0/bandwidth: is 0, but a bandwidth must be positive"},
      {with("\"50GB/s\"", "-4"), "f.json: /links/0/bandwidth: is -4, but must not be negative"},
      {with("\"50GB/s\"", "5e10"),
       "f.json: /links/0/bandwidth: must be a string with a unit, as in \"50GB/s\", or a whole "
       "number of bytes/s, not a number with a fraction or an exponent"},
      {with("\"50GB/s\"", "99999999999999999999"),
       "f.json: /links/0/bandwidth: must be a string with a unit, as in \"50GB/s\", or a whole "
       "number of bytes/s, not a number with a fraction or an exponent"},
      {with("\"50GB/s\"", "18446744073709551615"),
       "f.json: /links/0/bandwidth: the number is too large: at most 9223372036854775807"},
      {with("\"0.7us\"", "\"-0.7us\""),
       "f.json: /links/0/latency: '-0.7us' is not a duration: write a number and a unit, one of "
       "ps, ns, us, ms, s, as in 0.7us"},
      {with("\"0.7us\"", "\"5000s\""),
       "f.json: /links/0: a latency of more than 1000 s is surely a wrong unit"},
      {with("\"0.7us\"", "null"),
       "f.json: /links/0/latency: must be a string with a unit, as in \"0.7us\", or a whole number "
       "of ps, not null"},
      {with("[{\"from\"", "{\"a/b~\": [{\"from\"").append("}"),
       "f.json: /links: must be an array, not an object"},
  };
  for (const auto& [text, expected] : cases) {
    const std::string message = complaint(text);
    EXPECT_EQ(message, expected) << text;
    EXPECT_EQ(message.find('\n'), message.npos);
  }
}

TEST(TopologyFile, DeepNestingIsRefusedNotFatal) {
  EXPECT_EQ(complaint(std::string(1'000'000, '[')),
            "f.json: /0/0/0/0/0/0/0/0/...: nested deeper than 64 levels: none of our files is");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"x-a\": ";
  EXPECT_NE(complaint(objects).find("nested deeper than 64 levels"), std::string::npos);
}

TEST(TopologyFile, LongNamesAreCutInMessages) {
  const std::string message =
      complaint(with("\"from\": \"h0.gpu0\"", "\"from\": \"" + std::string(100'000, 'x') + "\""));
  EXPECT_LT(message.size(), 200U);
}

TEST(TopologyFile, ManyRepeatedKeysAreFoundQuickly) {
  std::string text = "{";
  for (int i = 0; i < 300'000; ++i) text += "\"x-" + std::to_string(i) + "\": 1, ";
  EXPECT_EQ(complaint(text + "\"x-7\": 2}"),
            "f.json: /x-7: the key appears twice in one object: remove one of them");
}

// Any damage to a file gives an Error or a topology, never anything else.
RC_GTEST_PROP(TopologyFile, DamagedTextsNeverCrash, (std::uint64_t seed)) {
  Rng rng(seed);
  std::string text = format_topology(testing::random_topology(rng));
  for (std::size_t k = 1 + rng.below(4); k > 0; --k) {
    const std::size_t at = rng.below(text.size());
    switch (rng.below(3)) {
      case 0:
        text[at] = static_cast<char>(rng.below(256));
        break;
      case 1:
        text.erase(at, rng.below(40));
        break;
      default:
        text.insert(at, text.substr(rng.below(text.size()), rng.below(40)));
    }
    if (text.empty()) break;
  }
  try {
    parse_topology(text, "f");
  } catch (const Error& error) {
    RC_ASSERT(std::string(error.what()).find('\n') == std::string::npos);
  }
}

}  // namespace
}  // namespace stellwerk
