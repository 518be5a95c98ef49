// The tool as its users see it: exit statuses, what goes where, files, Ctrl-C.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "process.hpp"
#include "stellwerk/base/version.hpp"

namespace stellwerk::tests {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

/// Three GPUs in a ring, both ways, 1 GB/s and 1 us.
const char* const kTriangle = R"({"format": "stellwerk.topology/1", "name": "triangle", "nodes": [
  {"name": "a", "kind": "gpu"}, {"name": "b", "kind": "gpu"}, {"name": "c", "kind": "gpu"}], "links": [
  {"from": "a", "to": "b", "bandwidth": "1GB/s", "latency": "1us"},
  {"from": "b", "to": "c", "bandwidth": "1GB/s", "latency": "1us"},
  {"from": "c", "to": "a", "bandwidth": "1GB/s", "latency": "1us"},
  {"from": "b", "to": "a", "bandwidth": "1GB/s", "latency": "1us"},
  {"from": "c", "to": "b", "bandwidth": "1GB/s", "latency": "1us"},
  {"from": "a", "to": "c", "bandwidth": "1GB/s", "latency": "1us"}]})";

class Cli : public testing::Test {
 protected:
  void SetUp() override { box.write("triangle.json", kTriangle); }
  Sandbox box;
  const std::string plan_triangle =
      "plan -t triangle.json -c allgather -s 3MB --chunks 1 --planner direct";
};

TEST_F(Cli, SaysWhatItIs) {
  const Outcome version = box.run("--version");
  EXPECT_EQ(version.status, 0);
  EXPECT_EQ(version.out, "stellwerk " + std::string(kVersion) + "\n");
  for (const char* arguments : {"--help", "-h", "help"}) {
    const Outcome help = box.run(arguments);
    EXPECT_EQ(help.status, 0);
    EXPECT_THAT(help.out,
                AllOf(HasSubstr("  plan "), HasSubstr("  topo show "), HasSubstr("Example:")));
    EXPECT_THAT(help.err, IsEmpty());
  }
}

TEST_F(Cli, HelpShowsAnExampleForEveryOption) {
  for (const std::string command :
       {"plan",         "bound",       "verify",       "simulate",
        "topo show",    "topo list",   "topo convert", "topo compose",
        "topo check",   "topo fit",    "export",       "import",
        "library",      "planners",    "compare",      "bench published",
        "bench scale",  "bench peers", "bench random", "bench jobs",
        "overlay",      "replan",      "bench replan", "online",
        "bench online", "tune",        "place"}) {
    const Outcome help = box.run(command + " --help");
    EXPECT_EQ(help.status, 0) << command;
    EXPECT_EQ(help.out, box.run("help " + command).out);
    EXPECT_THAT(help.out, StartsWith("Usage: stellwerk " + command));
    std::size_t options = 0, examples = 0;
    for (std::size_t at = help.out.find("\n  "); at != std::string::npos;
         at = help.out.find("\n  ", at + 1)) {
      if (help.out[at + 3] == '-') ++options;
      if (help.out.substr(at + 1).find("e.g. ") == help.out.substr(at + 1).find_first_not_of(' '))
        ++examples;
    }
    EXPECT_GE(examples, options) << command;
    if (command == "plan") {
      EXPECT_GE(options, 20U);
    }
  }
}

TEST_F(Cli, PlansAndPrintsOneTable) {
  const Outcome plan = box.run(plan_triangle + " -o plan.json");
  EXPECT_EQ(plan.status, 0) << plan.err;
  EXPECT_THAT(plan.err, IsEmpty());
  // Blocks of 1 MB from both neighbours at once: 1 ms and 1 us, which is the bound.
  for (const char* line :
       {"transfer time        1.001 ms\n", "algbw                2.997 GB/s\n",
        "busbw                1.998 GB/s\n", "size                 3 MB\n",
        "output buffer        3 MB\n", "gap                  0%, optimal\n",
        "planner              direct\n", "chunks               3 (1 a block)\n",
        "sends                6\n", "bytes sent           6 MB, 0.0% over the minimum of 6 MB\n",
        "peak transit buffer  0 B\n", "bottleneck           ", "solver time          ",
        "verified             yes", "written to plan.json\n"}) {
    EXPECT_THAT(plan.out, HasSubstr(line));
  }
  EXPECT_THAT(box.files(), ElementsAre("plan.json", "triangle.json"));
  const Outcome verify = box.run("verify plan.json");
  EXPECT_EQ(verify.status, 0);
  EXPECT_EQ(verify.out, "plan.json: valid, 1.001 ms in 6 sends\n");
}

TEST_F(Cli, TakesProgramsBackAsPlans) {
  ASSERT_EQ(box.run(plan_triangle + " -o plan.json").status, 0);
  ASSERT_EQ(box.run("export plan.json --to msccl-xml -o plan.xml").status, 0);
  const Outcome import = box.run("import plan.xml -t triangle.json -s 3MB -o back.json");
  EXPECT_EQ(import.status, 0) << import.err;
  for (const char* line : {"collective          allgather, 3 chunks of 1 MB\n",
                           "sends               6\n", "finish, timed anew  1.001 ms\n"})
    EXPECT_THAT(import.out, HasSubstr(line));
  EXPECT_EQ(box.run("verify back.json").out, "back.json: valid, 1.001 ms in 6 sends\n");
}

TEST_F(Cli, TellsTheEffectiveSize) {
  const Outcome plan =
      box.run("plan -t triangle.json -c allgather -s 1000 --chunks 1 --planner direct");
  EXPECT_THAT(plan.out, HasSubstr("size                 1 KB (effective 1002 B"));
}

TEST_F(Cli, JsonIsTheResultObjectOfThePlanFile) {
  const Outcome plan = box.run(plan_triangle + " -o plan.json --json");
  EXPECT_EQ(plan.status, 0) << plan.err;
  EXPECT_THAT(plan.err, IsEmpty());
  const json printed = json::parse(plan.out);
  EXPECT_EQ(printed, json::parse(box.read("plan.json")).at("result"));
  EXPECT_EQ(printed.at("transfer_time_ps"), 1'001'000'000);
  EXPECT_EQ(printed.at("bound_ps"), 1'001'000'000);
  EXPECT_EQ(printed.at("gap"), 0);
  EXPECT_EQ(printed.at("planner"), "direct");
}

TEST_F(Cli, BoundsWithoutPlanning) {
  const Outcome bound = box.run("bound -t triangle.json -c allgather -s 3MB");
  EXPECT_EQ(bound.status, 0) << bound.err;
  EXPECT_THAT(bound.out,
              AllOf(HasSubstr("bound, any chunks  1.001 ms"), HasSubstr("bottleneck         ")));
  const Outcome printed = box.run("bound -t triangle.json -c allgather -s 3MB --json");
  const json object = json::parse(printed.out);
  EXPECT_EQ(object.at("bound_ps"), 1'001'000'000);
  EXPECT_EQ(object.at("bound_chunked_ps"), 1'001'000'000);
  EXPECT_TRUE(object.at("bound_certificate").contains("kind"));
}

TEST_F(Cli, RefusesADamagedPlanWithTheRuleItBreaks) {
  ASSERT_EQ(box.run(plan_triangle + " -o plan.json").status, 0);
  json plan = json::parse(box.read("plan.json"));
  box.write("good.json", plan.dump());
  plan.at("result").at("transfer_time_ps") = 5;
  box.write("bad.json", plan.dump());
  const Outcome one = box.run("verify bad.json");
  EXPECT_EQ(one.status, 1);
  EXPECT_THAT(one.out, StartsWith("bad.json: not valid: wrong finish: "));
  const Outcome several = box.run("verify good.json bad.json missing.json");
  EXPECT_EQ(several.status, 3);
  EXPECT_THAT(several.out, AllOf(HasSubstr("good.json: valid"), HasSubstr("bad.json: not valid")));
  EXPECT_THAT(several.err, HasSubstr("missing.json"));
  EXPECT_EQ(box.run("verify good.json bad.json").status, 1);
  EXPECT_EQ(box.run("verify good.json good.json").status, 0);
  const Outcome replay = box.run("simulate bad.json");
  EXPECT_EQ(replay.status, 1);
  EXPECT_THAT(replay.out, IsEmpty());
}

TEST_F(Cli, ReplaysOnChangedNetworks) {
  ASSERT_EQ(box.run(plan_triangle + " -o plan.json.zst").status, 0);
  const auto replayed = [&](const std::string& options) {
    const Outcome outcome = box.run("simulate plan.json.zst" + options);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.out;
  };
  EXPECT_THAT(replayed(""), HasSubstr("transfer time  1.001 ms  1.001 ms  +0.00%"));
  EXPECT_THAT(replayed(" --bandwidth x0.5"),
              HasSubstr("transfer time  1.001 ms  2.001 ms  +99.90%"));
  EXPECT_THAT(replayed(" --latency x11"), HasSubstr("transfer time  1.001 ms  1.011 ms  +1.00%"));
  std::string slow = kTriangle;
  slow.replace(slow.find("1us"), 3, "9us");
  box.write("slow.json", slow);
  EXPECT_THAT(replayed(" --topology slow.json"),
              HasSubstr("transfer time  1.001 ms  1.009 ms  +0.80%"));
}

TEST_F(Cli, ShowsListsAndConvertsTopologies) {
  const Outcome list = box.run("topo list");
  EXPECT_EQ(list.status, 0);
  EXPECT_THAT(list.out, HasSubstr("ndv2"));
  const Outcome show = box.run("topo show triangle.json");
  EXPECT_EQ(show.status, 0);
  EXPECT_THAT(show.out, AllOf(HasSubstr("nodes     3 GPUs\n"),
                              HasSubstr("6      gpu->gpu  1 GB/s     1 us")));
  const Outcome converted = box.run("topo convert triangle.json");
  EXPECT_EQ(converted.status, 0);
  EXPECT_EQ(json::parse(converted.out), json::parse(kTriangle));
  EXPECT_EQ(box.run("topo convert ndv2:2 -o n.json.zst").status, 0);
  const Outcome reread = box.run("topo convert n.json.zst");
  EXPECT_EQ(reread.out, box.run("topo convert ndv2:2").out);
}

TEST_F(Cli, MachinesBecomeClustersAndPlans) {
  // Four GPUs, NV4 between all, a NIC beside each.
  std::string matrix = "\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\tNIC2\tNIC3\tCPU Affinity\n";
  for (int a = 0; a < 4; ++a) {
    matrix += "GPU" + std::to_string(a);
    for (int b = 0; b < 4; ++b) matrix += a == b ? "\t X " : "\tNV4";
    for (int b = 0; b < 4; ++b) matrix += a == b ? "\tPIX" : "\tNODE";
    matrix += "\t0-31\n";
  }
  box.write("smi.txt", matrix);
  const Outcome show = box.run("topo show smi.txt");
  EXPECT_EQ(show.status, 0);
  EXPECT_THAT(show.out,
              AllOf(HasSubstr("4 GPUs, 4 NICs"), HasSubstr("unknown"), HasSubstr("--gpu h100")));
  const Outcome asked = box.run("plan -t smi.txt -c allgather -s 4MB");
  EXPECT_EQ(asked.status, 3);
  EXPECT_THAT(asked.err, AllOf(StartsWith("stellwerk: smi.txt: the rate of 6 links is unknown"),
                               HasSubstr("--gpu")));
  const Outcome plan = box.run("plan -t smi.txt --gpu a100 -c allgather -s 4MB -o plan.json");
  EXPECT_EQ(plan.status, 0) << plan.err;
  const Outcome compose = box.run(
      "topo compose smi.txt --gpu a100 --count 2 --fabric rails --nic-speed 200Gbps -o two.json");
  EXPECT_EQ(compose.status, 0) << compose.err;
  const Outcome two = box.run("topo show two.json");
  EXPECT_THAT(two.out, AllOf(HasSubstr("8 GPUs"), HasSubstr("2 hosts"),
                             HasSubstr("from table: A100 data sheet")));
  box.write("topology.conf", "SwitchName=s Nodes=n[1-3]\n");
  const Outcome slow = box.run("topo compose smi.txt --gpu a100 --fabric topology.conf");
  EXPECT_EQ(slow.status, 3);
  EXPECT_THAT(slow.err, HasSubstr("--nic-speed"));
  const Outcome three = box.run(
      "topo compose smi.txt --gpu a100 --fabric topology.conf --nic-speed 200Gbps --hosts n[1,3]");
  EXPECT_EQ(three.status, 0);
  EXPECT_THAT(three.out, AllOf(HasSubstr("n3.gpu0"), Not(HasSubstr("n2.gpu0"))));
}

TEST_F(Cli, PlansBecomeProgramsThatVerify) {
  ASSERT_EQ(
      box.run("plan -t dgx1 -c allreduce -s 8MB --chunks 2 --planner greedy -o plan.json").status,
      0);
  for (const std::string target : {"msccl", "azure", "rccl"}) {
    for (const std::string place : {"", " --in-place"}) {
      const Outcome written =
          box.run("export plan.json --to msccl-xml --target " + target + place + " -o plan.xml");
      ASSERT_EQ(written.status, 0) << written.err;
      const Outcome judged = box.run("verify plan.xml");
      EXPECT_EQ(judged.status, 0) << judged.out;
      EXPECT_THAT(
          judged.out,
          AllOf(HasSubstr("valid " + std::string(place.empty() ? "out of place" : "in place")),
                HasSubstr("connections must hold 1 step\n")));
    }
  }
  // Sums go missing: a receive that adds becomes one that overwrites.
  std::string text = box.read("plan.xml");
  text.replace(text.find("type=\"rrc\""), 10, "type=\"r\"");
  box.write("bad.xml", text);
  const Outcome bad = box.run("verify bad.xml");
  EXPECT_EQ(bad.status, 1);
  EXPECT_THAT(bad.out, HasSubstr("not valid in place: GPU "));
  for (const std::string place : {"", " --in-place"}) {
    ASSERT_EQ(box.run("export plan.json --to mscclpp" + place + " -o puts.json").status, 0);
    const Outcome judged = box.run("verify puts.json");
    EXPECT_EQ(judged.status, 0) << judged.out;
    EXPECT_THAT(judged.out,
                HasSubstr("valid " + std::string(place.empty() ? "out of place" : "in place") +
                          ": allreduce of 8 GPUs"));
  }
  // A wait less: data are used that may not be there, and a signal is left for the next call.
  std::string puts = box.read("puts.json");
  const std::size_t wait = puts.rfind("{\"name\": \"wait\"");
  puts.replace(wait, puts.find('}', wait) + 1 - wait, "{\"name\": \"nop\"}");
  box.write("bad.json", puts);
  const Outcome early = box.run("verify bad.json");
  EXPECT_EQ(early.status, 1);
  EXPECT_THAT(early.out, HasSubstr("not valid in place: "));
  box.write("unknown.json", std::string(puts).replace(puts.find("allreduce"), 9, "scatterall"));
  const Outcome unknown = box.run("verify unknown.json");
  EXPECT_EQ(unknown.status, 3);
  EXPECT_THAT(unknown.err, HasSubstr("not judged here: what 'scatterall' promises is not known"));
  const Outcome refused = box.run("export plan.json --to msccl");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err,
              HasSubstr("is none of msccl-xml, mscclpp, trace, csv, chakra, teccl, nccl-graph"));
  EXPECT_THAT(box.run("export plan.json --to trace").out, StartsWith("{\"displayTimeUnit\""));
  EXPECT_EQ(box.run("export plan.json --to chakra -o trace").status, 0);
  EXPECT_GT(box.read("trace.7.et").size(), 1000u);
  EXPECT_THAT(box.run("export plan.json --to csv").out, StartsWith("send,chunk,op,from,to,"));
  EXPECT_THAT(box.run("export plan.json --to csv --in-place").err,
              HasSubstr("--in-place is for programs: --to msccl-xml, mscclpp or chakra"));
  // A program of a plan that is not valid would be wrong, too; a report may show what is wrong.
  json plan = json::parse(box.read("plan.json"));
  plan.at("result").at("transfer_time_ps") = 5;
  box.write("broken.json", plan.dump());
  const Outcome broken = box.run("export broken.json --to mscclpp");
  EXPECT_EQ(broken.status, 1);
  EXPECT_THAT(broken.err, HasSubstr("broken.json: not valid, so not for export: "));
  EXPECT_EQ(box.run("export broken.json --to csv").status, 0);
}

TEST_F(Cli, ALibraryCoversAllSizesWithProgramsThatVerify) {
  const std::string command =
      "library -t ring:4 --collectives allgather,reducescatter --sizes 1K,1M,64M --planner greedy "
      "--max-chunks 4 --gap 20% -o programs";
  const Outcome made = box.run(command);
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, AllOf(HasSubstr("no limit"), HasSubstr("programs.csv")));
  EXPECT_EQ(box.run("verify programs/allgather-0.xml programs/reducescatter-0.xml").status, 0);
  EXPECT_THAT(box.read("programs.csv"),
              AllOf(HasSubstr("\nallgather,0,"), HasSubstr("\nreducescatter,0,")));
  const Outcome again = box.run(command);
  EXPECT_EQ(again.status, 3);
  EXPECT_THAT(again.err, HasSubstr("is not empty"));
}

TEST_F(Cli, ALibraryTellsTheLargestCallOfItsPrograms) {
  // The table once said "no limit" where the file had one.
  const Outcome made = box.run(
      "library -t ring:4 --collectives allgather --sizes 1G --planner greedy --max-chunks 1 "
      "--target "
      "mscclpp -o programs");
  ASSERT_EQ(made.status, 0) << made.err;
  const json file = json::parse(box.read("programs/allgather-0.json"));
  EXPECT_THAT(
      box.read("programs.csv"),
      HasSubstr("," + std::to_string(file.at("max_message_size").get<std::int64_t>()) + ","));
  const Outcome more = box.run(
      "library -t ring:4 --collectives allgather --sizes 1G,16G --planner greedy --max-chunks 1 "
      "--target mscclpp -o more");
  EXPECT_EQ(more.status, 2);
  EXPECT_THAT(more.err, HasSubstr("is more than mscclpp serves with one program"));
  EXPECT_EQ(box.run("library -t ring:4 --collectives allgather,allgather -o twice").err,
            "stellwerk: --collectives: allgather is there twice\n");
}

TEST_F(Cli, OfSeveralFilesOfAnExportAllAreWrittenOrNone) {
  ASSERT_EQ(box.run(plan_triangle + " -o plan.json").status, 0);
  ASSERT_EQ(box.run("export plan.json --to chakra --target azure -o t").status, 2);
  std::filesystem::create_directory(box.path("u.2.et"));
  const Outcome outcome = box.run("export plan.json --to chakra -o u");
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.err, HasSubstr("u.2.et: is a folder"));
  EXPECT_FALSE(box.exists("u.0.et"));
}

TEST_F(Cli, TuningWritesATableWithoutGapsForNcclsPlugin) {
  const Outcome made = box.run("tune -t dgx1 --collectives allreduce --sizes 1K,64M -o tuner.csv");
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("NCCL_TUNER_CONFIG_FILE"));
  EXPECT_EQ(box.read("tuner.csv"),
            "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,"
            "numPipeOps,regBuff\n"
            "allreduce,0,67108863,tree,ll,-1,1,8,-1,-1\n"
            "allreduce,67108864,9223372036854775807,ring,simple,-1,1,8,-1,-1\n");
}

TEST_F(Cli, ListsPlanners) {
  const Outcome planners = box.run("planners");
  EXPECT_EQ(planners.status, 0);
  EXPECT_THAT(planners.out, AllOf(HasSubstr("\nring "), HasSubstr("\ndirect ")));
}

TEST_F(Cli, TakesRanksByNameNumberAndRange) {
  const auto ranks = [&](const std::string& list) {
    const Outcome outcome = box.run(plan_triangle + " -o plan.json --ranks " + list);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return json::parse(box.read("plan.json")).at("jobs").at(0).at("ranks");
  };
  EXPECT_EQ(ranks("0-2"), json({"a", "b", "c"}));
  EXPECT_EQ(ranks("c,a"), json({"c", "a"}));
  EXPECT_EQ(ranks("2,a,1-1"), json({"c", "a", "b"}));
}

TEST_F(Cli, PlansSeveralJobsFromAFile) {
  box.write("jobs.json", R"({"format": "stellwerk.jobs/1", "jobs": [
    {"name": "dp", "collective": "allreduce", "ranks": "all", "size": "3MB"},
    {"name": "kv", "collective": "custom", "chunks": [{"bytes": 1000, "origins": ["a"], "destinations": ["b"]}]}]})");
  const Outcome plan = box.run("plan -t triangle.json --jobs jobs.json --planner direct");
  EXPECT_EQ(plan.status, 0) << plan.err;
  EXPECT_THAT(plan.out, AllOf(HasSubstr("job 'dp' "), HasSubstr("job 'kv' ")));
}

// Two jobs share the triangle: overlays and objectives, each a plan that verifies.
TEST_F(Cli, JobsShareANetwork) {
  box.write("two.json", R"({"format": "stellwerk.jobs/1", "jobs": [
    {"name": "long", "collective": "allgather", "ranks": "all", "size": "3MB", "chunks": 4},
    {"name": "short", "collective": "alltoall", "ranks": "all", "size": "300KB", "start": "200us",
     "weight": 3}]})");
  for (const std::string command :
       {"overlay --mode fifo", "overlay --mode fair", "plan --objective weighted",
        "plan --objective slowdown", "plan --planner joint"}) {
    const Outcome made = box.run(command + " -t triangle.json --jobs two.json -o plan.json");
    ASSERT_EQ(made.status, 0) << command << made.err;
    EXPECT_THAT(made.out,
                AllOf(HasSubstr("weighted flow"), HasSubstr("slowdown"), HasSubstr("job 'short'")));
    EXPECT_EQ(box.run("verify plan.json").status, 0) << command;
    EXPECT_EQ(box.run("simulate plan.json").status, 0) << command;
  }
  const Outcome other =
      box.run("plan -t triangle.json --jobs two.json --objective slowdown --planner ring");
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("planner 'ring' plans for the makespan only"));
}

TEST_F(Cli, SameInputSameBytes) {
  const auto sends = [&] {
    EXPECT_EQ(
        box.run("plan -t ndv2:2 -c allgather -s 1MB --chunks 2 --planner ring -o plan.json").status,
        0);
    return json::parse(box.read("plan.json")).at("sends");
  };
  EXPECT_EQ(sends(), sends());
}

/// Long enough for the planner to have a first plan, and far from the time that it would take.
TEST_F(Cli, CtrlCKeepsTheBestPlanSoFar) {
  const auto begin = std::chrono::steady_clock::now();
  const pid_t process =
      box.start(split("plan -t dgx1 -c alltoall -s 200KB --gap 0 --time-limit 120s -o plan.json"));
  std::this_thread::sleep_for(std::chrono::seconds(4));
  ASSERT_EQ(kill(process, SIGINT), 0);
  const Outcome outcome = box.wait(process);
  const auto taken = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_LT(taken, std::chrono::seconds(30));
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("stopped by           Ctrl-C"), HasSubstr("written to plan.json")));
  EXPECT_EQ(box.run("verify plan.json").status, 0);
  EXPECT_EQ(json::parse(box.read("plan.json")).at("result").at("termination").at("limit"),
            "interrupt");
}

TEST_F(Cli, ATimeLimitKeepsTheBestPlanSoFar) {
  const Outcome outcome =
      box.run("plan -t dgx1 -c alltoall -s 200KB --gap 0 --time-limit 1s -o plan.json");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("stopped by           the time limit"));
  EXPECT_EQ(box.run("verify plan.json").status, 0);
}

TEST_F(Cli, AFileIsWrittenWholeOrNotAtAll) {
  box.write("plan.json", "precious");
  EXPECT_EQ(box.run("plan -t triangle.json -c alltoall -s 3MB --planner ring -o plan.json").status,
            4);
  EXPECT_EQ(box.read("plan.json"), "precious");
  EXPECT_EQ(box.run("plan -t triangle.json -c allgather -s 0 -o plan.json").status, 2);
  EXPECT_EQ(box.read("plan.json"), "precious");
  EXPECT_EQ(box.run(plan_triangle + " -o plan.json").status, 0);
  EXPECT_THAT(box.read("plan.json"), StartsWith("{"));
  EXPECT_THAT(box.files(), ElementsAre("plan.json", "triangle.json"))
      << "no drafts are left behind";
}

TEST_F(Cli, FullDisksAreNoticed) {
  const Outcome file = box.run(plan_triangle + " -o /dev/full");
  EXPECT_EQ(file.status, 3);
  EXPECT_THAT(file.err, HasSubstr("/dev/full"));
  EXPECT_THAT(file.out, Not(HasSubstr("written")));
}

}  // namespace
}  // namespace stellwerk::tests
