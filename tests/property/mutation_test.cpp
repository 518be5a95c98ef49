// The judge on trial: 1,000 plans, each damaged in a way that is certainly wrong, must be refused
// for the right reason, and 1,000 harmless variations must be accepted. The plans are random and
// small, and come from code that shares nothing with the verifier (random_plan.cpp); their bounds
// come from the search for bounds.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "stellwerk/bound/bound.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/core/metrics.hpp"
#include "stellwerk/plan/planner.hpp"
#include "tests/property/random_plan.hpp"
#include "tests/support/sanitized.hpp"

namespace stellwerk {
namespace {

using testing::RandomPlan;
using testing::windows;

void add_bounds(Plan& plan) {
  plan.result.bound = lower_bound(plan.problem);
  plan.result.bound_chunked = lower_bound_chunked(plan.problem, *plan.result.bound);
  plan.result.recorded = derive_metrics(plan);
}

// --- Helpers of the damages --------------------------------------------------------------------

const Chunk& chunk_of(const Plan& plan, const Send& send) {
  return plan.problem.chunks[send.chunk];
}

NodeId source(const Plan& plan, const Send& send) {
  return plan.problem.topology.link(send.links.front()).from;
}

std::vector<NodeId> receivers(const Plan& plan, const Send& send) {
  std::vector<NodeId> result;
  for (const LinkId l : send.links) {
    const NodeId node = plan.problem.topology.link(l).to;
    if (plan.problem.topology.stores(node)) result.push_back(node);
  }
  return result;
}

bool has(const std::vector<NodeId>& list, NodeId node) {
  return std::find(list.begin(), list.end(), node) != list.end();
}

bool whole(const Plan& plan, const Send& send) { return send.bytes == chunk_of(plan, send).bytes; }

/// The instant after everything has ended.
Time after_all(const Plan& plan) {
  Time end;
  for (const Send& send : plan.sends) {
    for (const auto& w : windows(plan.problem.topology, send)) end = std::max(end, Time{w.last_in});
  }
  return end;
}

/// A position among those that satisfy `wanted`, if there is any.
template <class Wanted>
std::optional<std::size_t> pick(Rng& rng, std::size_t size, const Wanted& wanted) {
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < size; ++i) {
    if (wanted(i)) positions.push_back(i);
  }
  if (positions.empty()) return std::nullopt;
  return positions[rng.below(positions.size())];
}

template <class Wanted>
Send* pick_send(Rng& rng, Plan& plan, const Wanted& wanted) {
  const auto k = pick(rng, plan.sends.size(), [&](std::size_t i) { return wanted(plan.sends[i]); });
  return k ? &plan.sends[*k] : nullptr;
}

/// Removes the send that first brings its chunk to its receivers, with all its pieces, and waste
/// over the same links.
void drop(Plan& plan, const Send& victim) {
  const Send like = victim;  // NOLINT: `victim` may be one of those that are erased
  std::erase_if(plan.sends,
                [&](const Send& s) { return s.chunk == like.chunk && s.links == like.links; });
}

void set_node(Plan& plan, NodeId id, const std::function<void(Node&)>& change) {
  IdVector<NodeId, Node> nodes = plan.problem.topology.nodes();
  change(nodes[id]);
  plan.problem.topology = Topology("damaged", "", std::move(nodes), plan.problem.topology.links());
}

/// Without limits on nodes, so that only the rule in question can be broken.
void lift_limits(Plan& plan) {
  for (const NodeId id : plan.problem.topology.node_ids()) {
    set_node(plan, id, [](Node& node) {
      node.buffer.reset();
      node.injection.reset();
      node.ejection.reset();
      node.max_groups.reset();
    });
  }
}

// --- Damages -----------------------------------------------------------------------------------

/// Damages the plan, or says that it does not suit.
using Change = bool (*)(Rng&, RandomPlan&);

bool start_before_arrival(Rng& rng, RandomPlan& r) {
  Send* send = pick_send(rng, r.plan, [&](const Send& s) {
    return s.op == Op::copy && r.held.at({s.chunk, source(r.plan, s)}) > 0;
  });
  if (send == nullptr) return false;
  const std::int64_t held = r.held.at({send->chunk, source(r.plan, *send)});
  send->start = Time{rng.below(2) == 0 ? held - 1 : rng.between(0, held - 1)};
  return true;
}

/// Of the copies that a destination gets, none is left.
bool drop_delivery(Rng& rng, RandomPlan& r) {
  const Send* send = pick_send(rng, r.plan, [&](const Send& s) {
    if (s.op != Op::copy) return false;
    const std::vector<NodeId> to = receivers(r.plan, s);
    if (std::none_of(to.begin(), to.end(),
                     [&](NodeId n) { return has(chunk_of(r.plan, s).destinations, n); })) {
      return false;
    }
    // The receivers get it from nowhere else, have not had it before, and do not pass it on.
    return std::all_of(to.begin(), to.end(), [&](NodeId node) {
      if (has(chunk_of(r.plan, s).origins, node)) return false;
      return std::all_of(r.plan.sends.begin(), r.plan.sends.end(), [&](const Send& other) {
        if (other.chunk != s.chunk || other.links == s.links) return true;
        return !has(receivers(r.plan, other), node) && source(r.plan, other) != node;
      });
    });
  });
  if (send == nullptr) return false;
  drop(r.plan, *send);
  return true;
}

/// A node lacks what it passes on.
bool drop_needed_by_next(Rng& rng, RandomPlan& r) {
  const Send* send = pick_send(rng, r.plan, [&](const Send& s) {
    if (s.op != Op::copy || chunk_of(r.plan, s).is_reduction()) return false;
    const std::vector<NodeId> to = receivers(r.plan, s);
    return std::any_of(to.begin(), to.end(), [&](NodeId node) {
      const auto from_there = [&](const Send& o) {
        return o.chunk == s.chunk && source(r.plan, o) == node;
      };
      const auto from_elsewhere = [&](const Send& o) {
        return o.chunk == s.chunk && o.links != s.links && has(receivers(r.plan, o), node);
      };
      return !has(chunk_of(r.plan, s).origins, node) &&
             std::any_of(r.plan.sends.begin(), r.plan.sends.end(), from_there) &&
             std::none_of(r.plan.sends.begin(), r.plan.sends.end(), from_elsewhere);
    });
  });
  if (send == nullptr) return false;
  drop(r.plan, *send);
  return true;
}

/// An addend stays where it is. (The sum is then incomplete, and copies of it as well.)
bool drop_part(Rng& rng, RandomPlan& r) {
  const Send* send = pick_send(rng, r.plan, [](const Send& s) { return s.op != Op::copy; });
  if (send == nullptr) return false;
  drop(r.plan, *send);
  return true;
}

bool drop_piece_of_part(Rng& rng, RandomPlan& r) {
  const Send* send =
      pick_send(rng, r.plan, [&](const Send& s) { return s.op != Op::copy && !whole(r.plan, s); });
  if (send == nullptr) return false;
  r.plan.sends.erase(r.plan.sends.begin() + (send - r.plan.sends.data()));
  return true;
}

/// A copy of a copy, while the first still has the link to itself.
bool overlap_on_full_link(Rng& rng, RandomPlan& r) {
  const Topology& topology = r.plan.problem.topology;
  const Send* send = pick_send(rng, r.plan, [&](const Send& s) {
    return s.op == Op::copy && std::any_of(s.links.begin(), s.links.end(), [&](LinkId l) {
             return topology.link(l).bandwidth == s.rate;
           });
  });
  if (send == nullptr) return false;
  Send again = *send;
  const auto window = windows(topology, again).front();
  again.start.ps += rng.between(0, window.end - window.begin - 1);
  r.plan.sends.push_back(again);
  return true;
}

bool rate_above_bandwidth(Rng& rng, RandomPlan& r) {
  Send* send = pick_send(rng, r.plan, [](const Send&) { return true; });
  if (send == nullptr) return false;
  const LinkId l = send->links[rng.below(send->links.size())];
  const std::int64_t bandwidth = r.plan.problem.topology.link(l).bandwidth.bytes_per_second;
  send->rate = Bandwidth{bandwidth + rng.between(1, 1000)};
  return true;
}

/// A part of the sum is shared, and once more when all is done.
bool merge_twice(Rng& rng, RandomPlan& r) {
  // To the destination where the sum is formed: it keeps what it gets.
  const Send* send = pick_send(rng, r.plan, [&](const Send& s) {
    return s.op != Op::copy && whole(r.plan, s) &&
           r.held.contains({s.chunk, receivers(r.plan, s).front()}) &&
           std::none_of(r.plan.sends.begin(), r.plan.sends.end(), [&](const Send& other) {
             return other.op != Op::copy && other.chunk == s.chunk &&
                    source(r.plan, other) == receivers(r.plan, s).front();
           });
  });
  if (send == nullptr) return false;
  Send& first = r.plan.sends[static_cast<std::size_t>(send - r.plan.sends.data())];
  first.op = Op::share;
  Send again = first;
  again.start = after_all(r.plan);
  r.plan.sends.push_back(again);
  return true;
}

bool falsify_transfer_time(Rng& rng, RandomPlan& r) {
  r.plan.result.transfer_time.ps += rng.below(2) == 0 ? 1 : -1;
  return true;
}

bool falsify_job_finish(Rng& rng, RandomPlan& r) {
  auto& finish = r.plan.result.job_finish;
  finish[rng.below(finish.size())].ps += rng.below(2) == 0 ? 1 : -1;
  return true;
}

bool raise_bound(Rng& rng, RandomPlan& r) {
  r.plan.result.bound->value.ps += rng.between(1, 1000);
  return true;
}

bool raise_chunked_bound(Rng& rng, RandomPlan& r) {
  r.plan.result.bound_chunked->value.ps += rng.between(1, 1000);
  return true;
}

bool lose_certificate(Rng&, RandomPlan& r) {
  if (r.plan.result.bound->value.ps == 0) return false;  // needs none
  r.plan.result.bound->certificate = Certificate{};
  return true;
}

bool falsify_gap(Rng& rng, RandomPlan& r) {
  if (!r.plan.result.recorded->gap) return false;
  *r.plan.result.recorded->gap += rng.below(2) == 0 ? 0.001 : -0.001;
  return true;
}

/// Less to send: everything fits, but it is not what the job asks for.
bool shrink_chunk(Rng& rng, RandomPlan& r) {
  const auto fits = [&](std::size_t i) {
    const ChunkId id(i);
    return r.plan.problem.chunks[id].bytes.value > 1 &&
           std::all_of(r.plan.sends.begin(), r.plan.sends.end(),
                       [&](const Send& s) { return s.chunk != id || whole(r.plan, s); });
  };
  const auto k = pick(rng, r.plan.problem.chunks.size(), fits);
  if (!k) return false;
  const ChunkId id(*k);
  r.plan.problem.chunks[id].bytes.value -= 1;
  for (Send& send : r.plan.sends) {
    if (send.chunk == id) send.bytes.value -= 1;
  }
  return true;
}

bool drop_destination(Rng& rng, RandomPlan& r) {
  Chunk& chunk = r.plan.problem.chunks[ChunkId(rng.below(r.plan.problem.chunks.size()))];
  if (chunk.destinations.size() < 2) return false;
  chunk.destinations.pop_back();
  return true;
}

bool make_ready_earlier(Rng& rng, RandomPlan& r) {
  Chunk& chunk = r.plan.problem.chunks[ChunkId(rng.below(r.plan.problem.chunks.size()))];
  if (chunk.ready.ps == 0) return false;
  chunk.ready = Time{};
  return true;
}

bool negative_start(Rng& rng, RandomPlan& r) {
  Send* send = pick_send(rng, r.plan, [](const Send&) { return true; });
  if (send == nullptr) return false;
  send->start = Time{-1};
  return true;
}

bool reverse_tree(Rng& rng, RandomPlan& r) {
  Send* send = pick_send(rng, r.plan, [](const Send& s) { return s.links.size() > 1; });
  if (send == nullptr) return false;
  std::reverse(send->links.begin(), send->links.end());
  return true;
}

bool stop_at_switch(Rng& rng, RandomPlan& r) {
  Send* send = pick_send(rng, r.plan, [](const Send& s) { return s.links.size() == 2; });
  if (send == nullptr) return false;
  send->links.pop_back();
  return true;
}

bool range_beyond_chunk(Rng& rng, RandomPlan& r) {
  Send* send = pick_send(rng, r.plan, [](const Send&) { return true; });
  if (send == nullptr) return false;
  send->offset = chunk_of(r.plan, *send).bytes - send->bytes + Bytes{1};
  return true;
}

bool take_multicast(Rng& rng, RandomPlan& r) {
  const Topology& topology = r.plan.problem.topology;
  for (const NodeId id : topology.node_ids()) {
    const bool branches = std::any_of(r.plan.sends.begin(), r.plan.sends.end(), [&](const Send& s) {
      return std::count_if(s.links.begin(), s.links.end(), [&](LinkId l) {
               return topology.link(l).from == id && !topology.stores(id);
             }) > 1;
    });
    if (!branches || rng.below(3) == 0) continue;
    set_node(r.plan, id, [](Node& node) { node.multicast = false; });
    return true;
  }
  return false;
}

bool take_reduce(Rng& rng, RandomPlan& r) {
  const Topology& topology = r.plan.problem.topology;
  for (const NodeId id : topology.node_ids()) {
    const bool merges = std::any_of(r.plan.sends.begin(), r.plan.sends.end(), [&](const Send& s) {
      return std::count_if(s.links.begin(), s.links.end(), [&](LinkId l) {
               return topology.link(l).to == id && !topology.stores(id);
             }) > 1;
    });
    if (!merges || rng.below(3) == 0) continue;
    set_node(r.plan, id, [](Node& node) { node.reduce = false; });
    return true;
  }
  return false;
}

bool members_only(Rng&, RandomPlan& r) {
  if (r.plan.problem.relays == Relays::members) return false;
  const bool strangers = std::any_of(r.plan.sends.begin(), r.plan.sends.end(), [&](const Send& s) {
    const Job& job = r.plan.problem.jobs[chunk_of(r.plan, s).job.index()];
    const std::vector<NodeId> to = receivers(r.plan, s);
    return std::any_of(to.begin(), to.end(), [&](NodeId n) {
      return r.plan.problem.topology.node(n).kind == NodeKind::gpu && !has(job.ranks, n);
    });
  });
  r.plan.problem.relays = Relays::members;
  return strangers;
}

/// One byte (or group, or byte a second) less than the plan needs at its peak.
template <class Peak, class Set>
bool tighten(Rng& rng, RandomPlan& r, const Peak& peak, const Set& set) {
  lift_limits(r.plan);
  const testing::Peaks peaks = testing::peaks(r.plan.problem, r.plan.sends);
  const IdVector<NodeId, std::int64_t>& most = peak(peaks);
  const auto k = pick(rng, most.size(), [&](std::size_t i) { return most[NodeId(i)] > 1; });
  if (!k) return false;
  set_node(r.plan, NodeId(*k), [&](Node& node) { set(node, most[NodeId(*k)] - 1); });
  return true;
}

bool tighten_injection(Rng& rng, RandomPlan& r) {
  return tighten(
      rng, r, [](const auto& peaks) -> const auto& { return peaks.injection; },
      [](Node& node, std::int64_t limit) { node.injection = Bandwidth{limit}; });
}
bool tighten_ejection(Rng& rng, RandomPlan& r) {
  return tighten(
      rng, r, [](const auto& peaks) -> const auto& { return peaks.ejection; },
      [](Node& node, std::int64_t limit) { node.ejection = Bandwidth{limit}; });
}
bool tighten_buffer(Rng& rng, RandomPlan& r) {
  return tighten(
      rng, r, [](const auto& peaks) -> const auto& { return peaks.buffer; },
      [](Node& node, std::int64_t limit) { node.buffer = Bytes{limit}; });
}
bool tighten_groups(Rng& rng, RandomPlan& r) {
  return tighten(
      rng, r, [](const auto& peaks) -> const auto& { return peaks.groups; },
      [](Node& node, std::int64_t limit) { node.max_groups = static_cast<int>(limit); });
}

struct Damage {
  std::string name;
  Change damage;
  std::vector<Violation> reasons;  ///< any of them is right
};

const std::vector<Damage>& damages() {
  using enum Violation;
  static const std::vector<Damage> table = {
      {"start before arrival", start_before_arrival, {not_held}},
      {"needed delivery dropped", drop_delivery, {demand_unmet}},
      {"delivery to a forwarder dropped", drop_needed_by_next, {not_held}},
      {"part of a sum dropped", drop_part, {not_held, demand_unmet}},
      {"piece of a reduce dropped", drop_piece_of_part, {malformed_send}},
      {"overlap on a full link", overlap_on_full_link, {link_capacity}},
      {"rate above the bandwidth", rate_above_bandwidth, {link_capacity}},
      {"contributor merged twice", merge_twice, {merged_twice}},
      {"transfer time falsified", falsify_transfer_time, {wrong_finish}},
      {"job finish falsified", falsify_job_finish, {wrong_finish}},
      {"bound raised", raise_bound, {wrong_bound}},
      {"chunked bound raised", raise_chunked_bound, {wrong_bound}},
      {"certificate lost", lose_certificate, {wrong_bound}},
      {"gap falsified", falsify_gap, {wrong_metric}},
      {"chunk shrunk", shrink_chunk, {chunks_differ}},
      {"destination forgotten", drop_destination, {chunks_differ}},
      {"ready time forgotten", make_ready_earlier, {chunks_differ}},
      {"negative start", negative_start, {malformed_send}},
      {"links in reverse", reverse_tree, {malformed_send}},
      {"tree ends at a switch", stop_at_switch, {malformed_send}},
      {"range beyond the chunk", range_beyond_chunk, {malformed_send}},
      {"multicast taken away", take_multicast, {forbidden_node}},
      {"reduce taken away", take_reduce, {forbidden_node}},
      {"strangers shut out", members_only, {forbidden_node}},
      {"injection too small", tighten_injection, {node_capacity}},
      {"ejection too small", tighten_ejection, {node_capacity}},
      {"buffer too small", tighten_buffer, {buffer}},
      {"too few groups", tighten_groups, {groups}},
  };
  return table;
}

// --- Harmless variations -----------------------------------------------------------------------

template <class T>
std::vector<T> permutation(Rng& rng, std::size_t size) {
  std::vector<T> result;
  for (std::size_t i = 0; i < size; ++i) result.emplace_back(i);
  rng.shuffle(result);
  return result;
}

void for_certificates(Plan& plan, const std::function<void(Certificate&)>& change) {
  if (plan.result.bound) change(plan.result.bound->certificate);
  if (plan.result.bound_chunked) change(plan.result.bound_chunked->certificate);
}

bool renumber_chunks(Rng& rng, RandomPlan& r) {
  const auto to = permutation<ChunkId>(rng, r.plan.problem.chunks.size());
  IdVector<ChunkId, Chunk> chunks(to.size());
  for (const ChunkId id : r.plan.problem.chunk_ids()) {
    chunks[to[id.index()]] = r.plan.problem.chunks[id];
  }
  r.plan.problem.chunks = std::move(chunks);
  for (Send& send : r.plan.sends) send.chunk = to[send.chunk.index()];
  for_certificates(r.plan, [&](Certificate& c) {
    if (c.chunk) c.chunk = to[c.chunk->index()];
  });
  return true;
}

bool permute_sends(Rng& rng, RandomPlan& r) {
  rng.shuffle(r.plan.sends);
  return true;
}

bool list_nodes_differently(Rng& rng, RandomPlan& r) {
  for (Chunk& chunk : r.plan.problem.chunks) {
    rng.shuffle(chunk.origins);
    rng.shuffle(chunk.destinations);
    rng.shuffle(chunk.contributors);
  }
  return true;
}

bool renumber_network(Rng& rng, RandomPlan& r) {
  const Topology& old = r.plan.problem.topology;
  const auto node_to = permutation<NodeId>(rng, old.nodes().size());
  const auto link_to = permutation<LinkId>(rng, old.links().size());
  const auto map = [&](NodeId& node) { node = node_to[node.index()]; };
  const auto map_all = [&](std::vector<NodeId>& nodes) {
    for (NodeId& node : nodes) map(node);
  };
  IdVector<NodeId, Node> nodes(node_to.size());
  for (const NodeId id : old.node_ids()) nodes[node_to[id.index()]] = old.node(id);
  IdVector<LinkId, Link> links(link_to.size());
  for (const LinkId id : old.link_ids()) {
    Link link = old.link(id);
    map(link.from);
    map(link.to);
    links[link_to[id.index()]] = link;
  }
  for (Job& job : r.plan.problem.jobs) {
    map_all(job.ranks);
    for (CustomChunk& chunk : job.custom) {
      map_all(chunk.origins);
      map_all(chunk.destinations);
      map_all(chunk.contributors);
    }
  }
  for (Chunk& chunk : r.plan.problem.chunks) {
    map(chunk.owner);
    map_all(chunk.origins);
    map_all(chunk.destinations);
    map_all(chunk.contributors);
  }
  for (Send& send : r.plan.sends) {
    for (LinkId& link : send.links) link = link_to[link.index()];
  }
  for_certificates(r.plan, [&](Certificate& c) {
    map_all(c.set);
    map_all(c.from);
    map_all(c.to);
    if (c.target) map(*c.target);
    for (auto& part : c.parts) map_all(part);
    std::vector<std::int64_t> lengths(c.lengths.size());
    for (std::size_t i = 0; i < lengths.size(); ++i) lengths[link_to[i].index()] = c.lengths[i];
    c.lengths = lengths;
  });
  r.plan.problem.topology = Topology("renumbered", "", std::move(nodes), std::move(links));
  return true;
}

/// Moves one copy to a later start at which nobody minds.
bool start_later(Rng& rng, RandomPlan& r) {
  lift_limits(r.plan);
  Plan& plan = r.plan;
  for (int attempt = 0; attempt < 30 && !plan.sends.empty(); ++attempt) {
    const std::size_t k = rng.below(plan.sends.size());
    const Send old = plan.sends[k];
    if (old.op != Op::copy) continue;
    // It must be there before a receiver passes it on, and by the finish of its job.
    std::int64_t slack = INT64_MAX;
    for (const auto& w : windows(plan.problem.topology, old)) {
      const NodeId node = plan.problem.topology.link(w.link).to;
      if (!plan.problem.topology.stores(node)) continue;
      std::int64_t latest = plan.result.job_finish[chunk_of(plan, old).job.index()].ps;
      for (const Send& other : plan.sends) {
        if (other.chunk == old.chunk && source(plan, other) == node) {
          latest = std::min(latest, other.start.ps);
        }
      }
      slack = std::min(slack, latest - w.last_in);
    }
    if (slack <= 0) continue;
    plan.sends[k].start.ps += rng.below(2) == 0 ? slack : rng.between(1, slack);
    if (!testing::overloads_a_link(plan.problem.topology, plan.sends)) {
      // Later than the last arrival that its own job waits for, the finish would change; it does
      // not.
      return true;
    }
    plan.sends[k] = old;
  }
  return false;
}

bool send_again(Rng& rng, RandomPlan& r) {
  lift_limits(r.plan);
  const Send* send = pick_send(rng, r.plan, [](const Send& s) { return s.op == Op::copy; });
  if (send == nullptr) return false;
  Send again = *send;
  again.start = after_all(r.plan);
  r.plan.sends.push_back(again);
  return true;
}

/// A send in up to twenty pieces, the last piece first.
bool cut_into_pieces(Rng& rng, RandomPlan& r) {
  Plan& plan = r.plan;
  const auto k = pick(rng, plan.sends.size(), [&](std::size_t i) {
    return whole(plan, plan.sends[i]) && plan.sends[i].bytes.value > 1;
  });
  if (!k) return false;
  const Send old = plan.sends[*k];
  // At a rate that gives whole picoseconds a byte nothing is lost in rounding.
  if (1'000'000'000'000 % old.rate.bytes_per_second != 0) return false;
  const std::int64_t per_byte = 1'000'000'000'000 / old.rate.bytes_per_second;
  const std::int64_t bytes = old.bytes.value;
  const std::int64_t size = rng.between((bytes + 19) / 20, bytes);
  plan.sends.erase(plan.sends.begin() + static_cast<std::ptrdiff_t>(*k));
  Time start = old.start;
  for (std::int64_t end = bytes; end > 0;) {
    Send piece = old;
    piece.bytes = Bytes{std::min(size, end)};
    end -= piece.bytes.value;
    piece.offset = Bytes{end};
    piece.start = start;
    start.ps += per_byte * piece.bytes.value;
    plan.sends.push_back(piece);
  }
  return true;
}

bool forget_bounds(Rng& rng, RandomPlan& r) {
  if (rng.below(2) == 0) r.plan.result.bound.reset();
  r.plan.result.bound_chunked.reset();
  r.plan.result.recorded.reset();
  return true;
}

bool everything(Rng& rng, RandomPlan& r) {
  return renumber_chunks(rng, r) && renumber_network(rng, r) && permute_sends(rng, r) &&
         list_nodes_differently(rng, r);
}

struct Variation {
  std::string name;
  Change change;
};

const std::vector<Variation>& variations() {
  static const std::vector<Variation> table = {
      {"chunks renumbered", renumber_chunks},
      {"sends permuted", permute_sends},
      {"nodes of chunks listed differently", list_nodes_differently},
      {"nodes and links renumbered", renumber_network},
      {"started later within slack", start_later},
      {"sent again at the end", send_again},
      {"cut into pieces", cut_into_pieces},
      {"without bounds", forget_bounds},
      {"all renumbered and permuted", everything},
  };
  return table;
}

// --- The trial ---------------------------------------------------------------------------------

/// A plan of a random problem, from one of the planners that are quick, or made at random.
RandomPlan fresh(Rng& rng) {
  if (rng.below(3) != 0) return testing::random_plan(rng);
  RandomPlan plan = testing::random_plan(rng, {.limits = false});
  constexpr std::string_view kQuick[] = {"direct", "ring", "search"};
  PlannerContext context;
  context.bound = lower_bound(plan.plan.problem);
  context.rng = Rng(rng.next());
  PlanOptions options;
  options.gap = 1000;  // the first plan will do, whatever the machine's speed
  // (Search is asked for data only: of sums it may send parts over nodes that have none.)
  const IdVector<ChunkId, Chunk>& chunks = plan.plan.problem.chunks;
  const bool sums = std::any_of(chunks.begin(), chunks.end(),
                                [](const Chunk& chunk) { return chunk.is_reduction(); });
  const std::string_view name = kQuick[rng.below(sums ? 2 : 3)];
  if (context.bound->value == Time{}) return plan;
  const PlannerOutcome outcome = find_planner(name).plan(plan.plan.problem, options, context);
  if (!outcome.has_plan()) return plan;
  const auto planned = testing::plan_of(plan.plan.problem, outcome.sends);
  return planned ? *planned : plan;
}

/// Changes a fresh plan that suits.
RandomPlan changed(Rng& rng, Change change) {
  for (int attempt = 0; attempt < 5000; ++attempt) {
    RandomPlan plan = fresh(rng);
    // Bounds take most of the time: first see whether the plan suits, with anything in their place.
    RandomPlan trial = plan;
    trial.plan.result.bound = trial.plan.result.bound_chunked = Bound{Time{1}, {}};
    trial.plan.result.recorded = derive_metrics(trial.plan);
    Rng same = rng;
    if (!change(same, trial)) continue;
    add_bounds(plan.plan);
    if (change(rng, plan)) return plan;
  }
  ADD_FAILURE() << "no plan suits";
  return {};
}

constexpr int kPlans = testing::rounds(1000, 250);

TEST(Mutation, DamagedPlansAreRefusedForTheRightReason) {
  Rng rng(2024);
  int refused = 0;
  for (int i = 0; i < kPlans; ++i) {
    const Damage& damage = damages()[static_cast<std::size_t>(i) % damages().size()];
    const RandomPlan plan = changed(rng, damage.damage);
    const Verdict verdict = verify(plan.plan);
    if (!verdict.violation) {
      ADD_FAILURE() << "plan " << i << " (" << damage.name << ") is accepted";
      continue;
    }
    const bool right = std::find(damage.reasons.begin(), damage.reasons.end(),
                                 *verdict.violation) != damage.reasons.end();
    EXPECT_TRUE(right) << "plan " << i << " (" << damage.name << ") is refused for "
                       << to_string(*verdict.violation) << ": " << verdict.message;
    EXPECT_FALSE(verdict.message.empty());
    EXPECT_EQ(verdict.message.find('\n'), std::string::npos);
    refused += right ? 1 : 0;
  }
  EXPECT_EQ(refused, kPlans);
}

TEST(Mutation, HarmlessVariationsAreAccepted) {
  Rng rng(4202);
  int accepted = 0;
  for (int i = 0; i < kPlans; ++i) {
    const Variation& variation = variations()[static_cast<std::size_t>(i) % variations().size()];
    const RandomPlan plan = changed(rng, variation.change);
    const Verdict verdict = verify(plan.plan);
    EXPECT_TRUE(verdict.valid()) << "plan " << i << " (" << variation.name
                                 << "): " << verdict.message;
    EXPECT_EQ(verdict.transfer_time, plan.plan.result.transfer_time);
    accepted += verdict.valid() ? 1 : 0;
  }
  EXPECT_EQ(accepted, kPlans);
}

TEST(Mutation, PlansAreAcceptedAsTheyAre) {
  Rng rng(1);
  for (int i = 0; i < kPlans; ++i) {
    RandomPlan plan = fresh(rng);
    add_bounds(plan.plan);
    const Verdict verdict = verify(plan.plan);
    ASSERT_TRUE(verdict.valid()) << "plan " << i << ": " << verdict.message;
    // The finish of every rank is what the maker of the plan knows.
    std::vector<Time> finish(verdict.rank_finish.size());
    for (const ChunkId id : plan.plan.problem.chunk_ids()) {
      for (const NodeId node : plan.plan.problem.chunks[id].destinations) {
        finish[node.index()] = std::max(finish[node.index()], Time{plan.held.at({id, node})});
      }
    }
    EXPECT_EQ(verdict.rank_finish, finish);
  }
}

}  // namespace
}  // namespace stellwerk
