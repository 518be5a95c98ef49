#include "stellwerk/graph/entry_cuts.hpp"

#include <gtest/gtest.h>

namespace stellwerk::graph {
namespace {

TEST(EntryCuts, OnlyASecondEntryTakesFromTheSlack) {
  EntryCuts cuts(4);
  cuts.add({false, false, true, true}, 3);
  EntryCuts::Mask reached{};
  cuts.reach(reached, 0);
  // From outside for the first time: as many as want to.
  EXPECT_GT(cuts.room(reached, 0, 2), 1'000'000);
  cuts.take(reached, 0, 2, 5);
  EXPECT_EQ(cuts.slacks().front(), 3);
  cuts.reach(reached, 2);
  // Again: out of the slack. Inside, and on the way out: freely.
  EXPECT_EQ(cuts.room(reached, 0, 3), 3);
  EXPECT_GT(cuts.room(reached, 2, 3), 1'000'000);
  EXPECT_GT(cuts.room(reached, 2, 1), 1'000'000);
  cuts.take(reached, 0, 3, 2);
  EXPECT_EQ(cuts.slacks().front(), 1);
}

TEST(EntryCuts, ManySetsBindTogether) {
  EntryCuts cuts(3);
  EntryCuts::Mask reached{};
  for (std::size_t set = 0; set < 200; ++set)
    cuts.add({false, set % 2 == 0, true}, static_cast<std::int64_t>(1000 - set));
  cuts.reach(reached, 2);
  EXPECT_EQ(cuts.room(reached, 0, 2), 1000 - 199);
  EXPECT_EQ(cuts.room(reached, 1, 2), 1000 - 199);  // sets without vertex 1
  EXPECT_EQ(cuts.room(reached, 0, 1), 1000 - 198);  // sets with it
  EXPECT_FALSE(cuts.full());
}

}  // namespace
}  // namespace stellwerk::graph
