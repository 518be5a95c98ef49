// Broken topologies, jobs, plans and command lines, each with the one line that it must draw and
// its exit status.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "process.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/plan/planner.hpp"

namespace stellwerk::tests {
namespace {

const std::string kPair = R"({"format": "stellwerk.topology/1", "name": "pair",
 "nodes": [{"name": "a", "kind": "gpu"}, {"name": "b", "kind": "gpu"}],
 "links": [{"from": "a", "to": "b", "bandwidth": "1GB/s", "latency": "1us"},
           {"from": "b", "to": "a", "bandwidth": "1GB/s", "latency": "1us"}]})";

const std::string kJobs = R"({"format": "stellwerk.jobs/1",
 "jobs": [{"name": "dp", "collective": "allgather", "ranks": ["a", "b"], "size": "1MB", "chunks": 1},
          {"name": "kv", "collective": "custom", "chunks": [{"bytes": 100, "origins": ["a"], "destinations": ["b"]}]},
          {"name": "moe", "collective": "alltoallv", "ranks": "all", "bytes": [[0, 5], [7, 0]]}]})";

/// One megabyte from a to b: 1 ms and 1 us.
const std::string kPlan = R"({"format": "stellwerk.plan/1", "topology": )" + kPair + R"(,
 "jobs": [{"name": "one", "collective": "broadcast", "ranks": ["a", "b"], "size": 1000000, "chunks": 1, "root": 0}],
 "relays": "all",
 "chunks": [{"job": 0, "bytes": 1000000, "origins": [0], "destinations": [1], "ready_ps": 0, "owner": 0,
             "contributors": null, "slot": 0}],
 "sends": {"chunk": [0], "op": ["copy"], "start_ps": [0], "rate": [1000000000], "links": [[0]]},
 "result": {"transfer_time_ps": 1001000000, "bound_ps": 1001000000, "bound_kind": "cut", "gap": 0,
            "bound_certificate": {"kind": "cut", "set": [1], "target": 1},
            "jobs": [{"name": "one", "finish_ps": 1001000000}], "planner": "hand", "options": {}, "seed": 1,
            "version": "0.1.0", "termination": {"reason": "feasible", "limit": "none"}, "solver_time_s": 0,
            "core_seconds": 0, "peak_rss_bytes": 0}})";

/// An AllGather of two GPUs, two chunks each, in place.
const std::string kProgram =
    R"(<algo name="pair" proto="Simple" nchannels="1" nchunksperloop="4" ngpus="2" coll="allgather" inplace="1" outofplace="0">
 <gpu id="0" i_chunks="0" o_chunks="4" s_chunks="0"><tb id="0" send="1" recv="1" chan="0">
  <step s="0" type="s" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/>
  <step s="1" type="r" srcbuf="o" srcoff="2" dstbuf="o" dstoff="2" cnt="2" depid="-1" deps="-1" hasdep="0"/></tb></gpu>
 <gpu id="1" i_chunks="0" o_chunks="4" s_chunks="0"><tb id="0" send="0" recv="0" chan="0">
  <step s="0" type="s" srcbuf="o" srcoff="2" dstbuf="o" dstoff="2" cnt="2" depid="-1" deps="-1" hasdep="0"/>
  <step s="1" type="r" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/></tb></gpu></algo>)";

/// `text` with the first `from` in it replaced.
std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) {
    ADD_FAILURE() << "the sample has no " << from;
    return text;
  }
  return text.replace(at, from.size(), to);
}

// Two messages list the rows of a table, which grows.
std::string planner_names() {
  std::string names;
  for (const PlannerRow& row : planners())
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}
std::string catalogue_names() {
  std::string names;
  for (const CatalogueRow& row : catalogue())
    names += (names.empty() ? "" : ", ") + std::string(row.pattern);
  return names;
}

struct Case {
  std::string contents;  ///< of the file "x.json" (or what the arguments call it); empty: no file
  std::string arguments;
  int status;
  std::string line;  ///< all of stderr; of stdout for plans that are readable but wrong
};

void expect(const std::vector<Case>& cases) {
  for (const Case& broken : cases) {
    const Sandbox box;
    box.write("pair.json", kPair);
    if (!broken.contents.empty()) {
      box.write(broken.arguments.find("x.json.zst") == std::string::npos ? "x.json" : "x.json.zst",
                broken.contents);
    }
    const std::vector<std::string> before = box.files();
    const Outcome outcome = box.run(broken.arguments);
    EXPECT_EQ(outcome.status, broken.status) << broken.arguments;
    if (broken.status == 1) {
      EXPECT_EQ(outcome.out, broken.line + "\n") << broken.arguments;
      EXPECT_EQ(outcome.err, "");
    } else {
      EXPECT_EQ(outcome.err, "stellwerk: " + broken.line + "\n") << broken.arguments;
      EXPECT_EQ(outcome.out, "") << broken.arguments;
    }
    EXPECT_EQ(box.files(), before) << broken.arguments << " left a file behind";
  }
}

/// Two GPUs, both of which send `count` chunks one by one before they receive: an AllGather in place.
std::string all_send_first(int count) {
  const auto step = [](int number, const char* type, int place) {
    const std::string n = std::to_string(number), at = std::to_string(place);
    return "<step s=\"" + n + "\" type=\"" + type + "\" srcbuf=\"o\" srcoff=\"" + at +
           "\" dstbuf=\"o\" dstoff=\"" + at +
           "\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n";
  };
  const std::string total = std::to_string(2 * count);
  std::string text =
      "<algo name=\"pair\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"" + total +
      "\" ngpus=\"2\" coll=\"allgather\" inplace=\"1\" outofplace=\"0\" minBytes=\"0\" "
      "maxBytes=\"0\">\n";
  for (const int gpu : {0, 1}) {
    const std::string peer = std::to_string(1 - gpu);
    text += "<gpu id=\"" + std::to_string(gpu) + "\" i_chunks=\"0\" o_chunks=\"" + total +
            "\" s_chunks=\"0\"><tb id=\"0\" send=\"" + peer + "\" recv=\"" + peer +
            "\" chan=\"0\">\n";
    for (int k = 0; k < count; ++k) text += step(k, "s", gpu * count + k);
    for (int k = 0; k < count; ++k) text += step(count + k, "r", (1 - gpu) * count + k);
    text += "</tb></gpu>\n";
  }
  return text + "</algo>\n";
}

TEST(BrokenInput, ProgramsThatNobodyCanJudgeOrRun) {
  expect({
      {with(kProgram, "allgather", "algather"), "verify x.json", 3,
       "x.json: an MSCCL algorithm that is not judged here: what 'algather' promises is not "
       "known; did you mean 'allgather'?"},
      {with(kProgram, "allgather", "custom"), "verify x.json", 3,
       "x.json: an MSCCL algorithm that is not judged here: what 'custom' promises is not known"},
      {with(kProgram, "Simple", "Foo"), "verify x.json", 1,
       "x.json: not valid: proto 'Foo' is none of Simple, LL, LL128"},
      {all_send_first(3), "verify x.json", 1,
       "x.json: not valid in place: connections must hold 3 steps, and with protocol Simple they "
       "hold 2"},
      {with(all_send_first(9), "Simple", "LL128"), "verify x.json", 1,
       "x.json: not valid in place: connections must hold 9 steps, and with protocol LL128 they "
       "hold 8"},
      {"<?xml version=\"1.0\"?>\n<graphs version=\"1\"/>\n", "verify x.json", 3,
       "x.json: recognised as NCCL graph XML (NCCL_GRAPH_FILE), but a plan of Stellwerk, an MSCCL "
       "algorithm or an MSCCL++ execution plan is wanted"},
      {"a,b\n1,2\n", "verify x.json", 3,
       "x.json: not recognised, but a plan of Stellwerk, an MSCCL algorithm or an MSCCL++ "
       "execution plan is wanted"},
  });
}

/// The contents say what a file is, whatever its name.
TEST(BrokenInput, NamesOfProgramsDoNotMatter) {
  const Sandbox box;
  box.write("pair.json", kPair);
  ASSERT_EQ(box.run("plan -t pair.json -c allgather -s 1MB -o plan.json").status, 0);
  for (const std::string name : {"a.algo", "a.xml.zst", "a.json"}) {
    ASSERT_EQ(box.run("export plan.json --to msccl-xml -o " + name).status, 0);
    const Outcome judged = box.run("verify " + name);
    EXPECT_EQ(judged.status, 0) << judged.err;
    EXPECT_EQ(judged.out.find(name + ": valid out of place: allgather of 2 GPUs"), 0u)
        << judged.out;
  }
  box.write("plan.xml", box.read("plan.json"));
  EXPECT_EQ(box.run("verify plan.xml").status, 0);
  ASSERT_EQ(box.run("export plan.json --to mscclpp -o puts.zst").status, 0);
  EXPECT_EQ(box.run("verify puts.zst").status, 0);
  for (const int steps : {1, 2}) {
    box.write("fits.txt", all_send_first(steps));
    EXPECT_EQ(box.run("verify fits.txt").status, 0) << steps;
  }
}

TEST(BrokenInput, CommandLines) {
  expect({
      {"", "", 2, "name a command; see 'stellwerk --help'"},
      {"", "plna", 2, "unknown command 'plna'; did you mean 'plan'?"},
      {"", "frobnicate", 2, "unknown command 'frobnicate'; see 'stellwerk --help'"},
      {"", "topo", 2, "'topo' needs one of: show, list, convert, compose, check, fit"},
      {"", "topo compose x.json", 2,
       "--fabric is missing: 'rails', 'switch', or a file (ibnetdiscover, Slurm, topograph)"},
      {kPair, "topo fit x.json", 3,
       "x.json: not the output of nccl-tests or rccl-tests (text or JSON)"},
      {kPair, "topo compose x.json --fabric rails", 3,
       "x.json: not the file of a machine (NCCL topology XML, nvidia-smi topo -m, rocm-smi)"},
      {"", "topo compose dgx1 --fabric rails", 3,
       "'dgx1' is no file: compose joins copies of a machine from its file, not topologies of the "
       "catalogue"},
      // The first collective has programs, but half a library must not be left behind.
      {"", "library -t pair.json --collectives allgather,gather --sizes 1K -p greedy -o lib", 4,
       "not expressible: runtimes have no gather with programs of its own"},
      {"", "tune -t dgx1 --collectives alltoall", 2,
       "NCCL chooses no algorithm for alltoall: name allgather, allreduce, broadcast, reduce or "
       "reducescatter"},
      {"<algo name=\"a\"/>", "export x.json --to mscclpp", 3,
       "x.json: recognised as an MSCCL algorithm in XML, but a plan is wanted; judge it with "
       "stellwerk verify, or make a plan of it with stellwerk import"},
      {kPlan, "export x.json --to hostfile", 4,
       "GPU 'a' has no host, and a hostfile names hosts: give the topology's nodes a host"},
      {kPlan, "import x.json --chunk-size 1MB", 3,
       "x.json: recognised as a file of our own, but a schedule of TE-CCL, an algorithm of SCCL, "
       "msccl-tools or TACCL, or a program of MSCCL or MSCCL++ is wanted"},
      {kProgram, "import x.json --size 1MB", 2,
       "--topology is missing: programs name no links; rank k is its k-th GPU"},
      {kProgram, "import x.json -t pair.json", 2,
       "--size is missing: give the larger side of the call, as in --size 64M"},
      {with(kProgram, "coll=\"allgather\"", "coll=\"custom\""),
       "import x.json -t pair.json --size 1MB", 3,
       "x.json: its collective promises nothing that a plan could be held to"},
      {kProgram, "import x.json -t ring:4 --size 1MB", 3,
       "x.json: the program is for 2 GPUs, topology 'ring-4' has 4"},
      {kProgram, "import x.json -t pair.json --size 2", 3,
       "x.json: 2 B is too little for 2 chunks a block: give a larger --size"},
      {"", "topo shwo", 2, "unknown command 'topo shwo'; did you mean 'topo show'?"},
      {"", "help plna", 2, "unknown command 'plna'; did you mean 'plan'?"},
      {"", "plan", 2,
       "--topology is missing: name one, as in --topology ndv2:2 (see 'stellwerk topo list')"},
      {"", "plan --topolgy pair.json", 2, "unknown option '--topolgy'; did you mean '--topology'?"},
      {"", "plan -t pair.json --frobnicate 3", 2,
       "unknown option '--frobnicate'; see 'stellwerk plan --help'"},
      {"", "plan -t pair.json -c allgather -s 1K extra", 2,
       "unexpected argument 'extra'; see 'stellwerk plan --help'"},
      {"", "plan -t pair.json -c allgather -s", 2, "--size needs a value, as in '--size 64M'"},
      {"", "plan -t pair.json -c allgather -s 1K -s 2K", 2, "--size is given twice: give it once"},
      {"", "plan -t pair.json -s 1K", 2,
       "--collective is missing: name one, as in --collective allgather, or give --jobs"},
      {"", "plan -t pair.json -c allgather", 2,
       "--size is missing: give the larger side of the collective, as in --size 64M"},
      {"", "plan -t pair.json -c algather -s 1K", 2,
       "'algather' is not a collective: choose one of allgather, reducescatter, allreduce, "
       "alltoall, alltoallv, broadcast, reduce, gather, scatter, sendrecv, custom"},
      {"", "plan -t pair.json -c alltoallv -s 1K", 2,
       "--collective alltoallv needs more than a size: describe it in a jobs file and give --jobs, "
       "or give --matrix"},
      {"", "plan -t pair.json -c allgather -s 1Q", 2,
       "--size: '1Q' is not a size: write bytes, or a number and a unit: KB, MB, GB (decimal), "
       "KiB, MiB, GiB or K, M, G (binary)"},
      {"", "plan -t pair.json -c allgather -s 0", 2, "--size must be positive"},
      {"", "plan -t pair.json -c allgather -s -5", 2,
       "--size: '-5' is not a size: write bytes, or a number and a unit: KB, MB, GB (decimal), "
       "KiB, MiB, GiB or K, M, G (binary)"},
      {"", "plan -t pair.json -c allgather -s 0.5", 2,
       "--size: '0.5' is not a size: write bytes, or a number and a unit: KB, MB, GB (decimal), "
       "KiB, MiB, GiB or K, M, G (binary)"},
      {"", "plan -t pair.json -c allgather -s 1K --chunks 0", 2,
       "--chunks: '0' is too small: the least is 1"},
      {"", "plan -t pair.json -c allgather -s 1K --chunks few", 2,
       "--chunks: 'few' is not an integer"},
      {"", "plan -t pair.json -c allgather -s 1K --root 1", 2,
       "--root has no meaning for allgather: leave it out"},
      {"", "plan -t pair.json -c broadcast -s 1K --root 2", 2,
       "--root: '2' is too large: the most is 1"},
      {"", "plan -t pair.json -c allgather -s 1K --ranks a,c", 2,
       "--ranks: topology 'pair' has no node 'c'"},
      {"", "plan -t pair.json -c allgather -s 1K --ranks 0-2", 2,
       "--ranks: there is no node 2: topology 'pair' has 2 nodes, numbered from 0"},
      {"", "plan -t pair.json -c allgather -s 1K --ranks 1-0", 2,
       "--ranks: the range '1-0' runs backwards"},
      {"", "plan -t pair.json -c allgather -s 1K --ranks a,,b", 2,
       "--ranks: an entry is empty: write names or numbers of GPUs, as in 0-7 or h0.gpu0,h0.gpu1"},
      {"", "plan -t pair.json -c allgather -s 1K --ranks a,0", 3,
       "job 'allgather': ranks: 'a' is listed twice"},
      {"", "plan -t pair.json -c allgather -s 1K --ranks a", 3,
       "job 'allgather': a collective needs at least two ranks, 1 given"},
      {"", "plan -t pair.json -c allgather -s 1K --relays some", 2,
       "--relays: 'some' is neither 'all' nor 'members'"},
      {"", "plan -t pair.json -c allgather -s 1K --time-limit 10", 2,
       "--time-limit: '10' is not a duration: write a number and a unit, one of ps, ns, us, ms, s, "
       "as in 0.7us"},
      {"", "plan -t pair.json -c allgather -s 1K --gap -1%", 2,
       "--gap: '-1%' is not a ratio: write a fraction (0.01) or a percentage (1%)"},
      {"", "plan -t pair.json -c allgather -s 1K --epoch 1", 2,
       "--epoch: '1' is not a duration: write a number and a unit, one of ps, ns, us, ms, s, as in "
       "0.7us"},
      {"", "plan -t pair.json -c allgather -s 1K --epoch 0x", 2,
       "--epoch: '0x' is no multiple: write a positive number and x, as in 2x"},
      {"", "plan -t pair.json -c allgather -s 1K --planner rings", 2,
       "'rings' is not a planner: choose one of " + planner_names()},
      {"", "plan -t rail:1024x8,fail=1 -c allgather -s 1GB", 4,
       "67100672 deliveries are too many to plan one by one (at most 20000000), and no symmetry "
       "was "
       "found: take fewer ranks"},
      {"", "plan -t rail:1024x8 -c allgather -s 1GB --planner greedy", 4,
       "67100672 deliveries are too many to plan one by one (at most 20000000): take fewer ranks, "
       "or "
       "a planner that works on representatives"},
      {"", "plan -t pair.json -c allgather -s 1K --objective speed", 2,
       "--objective: 'speed' is none of 'makespan', 'weighted' and 'slowdown'"},
      {"", "plan -t pair.json -c allgather -s 1K --write-model m.mps", 2,
       "--write-model needs --planner milp or --planner lp"},
      {"", "plan -t pair.json -c allgather -s 1K --memory-limit 0", 2,
       "--memory-limit must be positive"},
      {"", "plan -t pair.json -c allgather -s 1K --jobs x.json", 2,
       "--collective contradicts --jobs: write it in the jobs file"},
      {"", "plan -t pair.json -c allgather -s 1K -o missing/plan.json", 3,
       "missing/plan.json: cannot be written: No such file or directory"},
      {"", "plan -t pair.json -c allgather -s 1K -o /", 3, "/: cannot be written: it is a folder"},
      {"", "plan -t pair.json -c alltoall -s 1K --planner ring", 4,
       "ring: rings do not serve alltoall (job 'alltoall')"},
      {"", "plan -t ndv22 -c allgather -s 1K", 3,
       "'ndv22' is neither a file nor a topology of the catalogue (" + catalogue_names() + ")"},
      {"", "plan -t ndv2:0 -c allgather -s 1K", 2,
       "topology 'ndv2:0': the size '0' is not a number from 1 to 1000000: write it as in ndv2:2"},
      {"", "topo show missing.json", 3,
       "'missing.json' is neither a file nor a topology of the catalogue (" + catalogue_names() +
           ")"},
      {"", "verify", 2, "'verify' needs PLAN; see 'stellwerk verify --help'"},
      {"", "verify missing.json", 3, "missing.json: cannot be opened: No such file or directory"},
      {kPlan, "simulate x.json --latency 1.1", 2,
       "--latency: '1.1' is not a factor: write x and a positive number, as in x1.1"},
      {kPlan, "simulate x.json --bandwidth x0", 2,
       "--bandwidth: 'x0' is not a factor: write x and a positive number, as in x1.1"},
  });
}

TEST(BrokenInput, Topologies) {
  expect({
      {"", "topo show pair.json x.json", 2,
       "unexpected argument 'x.json'; see 'stellwerk topo show --help'"},
      {"{\"format\": ", "topo show x.json", 3,
       "x.json: line 1, column 12: this is not JSON: Invalid value (the text ends here)"},
      {"[]", "topo show x.json", 3, "x.json: must be an object, not an array"},
      {with(kPair, "stellwerk.topology/1", "stellwerk.topology/9"), "topo show x.json", 3,
       "x.json: /format: this is 'stellwerk.topology/9', but 'stellwerk.topology/1' is expected "
       "here"},
      {with(kPair, "\"nodes\"", "\"knots\""), "topo show x.json", 3,
       "x.json: /knots: unknown key 'knots': known are format, name, note, nodes, links"},
      {with(kPair, "\"kind\": \"gpu\"", "\"kind\": \"cpu\""), "topo show x.json", 3,
       "x.json: /nodes/0/kind: there is no node kind 'cpu': use gpu, switch or relay"},
      {with(kPair, "\"kind\": \"gpu\"", "\"kind\": 7"), "topo show x.json", 3,
       "x.json: /nodes/0/kind: must be a string, not an integer"},
      {with(kPair, "\"kind\": \"gpu\"", "\"kind\": \"gpu\", \"multicast\": true"),
       "topo show x.json", 3,
       "x.json: /nodes/0: 'a': multicast, reduce and max_groups are for switches: remove them or "
       "make it a switch"},
      {with(kPair, "\"name\": \"b\"", "\"name\": \"a\""), "topo show x.json", 3,
       "x.json: /nodes/1/name: 'a' is the name of node 0, too: names must be unique"},
      {with(kPair, "\"name\": \"a\"", "\"name\": \"\""), "topo show x.json", 3,
       "x.json: /nodes/0: the node has no name: give it one"},
      {with(kPair, "\"to\": \"b\"", "\"to\": \"c\""), "topo show x.json", 3,
       "x.json: /links/0/to: there is no node 'c': use the name of a node of the topology"},
      {with(kPair, "\"to\": \"b\"", "\"to\": \"a\""), "topo show x.json", 3,
       "x.json: /links/0: the link leads from a node to itself: remove it"},
      {with(kPair, "\"1GB/s\"", "\"1GBps\""), "topo show x.json", 3,
       "x.json: /links/0/bandwidth: '1GBps' is not a bandwidth: write bytes per second, or a "
       "number and a unit, as in 50GB/s or 400Gbps"},
      {with(kPair, "\"1GB/s\"", "0"), "topo show x.json", 3,
       "x.json: /links/0/bandwidth: is 0, but a bandwidth must be positive"},
      {with(kPair, "\"1us\"", "\"-1us\""), "topo show x.json", 3,
       "x.json: /links/0/latency: '-1us' is not a duration: write a number and a unit, one of ps, "
       "ns, us, ms, s, as in 0.7us"},
      {with(kPair, "\"1us\"", "1.5"), "topo show x.json", 3,
       "x.json: /links/0/latency: must be a string with a unit, as in \"0.7us\", or a whole number "
       "of ps, not a number with a fraction or an exponent"},
      {with(kPair, ", \"latency\": \"1us\"", ""), "topo show x.json", 3,
       "x.json: /links/0: the key 'latency' is missing: add it"},
      {with(kPair, "\"latency\"", "\"latencey\""), "topo show x.json", 3,
       "x.json: /links/0/latencey: unknown key 'latencey'; did you mean 'latency'?"},
      {"not zstd", "topo show x.json.zst", 3,
       "x.json.zst: is not valid zstd data (Unknown frame descriptor): if it is not compressed, "
       "rename it without .zst"},
      {std::string("\x28\xb5\x2f\xfd\x24\x40", 6), "topo show x.json.zst", 3,
       "x.json.zst: the zstd data end too early: the file is cut off"},  // the start of a frame
      // Nothing leads to a: the demand that cannot be met is named.
      {with(kPair, "\"to\": \"a\"", "\"to\": \"s\""), "topo show x.json", 3,
       "x.json: /links/1/to: there is no node 's': use the name of a node of the topology"},
      {with(kPair, R"(,
           {"from": "b", "to": "a", "bandwidth": "1GB/s", "latency": "1us"})",
            ""),
       "plan -t x.json -c allgather -s 1K --chunks 1", 4,
       "job 'allgather': chunk 1 of 'b' cannot reach 'a': no path of links leads there; add links "
       "or leave the rank out"},
      {with(kPair, R"(,
           {"from": "b", "to": "a", "bandwidth": "1GB/s", "latency": "1us"})",
            ""),
       "plan -t x.json -c allgather -s 1K --chunks 1 --planner direct", 4,
       "job 'allgather': chunk 1 of 'b' cannot reach 'a': no path of links leads there; add links "
       "or leave the rank out"},
  });
}

TEST(BrokenInput, Jobs) {
  const std::string plan = "plan -t pair.json --jobs x.json";
  expect({
      {with(kJobs, "stellwerk.jobs/1", "stellwerk.plan/1"), plan, 3,
       "x.json: /format: this is 'stellwerk.plan/1', but 'stellwerk.jobs/1' is expected here"},
      {with(kJobs, "\"allgather\"", "\"allgater\""), plan, 3,
       "x.json: /jobs/0/collective: there is no collective 'allgater'; did you mean 'allgather'?"},
      {with(kJobs, "[\"a\", \"b\"]", "[\"a\", \"z\"]"), plan, 3,
       "x.json: /jobs/0/ranks/1: there is no node 'z': use the name of a node of the topology"},
      {with(kJobs, "[\"a\", \"b\"]", "[\"a\", \"a\"]"), plan, 3,
       "x.json: /jobs/0: job 'dp': ranks: 'a' is listed twice"},
      {with(kJobs, "[\"a\", \"b\"]", "[\"a\"]"), plan, 3,
       "x.json: /jobs/0: job 'dp': a collective needs at least two ranks, 1 given"},
      {with(kJobs, "[\"a\", \"b\"]", "\"some\""), plan, 3,
       "x.json: /jobs/0/ranks: must be a list of node names or \"all\", not 'some'"},
      {with(kJobs, "\"1MB\"", "\"-1MB\""), plan, 3,
       "x.json: /jobs/0/size: '-1MB' is not a size: write bytes, or a number and a unit: KB, MB, "
       "GB (decimal), KiB, MiB, GiB or K, M, G (binary)"},
      {with(kJobs, "\"1MB\"", "0"), plan, 3, "x.json: /jobs/0: job 'dp': size must be positive"},
      {with(kJobs, "\"1MB\"", "\"1MB\", \"root\": 2"), plan, 3,
       "x.json: /jobs/0: job 'dp': root 2 is not a position in the list of 2 ranks"},
      {with(kJobs, "\"1MB\"", "\"1MB\", \"weight\": 0"), plan, 3,
       "x.json: /jobs/0/weight: is 0, but must be at least 1"},
      {with(kJobs, "\"1MB\"", "\"1MB\", \"start\": \"soon\""), plan, 3,
       "x.json: /jobs/0/start: 'soon' is not a duration: write a number and a unit, one of ps, ns, "
       "us, ms, s, as in 0.7us"},
      {with(kJobs, "\"chunks\": 1}", "\"chunks\": \"some\"}"), plan, 3,
       "x.json: /jobs/0/chunks: must be a number or \"auto\", not 'some'"},
      {with(kJobs, "\"origins\": [\"a\"], ", ""), plan, 3,
       "x.json: /jobs/1/chunks/0: give either origins, or contributors for a reduction"},
      {with(kJobs, "\"destinations\": [\"b\"]", "\"destinations\": []"), plan, 3,
       "x.json: /jobs/1: job 'kv': chunk 0: destinations is empty"},
      {with(kJobs, "[[0, 5], [7, 0]]", "[[0, 5]]"), plan, 3,
       "x.json: /jobs/2: job 'moe': bytes has 1 rows, but the job has 2 ranks"},
      {with(kJobs, "[[0, 5], [7, 0]]", "[[0, 5], [7]]"), plan, 3,
       "x.json: /jobs/2: job 'moe': row 1 of bytes has 1 entries, but the job has 2 ranks"},
      {with(kJobs, "[[0, 5], [7, 0]]", "[[0, 0], [0, 0]]"), plan, 3,
       "x.json: /jobs/2: job 'moe': bytes asks for no transfer between different ranks"},
      {with(kJobs, "\"name\": \"kv\"", "\"name\": \"dp\""), plan, 3,
       "x.json: /jobs: job 'dp': another job has the same name: names must be unique"},
      {R"({"format": "stellwerk.jobs/1", "jobs": []})", plan, 3,
       "x.json: /jobs: there is no job: name a collective or a jobs file"},
      {kJobs, plan + " --size 1K", 2, "--size contradicts --jobs: write it in the jobs file"},
  });
}

TEST(BrokenInput, Plans) {
  {
    const Sandbox box;
    box.write("x.json", kPlan);
    ASSERT_EQ(box.run("verify x.json").out, "x.json: valid, 1.001 ms in 1 send\n")
        << "the sample itself is sound";
  }
  const std::string verify = "verify x.json";
  expect({
      {with(kPlan, "\"links\": [[0]]", "\"links\": [[9]]"), verify, 3,
       "x.json: /sends/links/0/0: there is no link 9: there are 2, counted from 0"},
      {with(kPlan, "\"rate\": [1000000000]", "\"rate\": []"), verify, 3,
       "x.json: /sends/rate: has 0 entries, but chunk has 1: entry k of every array is send k"},
      {with(kPlan, "[\"copy\"]", "[\"move\"]"), verify, 3,
       "x.json: /sends/op/0: must be one of copy, reduce, share, not 'move'"},
      {with(kPlan, "\"destinations\": [1]", "\"destinations\": [7]"), verify, 3,
       "x.json: /chunks/0/destinations/0: there is no node 7: there are 2, counted from 0"},
      {with(kPlan, "\"relays\": \"all\"", "\"relays\": \"few\""), verify, 3,
       "x.json: /relays: must be \"all\" or \"members\", not 'few'"},
      {with(kPlan, "\"reason\": \"feasible\"", "\"reason\": \"lucky\""), verify, 3,
       "x.json: /result/termination/reason: must be one of optimal, feasible, infeasible, "
       "no_solution, unsupported, not 'lucky'"},
      {kPlan.substr(0, kPlan.size() / 2), verify, 3,
       "x.json: line 8, column 14: this is not JSON: Missing a name for object member (the "
       "text ends here)"},
      {with(kPlan, "\"links\": [[0]]", "\"links\": [[1]]"), verify, 1,
       "x.json: not valid: not held: send 0, chunk 0 (of a, job 'one') over b->a at 0ps: b never "
       "holds it"},
      {with(kPlan, "\"links\": [[0]]", "\"links\": [[0, 0]]"), verify, 1,
       "x.json: not valid: malformed send: send 0, chunk 0 (of a, job 'one') over a->b at 0ps: two "
       "links leave its source a"},
      {with(kPlan, "\"rate\": [1000000000]", "\"rate\": [2000000000]"), verify, 1,
       "x.json: not valid: link capacity: send 0, chunk 0 (of a, job 'one') over a->b at 0ps: its "
       "rate of 2 GB/s is more than the 1 GB/s of a->b"},
      {with(kPlan, "\"start_ps\": [0]", "\"start_ps\": [-1]"), verify, 1,
       "x.json: not valid: malformed send: send 0, chunk 0 (of a, job 'one') over a->b at -1: it "
       "starts before 0"},
      {with(kPlan, "\"start_ps\": [0]", "\"start_ps\": [5]"), verify, 1,
       "x.json: not valid: wrong finish: the recorded transfer time is 1.001ms, but the sends take "
       "1001000.005ns"},
      {with(kPlan, "\"ready_ps\": 0", "\"ready_ps\": 5"), verify, 1,
       "x.json: not valid: chunks differ: no chunk of the plan is 1 MB in slot 0 of a, job 'one', "
       "which the job asks for, with its origins and destinations"},
      {with(kPlan, "\"bytes\": 1000000,", "\"bytes\": 999999,"), verify, 1,
       "x.json: not valid: chunks differ: the plan has a chunk that no job asks for: 1 MB in "
       "slot 0 of a, job 'one'"},
      {with(
           kPlan,
           R"({"chunk": [0], "op": ["copy"], "start_ps": [0], "rate": [1000000000], "links": [[0]]})",
           R"({"chunk": [], "op": [], "start_ps": [], "rate": [], "links": []})"),
       verify, 1,
       "x.json: not valid: demand unmet: b never holds chunk 0 (of a, job 'one'): nothing of it "
       "arrives"},
      {with(kPlan, "\"bound_ps\": 1001000000", "\"bound_ps\": 1000900000"), verify, 1,
       "x.json: not valid: wrong bound: the bound is recorded as 1000.9us, but its certificate "
       "proves 1.001ms"},
      {with(kPlan, "\"set\": [1]", "\"set\": [0, 1]"), verify, 1,
       "x.json: not valid: wrong bound: the bound: the certificate's set is all nodes"},
      {with(kPlan, "\"gap\": 0", "\"gap\": 0.5"), verify, 1,
       "x.json: not valid: wrong metric: the recorded gap does not follow from the recorded times "
       "and the jobs"},
      {with(kPlan, "\"finish_ps\": 1001000000", "\"finish_ps\": 1"), verify, 1,
       "x.json: not valid: wrong finish: job 'one' is recorded to finish at 1ps, but its sends end "
       "at 1.001ms"},
  });
}

}  // namespace
}  // namespace stellwerk::tests
