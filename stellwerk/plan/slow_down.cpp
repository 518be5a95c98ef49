// A send has one rate on all its links, so a link that becomes slower slows the whole send, and what
// is pipelined behind it on that link has to wait. Both are written with byte ranges: the bytes that
// had passed the slow link by then are one piece with the old times, the rest is another, as early as
// it fits beside everything else in flight. In order of their starts, so that nobody is overtaken.
// A part of a sum of which nothing has passed the slow link, and that would have to wait, is withdrawn:
// its sender keeps it.
// Tests: replan_test.cpp.
#include "stellwerk/plan/slow_down.hpp"

#include <algorithm>
#include <utility>

#include "stellwerk/base/wide.hpp"
#include "stellwerk/plan/reservations.hpp"

namespace stellwerk {
namespace {

/// The network with the larger bandwidth of both states, so that both fit into timelines.
Topology widest(const Topology& topology, const NetworkState& before, const NetworkState& now) {
  IdVector<LinkId, Link> links = topology.links();
  for (const LinkId id : topology.link_ids()) {
    links[id].bandwidth = std::max({before.bandwidth[id], now.bandwidth[id], Bandwidth{1}});
  }
  return Topology(topology.name(), topology.note(), topology.nodes(), std::move(links));
}

class SlowDown {
 public:
  SlowDown(const Problem& problem, const Schedule& sends, Time at, const NetworkState& before,
           const NetworkState& now)
      : problem_(problem),
        sends_(sends),
        at_(at),
        before_(before),
        now_(now),
        landing_(problem, sends, now) {}

  Schedule run() {
    std::vector<std::size_t> affected;
    for (std::size_t i = 0; i < sends_.size(); ++i) {
      if (is_affected(i)) affected.push_back(i);
    }
    if (affected.empty()) return sends_;
    const Topology network = widest(problem_.topology, before_, now_);
    Reservations reservations(network);
    for (const LinkId id : network.link_ids()) {
      if (!slower(id)) continue;
      const Bandwidth lacking = before_.bandwidth[id] - now_.bandwidth[id];
      reservations.add({{reservations.link(id), Time{0}, kForever, lacking.bytes_per_second}}, at_);
    }
    // Everything else that can meet them.
    Time since = at_;
    for (const std::size_t i : affected) since = std::min(since, sends_[i].start);
    std::vector<char> moves(sends_.size(), 0);
    for (const std::size_t i : affected) moves[i] = 1;
    for (std::size_t i = 0; i < sends_.size(); ++i) {
      if (moves[i] != 0 || Time{landing_.over(i)} <= since) continue;
      reservations.add(taken(reservations, i), sends_[i].start);
    }
    std::stable_sort(affected.begin(), affected.end(), [&](std::size_t a, std::size_t b) {
      return sends_[a].start < sends_[b].start;
    });
    Schedule result;
    for (std::size_t i = 0; i < sends_.size(); ++i) {
      if (moves[i] == 0) result.push_back(sends_[i]);
    }
    for (const std::size_t i : affected) place(i, reservations, result);
    sort_sends(problem_.topology, result);
    return result;
  }

 private:
  static constexpr Time kForever{std::int64_t{1} << 61};

  bool slower(LinkId id) const { return now_.up(id) && now_.bandwidth[id] < before_.bandwidth[id]; }

  bool is_affected(std::size_t send) const {
    const SendShapes::Range links = landing_.shapes().links(send);
    for (std::int32_t e = links.first; e < links.last; ++e) {
      if (slower(landing_.shapes().link(e)) && landing_.end(send, e) > at_.ps &&
          landing_.lost(send, e) == Landing::kNever) {
        return true;
      }
    }
    return false;
  }

  /// What send `i` takes, as far as it is not lost.
  Footprint taken(const Reservations& reservations, std::size_t i) const {
    Footprint result = reservations.footprint(sends_[i]);
    if (now_.any_failure) {
      const SendShapes& shapes = landing_.shapes();
      const SendShapes::Range links = shapes.links(i);
      for (std::int32_t e = links.first; e < links.last; ++e) {
        const Time length{landing_.end(i, e) - landing_.begin(i, e)};
        for (Occupation& item : result) {
          if (item.resource == reservations.link(shapes.link(e))) item.duration = length;
        }
      }
    }
    return result;
  }

  /// Bytes that have passed all slow links of the send by now, fewer than all.
  Bytes passed(std::size_t i) const {
    const Send& send = sends_[i];
    const SendShapes::Range links = landing_.shapes().links(i);
    std::int64_t least = send.bytes.value - 1;
    for (std::int32_t e = links.first; e < links.last; ++e) {
      if (!slower(landing_.shapes().link(e))) continue;
      const std::int64_t time = std::max<std::int64_t>(0, at_.ps - landing_.begin(i, e));
      const Int128 bytes =
          static_cast<Int128>(time) * send.rate.bytes_per_second / 1'000'000'000'000;
      least = static_cast<std::int64_t>(std::min<Int128>(least, bytes));
    }
    return Bytes{least};
  }

  /// Part of a sum that would start later takes more with it than it did when it started, should its
  /// sender have merged something since. As none of it has passed the slow link, it is given up.
  bool can_be_withdrawn(const Send& send) const {
    if (send.op == Op::copy || send.bytes != problem_.chunks[send.chunk].bytes) return false;
    if (send.op == Op::share) return true;
    const NodeId source = problem_.topology.link(send.links.front()).from;
    return std::none_of(sends_.begin(), sends_.end(), [&](const Send& other) {
      return other.chunk == send.chunk && other.start > send.start &&
             problem_.topology.link(other.links.front()).from == source;
    });
  }

  bool passes_dead_link(const Send& send) const {
    const SendTiming times = timing(problem_.topology, send);
    for (std::size_t k = 0; k < send.links.size(); ++k) {
      if (!now_.up(send.links[k]) && send.start + times.entry[k] + times.duration > at_)
        return true;
    }
    return false;
  }

  void place(std::size_t i, Reservations& reservations, Schedule& result) const {
    const Send& send = sends_[i];
    const Footprint whole = taken(reservations, i);
    if (reservations.fits(whole, send.start)) {
      reservations.add(whole, send.start);
      result.push_back(send);
      return;
    }
    const Bytes first = passed(i);
    Send rest = send;
    rest.offset += first;
    rest.bytes = send.bytes - first;
    for (const LinkId id : send.links) {
      if (now_.up(id)) rest.rate = std::min(rest.rate, now_.bandwidth[id]);
    }
    if (first.value > 0) {
      Send piece = send;
      piece.bytes = first;
      const Footprint footprint = reservations.footprint(piece);
      reservations.add(footprint, piece.start);
      rest.start = piece.start + transmission_time(first, piece.rate);
      result.push_back(std::move(piece));
    }
    const Footprint footprint = reservations.footprint(rest);
    rest.start = reservations.earliest(footprint, rest.start);
    if (rest.start == Time::max() || passes_dead_link(rest)) return;
    if (first.value == 0 && rest.start > send.start && can_be_withdrawn(send)) return;
    reservations.add(footprint, rest.start);
    result.push_back(std::move(rest));
  }

  const Problem& problem_;
  const Schedule& sends_;
  const Time at_;
  const NetworkState& before_;
  const NetworkState& now_;
  const Landing landing_;
};

}  // namespace

Schedule slow_down(const Problem& problem, const Schedule& sends, Time at,
                   const NetworkState& before, const NetworkState& now) {
  bool any = false;
  for (const LinkId id : problem.topology.link_ids()) {
    any = any || (now.up(id) && now.bandwidth[id] < before.bandwidth[id]);
  }
  return any ? SlowDown(problem, sends, at, before, now).run() : sends;
}

}  // namespace stellwerk
