// The network and the jobs as events leave them: for planners that start in the
// middle of a plan.
#pragma once

#include <vector>

#include "stellwerk/core/event.hpp"
#include "stellwerk/core/problem.hpp"

namespace stellwerk {

/// What holds after all events.
struct NetworkState {
  IdVector<LinkId, Bandwidth> bandwidth;         ///< zero: the link is down
  IdVector<LinkId, std::vector<Time>> failures;  ///< when a link fails, ascending; mostly empty
  IdVector<NodeId, std::vector<Time>> losses;    ///< when a node is lost, ascending
  IdVector<NodeId, char> lost;                   ///< and not back
  std::vector<Time> left;                        ///< by job; Time::max(): it has not left

  bool up(LinkId id) const { return bandwidth[id].bytes_per_second > 0; }
  bool has_left(JobId job) const { return left[job.index()] != Time::max(); }
  bool any_failure = false;  ///< of a link or node
};

/// Precondition: the events are in order and name what exists (check_events).
NetworkState after_events(const Problem& problem, const std::vector<Event>& events);

/// Throws Error(unreadable_input) naming the event: out of order, or about something that does not
/// exist.
void check_events(const Problem& problem, const std::vector<Event>& events);

}  // namespace stellwerk
