#include "stellwerk/plan/epoch_grid.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/wide.hpp"

namespace stellwerk {
namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

constexpr std::int64_t kDropBelow = 10;  // a latency under 1/10 of an epoch is dropped

/// More epochs than any model has, yet sums of a few of them fit into an int.
constexpr std::int64_t kMostEpochs = 1 << 28;

int epochs_up(std::int64_t time, std::int64_t duration) {
  return static_cast<int>(std::min(kMostEpochs, divide_up(time, duration)));
}

std::set<std::int64_t> chunk_sizes(const Problem& problem) {
  std::set<std::int64_t> sizes;
  for (const Chunk& chunk : problem.chunks) sizes.insert(chunk.bytes.value);
  return sizes;
}

/// For each switch the smallest switch that it is connected to by links between switches.
IdVector<NodeId, NodeId> switch_regions(const Topology& topology) {
  IdVector<NodeId, NodeId> region(topology.nodes().size());
  for (const NodeId id : topology.node_ids()) region[id] = id;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Link& link : topology.links()) {
      if (topology.stores(link.from) || topology.stores(link.to)) continue;
      const NodeId least = std::min(region[link.from], region[link.to]);
      changed = changed || region[link.from] != least || region[link.to] != least;
      region[link.from] = region[link.to] = least;
    }
  }
  return region;
}

}  // namespace

EpochGrid::EpochGrid(const Problem& problem, Time duration)
    : topology_(&problem.topology),
      duration_(duration),
      speed_(problem.topology.links().size()),
      latency_(problem.topology.links().size(), 0) {
  const Topology& topology = problem.topology;
  const IdVector<NodeId, NodeId> region = switch_regions(topology);
  IdVector<NodeId, Bandwidth> slowest(topology.nodes().size(),
                                      Bandwidth{std::numeric_limits<std::int64_t>::max()});
  // A send is no faster than what its ends can put in and take out.
  const auto own_speed = [&](const Link& link) {
    Bandwidth speed = link.bandwidth;
    if (const auto cap = topology.node(link.from).injection) speed = std::min(speed, *cap);
    if (const auto cap = topology.node(link.to).ejection) speed = std::min(speed, *cap);
    return speed;
  };
  for (const Link& link : topology.links()) {
    for (const NodeId end : {link.from, link.to}) {
      if (!topology.stores(end))
        slowest[region[end]] = std::min(slowest[region[end]], own_speed(link));
    }
  }
  for (const LinkId id : topology.link_ids()) {
    const Link& link = topology.link(id);
    speed_[id] = own_speed(link);
    for (const NodeId end : {link.from, link.to}) {
      if (!topology.stores(end)) speed_[id] = slowest[region[end]];
    }
    if (static_cast<Int128>(link.latency.ps) * kDropBelow >= duration.ps) {
      latency_[id] = epochs_up(link.latency.ps, duration.ps);
    }
    if (!topology.stores(link.from) && !topology.stores(link.to))
      latency_[id] = std::max(latency_[id], 1);
  }
}

int EpochGrid::window(LinkId link, Bytes bytes) const {
  const Time time = transmission_time(bytes, speed_[link]);
  return std::max(1, epochs_up(time.ps, duration_.ps));
}

int EpochGrid::transit(LinkId link, Bytes bytes) const {
  const bool stored = topology_->stores(topology_->link(link).to);
  return latency_[link] + (stored ? window(link, bytes) : 0);
}

double EpochGrid::share(LinkId link, Bytes bytes) const {
  const Time time = transmission_time(bytes, topology_->link(link).bandwidth);
  return static_cast<double>(time.ps) /
         (static_cast<double>(window(link, bytes)) * static_cast<double>(duration_.ps));
}

double EpochGrid::bytes_per_epoch(LinkId link) const {
  return static_cast<double>(topology_->link(link).bandwidth.bytes_per_second) *
         duration_.seconds();
}

int EpochGrid::epoch_at_or_after(Time time) const { return epochs_up(time.ps, duration_.ps); }

bool EpochGrid::exact(const Problem& problem) const {
  for (const LinkId id : topology_->link_ids()) {
    const Link& link = topology_->link(id);
    if (latency_[id] * duration_ != link.latency) return false;
    for (const std::int64_t size : chunk_sizes(problem)) {
      const Int128 numerator = static_cast<Int128>(size) * 1'000'000'000'000;
      const Int128 per_epoch = static_cast<Int128>(link.bandwidth.bytes_per_second) * duration_.ps;
      if (numerator != window(id, Bytes{size}) * per_epoch) return false;
    }
  }
  return std::all_of(problem.chunks.begin(), problem.chunks.end(),
                     [&](const Chunk& chunk) { return chunk.ready.ps % duration_.ps == 0; });
}

Time epoch_duration(const Problem& problem, const EpochChoice& choice, Time finest) {
  const std::set<std::int64_t> sizes = chunk_sizes(problem);
  if (sizes.empty() || problem.topology.links().empty()) return Time{1};
  Bandwidth slowest = problem.topology.links().front().bandwidth;
  Bandwidth fastest = slowest;
  for (const Link& link : problem.topology.links()) {
    slowest = std::min(slowest, link.bandwidth);
    fastest = std::max(fastest, link.bandwidth);
  }
  // Chunks of one block may differ by a byte: an epoch for the smaller ones would cost the larger ones two.
  const std::int64_t alike = *sizes.begin() + std::max<std::int64_t>(1, *sizes.begin() / 64);
  const Time least = transmission_time(Bytes{*std::prev(sizes.upper_bound(alike))}, fastest);
  switch (choice.kind) {
    case EpochChoice::Kind::fastest:
      return least;
    case EpochChoice::Kind::slowest: {
      // Durations are rounded up to ps; a link n times as fast must still have room for n chunks.
      const Bytes largest{*sizes.rbegin()};
      Time longest = transmission_time(largest, slowest);
      for (const Link& link : problem.topology.links()) {
        const std::int64_t times = link.bandwidth.bytes_per_second / slowest.bytes_per_second;
        longest = std::max(longest, times * transmission_time(largest, link.bandwidth));
      }
      return longest;
    }
    case EpochChoice::Kind::multiple:
      return Time{std::max<std::int64_t>(
          1, static_cast<std::int64_t>(choice.multiple * static_cast<double>(least.ps)))};
    case EpochChoice::Kind::explicit_time:
      if (choice.duration.ps <= 0) throw Error(ErrorCode::usage, "an epoch must be longer than 0");
      return choice.duration;
    case EpochChoice::Kind::automatic:
      break;
  }
  // The greatest common divisor of everything that happens, latencies that any grid of this size drops left out.
  std::int64_t divisor = 0;
  for (const Link& link : problem.topology.links()) {
    if (static_cast<Int128>(link.latency.ps) * kDropBelow >= least.ps)
      divisor = std::gcd(divisor, link.latency.ps);
    for (const std::int64_t size : sizes) {
      divisor = std::gcd(divisor, transmission_time(Bytes{size}, link.bandwidth).ps);
    }
  }
  for (const Chunk& chunk : problem.chunks) divisor = std::gcd(divisor, chunk.ready.ps);
  return divisor >= finest.ps ? Time{divisor} : std::max(least, finest);
}

}  // namespace stellwerk
