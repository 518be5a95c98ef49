// Event-driven list construction of copies.
//
// Problem. Chunks are to be copied from their origins to all their destinations. Choose who sends
// what to whom, and when, without a model of time: the schedule grows along the clock.
//
// Idea. Whenever something changes (a link falls idle, a chunk arrives) the links concerned look for
// work: a link between two nodes takes the rarest chunk that its tail holds and its head wants; a
// way down from a switch does the same among all nodes whose way up is idle. Links between clusters
// are the scarce ones: under the cluster rule they carry only what the other cluster neither holds
// nor is about to get. Should that rule leave demands unmet, it is dropped.
//
// State. Three bit matrices: who holds what (by node and, turned, by chunk) and who still wants
// what; chunks in flight are no longer wanted. A switch with a thousand nodes must not be scanned
// pair by pair. Where many ways up are idle the union of their nodes' holdings is intersected with
// what the head wants; where few are, they are asked one by one; a chunk that has just arrived asks
// for the heads that want it.
//
// Time. A link behind a switch is entered later than the send starts. All its windows are counted
// from the least such delay, and one with more is counted as that much longer; so whether a window
// is free is known at the send's start. What that wastes re-timing gives back.
//
// In the middle of a plan (plan/residual.hpp) what is in flight takes its links until it has left
// them, and holders that are yet to get a chunk have it from then on.
//
// Guarantee. Starts are causal; links, injection, ejection and multicast groups keep their limits.
// All demands are met if every chunk's destinations can be reached over nodes that want or forward
// it. Ends by itself: every send takes away a want. No bound on the finish. Cost: O(sends) searches of
// O(chunks / 64) words in the usual case.
//
// Tests: greedy_test.cpp.
#include "stellwerk/plan/greedy_run.hpp"

#include <algorithm>

#include "stellwerk/plan/greedy_state.hpp"

namespace stellwerk {

GreedyInput::GreedyInput(const Problem& problem_in, const Forwarders& forwarders_in,
                         const Residual* residual_in)
    : problem(problem_in),
      forwarders(forwarders_in),
      residual(residual_in),
      fabrics(problem.topology),
      clusterings(find_clusterings(problem.topology, fabrics)) {}

bool GreedyRun::State::run(Time give_up) {
  flights_.reserve(static_cast<std::size_t>(left_));
  flight_links_.reserve(static_cast<std::size_t>(2 * left_));
  std::uint32_t rounds = 0;
  while (left_ > 0) {
    if (events_.empty()) {
      if (clustering_ == nullptr) return false;  // somebody cannot be reached
      // The rule has left demands unmet: go on without it.
      clustering_ = nullptr;
      for (const LinkId id : topology_.link_ids()) link_changed(id);
      look_for_work();
      continue;
    }
    if (++rounds % 16 == 0 && stop_.should_stop()) return false;
    advance();
    look_for_work();
    if (finish_ >= give_up) return false;
  }
  return true;
}

void GreedyRun::State::advance() {
  instant_.clear();
  now_ = events_.take(instant_);
  for (const Event& event : instant_) handle(event);
}

void GreedyRun::State::handle(const Event& event) {
  switch (event.what) {
    case What::ready: {
      const ChunkId id = chunk_[event.flight];
      for (const NodeId node : problem_.chunks[id].origins) {
        if (input_.residual != nullptr && input_.residual->release(id, node) > now_) continue;
        arrive(static_cast<std::int32_t>(event.flight), node);
      }
      return;
    }
    case What::lands:
      arrive(static_cast<std::int32_t>(event.flight),
             NodeId(static_cast<std::size_t>(event.detail)));
      return;
    case What::clears:
      release(event.detail, Bandwidth{input_.residual->busy[event.flight].amount});
      return;
    case What::freed: {
      const Flight& flight = flights_[event.flight];
      const NodeId from = link(flight_links_[flight.first_link]).from;
      release(injection(from), flight.rate);
      for (std::uint32_t i = 0; i < flight.links; ++i) {
        // Resources that are free later have events of their own: detail is a mask of them.
        if (i < 31 && (event.detail >> i & 1) != 0) continue;
        release(resource(flight_links_[flight.first_link + i]), flight.rate);
      }
      return;
    }
    case What::freed_late:
      release(event.detail, flights_[event.flight].rate);
      return;
    case What::left_switch:
      ++groups_left_[NodeId(static_cast<std::size_t>(event.detail))];
      return;
    case What::woken:
      for (const LinkId id : topology_.in(NodeId(static_cast<std::size_t>(event.flight)))) {
        if (may_start(id)) link_changed(id);
      }
      return;
    case What::arrived:
      arrive(flights_[event.flight].chunk, link(flight_links_[event.detail]).to);
      return;
  }
}

void GreedyRun::State::arrive(std::int32_t chunk, NodeId node) {
  const auto c = static_cast<std::size_t>(chunk);
  if (holds_.test(node.index(), c)) return;
  holds_.set(node.index(), c);
  holders_.set(c, node.index());
  ++copies_[c];
  for (const LinkId id : topology_.out(node)) {
    if (!may_start(id)) continue;
    const int fabric = link(id).fabric;
    if (fabric < 0) {
      touch(id);
      continue;
    }
    Port& port = ports_[static_cast<std::size_t>(fabric)];
    const auto arrival = std::pair(node, chunk);
    if (port.arrivals.empty() || port.arrivals.back() != arrival) port.arrivals.push_back(arrival);
    queue_port(fabric);
  }
}

void GreedyRun::State::release(std::size_t r, Bandwidth rate) {
  residual_[r] += rate.bytes_per_second;
  if (r < links_) {
    link_changed(LinkId(r));
  } else if (r < links_ + nodes_) {
    const NodeId node(r - links_);
    if (capacity_[r] != kPlenty) {
      for (const LinkId id : topology_.out(node)) link_changed(id);
    }
  } else {
    const NodeId node(r - links_ - nodes_);
    if (capacity_[r] != kPlenty) {
      for (const LinkId id : topology_.in(node)) link_changed(id);
    }
  }
}

/// The link may take another send.
void GreedyRun::State::link_changed(LinkId id) {
  const int fabric = link(id).fabric;
  if (fabric < 0) {
    touch(id);
    return;
  }
  Port& port = ports_[static_cast<std::size_t>(fabric)];
  const Wire& each = link(id);
  queue_port(fabric);
  if (each.leaves_node) {
    update_pool(each.from, each.to);
    port.risen.push_back(id);
  } else if (each.enters_node) {
    update_idle(id);
    port.freed.push_back(id);
  } else {
    // A link between switches: whoever is behind either end may now get through.
    for (const LinkId other : topology_.in(each.from)) {
      if (link(other).leaves_node && may_start(other)) port.risen.push_back(other);
    }
    for (const LinkId other : topology_.out(each.to)) {
      if (link(other).enters_node && may_start(other)) port.freed.push_back(other);
    }
    if (port.risen.empty() && port.freed.empty()) {
      for (const LinkId other : fabrics_.all()[static_cast<std::size_t>(fabric)].up) {
        if (may_start(other)) port.risen.push_back(other);
      }
    }
  }
}

void GreedyRun::State::queue_port(int fabric) {
  Port& port = ports_[static_cast<std::size_t>(fabric)];
  if (port.queued) return;
  port.queued = true;
  port_queue_.push_back(fabric);
}

void GreedyRun::State::touch(LinkId direct) {
  if (is_touched_[direct] != 0) return;
  is_touched_[direct] = 1;
  touched_.push_back(direct);
}

void GreedyRun::State::update_pool(NodeId node, NodeId at_switch) {
  const Word bit = Word{1} << (node.index() % BitRows::kBits);
  const std::size_t word = node.index() / BitRows::kBits;
  bool here = false;
  bool anywhere = false;
  for (const LinkId id : ups_[node]) {
    if (!may_start(id) || !can_send(node)) continue;
    here = here || link(id).to == at_switch;
    anywhere = anywhere || link(id).fabric == fabrics_.of(at_switch);
  }
  const auto put = [&](std::int32_t number, bool value) {
    if (number == kNone) return;
    Pool& pool = pools_[static_cast<std::size_t>(number)];
    if (((pool.free[word] & bit) != 0) != value) {
      pool.free[word] ^= bit;
      value ? ++pool.count : --pool.count;
    }
    pool.fresh = false;
    if (value) pool.known = false;
  };
  put(pool_of_[at_switch], here);
  put(ports_[static_cast<std::size_t>(fabrics_.of(at_switch))].pool, anywhere);
}

void GreedyRun::State::update_idle(LinkId down) {
  const std::size_t at = position_[down];
  Word& word = ports_[static_cast<std::size_t>(link(down).fabric)].idle[at / BitRows::kBits];
  const Word bit = Word{1} << (at % BitRows::kBits);
  word = may_start(down) && can_receive(link(down).to) ? word | bit : word & ~bit;
}

void GreedyRun::State::look_for_work() {
  rng_.shuffle(touched_);
  for (std::size_t i = 0; i < touched_.size(); ++i) {
    is_touched_[touched_[i]] = 0;
    work_direct(touched_[i]);
  }
  touched_.clear();
  std::sort(port_queue_.begin(), port_queue_.end());
  for (const int fabric : port_queue_) {
    ports_[static_cast<std::size_t>(fabric)].queued = false;
    work_port(fabric);
  }
  port_queue_.clear();
}

Schedule GreedyRun::State::schedule() const {
  Schedule sends;
  sends.reserve(flights_.size());
  for (const Flight& flight : flights_) {
    const ChunkId id = chunk_[static_cast<std::size_t>(flight.chunk)];
    const auto begin = flight_links_.begin() + flight.first_link;
    sends.push_back({id, Op::copy, flight.start, flight.rate,
                     std::vector<LinkId>(begin, begin + flight.links), Bytes{0},
                     problem_.chunks[id].bytes});
  }
  return sends;
}

GreedyRun::GreedyRun(const GreedyInput& input, const GreedyStyle& style, Rng rng,
                     const StopCondition& stop)
    : state_(std::make_unique<State>(input, style, rng, stop)) {}
GreedyRun::~GreedyRun() = default;
GreedyRun::GreedyRun(GreedyRun&&) noexcept = default;
bool GreedyRun::run(Time give_up) { return state_->run(give_up); }
Time GreedyRun::finish() const { return state_->finish(); }
Schedule GreedyRun::schedule() const { return state_->schedule(); }

}  // namespace stellwerk
