// Random events in the middle of random plans.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/core/event.hpp"
#include "stellwerk/plan/replan.hpp"

namespace stellwerk {

/// Draws what happens to `plan` at a random instant from `from` on: a link fails, comes back or
/// changes its bandwidth, a GPU is lost or comes back, a job leaves or arrives; now and then two at
/// once. Links that the plan is about to use are preferred.
Disturbance random_disturbance(Rng& rng, const EventfulPlan& plan, Time from);

struct EventCase {
  enum class Outcome : std::uint8_t {
    no_plan,   ///< no planner that was tried had a plan to start from
    verified,  ///< the new plan is valid
    refused,   ///< and that there can be none is proven
    refused_wrongly,
    invalid,  ///< the new plan breaks a rule
  };
  Outcome outcome = Outcome::no_plan;
  std::string problem;  ///< topology, demand, planner
  std::string event;
  std::string message;  ///< why it was refused, or what is broken
  double seconds = 0;   ///< CPU time of planning anew
  Time before, after;
};

/// Up to three events that hit a plan of random problem number `seed` (bench/random_problem.hpp) one
/// after the other; one that is refused ends it. Always the same ones for a seed.
std::vector<EventCase> random_event_cases(std::uint64_t seed);

}  // namespace stellwerk
