// Problem: moves with precedence along each parcel, each taking several links at once; the last
// arrival is to be as early as possible. Ideas. (1) `append_moves`: a good order is known (rounds of
// crossbars): one pass over it. (2) `forward_backward`: a schedule built backwards from the end shows
// which moves are late by necessity; its order is the priority of the next forward pass, and so on
// (Li and Willis, EJOR 56, 1992; Tormos and Lova, Annals of OR 102, 2001). A schedule built backwards
// is one, too, read from its end. Guarantee: capacities
// and precedence. Cost: append_moves sorts; a round of forward_backward is two passes of list_moves.
// Held to its word by move_schedule_test.cpp, with the verifier.
#include "stellwerk/plan/move_schedule.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace stellwerk {
namespace {

constexpr int kPoll = 4096;  // moves between looks at the clock

std::int64_t duration(const ParcelHops& hops, const MoveTimes& times, std::size_t move) {
  return times.rates.empty() ? hops.duration(move) : hops.duration(move, times.rates[move]);
}

/// A schedule in reversed time, read forwards, and late enough for all chunks to be ready.
MoveTimes reversed(const ParcelHops& hops, const MoveTimes& times) {
  MoveTimes result = times;
  for (std::size_t m = 0; m < hops.moves(); ++m) {
    result.starts[m] =
        times.finish - times.starts[m] - duration(hops, times, m) - hops.hop(m).latency;
  }
  std::int64_t late = 0;
  for (std::size_t i = 0; i < hops.parcels().size(); ++i) {
    if (hops.first_move(i) == hops.end_move(i)) continue;
    late = std::max(late, hops.parcels()[i].ready.ps - result.starts[hops.first_move(i)]);
  }
  if (late > 0) {
    for (std::int64_t& start : result.starts) start += late;
    result.finish += late;
  }
  return result;
}

}  // namespace

MoveTimes append_moves(const ParcelHops& hops, const std::vector<float>& key,
                       const StopCondition& stop) {
  std::vector<std::uint32_t> order(hops.moves());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return key[a] != key[b] ? key[a] < key[b] : a < b;
  });
  MoveTimes result;
  result.starts.assign(hops.moves(), 0);
  result.finish = 0;
  std::vector<std::int64_t> free(hops.topology().links().size(), 0);
  std::vector<std::int64_t> ready;
  ready.reserve(hops.parcels().size());
  for (const Parcel& parcel : hops.parcels()) ready.push_back(parcel.ready.ps);
  int count = 0;
  for (const std::uint32_t move : order) {
    if (++count % kPoll == 0 && stop.should_stop()) return {};
    const ParcelHop& hop = hops.hop(move);
    const auto links = hops.links(hop);
    const auto offsets = hops.offsets(hop);
    std::int64_t& at = ready[hops.parcel(move)];
    std::int64_t start = at;
    for (std::size_t k = 0; k < links.size(); ++k) {
      start = std::max(start, free[links[k].index()] - offsets[k]);
    }
    const std::int64_t duration = hops.duration(move);
    for (std::size_t k = 0; k < links.size(); ++k) {
      free[links[k].index()] = start + offsets[k] + duration;
    }
    result.starts[move] = start;
    at = start + duration + hop.latency;
    result.finish = std::max(result.finish, at);
  }
  return result;
}

std::vector<double> remaining_seconds(const ParcelHops& hops) {
  std::vector<double> result(hops.moves(), 0);
  for (std::size_t i = 0; i < hops.parcels().size(); ++i) {
    double seconds = 0;
    for (std::uint32_t m = hops.end_move(i); m-- > hops.first_move(i);) {
      seconds += static_cast<double>(hops.hop(m).latency + hops.duration(m)) * 1e-12;
      result[m] = seconds;
    }
  }
  return result;
}

MoveTimes forward_backward(const ParcelHops& hops, const MoveTimes& start, int rounds,
                           bool slow_start, std::int64_t good_enough, const StopCondition& stop) {
  if (!start.complete()) return start;  // the time ran out before
  MoveTimes best = start, last = start;
  ListOptions options;
  options.share = true;
  options.slow_start = slow_start;
  std::vector<double> priority(hops.moves());
  // What ends last in one direction is most urgent in the other.
  const auto take_order_of = [&](const MoveTimes& times) {
    for (std::size_t m = 0; m < hops.moves(); ++m) {
      priority[m] =
          static_cast<double>(times.starts[m] + duration(hops, times, m) + hops.hop(m).latency);
    }
  };
  for (int round = 0; round < rounds && best.finish > good_enough; ++round) {
    take_order_of(last);
    options.backwards = true;
    const MoveTimes late = list_moves(hops, priority, options, stop);
    if (!late.complete()) break;
    take_order_of(late);
    if (late.finish < best.finish) {
      MoveTimes forwards = reversed(hops, late);
      if (forwards.finish < best.finish) best = std::move(forwards);
    }
    options.backwards = false;
    last = list_moves(hops, priority, options, stop);
    if (!last.complete()) break;
    if (last.finish < best.finish) best = last;
  }
  return best;
}

}  // namespace stellwerk
