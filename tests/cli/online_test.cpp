// stellwerk online, as its users see it: events in, increments out, kills in between.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <string>
#include <thread>

#include "tests/cli/process.hpp"

namespace stellwerk::tests {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class OnlineCli : public testing::Test {
 protected:
  /// Events of a small cluster.
  void SetUp() override {
    const Outcome written = box.run(
        "bench online --topology torus:3x3 --arrivals 40 --incidents 12 --seed 3 --write events");
    ASSERT_EQ(written.status, 0) << written.err;
    ASSERT_EQ(box.run(online + "--events events -o whole").status, 0);
  }

  std::string lines(const std::string& name, std::size_t count) const {
    const std::string text = box.read(name);
    std::size_t at = 0;
    for (std::size_t i = 0; i < count && at != std::string::npos; ++i) at = text.find('\n', at) + 1;
    return text.substr(0, at);
  }

  Sandbox box;
  const std::string online = "online --topology torus:3x3 ";
};

TEST_F(OnlineCli, IncrementsAreAPlanThatIsJudged) {
  const Outcome checked = box.run(online + "--events events --check whole --plan plan.json.zst");
  EXPECT_EQ(checked.status, 0) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("verified"));
  EXPECT_EQ(box.run("verify plan.json.zst").status, 0);
  EXPECT_EQ(box.run(online + "--events events").out, box.read("whole"));
  // What lacks an increment is told from the whole, and a folder is no empty run.
  box.write("begun", lines("whole", 64));
  EXPECT_THAT(box.run(online + "--events events --check begun").out, HasSubstr("64 for 65 events"));
  EXPECT_EQ(box.run(online + "--events events --check .").status, 3);
  EXPECT_EQ(box.run(online + "--events .").status, 3);
  // A send that starts earlier than it may.
  std::string broken = box.read("whole");
  const std::size_t start = broken.find("],", broken.find("\"sends\": [[")) + 2;
  broken.replace(start, broken.find(',', start) - start, "1");
  box.write("broken", broken);
  const Outcome refused = box.run(online + "--events events --check broken");
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("not valid"));
}

TEST_F(OnlineCli, NothingIsLostOrDoubledWhenItIsKilled) {
  const std::vector<std::string> words = split(online + "--events events --log log -o out");
  int killed = 0;
  for (int milliseconds = 20; milliseconds < 200; milliseconds += 45) {
    const pid_t process = box.start(words);
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    kill(process, SIGKILL);
    if (box.wait(process).status != 0) ++killed;
  }
  EXPECT_GE(killed, 1);
  // As if the kill had come in the middle of writing a line of either file.
  box.write("log", box.read("log") + "{\"number\": 4");
  box.write("out", box.read("out") + "{\"num");
  const Outcome last = box.run(words);
  ASSERT_EQ(last.status, 0) << last.err;
  EXPECT_EQ(box.read("out"), box.read("whole"));
  // All is known: nothing is decided again, and standard output begins where its reader says.
  const Outcome again = box.run(online + "--events events --log log --have 10");
  EXPECT_EQ(again.out, box.read("whole").substr(lines("whole", 10).size()));
}

// Without one whole line they were taken for a line cut short, and emptied.
TEST_F(OnlineCli, FilesOfOthersAreLeftAsTheyAre) {
  box.write("mine", "what I wrote yesterday");
  const Outcome log = box.run(online + "--events events --log mine");
  EXPECT_EQ(log.status, 3);
  EXPECT_THAT(log.err, HasSubstr("mine: is not a log of this command"));
  const Outcome out = box.run(online + "--events events -o mine");
  EXPECT_EQ(out.status, 3);
  EXPECT_THAT(out.err, HasSubstr("mine: does not end with an increment"));
  EXPECT_EQ(box.read("mine"), "what I wrote yesterday");
}

TEST_F(OnlineCli, AnEmptyFileIsNotCalledVerified) {
  box.write("none", "");
  const Outcome outcome = box.run(online + "--events events --check none");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("nothing to verify: there is no increment in the file"));
}

TEST_F(OnlineCli, WhatDoesNotFitIsNamed) {
  box.write("some", lines("events", 3));
  ASSERT_EQ(box.run(online + "--events some --log log -o out").status, 0);
  const auto fails = [&](const std::string& words, const std::string& message, int status = 3) {
    const Outcome outcome = box.run(words);
    EXPECT_EQ(outcome.status, status) << words;
    EXPECT_THAT(outcome.err, HasSubstr(message));
  };
  box.write("other", "{\"at\": 0, \"event\": \"tick\"}\n");
  fails(online + "--events other --log log -o out",
        "other, line 1: event 1 was another one before");
  box.write("gap", "{\"number\": 9, \"at\": 0, \"event\": \"tick\"}\n");
  fails(online + "--events gap --log log -o out", "is event 9, and 4 is due");
  box.write("early", "{\"number\": 4, \"at\": 0, \"event\": \"tick\"}\n");
  fails(online + "--events early --log log -o out", "early, line 1: comes before an earlier one");
  fails(online + "--events some --log log -o out --keys edf", "is not a log of this network");
  fails(online + "--events some -o out", "give the log that they belong to");
  box.write("bad", "{\"at\": 0, \"event\": \"link x->y down\"}\n");
  fails(online + "--events bad", "bad, line 1: /event: 'link x->y down': there is no node 'x'");
  box.write("bad", "{\"at\": 0}\n");
  fails(online + "--events bad", "give either \"arrives\", a job, or \"event\"");
  std::string damaged = box.read("log");
  damaged.insert(damaged.find('\n') + 1, "x");
  box.write("log", damaged);
  fails(online + "--events some --log log -o out", "log, line 2");
  fails("online --events some", "--topology is missing", 2);
  fails(online + "--check out", "--check needs the events", 2);
}

}  // namespace
}  // namespace stellwerk::tests
