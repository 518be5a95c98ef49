// AllToAll(V) on boxes and rails.
//
// Problem. Every GPU has something for every other, of any size (mixture of experts: a few are sent
// very much). Boxes are fast inside; between boxes there are rails, each a switch that joins one GPU
// of every box. A chunk for another box may change to any rail inside its box, at the price of a hop
// there, and change back after the rail. Plans are needed between two steps of training, so in
// milliseconds.
//
// Idea. What can be a bottleneck are the NICs of a box, taken together.
//   1. Rails (choose_rails): chunk by chunk, large ones of a pair of boxes first, the rail on which the
//      two NICs would be done first, a hop inside a box counted as the time it takes. So small
//      chunks stay on the rails of their ends, and large ones even out the NICs.
//   2. Ways in (enter_rails): hops to the GPUs on the rails, round by round of a rotation of boxes,
//      each as early as it goes.
//   3. Rails (Rail): an open shop for each, event by event: of the NICs that are free to send, the one
//      with most to do yet takes, of the free receivers that it has something for, the one with most to
//      come yet. A NIC whose data is not there yet does not wait for it.
//   4. Ways out (leave_rails): hops to the destinations in the order of arrival, and traffic that stays
//      in its box, fill the gaps that are left.
//
// Guarantee. Valid plans. Open-shop schedules that never leave a pair of idle ports unused end within
// twice the bound (Racsmany, see Barany and Fiala 1982); in practice, with many chunks a NIC, within
// a percent or two. Complexity: chunks * rails for (1); for every send on a rail a look at the boxes in (3);
// logarithms and short scans in (4). Test: rails_test.cpp; figures: docs/benchmarks.md.
#include "stellwerk/plan/rails.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "stellwerk/plan/busy_times.hpp"
#include "stellwerk/plan/rail_fabric.hpp"

namespace stellwerk {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

std::size_t index(std::int32_t number) { return static_cast<std::size_t>(number); }

/// What it cannot do, in words; empty if it can.
std::string objection(const Problem& problem) {
  for (const Node& node : problem.topology.nodes()) {
    if (node.buffer || node.injection || node.ejection) {
      return "it keeps no limits of nodes (" + node.name + " has one)";
    }
  }
  for (const Chunk& chunk : problem.chunks) {
    if (chunk.is_reduction() || chunk.origins.size() != 1 || chunk.destinations.size() != 1) {
      return "it takes chunks with one origin and one destination only";
    }
  }
  return "";
}

class RailsPlan {
 public:
  RailsPlan(const Problem& problem, RailFabric fabric, PlannerContext& context)
      : problem_(problem),
        fabric_(std::move(fabric)),
        context_(context),
        box_up_(problem.topology.nodes().size()),
        box_down_(problem.topology.nodes().size()) {}

  /// False, and the reason in `why`, if some chunk cannot be sent or the time is up.
  bool run(std::string& why) {
    if (!choose_rails(why)) return false;
    enter_rails();
    for (std::size_t r = 0; r < fabric_.rails; ++r) {
      if (context_.stop.should_stop()) {
        why = "no plan before the limit";
        return false;
      }
      ride(r);
    }
    leave_rails();
    return true;
  }

  Schedule take() { return std::move(sends_); }

 private:
  /// A chunk on its way to another box: which rail, and since when it is where it is.
  struct Parcel {
    ChunkId chunk;
    NodeId from, to;  // ends
    NodeId on, off;   // GPUs on the rail
    std::int64_t bytes;
    std::int64_t at;  // ready; then there to go on the rail; then off it
  };
  struct Local {
    ChunkId chunk;
    NodeId from, to;
    std::int64_t bytes, ready;
  };

  const RailGpu& gpu(NodeId id) const { return fabric_.gpus[id]; }

  static std::int64_t duration(std::int64_t bytes, std::int64_t rate) {
    return transmission_time(Bytes{bytes}, Bandwidth{rate}).ps;
  }

  void send(ChunkId chunk, std::int64_t start, std::int64_t rate, const RailPort& up,
            const RailPort& down) {
    sends_.push_back({chunk,
                      Op::copy,
                      Time{start},
                      Bandwidth{rate},
                      {up.link, down.link},
                      Bytes{0},
                      problem_.chunks[chunk].bytes});
  }

  /// A hop inside a box in the first gap from `ready` on; returns when it has arrived.
  std::int64_t hop_in_box(ChunkId chunk, NodeId from, NodeId to, std::int64_t bytes,
                          std::int64_t ready) {
    const RailPort& up = gpu(from).box_up;
    const RailPort& down = gpu(to).box_down;
    const std::int64_t rate = std::min(up.rate, down.rate);
    const std::int64_t takes = duration(bytes, rate);
    const std::int64_t start =
        earliest_on_both(box_up_[from], box_down_[to], up.latency, ready, takes);
    box_up_[from].take(start, takes);
    box_down_[to].take(start + up.latency, takes);
    send(chunk, start, rate, up, down);
    return start + up.latency + down.latency + takes;
  }

  bool choose_rails(std::string& why) {
    // By pair of boxes, since what is small of one pair may be large of another.
    const std::size_t boxes = fabric_.boxes;
    std::vector<std::vector<std::int32_t>> pairs(boxes * boxes);
    for (const ChunkId id : problem_.chunk_ids()) {
      const Chunk& chunk = problem_.chunks[id];
      const NodeId from = chunk.origins.front(), to = chunk.destinations.front();
      if (from == to) continue;
      const auto p = index(gpu(from).box), q = index(gpu(to).box);
      if (p == q) {
        local_.push_back({id, from, to, chunk.bytes.value, chunk.ready.ps});
      } else {
        pairs[p * boxes + q].push_back(id.value);
      }
    }
    // Seconds of NICs are counted in ps.
    std::vector<std::int64_t> up(boxes * fabric_.rails, 0), down(up);
    on_rail_.resize(fabric_.rails);
    for (std::size_t shift = 1; shift < boxes; ++shift) {
      for (std::size_t p = 0; p < boxes; ++p) {
        const std::size_t q = (p + shift) % boxes;
        std::vector<std::int32_t>& chunks = pairs[p * boxes + q];
        std::stable_sort(chunks.begin(), chunks.end(), [&](std::int32_t a, std::int32_t b) {
          return problem_.chunks[ChunkId(a)].bytes > problem_.chunks[ChunkId(b)].bytes;
        });
        for (const std::int32_t number : chunks) {
          const ChunkId id(number);
          const Chunk& chunk = problem_.chunks[id];
          const NodeId from = chunk.origins.front(), to = chunk.destinations.front();
          std::int64_t best = kNever;
          std::size_t best_rail = fabric_.rails;
          // Its own rails come first among equals.
          const auto consider = [&](std::size_t r) {
            const NodeId on = fabric_.member[p][r], off = fabric_.member[q][r];
            if (!on.valid() || !off.valid()) return;
            if ((on != from && !problem_.may_forward(on, chunk.job)) ||
                (off != to && !problem_.may_forward(off, chunk.job))) {
              return;
            }
            const std::int64_t takes = duration(
                chunk.bytes.value, std::min(gpu(on).rail_up.rate, gpu(off).rail_down.rate));
            std::int64_t cost =
                std::max(up[p * fabric_.rails + r], down[q * fabric_.rails + r]) + takes;
            if (on != from) cost += hop_time(from, on, chunk.bytes.value);
            if (off != to) cost += hop_time(off, to, chunk.bytes.value);
            if (cost >= best) return;
            best = cost;
            best_rail = r;
          };
          if (gpu(from).rail >= 0) consider(index(gpu(from).rail));
          if (gpu(to).rail >= 0) consider(index(gpu(to).rail));
          for (std::size_t r = 0; r < fabric_.rails; ++r) consider(r);
          if (best_rail == fabric_.rails) {
            why = "no rail leads from the box of " + problem_.topology.node(from).name +
                  " to that of " + problem_.topology.node(to).name;
            return false;
          }
          const NodeId on = fabric_.member[p][best_rail], off = fabric_.member[q][best_rail];
          const std::int64_t bytes = chunk.bytes.value;
          up[p * fabric_.rails + best_rail] += duration(bytes, gpu(on).rail_up.rate);
          down[q * fabric_.rails + best_rail] += duration(bytes, gpu(off).rail_down.rate);
          on_rail_[best_rail].push_back({id, from, to, on, off, bytes, chunk.ready.ps});
        }
      }
    }
    sends_.reserve(problem_.chunks.size() * 3);
    return true;
  }

  std::int64_t hop_time(NodeId from, NodeId to, std::int64_t bytes) const {
    const RailPort& up = gpu(from).box_up;
    const RailPort& down = gpu(to).box_down;
    return up.latency + down.latency + duration(bytes, std::min(up.rate, down.rate));
  }

  /// What needs no hop first: the rails begin with that. The order of parcels is by rounds already.
  void enter_rails() {
    // Rails take turns, so that none is served last.
    std::size_t longest = 0;
    for (const auto& parcels : on_rail_) longest = std::max(longest, parcels.size());
    for (std::size_t k = 0; k < longest; ++k) {
      for (std::vector<Parcel>& parcels : on_rail_) {
        if (k >= parcels.size()) continue;
        Parcel& parcel = parcels[k];
        if (parcel.from == parcel.on) continue;
        parcel.at = hop_in_box(parcel.chunk, parcel.from, parcel.on, parcel.bytes, parcel.at);
      }
    }
  }

  /// All parcels of rail `r`, event by event.
  void ride(std::size_t r) {
    std::vector<Parcel>& parcels = on_rail_[r];
    const std::size_t boxes = fabric_.boxes;
    // Of every pair of NICs the parcels in the order in which they are there.
    std::vector<std::uint32_t> order(parcels.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto pair_of = [&](std::uint32_t i) {
      return index(gpu(parcels[i].on).box) * boxes + index(gpu(parcels[i].off).box);
    };
    std::vector<std::uint32_t> first(boxes * boxes + 1, 0);
    for (const std::uint32_t i : order) ++first[pair_of(i) + 1];
    std::partial_sum(first.begin(), first.end(), first.begin());
    {
      std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
      for (std::uint32_t i = 0; i < parcels.size(); ++i) order[next[pair_of(i)]++] = i;
    }
    std::vector<std::int64_t> to_send(boxes, 0), to_come(boxes, 0);
    struct Pair {
      std::uint32_t to, next, end;
    };
    std::vector<std::vector<Pair>> pairs(boxes);
    for (std::size_t p = 0; p < boxes; ++p) {
      for (std::size_t q = 0; q < boxes; ++q) {
        const std::uint32_t begin = first[p * boxes + q], end = first[p * boxes + q + 1];
        if (begin == end) continue;
        // What needs no hop afterwards goes last, of what is there at the same time.
        std::stable_sort(
            order.begin() + begin, order.begin() + end, [&](std::uint32_t a, std::uint32_t b) {
              if (parcels[a].at != parcels[b].at) return parcels[a].at < parcels[b].at;
              return (parcels[a].off != parcels[a].to) > (parcels[b].off != parcels[b].to);
            });
        pairs[p].push_back({static_cast<std::uint32_t>(q), begin, end});
        for (std::uint32_t k = begin; k < end; ++k) {
          to_send[p] += parcels[order[k]].bytes;
          to_come[q] += parcels[order[k]].bytes;
        }
      }
    }
    std::vector<std::int64_t> up_free(boxes, 0), down_free(boxes, 0);
    std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> instants;
    std::vector<std::size_t> senders;
    for (std::size_t p = 0; p < boxes; ++p) {
      if (!pairs[p].empty()) senders.push_back(p);
    }
    instants.push(0);
    std::int64_t last = -1;
    while (!instants.empty() && !senders.empty()) {
      const std::int64_t now = instants.top();
      instants.pop();
      if (now == last) continue;
      last = now;
      std::vector<std::size_t> free;
      for (const std::size_t p : senders) {
        if (up_free[p] <= now) free.push_back(p);
      }
      std::sort(free.begin(), free.end(), [&](std::size_t a, std::size_t b) {
        return std::pair(-to_send[a], a) < std::pair(-to_send[b], b);
      });
      std::int64_t soonest = kNever;  // data that is on its way
      for (const std::size_t p : free) {
        Pair* best = nullptr;
        for (Pair& pair : pairs[p]) {
          if (down_free[pair.to] > now) continue;
          const std::int64_t at = parcels[order[pair.next]].at;
          if (at > now) {
            soonest = std::min(soonest, at);
          } else if (best == nullptr || to_come[pair.to] > to_come[best->to]) {
            best = &pair;
          }
        }
        if (best == nullptr) continue;
        Parcel& parcel = parcels[order[best->next]];
        const RailPort& up = gpu(parcel.on).rail_up;
        const RailPort& down = gpu(parcel.off).rail_down;
        const std::int64_t rate = std::min(up.rate, down.rate);
        const std::int64_t takes = duration(parcel.bytes, rate);
        send(parcel.chunk, now, rate, up, down);
        parcel.at = now + takes + up.latency + down.latency;
        up_free[p] = down_free[best->to] = now + takes;
        instants.push(now + takes);
        to_send[p] -= parcel.bytes;
        to_come[best->to] -= parcel.bytes;
        if (++best->next == best->end) {
          *best = pairs[p].back();
          pairs[p].pop_back();
        }
      }
      std::erase_if(senders, [&](std::size_t p) { return pairs[p].empty(); });
      if (soonest != kNever) instants.push(soonest);
    }
  }

  void leave_rails() {
    std::vector<const Parcel*> arrived;
    for (const std::vector<Parcel>& parcels : on_rail_) {
      for (const Parcel& parcel : parcels) {
        if (parcel.off != parcel.to) arrived.push_back(&parcel);
      }
    }
    std::sort(arrived.begin(), arrived.end(), [](const Parcel* a, const Parcel* b) {
      return std::pair(a->at, a->chunk) < std::pair(b->at, b->chunk);
    });
    for (const Parcel* parcel : arrived) {
      hop_in_box(parcel->chunk, parcel->off, parcel->to, parcel->bytes, parcel->at);
    }
    // Large ones first: small ones find room anywhere.
    std::stable_sort(local_.begin(), local_.end(),
                     [](const Local& a, const Local& b) { return a.bytes > b.bytes; });
    for (const Local& chunk : local_) {
      hop_in_box(chunk.chunk, chunk.from, chunk.to, chunk.bytes, chunk.ready);
    }
  }

  const Problem& problem_;
  RailFabric fabric_;
  PlannerContext& context_;
  IdVector<NodeId, BusyTimes> box_up_, box_down_;
  std::vector<std::vector<Parcel>> on_rail_;
  std::vector<Local> local_;
  Schedule sends_;
};

}  // namespace

PlannerOutcome plan_rails(const Problem& problem, const PlanOptions& /*options*/,
                          PlannerContext& context) {
  PlannerOutcome outcome;
  outcome.termination.reason = Termination::Reason::unsupported;
  outcome.message = objection(problem);
  if (!outcome.message.empty()) return outcome;
  std::optional<RailFabric> fabric = find_rail_fabric(problem.topology, outcome.message);
  if (!fabric) return outcome;
  RailsPlan plan(problem, std::move(*fabric), context);
  if (!plan.run(outcome.message)) {
    const Limit limit = context.stop.reached();
    if (limit != Limit::none) outcome.termination = {Termination::Reason::no_solution, limit};
    return outcome;
  }
  outcome.sends = plan.take();
  outcome.termination = {Termination::Reason::feasible, Limit::none};
  return outcome;
}

}  // namespace stellwerk
