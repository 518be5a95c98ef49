// Random events in the middle of random plans: what comes out is valid by the verifier, which shares
// no code with re-planning, or refused for a reason that is proven by code of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "stellwerk/base/error.hpp"
#include "stellwerk/bench/random_events.hpp"
#include "stellwerk/bench/refusal.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/plan/replan.hpp"
#include "tests/property/random_plan.hpp"

namespace stellwerk {
namespace {

/// Small networks with everything that the model knows: pieces, shares, in-trees, multicast, relays,
/// parallel links, sends at part of the rate.
TEST(ReplanProperty, EverythingThatTheModelKnows) {
  constexpr int kPlans = 400;
  int verified = 0;
  int refused = 0;
  int in_the_way = 0;
  for (int i = 0; i < kPlans; ++i) {
    Rng rng(static_cast<std::uint64_t>(i));
    testing::RandomPlanOptions options;
    options.limits = false;
    EventfulPlan plan{testing::random_plan(rng, options).plan, {}};
    Time from{0};
    for (int k = 0; k < 2; ++k) {
      const Disturbance what = random_disturbance(rng, plan, from);
      try {
        Replanned result = replan(plan, what, {}, {});
        const Verdict verdict = verify(result.plan);
        ASSERT_TRUE(verdict.valid()) << "plan " << i << ", event " << k << ": " << verdict.message;
        EXPECT_LE(result.residual_bound_chunked, std::max(verdict.transfer_time, what.at))
            << "plan " << i << ", event " << k;
        plan = std::move(result.plan);
        ++verified;
      } catch (const Error& error) {
        // ADR 11: after shares a part may be in the way of what is left.
        const bool shares = std::any_of(plan.sends.begin(), plan.sends.end(),
                                        [](const Send& send) { return send.op == Op::share; });
        const std::string message = error.what();
        if (shares && message.find("counts elsewhere") != std::string::npos) {
          ++in_the_way;
        } else {
          EXPECT_TRUE(is_refusal_proven(plan, what))
              << "plan " << i << ", event " << k << ": " << message;
        }
        ++refused;
        break;
      }
      from = what.at;
    }
  }
  EXPECT_GT(verified, kPlans / 2);
  EXPECT_GT(refused, kPlans / 20);
  EXPECT_LT(in_the_way, kPlans / 40);
}

/// The problems of `stellwerk bench replan`, some of them.
TEST(ReplanProperty, ProblemsThatNobodyHasTunedFor) {
  std::map<EventCase::Outcome, int> count;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    for (const EventCase& each : random_event_cases(seed)) {
      ++count[each.outcome];
      EXPECT_TRUE(each.outcome == EventCase::Outcome::verified ||
                  each.outcome == EventCase::Outcome::refused)
          << each.problem << ", " << each.event << ": " << each.message;
    }
  }
  EXPECT_GE(count[EventCase::Outcome::verified], 30);
}

}  // namespace
}  // namespace stellwerk
