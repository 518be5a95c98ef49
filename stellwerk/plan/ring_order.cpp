// Ring order by local search.
//
// Problem: a cyclic order of the ranks whose steps are cheap: neighbours on the ring should be
// neighbours in the network, and
//   the ring should cross between hosts as seldom as it can. This is the travelling salesman's
//   problem.
// Idea: start from the ranks as given, grouped by host. Up to kSearched ranks, move segments of the
// ring (also turned round)
//   to better places until no move helps (or-opt, Or 1976). Then use several rings at once, as
//   collective libraries do with several channels: turning the numbering of the GPUs inside all
//   hosts by one gives a ring that enters and leaves each host elsewhere; those that cost as little
//   as the first one are used.
// Guarantee: a Hamiltonian cycle over the ranks; no segment move improves it (up to kSearched
// ranks). Complexity: O(n^3) a pass; passes are few. Held to its word by ring_test.cpp (the NDv2
// ring crosses between hosts once each way).
#include "stellwerk/plan/ring_order.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace stellwerk {
namespace {

constexpr std::size_t kSearched = 64;

/// Ranks by host, hosts in order of first appearance; ranks without host are hosts of their own.
std::vector<std::vector<NodeId>> hosts_of(const Topology& topology,
                                          const std::vector<NodeId>& ranks) {
  std::vector<std::vector<NodeId>> hosts;
  std::map<std::string, std::size_t> known;
  for (const NodeId rank : ranks) {
    const std::string& host = topology.node(rank).host;
    const auto [entry, fresh] =
        known.emplace(host.empty() ? topology.node(rank).name + "\n" : host, hosts.size());
    if (fresh) hosts.emplace_back();
    hosts[entry->second].push_back(rank);
  }
  return hosts;
}

/// Costs of steps between ranks, by position in the rank list.
class Costs {
 public:
  Costs(const std::vector<NodeId>& ranks, JobId job, Bytes bytes, PathFinder& paths)
      : n_(ranks.size()) {
    for (const NodeId from : ranks) {
      const PathTree& tree = paths.tree(from, bytes, job, Direction::outward);
      for (const NodeId to : ranks) cost_.push_back(tree.distance[to].ps);
    }
  }
  std::int64_t operator()(std::size_t from, std::size_t to) const { return cost_[from * n_ + to]; }

  std::int64_t of(const std::vector<std::size_t>& order) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < n_; ++i) sum += (*this)(order[i], order[(i + 1) % n_]);
    return sum;
  }

 private:
  std::size_t n_;
  std::vector<std::int64_t> cost_;
};

/// Moves the segment [begin, begin + length) of the cycle, turned round or not, to where it costs
/// least; true if that is an improvement. The order is rotated so that the segment comes first.
bool move_segment(std::vector<std::size_t>& order, std::size_t begin, std::size_t length,
                  const Costs& cost) {
  const std::size_t n = order.size();
  std::vector<std::size_t> cycle(n);
  for (std::size_t i = 0; i < n; ++i) cycle[i] = order[(begin + i) % n];
  std::int64_t inside = 0, turned_inside = 0;
  for (std::size_t i = 0; i + 1 < length; ++i) {
    inside += cost(cycle[i], cycle[i + 1]);
    turned_inside += cost(cycle[i + 1], cycle[i]);
  }
  const std::size_t first = cycle[0], last = cycle[length - 1];
  // Costs of the edges that change, with the segment where it is and elsewhere; the rest of the
  // cycle closes up.
  const std::int64_t here = cost(cycle[n - 1], first) + inside + cost(last, cycle[length]);
  const std::int64_t closed = cost(cycle[n - 1], cycle[length]);
  std::int64_t best = 0;
  std::size_t best_place = 0;
  bool best_turned = false;
  for (std::size_t place = length; place < n; ++place) {  // between cycle[place] and the next one
    const std::size_t before = cycle[place],
                      after = place + 1 < n ? cycle[place + 1] : cycle[length];
    const std::int64_t gap = place + 1 < n ? cost(before, after) : closed;
    for (const bool turned : {false, true}) {
      const std::int64_t there = cost(before, turned ? last : first) +
                                 (turned ? turned_inside : inside) +
                                 cost(turned ? first : last, after);
      const std::int64_t gain = (here - closed) - (there - gap);
      if (gain > best) {
        best = gain;
        best_place = place;
        best_turned = turned;
      }
    }
  }
  if (best <= 0) return false;
  std::vector<std::size_t> segment(cycle.begin(),
                                   cycle.begin() + static_cast<std::ptrdiff_t>(length));
  if (best_turned) std::reverse(segment.begin(), segment.end());
  order.assign(cycle.begin() + static_cast<std::ptrdiff_t>(length),
               cycle.begin() + static_cast<std::ptrdiff_t>(best_place) + 1);
  order.insert(order.end(), segment.begin(), segment.end());
  order.insert(order.end(), cycle.begin() + static_cast<std::ptrdiff_t>(best_place) + 1,
               cycle.end());
  return true;
}

void improve(std::vector<std::size_t>& order, const Costs& cost) {
  bool improved = order.size() > 3;
  while (improved) {
    improved = false;
    for (std::size_t length = 1; length + 2 <= order.size(); ++length) {
      for (std::size_t begin = 0; begin < order.size(); ++begin) {
        if (move_segment(order, begin, length, cost)) improved = true;
      }
    }
  }
}

/// The ring with every rank replaced by its host's rank `shift` positions on.
RingOrder shifted(const RingOrder& ring, const std::vector<std::vector<NodeId>>& hosts,
                  std::size_t shift) {
  std::map<NodeId, NodeId> image;
  for (const auto& host : hosts) {
    for (std::size_t i = 0; i < host.size(); ++i) image[host[i]] = host[(i + shift) % host.size()];
  }
  RingOrder result;
  for (const NodeId rank : ring) result.push_back(image[rank]);
  return result;
}

}  // namespace

std::vector<RingOrder> ring_orders(const Problem& problem, JobId job, Bytes bytes,
                                   PathFinder& paths) {
  const std::vector<NodeId>& ranks = problem.jobs[job.index()].ranks;
  const std::vector<std::vector<NodeId>> hosts = hosts_of(problem.topology, ranks);
  RingOrder ring;
  for (const auto& host : hosts) ring.insert(ring.end(), host.begin(), host.end());
  if (ring.size() <= kSearched) {
    const Costs cost(ring, job, bytes, paths);
    std::vector<std::size_t> order(ring.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    improve(order, cost);
    // Start where the first rank is.
    std::rotate(order.begin(), std::find(order.begin(), order.end(), 0), order.end());
    RingOrder better;
    for (const std::size_t i : order) better.push_back(ring[i]);
    ring = std::move(better);
  }
  std::vector<RingOrder> rings = {ring};
  const auto cost_of = [&](const RingOrder& candidate) {
    Time sum;
    for (std::size_t i = 0; i < candidate.size(); ++i) {
      const NodeId next = candidate[(i + 1) % candidate.size()];
      sum += paths.tree(candidate[i], bytes, job, Direction::outward).distance[next];
    }
    return sum;
  };
  const std::size_t per_host = hosts.front().size();
  const bool even = std::all_of(hosts.begin(), hosts.end(),
                                [&](const auto& host) { return host.size() == per_host; });
  if (even && hosts.size() > 1) {
    const Time cost = cost_of(ring);
    for (std::size_t shift = 1; shift < per_host; ++shift) {
      RingOrder candidate = shifted(ring, hosts, shift);
      if (cost_of(candidate) <= cost) rings.push_back(std::move(candidate));
    }
  }
  return rings;
}

}  // namespace stellwerk
