// What can happen while a plan is running: to links, to GPUs, to jobs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stellwerk/base/ids.hpp"
#include "stellwerk/base/units.hpp"
#include "stellwerk/core/plan.hpp"

namespace stellwerk {

/// What it does to sends in flight and to what nodes hold is in docs/model.md, "Events".
struct Event {
  enum class Kind : std::uint8_t {
    link_down,
    link_up,         ///< with the bandwidth that the topology says
    link_bandwidth,  ///< from now on; a link that is down is then up
    gpu_lost,        ///< its links are down and its store is gone
    gpu_back,        ///< its links are up that are not down by themselves; its store is empty
    job_arrives,     ///< it is one of the problem's jobs and starts at `at` or later
    job_leaves,      ///< nothing more of it is wanted
  };
  Kind kind = Kind::link_down;
  Time at;
  LinkId link;          ///< link_*
  NodeId node;          ///< gpu_*
  JobId job;            ///< job_*
  Bandwidth bandwidth;  ///< link_bandwidth; positive

  friend bool operator==(const Event&, const Event&) = default;
};

/// "link_down", as files say it.
std::string_view to_string(Event::Kind kind);

/// A plan during which something happens; without events it is a plan like any other.
struct EventfulPlan : Plan {
  std::vector<Event> events;  ///< in order of time
};

/// "link h0.gpu0->h1.gpu1 down", as the command line says it; with the instant in front:
/// "12us: link ...".
std::string describe(const Event& event, const Problem& problem);

}  // namespace stellwerk
