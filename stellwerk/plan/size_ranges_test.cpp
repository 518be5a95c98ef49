#include "stellwerk/plan/size_ranges.hpp"

#include <gtest/gtest.h>

#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/plan/planner.hpp"

namespace stellwerk {
namespace {

Plan direct(const char* topology, Bytes size) {
  Job job;
  job.name = "job";
  Topology network = catalogue_topology(topology);
  job.ranks = network.gpus();
  job.size = size;
  Plan plan;
  plan.problem = make_problem(std::move(network), {job});
  PlannerContext context;
  context.rng = Rng(1);
  for (const PlannerRow& row : planners()) {
    if (row.name == "ring") plan.sends = row.plan(plan.problem, {}, context).sends;
  }
  return plan;
}

TEST(SizeRanges, AProgramTakesAsLongAtAnotherSizeAsAPlanForIt) {
  const Plan small = direct("ring:4", Bytes{4'000}), large = direct("ring:4", Bytes{4'000'000});
  EXPECT_EQ(finish_at_size(small, Bytes{4'000'000}), finish_at_size(large, Bytes{4'000'000}));
  EXPECT_EQ(finish_at_size(large, Bytes{4'000}), finish_at_size(small, Bytes{4'000}));
  EXPECT_LT(finish_at_size(large, Bytes{4'000}), finish_at_size(large, Bytes{4'000'000}));
}

TEST(SizeRanges, AsFewAsTheSlackAllows) {
  const auto row = [](std::vector<std::int64_t> list) {
    std::vector<Time> times;
    for (const std::int64_t ps : list) times.push_back(Time{ps});
    return times;
  };
  // One is best for small sizes, one for large, one is nearly as good for all.
  const std::vector<std::vector<Time>> times = {
      row({100, 100, 150, 200}), row({150, 120, 100, 100}), row({104, 103, 104, 104})};
  EXPECT_EQ(fewest_ranges(times, 0.05), (std::vector<SizeRange>{{2, 0, 3}}));
  EXPECT_EQ(fewest_ranges(times, 0), (std::vector<SizeRange>{{0, 0, 1}, {1, 2, 3}}));
  EXPECT_EQ(fewest_ranges(times, 1),
            (std::vector<SizeRange>{{2, 0, 3}}));  // all reach as far: the fastest
}

}  // namespace
}  // namespace stellwerk
