// List scheduling (Graham 1969) on links instead of machines.
//
// Problem: routes are given; when does each send start?
//
// Idea: a queue of legs by the earliest time at which each could start, as far as is known; the
// legs of one instant by priority. The first one is tested again: if it still fits, it starts, else
// it goes back with its new time. Reservations only grow, so known times are lower bounds, and no
// leg starts while a better one could start at the same instant. Cut-through over switches: a send
// needs all of its links, each a latency later than the one before.
//
// Transit buffers: a leg into a node that only passes the chunk on takes its room there when it
// starts and gives it back when the chunk's next leg is through. Legs without room wait for that;
// if everybody waits, the order is a dead end. A chunk that takes all the room on its way
// beforehand waits only where it holds nothing: no dead ends, but less room for others.
//
// Guarantee: valid unless stuck, and no resource idles while a leg that needs nothing else waits
// for it.
//
// Cost: (legs)^2 / links tests in the worst case, a few microseconds each.
//
// Held to its word by: plan/lp_planner_test.cpp.
#include "stellwerk/plan/route_schedule.hpp"

#include <algorithm>
#include <queue>
#include <tuple>

#include "stellwerk/plan/reservations.hpp"

namespace stellwerk {

void append_legs(const Topology& topology, ChunkId chunk, const std::vector<LinkId>& links,
                 const std::vector<int>& epochs, std::vector<Leg>& legs) {
  int before = -1;
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (topology.stores(topology.link(links[i]).from)) {
      legs.push_back({chunk, {}, before, epochs.empty() ? -1 : epochs[i]});
      before = static_cast<int>(legs.size()) - 1;
    }
    legs.back().links.push_back(links[i]);
  }
}

namespace {

Send send_of(const Problem& problem, const Leg& leg) {
  const Topology& topology = problem.topology;
  const Chunk& chunk = problem.chunks[leg.chunk];
  Send send = whole_chunk_send(topology, chunk, leg.chunk, Op::copy, chunk.ready, leg.links);
  const auto& injection = topology.node(topology.link(leg.links.front()).from).injection;
  const auto& ejection = topology.node(topology.link(leg.links.back()).to).ejection;
  if (injection) send.rate = std::min(send.rate, *injection);
  if (ejection) send.rate = std::min(send.rate, *ejection);
  return send;
}

/// Room for chunks that a node passes on.
class TransitRoom {
 public:
  explicit TransitRoom(const Problem& problem)
      : problem_(problem), used_(problem.topology.nodes().size()) {}

  /// Does the leg end at a node that only passes the chunk on and has a limit for that?
  bool limited(const Leg& leg) const {
    const NodeId node = problem_.topology.link(leg.links.back()).to;
    if (!problem_.topology.node(node).buffer) return false;
    const Chunk& chunk = problem_.chunks[leg.chunk];
    return std::find(chunk.destinations.begin(), chunk.destinations.end(), node) ==
           chunk.destinations.end();
  }
  bool fits(const Leg& leg) const {
    const NodeId node = problem_.topology.link(leg.links.back()).to;
    return used_[node] + problem_.chunks[leg.chunk].bytes <= *problem_.topology.node(node).buffer;
  }
  void take(const Leg& leg) {
    used_[problem_.topology.link(leg.links.back()).to] += problem_.chunks[leg.chunk].bytes;
  }
  void give_back_at(Time time, const Leg& next) {
    pending_.push(
        {time, problem_.topology.link(next.links.front()).from, problem_.chunks[next.chunk].bytes});
  }
  bool pending() const { return !pending_.empty(); }
  Time next() const { return pending_.top().at; }
  void release_until(Time time) {
    while (!pending_.empty() && pending_.top().at <= time) {
      used_[pending_.top().node] = used_[pending_.top().node] - pending_.top().bytes;
      pending_.pop();
    }
  }

 private:
  struct Release {
    Time at;
    NodeId node;
    Bytes bytes;
    bool operator<(const Release& other) const {
      return std::tuple(at, node, bytes) > std::tuple(other.at, other.node, other.bytes);
    }
  };
  const Problem& problem_;
  IdVector<NodeId, Bytes> used_;
  std::priority_queue<Release> pending_;
};

}  // namespace

std::vector<Time> tails(const Problem& problem, const std::vector<Leg>& legs) {
  std::vector<Time> result(legs.size());
  for (std::size_t i = legs.size(); i-- > 0;) {  // a leg comes after the one it waits for
    result[i] += timing(problem.topology, send_of(problem, legs[i])).arrival.front();
    if (legs[i].after >= 0) {
      Time& before = result[static_cast<std::size_t>(legs[i].after)];
      before = std::max(before, result[i]);
    }
  }
  return result;
}

std::vector<Time> downstream_load(const Problem& problem, const std::vector<Leg>& legs) {
  IdVector<LinkId, Time> load(problem.topology.links().size());
  for (const Leg& leg : legs) {
    const Send send = send_of(problem, leg);
    for (const LinkId id : leg.links) load[id] += transmission_time(send.bytes, send.rate);
  }
  std::vector<Time> result(legs.size());
  for (std::size_t i = legs.size(); i-- > 0;) {
    for (const LinkId id : legs[i].links) result[i] = std::max(result[i], load[id]);
    if (legs[i].after >= 0) {
      Time& before = result[static_cast<std::size_t>(legs[i].after)];
      before = std::max(before, result[i]);
    }
  }
  return result;
}

RouteSchedule schedule_routes(const Problem& problem, const std::vector<Leg>& legs,
                              const std::vector<std::int64_t>& priority, Admission admission) {
  RouteSchedule result;
  std::vector<Footprint> footprints;
  std::vector<Time> arrival(legs.size());  // relative to the start
  std::vector<std::vector<int>> followers(legs.size());
  Reservations reservations(problem.topology);
  struct Entry {
    Time at;
    std::int64_t priority;
    int leg;
    bool operator<(const Entry& other) const {  // first out: earliest, then highest priority
      return std::tuple(at, -priority, leg) > std::tuple(other.at, -other.priority, other.leg);
    }
  };
  std::priority_queue<Entry> queue;
  for (std::size_t i = 0; i < legs.size(); ++i) {
    result.sends.push_back(send_of(problem, legs[i]));
    footprints.push_back(reservations.footprint(result.sends.back()));
    arrival[i] = timing(problem.topology, result.sends.back()).arrival.front();
    if (legs[i].after >= 0) {
      followers[static_cast<std::size_t>(legs[i].after)].push_back(static_cast<int>(i));
    } else {
      queue.push({result.sends.back().start, priority[i], static_cast<int>(i)});
    }
  }
  TransitRoom room(problem);
  std::vector<Entry> waiting;  // for room
  const auto wake = [&](Time time) {
    room.release_until(time);
    for (Entry& entry : waiting) {
      entry.at = std::max(entry.at, time);
      queue.push(entry);
    }
    waiting.clear();
  };
  while (!queue.empty() || (!waiting.empty() && room.pending())) {
    if (room.pending() && (queue.empty() || room.next() <= queue.top().at)) {
      wake(room.next());
      continue;
    }
    Entry entry = queue.top();
    queue.pop();
    const auto i = static_cast<std::size_t>(entry.leg);
    const Time start = reservations.earliest(footprints[i], entry.at);
    if (start > entry.at) {
      entry.at = start;
      queue.push(entry);
      continue;
    }
    // The legs whose room is needed now.
    std::vector<std::size_t> entered;
    if (admission == Admission::hop_by_hop) {
      entered.push_back(i);
    } else if (legs[i].after < 0) {
      entered.push_back(i);
      while (!followers[entered.back()].empty()) {
        entered.push_back(static_cast<std::size_t>(followers[entered.back()].front()));
      }
    }
    const bool fits = std::all_of(entered.begin(), entered.end(), [&](std::size_t k) {
      return !room.limited(legs[k]) || room.fits(legs[k]);
    });
    if (!fits) {
      waiting.push_back(entry);
      continue;
    }
    for (const std::size_t k : entered) {
      if (room.limited(legs[k])) room.take(legs[k]);
    }
    const Send& send = result.sends[i];
    if (legs[i].after >= 0 && room.limited(legs[static_cast<std::size_t>(legs[i].after)])) {
      room.give_back_at(start + transmission_time(send.bytes, send.rate), legs[i]);
    }
    reservations.add(footprints[i], start);
    result.sends[i].start = start;
    result.finish = std::max(result.finish, start + arrival[i]);
    for (const int next : followers[i]) {
      queue.push({start + arrival[i], priority[static_cast<std::size_t>(next)], next});
    }
  }
  result.stuck = !waiting.empty();
  return result;
}

}  // namespace stellwerk
