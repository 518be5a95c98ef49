#include "stellwerk/plan/event_queue.hpp"

#include <gtest/gtest.h>

#include <map>

#include "stellwerk/base/rng.hpp"

namespace stellwerk {
namespace {

TEST(EventQueue, GivesEventsByTimeAsAMapDoes) {
  Rng rng(1);
  EventQueue<int> queue;
  std::multimap<std::int64_t, int> oracle;
  std::int64_t now = 0;
  for (int i = 0; i < 20000; ++i) {
    // Few distinct times, many, and pushes to the instant that is being handled.
    const auto spread = rng.below(3) == 0 ? 1'000'000U : 5U;
    const std::int64_t at = now + static_cast<std::int64_t>(rng.below(spread));
    queue.push(Time{at}, i);
    oracle.emplace(at, i);
    if (rng.below(3) != 0) continue;
    ASSERT_EQ(queue.next().ps, oracle.begin()->first);
    std::vector<int> events;
    now = queue.take(events).ps;
    const auto [from, to] = oracle.equal_range(now);
    std::vector<int> expected;
    for (auto it = from; it != to; ++it) expected.push_back(it->second);
    std::sort(events.begin(), events.end());
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(events, expected);
    oracle.erase(from, to);
    ASSERT_EQ(queue.empty(), oracle.empty());
  }
}

}  // namespace
}  // namespace stellwerk
