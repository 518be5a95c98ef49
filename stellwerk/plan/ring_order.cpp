// Ring order by local search.
//
// Problem: a cyclic order of the ranks whose steps are cheap: neighbours on the ring should be
// neighbours in the network, and
//   the ring should cross between hosts as seldom as it can. This is the travelling salesman's
//   problem.
// Idea: start from the ranks as given, grouped by host. Up to kSearched ranks, move segments of the
// ring (also turned round)
//   to better places until no move helps (or-opt, Or 1976). Then add rings, as collective libraries
//   do with several channels, while that lowers the load of the busiest link for an equal share of
//   the data on each. Candidates are the rings at hand with the GPUs of all hosts renumbered in a
//   circle (which enters and leaves hosts elsewhere), or turned round, and a new search in which
//   links cost more the busier they are.
// Guarantee: Hamiltonian cycles over the ranks; no segment move improves the first one (up to
// kSearched ranks). Complexity: O(n^3) a pass of the search; passes are few. Held to its word by
// baselines_test.cpp (the ring crosses between two hosts once each way; all rails are used; a
//   full mesh is used both ways).
#include "stellwerk/plan/ring_order.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "stellwerk/base/wide.hpp"
#include "stellwerk/plan/textbook_schedule.hpp"

namespace stellwerk {
namespace {

constexpr std::size_t kSearched = 64;
constexpr std::size_t kMostRings = 16;

/// Costs of steps between ranks, by position in the rank list.
class Costs {
 public:
  explicit Costs(std::size_t n) : n_(n), cost_(n * n, 0) {}
  std::int64_t& operator()(std::size_t from, std::size_t to) { return cost_[from * n_ + to]; }
  std::int64_t operator()(std::size_t from, std::size_t to) const { return cost_[from * n_ + to]; }

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

/// Rings over one job's ranks, and how busy they make the links.
class RingSearch {
 public:
  RingSearch(const Topology& topology, const std::vector<NodeId>& ranks, Bytes bytes,
             Router& router)
      : topology_(topology),
        bytes_(bytes),
        router_(router),
        hosts_(ranks_by_host(topology, ranks)),
        load_(topology.links().size(), Time{0}) {
    for (const auto& host : hosts_) ranks_.insert(ranks_.end(), host.begin(), host.end());
  }

  /// The best ring that local search finds: by path times, plus how long the links on the way are
  /// busy already.
  RingOrder searched() {
    const std::size_t n = ranks_.size();
    if (n > kSearched) return ranks_;
    Costs cost(n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        cost(i, j) = router_.distance(ranks_[i], ranks_[j]).ps;
        for_each_link(ranks_[i], ranks_[j], [&](LinkId link, std::int64_t parts) {
          cost(i, j) += load_[link].ps / parts;
        });
      }
    }
    std::vector<std::size_t> order(n);
    for (std::size_t i = 0; i < n; ++i) order[i] = i;
    improve(order, cost);
    std::rotate(order.begin(), std::find(order.begin(), order.end(), 0), order.end());
    RingOrder ring;
    for (const std::size_t i : order) ring.push_back(ranks_[i]);
    return ring;
  }

  /// Several rings to share the data.
  std::vector<RingOrder> find() {
    RingOrder candidate = searched();
    while (rings_.size() < kMostRings) {
      load_ = with(candidate);
      busiest_ = busiest(load_);
      rings_.push_back(std::move(candidate));
      // One more ring must make up for the smaller share that each then carries.
      std::optional<RingOrder> better;
      Time least = Time::max();
      for (RingOrder& option : options()) {
        const Time busy = busiest(with(option));
        const auto count = static_cast<std::int64_t>(rings_.size());
        const bool lowers =
            static_cast<Int128>(busy.ps) * count < static_cast<Int128>(busiest_.ps) * (count + 1);
        if (!lowers || busy >= least) continue;
        least = busy;
        better = std::move(option);
      }
      if (!better) break;
      candidate = std::move(*better);
    }
    return std::move(rings_);
  }

 private:
  /// Visits every link on the ways between two ranks, with the share of the data that it gets.
  template <class Visit>
  void for_each_link(NodeId from, NodeId to, Visit visit) {
    const std::uint32_t salts = router_.salts(from, to);
    for (std::uint32_t salt = 0; salt < salts; ++salt) {
      for (const HopId hop : router_.way(from, to, salt)) {
        for (const LinkId link : router_.hop(hop).links) visit(link, salts);
      }
    }
  }

  /// The loads of the links if `ring` is added: time in use when every ring step passes `bytes_`
  /// once.
  IdVector<LinkId, Time> with(const RingOrder& ring) {
    IdVector<LinkId, Time> load = load_;
    for (std::size_t i = 0; i < ring.size(); ++i) {
      for_each_link(ring[i], ring[(i + 1) % ring.size()], [&](LinkId link, std::int64_t parts) {
        const Time whole = transmission_time(bytes_, topology_.link(link).bandwidth);
        load[link] += Time{whole.ps / parts};
      });
    }
    return load;
  }

  static Time busiest(const IdVector<LinkId, Time>& load) {
    return *std::max_element(load.begin(), load.end());
  }

  /// Rings to add next.
  std::vector<RingOrder> options() {
    std::vector<RingOrder> result = {searched()};
    const std::size_t per_host = hosts_.front().size();
    const bool even = std::all_of(hosts_.begin(), hosts_.end(),
                                  [&](const auto& host) { return host.size() == per_host; });
    for (std::size_t shift = 1; even && shift < per_host; ++shift) {
      result.push_back(shifted(rings_.front(), hosts_, shift));
    }
    result.emplace_back(rings_.back().rbegin(), rings_.back().rend());
    return result;
  }

  const Topology& topology_;
  const Bytes bytes_;
  Router& router_;
  const std::vector<std::vector<NodeId>> hosts_;
  std::vector<NodeId> ranks_;  // grouped by host
  std::vector<RingOrder> rings_;
  IdVector<LinkId, Time> load_;
  Time busiest_;
};

}  // namespace

std::vector<RingOrder> ring_orders(const Topology& topology, const std::vector<NodeId>& ranks,
                                   Bytes bytes, Router& router) {
  return RingSearch(topology, ranks, bytes, router).find();
}

RingOrder ring_order(const Topology& topology, const std::vector<NodeId>& ranks, Bytes bytes,
                     Router& router) {
  return RingSearch(topology, ranks, bytes, router).searched();
}

}  // namespace stellwerk
