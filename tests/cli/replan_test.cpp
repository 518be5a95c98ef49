// stellwerk replan, as its users see it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "process.hpp"

namespace stellwerk::tests {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// Three GPUs in a ring, both ways, 1 GB/s and 1 us; everybody has 1 MB for the others.
class CliReplan : public testing::Test {
 protected:
  void SetUp() override {
    box.write("ring.json", R"({"format": "stellwerk.topology/1", "name": "ring", "nodes": [
      {"name": "a", "kind": "gpu"}, {"name": "b", "kind": "gpu"}, {"name": "c", "kind": "gpu"}],
      "links": [{"from": "a", "to": "b", "bandwidth": "1GB/s", "latency": "1us"},
                {"from": "b", "to": "c", "bandwidth": "1GB/s", "latency": "1us"},
                {"from": "c", "to": "a", "bandwidth": "1GB/s", "latency": "1us"},
                {"from": "b", "to": "a", "bandwidth": "1GB/s", "latency": "1us"},
                {"from": "c", "to": "b", "bandwidth": "1GB/s", "latency": "1us"},
                {"from": "a", "to": "c", "bandwidth": "1GB/s", "latency": "1us"}]})");
    const Outcome plan =
        box.run("plan -t ring.json -c allgather -s 3MB --chunks 1 --planner direct -o plan.json");
    ASSERT_EQ(plan.status, 0) << plan.err;
  }
  Outcome replan(const std::string& at, const std::vector<std::string>& events,
                 const std::string& plan = "plan.json", const std::string& output = "new.json") {
    std::vector<std::string> words = {"replan", plan, "--at", at, "-o", output};
    for (const std::string& event : events) {
      words.insert(words.end(), {"--event", event});
    }
    return box.run(words);
  }
  Sandbox box;
};

TEST_F(CliReplan, WritesOnePlanThatIsVerified) {
  const Outcome outcome = replan("500us", {"link a->b down"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  for (const char* line :
       {"500 us: link a->b down\n", "1.001 ms\n", "2.002 ms (+100.00%)\n",
        "6 had started, 1 of them lost; 1 new", "starting from scratch  ",
        "waiting 100.1 us for the link  1.6011 ms", "residual bound                 1.501 ms\n",
        "yes: sends and finish times, with the events"}) {
    EXPECT_THAT(outcome.out, HasSubstr(line));
  }
  EXPECT_EQ(box.run("verify new.json").out, "new.json: valid, 2.002 ms in 7 sends\n");
  const json plan = json::parse(box.read("new.json"));
  EXPECT_EQ(plan.at("events"),
            json::parse(R"([{"at_ps": 500000000, "kind": "link_down", "link": 0}])"));
  EXPECT_FALSE(json::parse(box.read("plan.json")).contains("events"));
  // Once more from there.
  const Outcome again = replan("900us", {"link a->b up", "gpu c lost"}, "new.json", "third.json");
  ASSERT_EQ(again.status, 4) << again.out;
  EXPECT_THAT(again.err, HasSubstr("is lost: no GPU that is left holds it"));
  ASSERT_EQ(replan("1ms", {"link a->b up"}, "new.json", "third.json").status, 0);
  EXPECT_EQ(box.run("verify third.json").status, 0);
  EXPECT_EQ(box.run("simulate third.json").status, 4);
  EXPECT_EQ(box.run("export third.json --to msccl-xml").status, 4);
}

TEST_F(CliReplan, JobsArriveAndLeave) {
  box.write("late.json", R"({"format": "stellwerk.jobs/1", "jobs": [
    {"name": "late", "collective": "broadcast", "ranks": "all", "size": "1MB"}]})");
  const Outcome outcome = replan("500us", {"job late.json arrives"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("job 'late'"));
  EXPECT_EQ(replan("600us", {"job late leaves"}, "new.json", "third.json").status, 0);
  EXPECT_EQ(box.run("verify new.json third.json").status, 0);
}

TEST_F(CliReplan, SaysWhatIsWrong) {
  EXPECT_THAT(replan("500us", {}).err, HasSubstr("--event is missing"));
  EXPECT_THAT(box.run("replan plan.json").err, HasSubstr("--at is missing"));
  const Outcome wrong = replan("500us", {"link a->d down"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.err, HasSubstr("there is no node 'd'"));
  const Outcome cut = replan("500us", {"link a->b down", "link c->b down"});
  EXPECT_EQ(cut.status, 4);
  EXPECT_THAT(cut.err, HasSubstr("refused: job 'allgather': chunk 0 of 'c' cannot reach 'b'"));
  EXPECT_FALSE(box.exists("new.json"));
  // Events out of order are the file's fault.
  json plan = json::parse(box.read("plan.json"));
  plan["events"] = json::parse(R"([{"at_ps": 5, "kind": "link_down", "link": 9}])");
  box.write("bad.json", plan.dump());
  const Outcome bad = box.run("verify bad.json");
  EXPECT_EQ(bad.status, 3);
  EXPECT_THAT(bad.err, HasSubstr("/events/0/link: there is no link 9"));
}

}  // namespace
}  // namespace stellwerk::tests
