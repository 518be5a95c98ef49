// List scheduling of whole-chunk sends along given routes.
#pragma once

#include <cstdint>
#include <vector>

#include "stellwerk/core/problem.hpp"
#include "stellwerk/core/send.hpp"

namespace stellwerk {

/// One send: over links from one storing node through switches to the next.
struct Leg {
  ChunkId chunk;
  std::vector<LinkId> links;
  int after = -1;  ///< index of the leg that brings the chunk to this one's source; -1: it starts
                   ///< at an origin
  int slot = -1;   ///< the epoch that a flow foresees for it; -1: none
};

/// Cuts a way into legs and appends them; `epochs` one a link, or empty.
void append_legs(const Topology& topology, ChunkId chunk, const std::vector<LinkId>& links,
                 const std::vector<int>& epochs, std::vector<Leg>& legs);

/// From the start of each leg to its chunk's arrival at the end of its way, if nothing has to wait.
std::vector<Time> tails(const Problem& problem, const std::vector<Leg>& legs);

/// Time from the start of a leg until everything that still has to go over the fullest link
/// downstream of it would be through: the sum of all work on that link.
std::vector<Time> downstream_load(const Problem& problem, const std::vector<Leg>& legs);

/// When a chunk takes room in the transit buffers on its way.
enum class Admission {
  hop_by_hop,  ///< at each node when it leaves for it: uses the room well, but buffers may block
               ///< each other
  whole_way,   ///< at all of them before it leaves its origin: never blocked afterwards
};

struct RouteSchedule {
  Schedule sends;      ///< one a leg, in the order of the legs
  Time finish;         ///< last arrival
  bool stuck = false;  ///< transit buffers filled up in a circle: `sends` is not a plan; never with
                       ///< Admission::whole_way
};

/// At every instant, of the legs that can start the one with the highest priority does. No link,
/// injection or ejection capacity and no transit buffer is exceeded. Precondition: a chunk has room
/// in each buffer on its way, and passes each node at most once.
RouteSchedule schedule_routes(const Problem& problem, const std::vector<Leg>& legs,
                              const std::vector<std::int64_t>& priority,
                              Admission admission = Admission::hop_by_hop);

}  // namespace stellwerk
