#include "stellwerk/io/event_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stellwerk/base/error.hpp"
#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

using ::testing::HasSubstr;

/// g0 and g1 with two links from g0 to g1 and one back.
Problem two_gpus() {
  testing::Network network;
  const NodeId a = network.gpu();
  const NodeId b = network.gpu();
  network.link(a, b);
  network.link(a, b);
  network.link(b, a);
  Problem problem;
  problem.topology = network.topology();
  Job job;
  job.name = "nightly run";
  problem.jobs = {job};
  return problem;
}

TEST(EventText, SaysWhatHappens) {
  const Problem problem = two_gpus();
  using Kind = Event::Kind;
  Event event = parse_event("link g0->g1#2 down", problem).event;
  EXPECT_EQ(event.kind, Kind::link_down);
  EXPECT_EQ(event.link, LinkId(1));
  event = parse_event("link g1->g0 up", problem).event;
  EXPECT_EQ(event.kind, Kind::link_up);
  EXPECT_EQ(event.link, LinkId(2));
  event = parse_event(" link  #0  bandwidth  25GB/s ", problem).event;
  EXPECT_EQ(event.kind, Kind::link_bandwidth);
  EXPECT_EQ(event.link, LinkId(0));
  EXPECT_EQ(event.bandwidth, (Bandwidth{25'000'000'000}));
  event = parse_event("gpu g1 lost", problem).event;
  EXPECT_EQ(event.kind, Kind::gpu_lost);
  EXPECT_EQ(event.node, NodeId(1));
  EXPECT_EQ(parse_event("gpu g1 back", problem).event.kind, Kind::gpu_back);
  event = parse_event("job nightly run leaves", problem).event;
  EXPECT_EQ(event.kind, Kind::job_leaves);
  EXPECT_EQ(event.job, JobId(0));
  const EventText arrival = parse_event("job my jobs.json arrives", problem);
  EXPECT_EQ(arrival.event.kind, Kind::job_arrives);
  EXPECT_EQ(arrival.jobs_file, "my jobs.json");
}

TEST(EventText, NamesWhatIsWrong) {
  const Problem problem = two_gpus();
  const auto complaint = [&](const char* text) -> std::string {
    try {
      parse_event(text, problem);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::usage);
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(complaint("link g0->g1 down"), HasSubstr("2 links lead from g0 to g1: say which"));
  EXPECT_THAT(complaint("link g0->g1#3 down"), HasSubstr("2 links lead"));
  EXPECT_THAT(complaint("link g0->g7 down"), HasSubstr("there is no node 'g7'"));
  EXPECT_THAT(complaint("link #3 down"), HasSubstr("there are 3, counted from 0"));
  EXPECT_THAT(complaint("link g0 down"), HasSubstr("name its ends"));
  EXPECT_THAT(complaint("link g0->g1#1 sideways"), HasSubstr("down, up or to a bandwidth"));
  EXPECT_THAT(complaint("link g1->g0 bandwidth fast"), HasSubstr("--event"));
  EXPECT_THAT(complaint("gpu g1 asleep"), HasSubstr("lost or back"));
  EXPECT_THAT(complaint("job daily leaves"), HasSubstr("there is no job 'daily'"));
  EXPECT_THAT(complaint("fire"), HasSubstr("say one of"));
  EXPECT_THAT(complaint("node g1 lost"), HasSubstr("say one of"));
}

}  // namespace
}  // namespace stellwerk
