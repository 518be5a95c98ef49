// The judge: does a plan keep every rule of docs/model.md? Shares no code with planners, re-timing
// or the simulator.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stellwerk/core/event.hpp"
#include "stellwerk/core/plan.hpp"

namespace stellwerk {

/// The rules, one a value: a damaged plan is refused with the rule that it breaks.
enum class Violation : std::uint8_t {
  malformed_send,  ///< links do not form a tree, unknown chunk or link, bad rate or byte range,
                   ///< negative start
  forbidden_node,  ///< a switch copies without multicast or merges without reduce, or a non-member
                   ///< forwards
  not_held,  ///< a send starts before its sender holds the chunk (or the full sum, or any partial
             ///< sum)
  link_capacity,   ///< rates on a link exceed its bandwidth
  node_capacity,   ///< injection or ejection exceeded
  buffer,          ///< transit buffer exceeded
  groups,          ///< multicast groups at a switch exceeded
  merged_twice,    ///< a contributor would be counted twice
  demand_unmet,    ///< a destination never holds its chunk
  chunks_differ,   ///< the chunks are not what the jobs ask for
  wrong_finish,    ///< the recorded transfer time or a job's finish is not what the sends give
  wrong_bound,     ///< a recorded bound is not what its certificate proves, or exceeds the transfer
                   ///< time
  wrong_metric,    ///< gap, algbw, busbw or sizes do not follow from the rest
  wrong_symmetry,  ///< a compressed plan's permutations are no symmetries of topology and jobs, or
                   ///< keep a rank in place
  wrong_event,     ///< events that make no sense together, or a send of a job that has left
};

const char* to_string(Violation violation);

struct Verdict {
  std::optional<Violation> violation;  ///< none: valid
  std::string message;                 ///< one line that names chunk, link, node and time
  Time transfer_time;                  ///< as the sends give it (valid plans)
  std::vector<Time> job_finish;        ///< one a job
  std::vector<Time> rank_finish;       ///< one a node; zero where nothing is wanted

  bool valid() const { return !violation; }
};

/// `events`: what happens on the way.
/// Judges the sends alone: everything up to demand_unmet, and wrong_symmetry. With a symmetry the
/// sends stand for all their images, which are judged through the group, never written down
/// (check/quotient.cpp).
Verdict verify_sends(const Problem& problem, const Schedule& sends,
                     const std::vector<Event>& events = {});

/// Judges a whole plan: chunks against jobs, sends, recorded finish times, bounds with their
/// certificates.
Verdict verify(const Plan& plan);
Verdict verify(const EventfulPlan& plan);

/// Why the plan is not valid, in one line: the rule, then the place; nothing for a valid one. What planners, who do not know
/// the verifier, are handed as their judge.
std::optional<std::string> judge(const Plan& plan);

}  // namespace stellwerk
