// Event by event, idle links choose among the moves that wait for them. Moves of one hop differ in
// their priorities only, so a link looks at the first move of each of its hops; a hop that cannot
// start is out of sight until the link that stands in its way is freed, wherever that is. Without
// that, a big switch costs a look at all ports for every event. With shared links a move may start at
// part of its rate: two halves of a fast link feed two slow ones, and a link does not idle because
// half of it is taken (on fabrics with halved links 6% above the bound become 0.3%).
//
// A hop takes its links one after the other, shifted by latencies. Where all hops over a link are
// shifted alike the engine's clock is simply that of the hop's start; else a link is held longer by
// the difference. Guarantee: capacities and precedence, exactly, in integers. Cost: O(log) for every
// move and a look at the hops that can start. Held to its word by move_schedule_test.cpp, with the
// verifier.
#include "stellwerk/plan/list_moves.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

namespace stellwerk {
namespace {

constexpr int kPoll = 4096;             // events between looks at the clock
constexpr std::int64_t kLeastPart = 8;  // a slow start has at least that part of the rate

class Engine {
 public:
  Engine(const ParcelHops& hops, const std::vector<double>& priority, const ListOptions& options,
         const StopCondition& stop)
      : hops_(hops),
        topology_(hops.topology()),
        options_(options),
        stop_(stop),
        left_(topology_.links().size()),
        waiting_(hops.hops().size()),
        place_(hops.hops().size(), kNowhere),
        open_(topology_.links().size()),
        awake_(topology_.links().size(), false),
        blocked_(topology_.links().size()) {
    for (const LinkId id : topology_.link_ids()) {
      left_[id.index()] = topology_.link(id).bandwidth.bytes_per_second;
    }
    find_holds();
    for (const ParcelHop& hop : hops.hops()) {
      const auto links = hops.links(hop);
      gate_.push_back((options.backwards ? links.back() : links.front()).value);
    }
    if (options.choice == Choice::fullest) to_do_ = hops.busy();
    moves_.resize(hops.moves());
    for (std::uint32_t m = 0; m < hops.moves(); ++m) {
      const std::uint32_t parcel = hops.parcel(m);
      moves_[m] = {priority[m], hops.parcels()[parcel].bytes, hops.hop_number(m),
                   options.backwards ? m == hops.first_move(parcel) : hops.is_last(m)};
    }
  }

  MoveTimes run() && {
    result_.starts.assign(hops_.moves(), 0);
    if (options_.slow_start) result_.rates.assign(hops_.moves(), 0);
    for (std::size_t i = 0; i < hops_.parcels().size(); ++i) {
      if (hops_.first_move(i) == hops_.end_move(i)) continue;
      const std::int64_t ready = options_.backwards ? 0 : hops_.parcels()[i].ready.ps;
      const std::uint32_t move = options_.backwards ? hops_.end_move(i) - 1 : hops_.first_move(i);
      if (ready == 0) {
        enqueue(move);
      } else {
        events_.push({ready, move, 0, 0});
      }
    }
    result_.finish = 0;
    while (true) {
      dispatch();
      if (events_.empty()) break;
      if (++polls_ % kPoll == 0 && stop_.should_stop()) return {};
      now_ = events_.top().time;
      while (!events_.empty() && events_.top().time == now_) {
        const Event event = events_.top();
        events_.pop();
        if (event.links == 0) {
          enqueue(event.number);
        } else {
          for (std::uint32_t k = 0; k < event.links; ++k) {
            release(hops_.all_links()[event.number + k].index(), event.rate);
          }
        }
      }
    }
    return std::move(result_);
  }

 private:
  static constexpr std::uint32_t kNowhere = UINT32_MAX;

  struct Event {
    std::int64_t time;
    std::uint32_t number;  // of a move that can start, or of the first of the links that are freed
    std::uint32_t links;   // how many; 0: a move
    std::int64_t rate;     // that the links get back
    friend bool operator>(const Event& a, const Event& b) {
      return std::tie(a.time, a.links, a.number) > std::tie(b.time, b.links, b.number);
    }
  };
  /// What is asked of a move, side by side in memory.
  struct Move {
    double priority;
    Bytes bytes;
    std::uint32_t hop;
    bool last;  ///< of its parcel, in the direction of the engine's time
  };
  struct Waiting {
    double priority;
    std::uint32_t move;
    friend bool operator<(const Waiting& a, const Waiting& b) {
      return a.priority != b.priority ? a.priority < b.priority : a.move > b.move;
    }
  };
  struct OpenHop {
    Waiting first;
    std::uint32_t hop;
  };

  /// Latency before a link in the direction of the engine's time.
  std::int64_t offset(const ParcelHop& hop, std::size_t k) const {
    const std::int64_t before = hops_.offsets(hop)[k];
    if (!options_.backwards) return before;
    return hop.latency - before - topology_.link(hops_.links(hop)[k]).latency.ps;
  }

  /// How much longer than it is in use a hop holds each of its links.
  void find_holds() {
    std::vector<std::int64_t> least(topology_.links().size(), INT64_MAX);
    for (const ParcelHop& hop : hops_.hops()) {
      const auto links = hops_.links(hop);
      for (std::size_t k = 0; k < links.size(); ++k) {
        std::int64_t& at = least[links[k].index()];
        at = std::min(at, offset(hop, k));
      }
    }
    hold_.resize(hops_.all_links().size());
    for (const ParcelHop& hop : hops_.hops()) {
      const auto links = hops_.links(hop);
      for (std::size_t k = 0; k < links.size(); ++k) {
        hold_[hop.begin + k] = offset(hop, k) - least[links[k].index()];
      }
    }
  }

  void enqueue(std::uint32_t move) {
    const std::uint32_t hop = moves_[move].hop;
    std::vector<Waiting>& queue = waiting_[hop];
    queue.push_back({moves_[move].priority, move});
    std::push_heap(queue.begin(), queue.end());
    if (queue.size() == 1) {
      open(hop);
    } else {
      update(hop);
    }
    wake(static_cast<std::size_t>(gate_[hop]));
  }
  void wake(std::size_t link) {
    if (awake_[link]) return;
    awake_[link] = true;
    woken_.push_back(static_cast<std::uint32_t>(link));
  }
  void release(std::size_t link, std::int64_t rate) {
    left_[link] += rate;
    wake(link);
    for (const std::uint32_t hop : blocked_[link]) {
      open(hop);
      wake(static_cast<std::size_t>(gate_[hop]));
    }
    blocked_[link].clear();
  }

  void open(std::uint32_t hop) {
    std::vector<OpenHop>& hops = open_[static_cast<std::size_t>(gate_[hop])];
    place_[hop] = static_cast<std::uint32_t>(hops.size());
    hops.push_back({waiting_[hop].front(), hop});
  }
  void close(std::uint32_t hop) {
    std::vector<OpenHop>& hops = open_[static_cast<std::size_t>(gate_[hop])];
    hops[place_[hop]] = hops.back();
    place_[hops.back().hop] = place_[hop];
    hops.pop_back();
    place_[hop] = kNowhere;
  }
  /// Another move of the hop may be the first.
  void update(std::uint32_t hop) {
    if (place_[hop] == kNowhere) return;
    open_[static_cast<std::size_t>(gate_[hop])][place_[hop]].first = waiting_[hop].front();
  }

  /// What a gate would start next.
  struct Candidate {
    Waiting first;
    double to_do;
    std::uint32_t hop = kNowhere;
    std::int64_t rate = 0;

    bool better_than(const Candidate& other) const {
      if (other.hop == kNowhere) return hop != kNowhere;
      if (hop == kNowhere) return false;
      return to_do != other.to_do ? to_do > other.to_do : other.first < first;
    }
  };

  Candidate choose(std::size_t gate) {
    Candidate best;
    if (left_[gate] == 0) return best;
    std::vector<OpenHop>& hops = open_[gate];
    for (std::size_t k = 0; k < hops.size();) {
      const std::uint32_t number = hops[k].hop;
      Candidate candidate{hops[k].first, 0, number, 0};
      if (options_.choice == Choice::priority && !candidate.better_than(best)) {
        ++k;
        continue;
      }
      const ParcelHop& hop = hops_.hops()[number];
      if (options_.choice == Choice::fullest) {
        for (const LinkId id : hops_.links(hop)) {
          if (id.index() != gate) {
            candidate.to_do = std::max(candidate.to_do, to_do_[id.index()]);
          }
        }
      }
      if (!candidate.better_than(best)) {
        ++k;
        continue;
      }
      std::size_t in_the_way = gate;
      candidate.rate = rate_now(hop, in_the_way);
      if (candidate.rate > 0) {
        best = candidate;
      } else if (in_the_way != gate) {
        close(number);  // another one is at its place now
        blocked_[in_the_way].push_back(number);
        continue;
      }
      ++k;
    }
    return best;
  }

  void dispatch() {
    if (woken_.empty()) return;
    turn_.clear();
    for (const std::uint32_t gate : woken_) {
      awake_[gate] = false;
      const Candidate candidate = choose(gate);
      if (candidate.hop != kNowhere) turn_.push_back(candidate);
    }
    woken_.clear();
    // The most urgent first; what one starts may be in the way of others.
    std::sort(turn_.begin(), turn_.end(),
              [](const Candidate& a, const Candidate& b) { return b.first < a.first; });
    for (const Candidate& first : turn_) {
      const auto gate = static_cast<std::size_t>(gate_[first.hop]);
      std::size_t in_the_way = gate;
      Candidate next = first;
      if (rate_now(hops_.hops()[first.hop], in_the_way) != first.rate) next = choose(gate);
      while (next.hop != kNowhere) {
        start(next);
        next = choose(gate);
      }
    }
  }

  /// The rate at which a move can start now; 0: it cannot. `in_the_way`: a link that keeps it.
  std::int64_t rate_now(const ParcelHop& hop, std::size_t& in_the_way) const {
    std::int64_t rate = hop.rate;
    for (const LinkId id : hops_.links(hop)) {
      const std::int64_t left = left_[id.index()];
      const std::int64_t usable =
          options_.share || left == topology_.link(id).bandwidth.bytes_per_second ? left : 0;
      if (usable >= rate) continue;
      in_the_way = id.index();
      if (!options_.slow_start || usable < hop.rate / kLeastPart || usable == 0) return 0;
      rate = usable;
    }
    return rate;
  }

  void start(const Candidate& chosen) {
    std::vector<Waiting>& queue = waiting_[chosen.hop];
    std::pop_heap(queue.begin(), queue.end());
    queue.pop_back();
    if (queue.empty()) {
      close(chosen.hop);
    } else {
      update(chosen.hop);
    }
    const std::uint32_t move = chosen.first.move;
    const ParcelHop& hop = hops_.hops()[chosen.hop];
    const std::int64_t duration = transmission_time(moves_[move].bytes, Bandwidth{chosen.rate}).ps;
    result_.starts[move] = now_;
    if (options_.slow_start) result_.rates[move] = chosen.rate;
    const auto links = hops_.links(hop);
    for (std::size_t k = 0; k < links.size(); ++k) {
      const std::size_t link = links[k].index();
      const std::int64_t all = topology_.link(links[k]).bandwidth.bytes_per_second;
      left_[link] -= options_.share ? chosen.rate : all;
      if (options_.choice == Choice::fullest) {
        to_do_[link] -= static_cast<double>(moves_[move].bytes.value) / static_cast<double>(all);
      }
    }
    for (std::size_t k = 0; k < links.size();) {
      // Links that are freed together.
      const std::size_t first = k;
      const auto taken = [&](std::size_t i) {
        return options_.share ? chosen.rate : topology_.link(links[i]).bandwidth.bytes_per_second;
      };
      while (k < links.size() && hold_[hop.begin + k] == hold_[hop.begin + first] &&
             taken(k) == taken(first)) {
        ++k;
      }
      events_.push({now_ + duration + hold_[hop.begin + first],
                    static_cast<std::uint32_t>(hop.begin + first),
                    static_cast<std::uint32_t>(k - first), taken(first)});
    }
    const std::int64_t arrival = now_ + duration + hop.latency;
    result_.finish = std::max(result_.finish, arrival);
    if (moves_[move].last) return;
    events_.push({arrival, options_.backwards ? move - 1 : move + 1, 0, 0});
  }

  const ParcelHops& hops_;
  const Topology& topology_;
  const ListOptions& options_;
  const StopCondition& stop_;
  std::vector<Move> moves_;
  std::vector<std::int64_t> left_;             // bandwidth, by link
  std::vector<std::int64_t> hold_;             // by place in the list of the hops' links
  std::vector<std::int32_t> gate_;             // the link at which a hop's moves wait: its first
  std::vector<std::vector<Waiting>> waiting_;  // heaps of moves, by hop
  std::vector<std::uint32_t> place_;           // of an open hop among those of its gate
  std::vector<std::vector<OpenHop>> open_;     // by gate: hops with moves that may be able to start
  std::vector<bool> awake_;
  std::vector<std::uint32_t> woken_;
  std::vector<Candidate> turn_;
  std::vector<std::vector<std::uint32_t>>
      blocked_;  // hops that are open again when a link is freed
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<double> to_do_;
  std::int64_t now_ = 0;
  int polls_ = 0;
  MoveTimes result_;
};

}  // namespace

MoveTimes list_moves(const ParcelHops& hops, const std::vector<double>& priority,
                     const ListOptions& options, const StopCondition& stop) {
  return Engine(hops, priority, options, stop).run();
}

}  // namespace stellwerk
