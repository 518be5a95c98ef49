// Problem: a hop through a switch needs a port in and a port out at the same time. When all ports
// are loaded, choosing greedily leaves ports idle that had something to do: 3 to 6% at 256 to 1,024
// GPUs on rails. Idea: an edge colouring of the bipartite multigraph of ports and moves (Koenig)
// with as many colours as the fullest port has moves is a schedule of the switch without any idle
// time; its colours are keys for list scheduling, which then also copes with latencies. Moves of a
// parcel before the switch go two rounds (and their latency) earlier than it, those after it later.
// Moves whose parcels need none before the switch are coloured first, so that they tend to the first
// rounds, those that need none after it last. A move that is slower than a switch's fastest port,
// or longer than others, takes several rounds; its key is the first. Guarantee: for moves of one
// length, proper rounds. Cost: a few colours looked at for every move. Held to its word by
// move_schedule_test.cpp and flow_planner_test.cpp.
#include "stellwerk/plan/crossbar_order.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "stellwerk/graph/edge_colouring.hpp"

namespace stellwerk {
namespace {

constexpr double kBusy = 0.5;  // of the fullest link's time: the switch deserves colours
constexpr std::size_t kMostEntries = 100'000'000;  // ports * colours of one switch
constexpr double kLead = 2, kLag = 0.2;            // rounds between moves of a parcel
constexpr int kMostRounds = 64;                    // of one move

class Colouring {
 public:
  Colouring(const ParcelHops& hops, double fullest)
      : hops_(hops), topology_(hops.topology()), fullest_(fullest) {}

  std::vector<float> run() && {
    gather();
    key_.assign(hops_.moves(), kNone);
    for (const NodeId node : topology_.node_ids()) {
      if (!moves_at_[node].empty()) colour(node);
    }
    if (!coloured_) return {};
    spread();
    return std::move(key_);
  }

 private:
  static constexpr float kNone = std::numeric_limits<float>::infinity();

  /// Each move belongs to the busiest of the switches that it passes.
  void gather() {
    moves_at_.resize(topology_.nodes().size());
    IdVector<NodeId, double> busiest(topology_.nodes().size());
    for (const LinkId id : topology_.link_ids()) {
      const Link& link = topology_.link(id);
      const double busy = hops_.busy()[id.index()];
      busiest[link.from] = std::max(busiest[link.from], busy);
      busiest[link.to] = std::max(busiest[link.to], busy);
    }
    std::vector<NodeId> switch_of(hops_.hops().size());
    for (std::size_t h = 0; h < hops_.hops().size(); ++h) {
      const auto links = hops_.links(hops_.hops()[h]);
      double most = kBusy * fullest_;
      for (std::size_t k = 0; k + 1 < links.size(); ++k) {
        const double busy =
            std::max(hops_.busy()[links[k].index()], hops_.busy()[links[k + 1].index()]);
        if (busy < most) continue;
        most = busy;
        switch_of[h] = topology_.link(links[k]).to;
      }
    }
    for (std::uint32_t m = 0; m < hops_.moves(); ++m) {
      const NodeId node = switch_of[hops_.hop_number(m)];
      if (node.valid()) moves_at_[node].push_back(m);
    }
  }

  struct Ports {
    int in, out;
  };
  Ports ports(std::size_t move, NodeId node) const {
    const auto links = hops_.links(hops_.hop(move));
    for (std::size_t k = 0; k + 1 < links.size(); ++k) {
      if (topology_.link(links[k]).to == node) {
        return {port_[links[k].index()], port_[links[k + 1].index()]};
      }
    }
    return {0, 0};
  }

  void colour(NodeId node) {
    port_.assign(topology_.links().size(), -1);
    int ins = 0, outs = 0;
    for (const LinkId id : topology_.in(node)) port_[id.index()] = ins++;
    for (const LinkId id : topology_.out(node)) port_[id.index()] = outs++;
    std::vector<std::uint32_t>& moves = moves_at_[node];
    // Ready at once first, no further way last.
    const auto stage = [&](std::uint32_t m) {
      const bool first = hops_.first_move(hops_.parcel(m)) == m;
      return first == hops_.is_last(m) ? 1 : first ? 0 : 2;
    };
    std::sort(moves.begin(), moves.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(stage(a), a) < std::pair(stage(b), b);
    });
    // A round is as long as a typical short move.
    std::vector<std::int64_t> durations;
    for (const std::uint32_t m : moves) durations.push_back(hops_.duration(m));
    std::vector<std::int64_t> sorted = durations;
    const std::size_t typical = sorted.size() / 4;
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(typical),
                     sorted.end());
    const double round = std::max<double>(1, static_cast<double>(sorted[typical]));
    std::vector<graph::BipartiteEdge> edges;
    std::vector<std::uint32_t> move_of;
    std::vector<std::size_t> degree(static_cast<std::size_t>(ins + outs), 0);
    for (std::size_t k = 0; k < moves.size(); ++k) {
      const Ports at = ports(moves[k], node);
      const long rounds =
          std::clamp<long>(std::lround(static_cast<double>(durations[k]) / round), 1, kMostRounds);
      for (long r = 0; r < rounds; ++r) {
        edges.push_back({at.in, at.out});
        move_of.push_back(moves[k]);
      }
      degree[static_cast<std::size_t>(at.in)] += static_cast<std::size_t>(rounds);
      degree[static_cast<std::size_t>(ins + at.out)] += static_cast<std::size_t>(rounds);
    }
    const std::size_t colours = *std::max_element(degree.begin(), degree.end());
    if (colours * static_cast<std::size_t>(ins + outs) > kMostEntries) return;
    const std::vector<int> colour = graph::colour_edges(ins, outs, edges);
    for (std::size_t e = 0; e < edges.size(); ++e) {
      float& key = key_[move_of[e]];
      key = std::min(key, static_cast<float>(colour[e]) / static_cast<float>(colours));
    }
    round_seconds_ = std::max(round_seconds_, round * 1e-12);
    coloured_ = true;
  }

  /// Moves without a colour follow from those of the same parcel.
  void spread() {
    const double round = round_seconds_ / fullest_;
    const auto time_of = [&](std::uint32_t m) {
      return static_cast<double>(hops_.hop(m).latency + hops_.duration(m)) * 1e-12 / fullest_;
    };
    for (std::size_t i = 0; i < hops_.parcels().size(); ++i) {
      const std::uint32_t first = hops_.first_move(i), end = hops_.end_move(i);
      std::uint32_t pivot = end;
      for (std::uint32_t m = first; m < end; ++m) {
        if (key_[m] != kNone) pivot = m;
      }
      if (pivot == end) {
        // Anywhere; in the middle, the longer ways first.
        for (std::uint32_t m = first; m < end; ++m) {
          key_[m] = static_cast<float>(0.5 - 0.05 * static_cast<double>(end - m));
        }
        continue;
      }
      for (std::uint32_t m = pivot; m-- > first;) {
        key_[m] = static_cast<float>(key_[m + 1] - time_of(m) - kLead * round);
      }
      for (std::uint32_t m = pivot + 1; m < end; ++m) {
        key_[m] = static_cast<float>(key_[m - 1] + time_of(m - 1) + kLag * round);
      }
    }
  }

  const ParcelHops& hops_;
  const Topology& topology_;
  double fullest_;
  IdVector<NodeId, std::vector<std::uint32_t>> moves_at_;
  std::vector<int> port_;
  std::vector<float> key_;
  double round_seconds_ = 0;
  bool coloured_ = false;
};

}  // namespace

std::vector<float> crossbar_order(const ParcelHops& hops, double fullest_seconds) {
  return Colouring(hops, fullest_seconds).run();
}

}  // namespace stellwerk
