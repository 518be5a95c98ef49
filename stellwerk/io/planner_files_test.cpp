// Files of other planners: TACCL's and TE-CCL's networks, algorithms of SCCL.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/simulate.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/io/file.hpp"
#include "stellwerk/io/load.hpp"
#include "stellwerk/io/nccl_graph_writer.hpp"
#include "stellwerk/io/planner_topologies.hpp"
#include "stellwerk/io/rank_order_writer.hpp"
#include "stellwerk/io/sccl_algorithm.hpp"
#include "stellwerk/io/teccl_schedule.hpp"
#include "stellwerk/io/teccl_writer.hpp"
#include "stellwerk/plan/planner.hpp"
#include "tests/support/expect_refused.hpp"
#include "tests/support/paths.hpp"

namespace stellwerk {
namespace {

using testing::expect_refused;

std::string taccl(const std::string& rest) {
  return R"({"name": "X_1MB", "gpus_per_node": 8, "alpha": 0.5, )" + rest + "}";
}

TEST(TacclTopology, BetasAreRatesAndMatricesAreByDestination) {
  const Topology mesh = read_taccl_topology(taccl(R"("node_betas_list": [20, 40])"), "t.json");
  EXPECT_EQ(mesh.gpus().size(), 8u);
  EXPECT_EQ(mesh.links().size(), catalogue_topology("dgx1").links().size());
  EXPECT_EQ(mesh.link(LinkId(0)).bandwidth, Bandwidth{50'000'000'000});
  EXPECT_EQ(mesh.link(LinkId(0)).latency, Time{500'000});
  const Topology hub = read_taccl_topology(
      taccl(R"("node_betas_list": [8], "nics_per_node": 2, "remote_beta": 100, "remote_alpha": 2)"),
      "t.json");
  EXPECT_EQ(hub.links().size(), 16u);
  EXPECT_EQ(hub.link(LinkId(0)).latency + hub.link(LinkId(1)).latency, Time{500'000});
  EXPECT_NE(hub.note().find("2 NICs, 10 GB/s, 2 us"), std::string::npos) << hub.note();
  const Topology pair = read_taccl_topology(
      R"({"name": "c", "gpus_per_node": 2, "alpha": 1, "links": [[0, 1], [0, 0]], "betas": [[0, 10], [0, 0]], "invbws": []})",
      "t.json");
  ASSERT_EQ(pair.links().size(), 1u);
  EXPECT_EQ(pair.link(LinkId(0)).from, NodeId(1));
  expect_refused([] { read_taccl_topology(taccl(R"("node_betas_list": [1, 2, 3])"), "t.json"); },
                 "t.json: /node_betas_list: 3 rates for 8 GPUs");
  expect_refused(
      [] { read_taccl_topology(R"({"name": "X_1KB", "alpha": 3, "gpus_per_node": 8})", "t.json"); },
      "t.json: /name: 'X_1KB': figures for a chunk of other than 1 MB");
  expect_refused([] { read_taccl_topology(taccl(R"("node_betas_list": [0])"), "t.json"); },
                 "t.json: /node_betas_list/0: is not the time of a megabyte");
}

TEST(TecclInput, NamesOneOfItsNetworks) {
  const auto read = [](const std::string& parameters) {
    return read_teccl_input(R"({"TopologyParams": {)" + parameters + "}}", "in.json");
  };
  EXPECT_EQ(read(R"("name": "NDv2", "chassis": 2)"), catalogue_topology("ndv2-2-as-published"));
  const Topology four = read(R"("name": "NDv2", "chassis": 4)");
  EXPECT_EQ(four.node(NodeId(0)).kind, NodeKind::switch_);
  EXPECT_EQ(four.node(four.link(four.in(NodeId(0))[0]).from).name, "h0.gpu0");
  const Topology boxes = read(R"("name": "DGX2", "chassis": 2)");
  EXPECT_EQ(boxes.node(NodeId(0)).kind, NodeKind::switch_);
  EXPECT_EQ(boxes.node(NodeId(17)).kind, NodeKind::switch_);
  const Topology mesh = read(R"("name": "Mesh", "side_length": 3, "alpha": [1e-6, 0])");
  EXPECT_EQ(mesh.links().size(), 2u * (8 + 6)) << "rows are joined end to beginning";
  EXPECT_EQ(mesh.link(LinkId(0)).latency, Time{1'000'000});
  EXPECT_EQ(read(R"("name": "AMD")").gpus().size(), 16u);
  expect_refused([&] { read(R"("name": "Torus")"); },
                 "in.json: /TopologyParams/name: 'Torus' is none");
  expect_refused([&] { read(R"("name": "AMD", "chassis": 2)"); }, "mi250:2");
}

std::string chunk(int address, const std::string& pre, const std::string& post) {
  return R"({"msccl_type": "chunk", "pre": )" + pre + R"(, "post": )" + post + R"(, "addr": )" +
         std::to_string(address) + "}";
}
std::string algorithm(int ranks, const std::string& chunks, const std::string& steps) {
  return R"({"msccl_type": "algorithm", "name": "a", "collective": {"name": "C", "nodes": )" +
         std::to_string(ranks) + R"(, "chunks": [)" + chunks + R"(]}, "steps": [)" + steps + "]}";
}
std::string step(const std::string& sends) {
  return R"({"msccl_type": "step", "rounds": 1, "sends": [)" + sends + "]}";
}
Plan plan_of(const std::string& text, const char* topology) {
  EXPECT_TRUE(looks_like_sccl_algorithm(text));
  return sccl_plan(parse_sccl_algorithm(text, "a.json"), catalogue_topology(topology),
                   Bytes{1'000'000}, "a.json");
}

TEST(ScclAlgorithm, ARingBecomesAnAllGather) {
  const std::string text =
      algorithm(3,
                chunk(0, "[0]", "[0, 1, 2]") + "," + chunk(1, "[1]", "[2, 1, 0]") + "," +
                    chunk(2, "[2]", "[0, 1, 2]"),
                step("[0, 0, 1], [1, 1, 2], [2, 2, 0]") + "," +
                    step("[2, 0, 1, 7], [0, 1, 2, 7, 1], [1, 2, 0, 7, 1, 0]"));
  const Plan plan = plan_of(text, "ring:3");
  EXPECT_EQ(plan.problem.jobs[0].collective, Collective::allgather);
  EXPECT_EQ(plan.problem.jobs[0].size, Bytes{3'000'000});
  EXPECT_EQ(plan.result.transfer_time, Time{2 * 20'700'000});
  EXPECT_TRUE(verify(plan).valid()) << verify(plan).message;
  EXPECT_TRUE(verify(plan_of(text, "switch:3")).valid()) << "over a switch";
  expect_refused([&] { plan_of(text, "ring:2"); },
                 "a.json: has 3 ranks, topology ring-2 only 2 GPUs");
  expect_refused(
      [&] { plan_of(algorithm(3, chunk(0, "[0]", "[1]"), step("[0, 2, 1]")), "ring:3"); },
      "a.json: /steps/0: rank 2 sends address 0 before it has it");
  expect_refused(
      [&] { plan_of(algorithm(3, chunk(0, "[0]", "[1]"), step("[0, 0, 2]")), "ring:3"); },
      "never bring address 0 to rank 1");
  expect_refused(
      [&] { plan_of(algorithm(4, chunk(0, "[0]", "[2]"), step("[0, 0, 2]")), "ring:4"); },
      "does not join rank 0");
  expect_refused([&] { plan_of(algorithm(3, chunk(0, "[0]", "[9]"), step("")), "ring:3"); },
                 "a.json: /collective/chunks/0/post/0: ");
  expect_refused([&] { plan_of(algorithm(3, chunk(0, "[0]", "[1]"), step("[0, 0]")), "ring:3"); },
                 "a.json: /steps/0/sends/0: has 2 entries");
}

/// Recursive doubling on a square: addends of one address, partners of two steps.
TEST(ScclAlgorithm, AddendsOfOneAddressAreASum) {
  std::string chunks, one, two;
  for (int address = 0; address < 4; ++address) {
    for (int rank = 0; rank < 4; ++rank) {
      chunks += (chunks.empty() ? "" : ",") +
                chunk(address, "[" + std::to_string(rank) + "]", "[0, 1, 2, 3]");
      const auto send = [&](int partner) {
        return "[" + std::to_string(address) + "," + std::to_string(rank) + "," +
               std::to_string(partner) + "]";
      };
      one += (one.empty() ? "" : ",") + send(rank ^ 1);
      two += (two.empty() ? "" : ",") + send(rank ^ 2);
    }
  }
  const Plan plan = plan_of(algorithm(4, chunks, step(one) + "," + step(two)), "hypercube:2");
  EXPECT_EQ(plan.problem.jobs[0].collective, Collective::allreduce);
  EXPECT_EQ(plan.sends.size(), 32u);
  EXPECT_TRUE(verify(plan).valid()) << verify(plan).message;
  // The same addend twice is no sum.
  expect_refused([&] { plan_of(algorithm(4, chunks, step(one) + "," + step(one)), "hypercube:2"); },
                 "a.json: /steps/1: address 0 brings an addend to rank 1 that it has already");
}

TEST(ScclAlgorithm, OtherDemandIsACustomJob) {
  const Plan plan =
      plan_of(algorithm(3, chunk(5, "[0]", "[1, 2]"), step("[5, 0, 1], [5, 0, 2]")), "full:3");
  EXPECT_EQ(plan.problem.jobs[0].collective, Collective::custom);
  EXPECT_TRUE(verify(plan).valid()) << verify(plan).message;
}

/// What is written as TE-CCL's schedule comes back as a plan that is no later, multicasts included.
TEST(TecclWriter, SchedulesReadBackAsThePlan) {
  const auto made_on = [](Topology topology, const char* planner, Collective collective) {
    Job job;
    job.name = "job";
    job.collective = collective;
    job.ranks = topology.gpus();
    job.size = Bytes{static_cast<std::int64_t>(job.ranks.size()) * 1'000'000};
    Plan plan;
    plan.problem = make_problem(std::move(topology), {job});
    PlannerContext context;
    plan.sends = find_planner(planner).plan(plan.problem, {}, context).sends;
    const Simulation timed = simulate(plan.problem, plan.sends);
    plan.sends = timed.sends;
    plan.result.transfer_time = timed.transfer_time;
    return plan;
  };
  const auto made = [&](const char* name, const char* planner, Collective collective) {
    return made_on(catalogue_topology(name), planner, collective);
  };
  for (const auto& [name, planner] : {std::pair("ring:5", "ring"), std::pair("dgx2:1", "greedy"),
                                      std::pair("ndv2:2", "greedy")}) {
    const Plan plan = made(name, planner, Collective::allgather);
    const Topology& topology = plan.problem.topology;
    const Plan read = teccl_plan(parse_teccl_schedule(format_teccl(plan), "s.json"), topology,
                                 Bytes{1'000'000}, "s.json");
    EXPECT_EQ(read.problem.jobs[0].collective, Collective::allgather) << name;
    EXPECT_LE(read.result.transfer_time, plan.result.transfer_time) << name;
    EXPECT_TRUE(verify(read).valid()) << name << ": " << verify(read).message;
  }
  EXPECT_THROW(format_teccl(made("ring:4", "ring", Collective::allreduce)), Error);
  // Rings for NCCL: every GPU once a channel, in the order of the links.
  const std::vector<NcclGraph> graphs =
      format_nccl_graphs(made("ring:4", "ring", Collective::allgather));
  ASSERT_EQ(graphs.size(), 1U);
  const std::string& graph = graphs[0].text;
  EXPECT_NE(graph.find("nchannels=\"2\" speedintra=\"50.0\""), std::string::npos) << graph;
  const std::size_t first = graph.find("<gpu dev=\"0\"/>");
  const std::string next = graph.substr(graph.find("<gpu", first + 1), 14);
  EXPECT_TRUE(next == "<gpu dev=\"1\"/>" || next == "<gpu dev=\"3\"/>") << graph;
  EXPECT_EQ(graph.find("<net"), std::string::npos);
  expect_refused([&] { format_nccl_graphs(made("ring:4", "greedy", Collective::alltoall)); },
                 "does not go round all ranks");
  // Over hosts: in by a NIC, past all GPUs, out by a NIC; what leaves one host is what comes into the next.
  for (const NcclGraph& host :
       format_nccl_graphs(made("rail:4x4", "ring", Collective::allgather))) {
    for (std::size_t at = host.text.find("<channel>"); at != std::string::npos;
         at = host.text.find("<channel>", at + 1)) {
      const std::string channel = host.text.substr(at, host.text.find("</channel>", at) - at);
      const auto count = [&](const std::string& what) {
        std::size_t found = 0;
        for (std::size_t p = channel.find(what); p != std::string::npos;
             p = channel.find(what, p + 1))
          ++found;
        return found;
      };
      EXPECT_EQ(count("<gpu "), 4U) << host.text;
      EXPECT_EQ(count("<net "), 2U) << host.text;
      EXPECT_LT(channel.find("<net "), channel.find("<gpu ")) << host.text;
      EXPECT_GT(channel.rfind("<net "), channel.rfind("<gpu ")) << host.text;
    }
    EXPECT_NE(host.text.find("typeintra=\"NVL\""), std::string::npos) << host.text;
  }
  expect_refused([&] { format_nccl_graphs(made("ndv2:2", "ring", Collective::allgather)); },
                 "which NIC");
  // Chunks that go both ways ride the ring and its reverse, which are the rings of ring:4.
  EXPECT_EQ(format_nccl_graphs(made("ring:4", "bidirectional-ring", Collective::allgather))[0].text,
            graph);
  // One that branches elsewhere than at its origin rides none, and the error says where.
  expect_refused([&] { format_nccl_graphs(made("dgx1", "greedy", Collective::allgather)); },
                 " others, ");
  // NICs go by their number in NCCL, not by that of their name, at both ends of links that two of them became part of.
  const auto node = [](const char* host) {
    Node gpu;
    gpu.name = std::string(host) + ".gpu0";
    gpu.host = host;
    return gpu;
  };
  IdVector<LinkId, Link> links;
  for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 0)}) {
    links.push_back({NodeId(from), NodeId(to), Time{1'000'000}, Bandwidth{25'000'000'000},
                     "speed; through h0.mlx5_1 (net 0); through rail0; through h1.mlx5_4"});
  }
  const std::vector<NcclGraph> named =
      format_nccl_graphs(made_on(Topology("two", "", {node("h0"), node("h1")}, std::move(links)),
                                 "ring", Collective::allgather));
  ASSERT_EQ(named.size(), 2U);
  for (std::size_t h = 0; h < 2; ++h) {
    const std::string net = std::string("<net dev=\"") + (h == 0 ? "0" : "4") + "\"/>";
    EXPECT_NE(named[h].text.find(net), std::string::npos) << named[h].text;
    EXPECT_EQ(named[h].text.find(net), named[h].text.find("<net dev")) << named[h].text;
  }
  // Ranks follow the ring; without one they stay as they are.
  const Plan ring = made("rail:2x2", "ring", Collective::allgather);
  const auto order = [&](const Plan& plan, const char* format) {
    return format_rank_order(plan.problem.topology, rank_order(plan), format);
  };
  const std::string gpus = order(ring, "rank-gpus");
  EXPECT_TRUE(gpus == "h0 0\nh1 0\nh1 1\nh0 1\n" || gpus == "h0 0\nh0 1\nh1 1\nh1 0\n") << gpus;
  const Plan straight = made("rail:2x2", "greedy", Collective::alltoall);
  EXPECT_EQ(order(straight, "hostfile"), "h0\nh0\nh1\nh1\n");
  EXPECT_EQ(order(straight, "rankfile"),
            "rank 0=h0 slot=0:*\nrank 1=h0 slot=0:*\nrank 2=h1 slot=0:*\nrank 3=h1 slot=0:*\n");
}

TEST(PlannerFiles, TheCorpusIsRead) {
  const std::filesystem::path corpus =
      std::filesystem::path(testing::kSourceDir) / ".." / "shared" / "corpus";
  if (!std::filesystem::is_directory(corpus)) GTEST_SKIP() << "SKIPPED: no ../shared here";
  const auto topology = [&](const char* name) { return load_topology((corpus / name).string()); };
  EXPECT_EQ(topology("taccl/topo_topo-dgx2-1MB.json").links().size(), 32u);
  EXPECT_EQ(topology("taccl/topo_topo-ndv2-1MB.json").links().size(), 32u);
  EXPECT_EQ(topology("teccl/in_amd_sample.json").gpus().size(), 16u);
  EXPECT_EQ(topology("teccl/in_mesh.json").gpus().size(), 36u);
  EXPECT_EQ(topology("teccl/in_dgx2_sample.json").nodes().size(), 34u);
  // Its own schedule fits its own input.
  const std::string file = (corpus / "teccl/out_ndv2_schedule.json").string();
  const Plan plan = teccl_plan(parse_teccl_schedule(read_file(file), file),
                               topology("teccl/in_ndv2_input.json"), Bytes{62'500'000}, file);
  EXPECT_TRUE(verify(plan).valid());
}

}  // namespace
}  // namespace stellwerk
