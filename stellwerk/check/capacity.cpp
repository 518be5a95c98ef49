// The interval order of a schedule on its resources.
//
// Problem. Re-timing must keep every link, node limit and switch within capacity, without looking
// at rates again.
//
// Idea. On one resource, let B wait for A iff A's window ended at or before the instant at which
// B's began. Claim: any starts that respect this order keep the capacity. Windows that share an
// instant in the new schedule overlap pairwise, so none of them waits for another, so they
// overlapped pairwise in the input; pairwise overlapping intervals share a point (Helly in
// dimension one), and there the input's amounts summed to at most the capacity. The argument does
// not look at durations, so it also holds under another network as long as the amounts do not grow.
//
// Nominal inputs, or networks with less capacity, may have instants at which the windows claim too
// much. A sweep in order of beginnings then ends active windows early, those first that would end
// first, until the next one fits: again an interval order, with every point within capacity.
//
// Encoding. Where only one window is active at a time, a chain. Otherwise *instants*: one for each
// run of endings between beginnings; windows that end point to it, windows that begin later are
// pointed to by the latest instant, and instants are chained: linear in the number of windows.
//
// Transit buffers obey the same argument with the stays of chunks as intervals: from the first byte
// in to the end of the last send out (or of the last arrival, if that is later). Nominal inputs are
// not made to fit a buffer.
//
// Complexity: O(U log U) for U uses, O(U) if they are sorted. Test: simulate_test.cpp.
#include "stellwerk/check/capacity.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <span>
#include <tuple>
#include <utility>

namespace stellwerk {
namespace {

std::size_t index(std::int32_t number) { return static_cast<std::size_t>(number); }

}  // namespace

CapacityUses::CapacityUses(const Topology& topology, const Schedule& sends,
                           const SendShapes& shapes) {
  const std::size_t links = topology.links().size();
  const std::size_t nodes = topology.nodes().size();
  const std::size_t injection = links;
  const std::size_t ejection = links + nodes;
  constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
  capacity_.assign(links + 3 * nodes, kUnlimited);
  for (const LinkId id : topology.link_ids())
    capacity_[id.index()] = topology.link(id).bandwidth.bytes_per_second;
  bool node_limits = false;
  bool group_limits = false;
  for (const NodeId id : topology.node_ids()) {
    const Node& node = topology.node(id);
    if (node.injection) capacity_[injection + id.index()] = node.injection->bytes_per_second;
    if (node.ejection) capacity_[ejection + id.index()] = node.ejection->bytes_per_second;
    if (node.max_groups) capacity_[ejection + nodes + id.index()] = *node.max_groups;
    node_limits = node_limits || node.injection || node.ejection;
    group_limits = group_limits || node.max_groups;
  }
  uses_.reserve(sends.size());
  first_.reserve(sends.size() + 1);
  for (std::size_t i = 0; i < sends.size(); ++i) {
    first_.push_back(uses_.size());
    const std::int64_t rate = sends[i].rate.bytes_per_second;
    const auto number = static_cast<std::int32_t>(i);
    const SendShapes::Range on_links = shapes.links(i);
    for (std::int32_t event = on_links.first; event < on_links.last; ++event) {
      uses_.push_back({shapes.link(event).value, number, shapes.offset(event), rate});
    }
    if (node_limits) {
      const auto add = [&](std::size_t resource, std::int64_t begin) {
        if (capacity_[resource] == kUnlimited) return;
        uses_.push_back({static_cast<std::int32_t>(resource), number, begin, rate});
      };
      for (std::int32_t event = on_links.first; event < on_links.last; ++event) {
        const Link& link = topology.link(shapes.link(event));
        add(injection + link.from.index(), shapes.offset(event));
        add(ejection + link.to.index(), shapes.offset(event) + link.latency.ps);
      }
    }
    if (group_limits && on_links.size() > 2) add_groups(topology, sends[i], shapes, i);
  }
  first_.push_back(uses_.size());
}

/// A multicast is in progress at a switch while it leaves it, on two links or more.
void CapacityUses::add_groups(const Topology& topology, const Send& send, const SendShapes& shapes,
                              std::size_t number) {
  const std::size_t groups = topology.links().size() + 2 * topology.nodes().size();
  std::map<NodeId, int> leaving;
  for (std::size_t k = 0; k < send.links.size(); ++k) {
    const NodeId node = topology.link(send.links[k]).from;
    if (!topology.node(node).max_groups || ++leaving[node] != 2) continue;
    const std::int32_t event = shapes.links(number).first + static_cast<std::int32_t>(k);
    uses_.push_back({static_cast<std::int32_t>(groups + node.index()),
                     static_cast<std::int32_t>(number), shapes.offset(event), 1});
  }
}

namespace {

/// A nominal window on one resource.
struct Window {
  std::int64_t begin;
  std::int32_t rank;
  std::int32_t use;  // position in CapacityUses::all()
};

class CapacityOrder {
 public:
  CapacityOrder(const NominalTimes& nominal, UseOrder order, const CapacityUses& uses,
                const SendShapes& shapes, std::vector<DifferenceArc>& arcs,
                std::vector<std::int64_t>& lower, std::vector<std::int64_t>& known)
      : nominal_(nominal),
        order_(order),
        uses_(uses),
        shapes_(shapes),
        arcs_(arcs),
        lower_(lower),
        known_(known) {}

  void run() {
    // Buckets by resource, filled in order of rank so that they are nearly sorted.
    const std::vector<CapacityUse>& all = nominal_.uses->all();
    std::vector<std::size_t> first(nominal_.uses->resources() + 1, 0);
    for (const CapacityUse& use : all) ++first[index(use.resource) + 1];
    std::partial_sum(first.begin(), first.end(), first.begin());
    std::vector<std::int32_t> by_rank(nominal_.rank.size());
    for (std::size_t i = 0; i < by_rank.size(); ++i)
      by_rank[index(nominal_.rank[i])] = static_cast<std::int32_t>(i);
    std::vector<Window> windows(all.size());
    std::vector<std::size_t> next(first.begin(), first.end() - 1);
    for (const std::int32_t send : by_rank) {
      for (std::size_t u = nominal_.uses->first(index(send));
           u < nominal_.uses->first(index(send) + 1); ++u) {
        windows[next[index(all[u].resource)]++] = {nominal_.starts[index(send)] + all[u].begin,
                                                   nominal_.rank[index(send)],
                                                   static_cast<std::int32_t>(u)};
      }
    }
    for (std::size_t r = 0; r + 1 < first.size(); ++r) {
      if (first[r + 1] - first[r] < 2) continue;
      const auto begin = windows.begin() + static_cast<std::ptrdiff_t>(first[r]);
      const auto end = windows.begin() + static_cast<std::ptrdiff_t>(first[r + 1]);
      if (order_ == UseOrder::by_window) {
        const auto less = [](const Window& a, const Window& b) {
          return std::tie(a.begin, a.rank) < std::tie(b.begin, b.rank);
        };
        if (!std::is_sorted(begin, end, less)) std::sort(begin, end, less);
      }
      order_windows(std::span<const Window>(begin, end), uses_.capacity(r));
    }
  }

 private:
  const CapacityUse& use(const Window& window) const { return uses_.all()[index(window.use)]; }
  std::int64_t end(const Window& window) const {
    return window.begin + nominal_.shapes->duration(index(use(window).send));
  }
  /// Offsets of a window in the network for which times are sought.
  std::int64_t begin_offset(const Window& window) const { return use(window).begin; }
  std::int64_t end_offset(const Window& window) const {
    return use(window).begin + shapes_.duration(index(use(window).send));
  }

  void order_windows(std::span<const Window> windows, std::int64_t capacity) {
    bool serial = true;
    bool exclusive = true;
    for (std::size_t i = 0; i < windows.size(); ++i) {
      exclusive = exclusive && use(windows[i]).amount > capacity / 2;
      if (i > 0) serial = serial && end(windows[i - 1]) <= windows[i].begin;
    }
    if (!serial && !exclusive) return sweep(windows, capacity);
    for (std::size_t i = 1; i < windows.size(); ++i) {
      arcs_.push_back({use(windows[i - 1]).send, use(windows[i]).send,
                       end_offset(windows[i - 1]) - begin_offset(windows[i])});
    }
  }

  void sweep(std::span<const Window> windows, std::int64_t capacity) {
    using Active = std::pair<std::int64_t, std::size_t>;  // nominal end, window
    std::priority_queue<Active, std::vector<Active>, std::greater<>> active;
    std::int64_t claimed = 0;
    std::int32_t instant = -1;  // the latest
    for (std::size_t i = 0; i < windows.size(); ++i) {
      const std::int64_t amount = use(windows[i]).amount;
      bool ended = false;
      while (!active.empty() &&
             (active.top().first <= windows[i].begin || claimed > capacity - amount)) {
        const Window& last = windows[active.top().second];
        const std::int64_t at = active.top().first;
        active.pop();
        claimed -= use(last).amount;
        if (!ended) {
          const std::int32_t previous = instant;
          instant = new_instant(at);
          if (previous >= 0) arcs_.push_back({previous, instant, 0});
          ended = true;
        }
        known_.back() = std::max(known_.back(), at);
        arcs_.push_back({use(last).send, instant, end_offset(last)});
      }
      if (instant >= 0) arcs_.push_back({instant, use(windows[i]).send, -begin_offset(windows[i])});
      active.emplace(end(windows[i]), i);
      claimed += amount;
    }
  }

  std::int32_t new_instant(std::int64_t time) {
    lower_.push_back(kNoLowerBound);
    known_.push_back(time);
    return static_cast<std::int32_t>(lower_.size()) - 1;
  }

  const NominalTimes& nominal_;
  UseOrder order_;
  const CapacityUses& uses_;
  const SendShapes& shapes_;
  std::vector<DifferenceArc>& arcs_;
  std::vector<std::int64_t>& lower_;
  std::vector<std::int64_t>& known_;
};

/// The stay of a chunk in a transit buffer.
struct Stay {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max();
  std::int64_t end = std::numeric_limits<std::int64_t>::min();
  std::vector<Arrival> in, out;  // leaf and source events
};

}  // namespace

void add_capacity_order(const NominalTimes& nominal, UseOrder order, const CapacityUses& uses,
                        const SendShapes& shapes, std::vector<DifferenceArc>& arcs,
                        std::vector<std::int64_t>& lower, std::vector<std::int64_t>& known) {
  CapacityOrder(nominal, order, uses, shapes, arcs, lower, known).run();
}

void add_buffer_order(const Problem& problem, const Schedule& sends, const NominalTimes& nominal,
                      const SendShapes& shapes, std::vector<DifferenceArc>& arcs,
                      std::vector<std::int64_t>& lower, std::vector<std::int64_t>& known) {
  std::map<std::pair<NodeId, ChunkId>, Stay> stays;
  const auto in_transit = [&](NodeId node, ChunkId id) {
    if (!problem.topology.node(node).buffer) return false;
    const Chunk& chunk = problem.chunks[id];
    for (const auto* list : {&chunk.origins, &chunk.destinations, &chunk.contributors}) {
      if (std::find(list->begin(), list->end(), node) != list->end()) return false;
    }
    return true;
  };
  const SendShapes& old = *nominal.shapes;
  for (std::size_t i = 0; i < sends.size(); ++i) {
    const auto number = static_cast<std::int32_t>(i);
    for (std::int32_t event = old.leaves(i).first; event < old.leaves(i).last; ++event) {
      if (!in_transit(old.node(event), sends[i].chunk)) continue;
      Stay& stay = stays[{old.node(event), sends[i].chunk}];
      const std::int64_t arrival = nominal.starts[i] + old.offset(event);
      stay.begin = std::min(stay.begin, arrival - old.duration(i));
      stay.end = std::max(stay.end, arrival);
      stay.in.push_back({number, event});
    }
    for (std::int32_t event = old.sources(i).first; event < old.sources(i).last; ++event) {
      if (!in_transit(old.node(event), sends[i].chunk)) continue;
      Stay& stay = stays[{old.node(event), sends[i].chunk}];
      stay.end = std::max(stay.end, nominal.starts[i] + old.offset(event) + old.duration(i));
      stay.out.push_back({number, event});
    }
  }
  std::vector<const Stay*> here;
  for (auto it = stays.begin(); it != stays.end();) {
    const NodeId node = it->first.first;
    here.clear();
    for (; it != stays.end() && it->first.first == node; ++it) here.push_back(&it->second);
    std::stable_sort(here.begin(), here.end(),
                     [](const Stay* a, const Stay* b) { return a->begin < b->begin; });
    std::vector<const Stay*> by_end(here);
    std::stable_sort(by_end.begin(), by_end.end(),
                     [](const Stay* a, const Stay* b) { return a->end < b->end; });
    std::size_t ended = 0;
    std::int32_t instant = -1;
    for (const Stay* stay : here) {
      if (ended < by_end.size() && by_end[ended]->end <= stay->begin) {
        const std::int32_t previous = instant;
        instant = static_cast<std::int32_t>(lower.size());
        lower.push_back(kNoLowerBound);
        known.push_back(kNoLowerBound);
        if (previous >= 0) arcs.push_back({previous, instant, 0});
        for (; ended < by_end.size() && by_end[ended]->end <= stay->begin; ++ended) {
          known.back() = std::max(known.back(), by_end[ended]->end);
          for (const Arrival& in : by_end[ended]->in)
            arcs.push_back({in.send, instant, shapes.offset(in.event)});
          for (const Arrival& out : by_end[ended]->out) {
            const std::size_t send = index(out.send);
            arcs.push_back({out.send, instant, shapes.offset(out.event) + shapes.duration(send)});
          }
        }
      }
      if (instant < 0) continue;
      for (const Arrival& in : stay->in) {
        const std::size_t send = index(in.send);
        arcs.push_back({instant, in.send, shapes.duration(send) - shapes.offset(in.event)});
      }
    }
  }
}

}  // namespace stellwerk
