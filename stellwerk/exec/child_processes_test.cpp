#include "stellwerk/exec/child_processes.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

#include "stellwerk/base/stop.hpp"

namespace stellwerk {
namespace {

using Result = ChildProcesses::Result;

/// All results, by id; waits no longer than a minute.
std::map<std::size_t, Result> collect(ChildProcesses& children) {
  std::map<std::size_t, Result> results;
  while (children.running() > 0) {
    const auto result = children.wait(60);
    if (!result) {
      ADD_FAILURE() << "nothing came to an end";
      break;
    }
    results[result->id] = *result;
  }
  return results;
}

TEST(ChildProcesses, BringBackWhatTasksReturn) {
  ChildProcesses children;
  const std::string large(300'000, 'x');  // more than a pipe holds
  for (std::size_t id = 0; id < 4; ++id) {
    children.start(id, [&, id] { return std::to_string(id) + large; }, 60);
  }
  EXPECT_EQ(children.running(), 4U);
  const auto results = collect(children);
  ASSERT_EQ(results.size(), 4U);
  for (const auto& [id, result] : results) {
    EXPECT_TRUE(result.finished);
    EXPECT_EQ(result.text, std::to_string(id) + large);
  }
}

TEST(ChildProcesses, OneThatBreaksDoesNotTouchTheOthers) {
  ChildProcesses children;
  int touched = 0;
  children.start(0, [] { return std::string(); }, 60);
  children.start(
      1,
      [&]() -> std::string {
        touched = 1;
        throw std::runtime_error("no such thing");
      },
      60);
  children.start(
      2,
      []() -> std::string {
        std::signal(SIGTERM, SIG_DFL);
        kill(getpid(), SIGTERM);
        pause();
        return "";
      },
      60);
  children.start(3, []() -> std::string { _exit(9); }, 60);
  const auto results = collect(children);
  ASSERT_EQ(results.size(), 4U);
  EXPECT_EQ(touched, 0);
  EXPECT_TRUE(results.at(0).finished);
  EXPECT_FALSE(results.at(1).finished);
  EXPECT_EQ(results.at(1).text, "no such thing");
  EXPECT_FALSE(results.at(2).finished);
  EXPECT_EQ(results.at(2).text, "died: Terminated");
  EXPECT_EQ(results.at(3).text, "died with status 9");
}

TEST(ChildProcesses, ThoseThatDoNotEndAreKilled) {
  ChildProcesses children;
  const auto begin = std::chrono::steady_clock::now();
  children.start(
      7,
      []() -> std::string {
        for (;;) pause();
      },
      0.05);
  EXPECT_FALSE(children.wait(0.01).has_value());
  const auto results = collect(children);
  ASSERT_TRUE(results.contains(7));
  EXPECT_EQ(results.at(7).text, "did not come to an end in time");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  // What still runs at the end is killed, too.
  ChildProcesses abandoned;
  abandoned.start(
      0,
      []() -> std::string {
        for (;;) pause();
      },
      3600);
}

TEST(ChildProcesses, InterruptLetsThemEndByThemselves) {
  ChildProcesses children;
  for (std::size_t id = 0; id < 2; ++id) {
    children.start(
        id,
        [] {
          std::signal(SIGINT, [](int) { StopCondition::interrupt_now(); });
          while (!StopCondition::interrupted())
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          return std::string("what I have");
        },
        60);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // until they listen
  children.interrupt();
  for (const auto& [id, result] : collect(children)) {
    EXPECT_TRUE(result.finished) << result.text;
    EXPECT_EQ(result.text, "what I have");
  }
  EXPECT_FALSE(StopCondition::interrupted());
}

}  // namespace
}  // namespace stellwerk
