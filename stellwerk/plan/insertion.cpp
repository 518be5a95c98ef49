// Tree routing by insertion.
//
// Problem: given the time-expanded network that is left over by the chunks already placed, find a tree that brings one
// more chunk from its holders to all its destinations early without wasting scarce links.
// Idea: Dijkstra over hops, where a hop's cost is its earliest start in the timelines plus what it takes, and the key is
// the arrival plus lambda times the link time that the hop occupies (lambda > 0 keeps chunks off slow links that others
// need; without it copying switches are wasted). A destination that is popped is fixed at once, with the path that leads
// to it, and becomes a further source: the tree grows as in Prim's and Takahashi-Matsuyama's Steiner heuristics. Nodes
// that do not want the chunk carry tentative labels only and cost nothing unless a destination lies behind them.
// At a copying switch a hop may join an earlier send of the same chunk whose other links are free, and a new send may
// wait a little so that all wanting receivers behind the switch get it at once.
// Transit buffers: a chunk fills the buffer of a node that it only passes from its first byte in to the end of its last
// send out, so a hop out of such a node must start while there is room to stay that long. Should that leave no way at
// all, the chunk waits until everything else is done.
// Guarantee: the sends are valid and causal; no optimality. Cost: one heap operation and one timeline query per hop and
// chunk, re-queued when another reservation came between.
// Held to its word by: plan/search_test.cpp, tests/conformance.
#include "stellwerk/plan/insertion.hpp"

#include <algorithm>
#include <set>

#include "stellwerk/plan/passing.hpp"

namespace stellwerk {

Insertion::Insertion(const Problem& problem, const Routes& routes, Rng& rng)
    : problem_(problem),
      topology_(problem.topology),
      routes_(routes),
      rng_(rng),
      reservations_(problem.topology),
      sends_(problem.chunks.size()),
      finish_(problem.chunks.size(), Time{0}),
      labels_(problem.topology.nodes().size()),
      wanted_(problem.topology.nodes().size(), 0),
      may_forward_(problem.topology.nodes().size(), 1),
      limited_(problem.topology.nodes().size(), 0),
      stays_(problem.topology.nodes().size()) {
  for (const Node& node : topology_.nodes()) multicast_ = multicast_ || node.multicast;
  buffers_ = has_buffer_limits(topology_);
}

Time Insertion::makespan() const {
  return finish_.empty() ? Time{0} : *std::max_element(finish_.begin(), finish_.end());
}

Schedule Insertion::schedule() const {
  Schedule all;
  for (const auto& sends : sends_) all.insert(all.end(), sends.begin(), sends.end());
  sort_sends(topology_, all);
  return all;
}

void Insertion::clear() {
  reservations_.clear();
  for (auto& sends : sends_) sends.clear();
  std::fill(finish_.begin(), finish_.end(), Time{0});
  latest_ = Time{0};
}

void Insertion::remove(ChunkId chunk) {
  for (const auto& [node, stay] : stays(chunk)) {
    reservations_.remove(stay_footprint(node, stay, problem_.chunks[chunk].bytes), stay.begin);
  }
  for (const Send& send : sends_[chunk]) {
    reservations_.footprint(send, scratch_);
    reservations_.remove(scratch_, send.start);
  }
  sends_[chunk].clear();
  finish_[chunk] = Time{0};
}

void Insertion::restore(ChunkId chunk, std::vector<Send> sends) {
  const Chunk& what = problem_.chunks[chunk];
  Time finish{0};
  for (const Send& send : sends) {
    reservations_.footprint(send, scratch_);
    reservations_.add(scratch_, send.start);
    const SendTiming times = timing(topology_, send);
    for (std::size_t i = 0; i < times.leaves.size(); ++i) {
      latest_ = std::max(latest_, send.start + times.arrival[i]);
      if (std::find(what.destinations.begin(), what.destinations.end(), times.leaves[i]) !=
          what.destinations.end()) {
        finish = std::max(finish, send.start + times.arrival[i]);
      }
    }
  }
  sends_[chunk] = std::move(sends);
  finish_[chunk] = finish;
  for (const auto& [node, stay] : stays(chunk)) {
    reservations_.add(stay_footprint(node, stay, what.bytes), stay.begin);
  }
}

bool Insertion::limits(const Chunk& chunk, NodeId node) const {
  const auto in = [&](const std::vector<NodeId>& list) {
    return std::find(list.begin(), list.end(), node) != list.end();
  };
  return reservations_.buffer(node) >= 0 && !in(chunk.origins) && !in(chunk.destinations);
}

std::map<NodeId, Insertion::Stay> Insertion::stays(ChunkId chunk) const {
  std::map<NodeId, Stay> result;
  if (!buffers_) return result;
  const auto cover = [&](NodeId node, Time begin, Time end) {
    if (!limits(problem_.chunks[chunk], node)) return;
    Stay& stay = result[node];
    stay.begin = std::min(stay.begin, begin);
    stay.end = std::max(stay.end, end);
  };
  for (const Send& send : sends_[chunk]) {
    const SendTiming times = timing(topology_, send);
    cover(topology_.link(send.links.front()).from, send.start, send.start + times.duration);
    for (std::size_t i = 0; i < times.leaves.size(); ++i) {
      const Time arrival = send.start + times.arrival[i];
      cover(times.leaves[i], arrival - times.duration, arrival);
    }
  }
  return result;
}

Footprint Insertion::stay_footprint(NodeId node, const Stay& stay, Bytes bytes) const {
  return {{reservations_.buffer(node), Time{0}, stay.end - stay.begin, bytes.value}};
}

/// Can the chunk, which comes or came in already, stay at the node until then?
bool Insertion::stay_fits(NodeId node, Time until) const {
  if (limited_[node] == 0) return true;
  const bool held = labels_[node].mark == Mark::held;
  const Time from = held ? stays_[node].end : labels_[node].first_in;
  return until <= from || reservations_.fits(stay_footprint(node, {from, until}, bytes_), from);
}

void Insertion::extend_stay(NodeId node, Time begin, Time end) {
  latest_ = std::max(latest_, end);
  if (limited_[node] == 0) return;
  Stay& stay = stays_[node];
  if (stay.begin == Time::max()) stay = {begin, begin};
  if (end <= stay.end) return;
  reservations_.add(stay_footprint(node, {stay.end, end}, bytes_), stay.end);
  stay.end = end;
}

Time Insertion::insert(ChunkId chunk, const InsertionStyle& style) {
  no_wait_ = style.no_wait;
  const Time ready = problem_.chunks[chunk].ready;
  start_chunk(chunk);
  if (grow(ready, style)) return finish_[chunk];
  // No room to stay, or links are taken at the very instants at which the chunk would have to leave: it starts later, at
  // worst when everything else is done.
  const std::int64_t tries = no_wait_ ? 8 : buffers_ ? 1 : 0;
  const Time last = std::max(ready, latest_);
  for (std::int64_t i = 1; i <= tries; ++i) {
    remove(chunk);
    start_chunk(chunk);
    const Time later = i == tries ? last : ready + Time{(last - ready).ps / tries * i};
    if (grow(later, style)) return finish_[chunk];
  }
  return finish_[chunk] = Time::max();
}

void Insertion::start_chunk(ChunkId chunk) {
  const Chunk& what = problem_.chunks[chunk];
  chunk_ = chunk;
  bytes_ = what.bytes;
  auto& durations = durations_[bytes_.value];
  if (durations.empty()) {
    durations.reserve(routes_.size());
    for (const HopId id : routes_.hop_ids())
      durations.push_back(transmission_time(bytes_, routes_.hop(id).bandwidth));
  }
  duration_ = &durations;
  if (forward_job_ != what.job) {
    forward_job_ = what.job;
    if (problem_.relays == Relays::members) {
      for (const NodeId id : topology_.node_ids()) {
        may_forward_[id] = static_cast<char>(topology_.node(id).kind != NodeKind::gpu);
      }
      for (const NodeId id : problem_.jobs[what.job.index()].ranks) may_forward_[id] = 1;
    }
  }
  if (buffers_) {
    for (const NodeId id : topology_.node_ids()) limited_[id] = static_cast<char>(limits(what, id));
    std::fill(stays_.begin(), stays_.end(), Stay{});
  }
  std::fill(labels_.begin(), labels_.end(), Label{});
  std::fill(wanted_.begin(), wanted_.end(), 0);
  missing_ = 0;
  for (const NodeId id : what.destinations) {
    if (std::find(what.origins.begin(), what.origins.end(), id) == what.origins.end()) {
      wanted_[id] = 1;
      ++missing_;
    }
  }
  queue_.clear();
  fresh_.clear();
  finish_[chunk] = what.ready;
}

/// Grows the tree of the chunk in progress; false when some destination cannot be reached.
bool Insertion::grow(Time earliest, const InsertionStyle& style) {
  for (const NodeId id : problem_.chunks[chunk_].origins) {
    labels_[id] = {Mark::held, earliest, 0, HopId{}, Time{}, true};
    fresh_.push_back(id);
  }
  while (true) {
    for (std::size_t i = 0; i < fresh_.size(); ++i) push_hops(fresh_[i], style);
    fresh_.clear();
    if (missing_ == 0) return true;
    if (queue_.empty()) return false;
    std::pop_heap(queue_.begin(), queue_.end());
    Entry entry = queue_.back();
    queue_.pop_back();
    const Hop& hop = routes_.hop(entry.hop);
    Label& target = labels_[hop.to];
    if (target.mark != Mark::untouched) continue;
    const Placement now = place(entry.hop, labels_[hop.from].arrival);
    if (!now.possible()) continue;
    if (now.start > entry.start) {  // another reservation came between: queue again
      entry.key += (now.start - entry.start).ps;
      entry.start = now.start;
      queue_.push_back(entry);
      std::push_heap(queue_.begin(), queue_.end());
      continue;
    }
    if (wanted_[hop.to] != 0) {
      fix_path(entry.hop, style);
      continue;
    }
    const std::int64_t extra =
        labels_[hop.from].mark == Mark::tentative ? labels_[hop.from].extra : 0;
    target = {Mark::tentative, now.arrival, extra + penalty(entry.hop, style), entry.hop,
              now.start + hop.latency};
    push_hops(hop.to, style);
  }
}

/// A destination is reached: fixes the path that leads to it, from the last holder on.
void Insertion::fix_path(HopId last, const InsertionStyle& style) {
  std::vector<HopId> path{last};
  for (NodeId node = routes_.hop(last).from; labels_[node].mark == Mark::tentative;
       node = routes_.hop(labels_[node].parent).from) {
    path.push_back(labels_[node].parent);
  }
  std::reverse(path.begin(), path.end());
  for (const HopId step : path) {
    const NodeId from = routes_.hop(step).from;
    if (labels_[routes_.hop(step).to].mark == Mark::held)
      continue;  // a joint multicast got there first
    const Placement placement = place(step, labels_[from].arrival);
    if (!placement.possible())
      return;  // no room to stay any more: what is behind is reached another way
    if (placement.shared >= 0 || !multicast_ || !commit_multicast(step, placement.start, style)) {
      commit(step, placement);
    }
  }
}

std::int64_t Insertion::penalty(HopId hop, const InsertionStyle& style) {
  std::int64_t result = 0;
  if (style.occupancy_quarters > 0) {
    std::int64_t occupied = 0;
    for (const LinkId id : routes_.hop(hop).links) {
      // Time of the link itself: what a fast link is kept from doing counts less.
      occupied += (*duration_)[hop].ps /
                  std::max<std::int64_t>(1, topology_.link(id).bandwidth.bytes_per_second /
                                                routes_.hop(hop).bandwidth.bytes_per_second);
    }
    result = occupied * style.occupancy_quarters / 4;
  }
  if (style.noise.ps > 0)
    result += static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(style.noise.ps)));
  return result;
}

void Insertion::push_hops(NodeId node, const InsertionStyle& style) {
  const Label& label = labels_[node];
  const std::int64_t extra = label.mark == Mark::tentative ? label.extra : 0;
  for (const HopId id : routes_.out(node)) {
    const NodeId to = routes_.hop(id).to;
    if (labels_[to].mark != Mark::untouched) continue;
    if (wanted_[to] == 0 && may_forward_[to] == 0) continue;
    const Placement placement = place(id, label.arrival);
    if (!placement.possible()) continue;
    queue_.push_back({placement.arrival.ps + extra + penalty(id, style), id, placement.start});
    std::push_heap(queue_.begin(), queue_.end());
  }
}

void Insertion::hop_footprint(HopId hop, Footprint& result) {
  const Hop& h = routes_.hop(hop);
  const Time duration = (*duration_)[hop];
  const std::int64_t rate = h.bandwidth.bytes_per_second;
  result.clear();
  Time offset{0};
  for (const LinkId id : h.links) {
    result.push_back({reservations_.link(id), offset, duration, rate});
    offset += topology_.link(id).latency;
  }
  if (const int cap = reservations_.injection(h.from); cap >= 0)
    result.push_back({cap, Time{0}, duration, rate});
  if (const int cap = reservations_.ejection(h.to); cap >= 0)
    result.push_back({cap, offset, duration, rate});
}

Insertion::Placement Insertion::place(HopId hop, Time available) {
  const Placement none{Time::max(), Time::max(), -1};
  const NodeId to = routes_.hop(hop).to;
  hop_footprint(hop, scratch_);
  if (limited_[to] != 0) {
    scratch_.push_back(
        {reservations_.buffer(to), routes_.hop(hop).latency, (*duration_)[hop], bytes_.value});
  }
  const Time own = reservations_.earliest(scratch_, available);
  if (own == Time::max() || !stay_fits(routes_.hop(hop).from, own + (*duration_)[hop])) return none;
  const bool late = no_wait_ && own > available && !labels_[routes_.hop(hop).from].origin;
  Placement best =
      late ? none : Placement{own, own + routes_.hop(hop).latency + (*duration_)[hop], -1};
  if (!multicast_ || routes_.hop(hop).links.size() < 2 ||
      labels_[routes_.hop(hop).from].mark != Mark::held)
    return best;
  Send extended;
  Footprint branch;
  const auto& mine = sends_[chunk_];
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (mine[i].start >= best.start || mine[i].links.front() != routes_.hop(hop).links.front())
      continue;
    if (!try_branch(hop, mine[i], extended, branch) || !reservations_.fits(branch, mine[i].start))
      continue;
    const Time duration = transmission_time(bytes_, mine[i].rate);
    const Time arrival = mine[i].start + routes_.hop(hop).latency + duration;
    if (limited_[to] != 0 &&
        !reservations_.fits(stay_footprint(to, {arrival - duration, arrival}, bytes_),
                            arrival - duration)) {
      continue;
    }
    if (arrival <= best.arrival) best = {mine[i].start, arrival, static_cast<int>(i)};
  }
  return best;
}

bool Insertion::try_branch(HopId hop, const Send& send, Send& extended, Footprint& branch) const {
  // Walk the common first links; where the hop leaves the tree there must be a copying switch, and the rest must be new.
  const std::vector<LinkId>& links = routes_.hop(hop).links;
  std::size_t common = 0;
  while (common < links.size() &&
         std::find(send.links.begin(), send.links.end(), links[common]) != send.links.end()) {
    ++common;
  }
  if (common == 0 || common == links.size()) return false;
  const NodeId fork = topology_.link(links[common]).from;
  if (!topology_.node(fork).multicast) return false;
  Time offset{0};
  for (std::size_t i = 0; i < common; ++i) offset += topology_.link(links[i]).latency;
  const Time duration = transmission_time(bytes_, send.rate);
  const std::int64_t rate = send.rate.bytes_per_second;
  branch.clear();
  extended = send;
  for (std::size_t i = common; i < links.size(); ++i) {
    const Link& link = topology_.link(links[i]);
    if (link.bandwidth < send.rate) return false;
    for (const LinkId other : send.links) {
      if (topology_.link(other).to == link.to) return false;
    }
    branch.push_back({reservations_.link(links[i]), offset, duration, rate});
    offset += link.latency;
    extended.links.push_back(links[i]);
  }
  const NodeId to = routes_.hop(hop).to;
  if (topology_.node(to).ejection && *topology_.node(to).ejection < send.rate) return false;
  if (const int cap = reservations_.ejection(to); cap >= 0)
    branch.push_back({cap, offset, duration, rate});
  if (const int cap = reservations_.groups(fork); cap >= 0) {
    int outgoing = 0;
    Time at_fork{0};
    for (std::size_t i = 0; i < common; ++i) at_fork += topology_.link(links[i]).latency;
    for (const LinkId other : send.links) outgoing += topology_.link(other).from == fork ? 1 : 0;
    if (outgoing == 1) branch.push_back({cap, at_fork, duration, 1});
  }
  return true;
}

void Insertion::hold(NodeId node, Time arrival) {
  labels_[node] = {Mark::held, arrival, 0, HopId{}, Time{}};
  latest_ = std::max(latest_, arrival);
  fresh_.push_back(node);
  if (wanted_[node] != 0) {
    --missing_;
    finish_[chunk_] = std::max(finish_[chunk_], arrival);
  }
}

void Insertion::commit(HopId hop, Placement placement) {
  const Hop& h = routes_.hop(hop);
  std::vector<Send>& mine = sends_[chunk_];
  const Time duration = placement.arrival - placement.start - h.latency;
  extend_stay(h.from, placement.start, placement.start + duration);
  extend_stay(h.to, placement.arrival - duration, placement.arrival);
  if (placement.shared >= 0) {
    Send extended;
    Footprint branch;
    try_branch(hop, mine[static_cast<std::size_t>(placement.shared)], extended, branch);
    reservations_.add(branch, placement.start);
    mine[static_cast<std::size_t>(placement.shared)] = std::move(extended);
  } else {
    hop_footprint(hop, scratch_);
    reservations_.add(scratch_, placement.start);
    mine.push_back({chunk_, Op::copy, placement.start, h.bandwidth, h.links, Bytes{0}, bytes_});
  }
  hold(h.to, placement.arrival);
}

bool Insertion::commit_multicast(HopId hop, Time start, const InsertionStyle& style) {
  const Hop& h = routes_.hop(hop);
  if (h.links.size() < 2 || limited_[h.from] != 0 || limited_[h.to] != 0) return false;
  // Join every wanting receiver whose hop begins with the same link, forks at copying switches only and is as fast.
  Send send{chunk_, Op::copy, start, h.bandwidth, h.links, Bytes{0}, bytes_};
  Footprint branch;
  Send extended;
  std::set<NodeId> reached{h.to};
  for (const HopId id : routes_.out(h.from)) {
    const Hop& other = routes_.hop(id);
    if (other.links.size() < 2 || other.links.front() != h.links.front()) continue;
    if (reached.contains(other.to) || wanted_[other.to] == 0 ||
        labels_[other.to].mark == Mark::held)
      continue;
    if (!try_branch(id, send, extended, branch)) continue;
    send = extended;
    reached.insert(other.to);
  }
  if (reached.size() < 2) return false;
  reservations_.footprint(send, scratch_);
  const Time joint = reservations_.earliest(scratch_, start);
  const std::int64_t patience =
      (*duration_)[hop].ps * style.wait_quarters / 4 * static_cast<std::int64_t>(reached.size());
  if ((joint - start).ps > patience || (no_wait_ && joint > start && !labels_[h.from].origin))
    return false;
  send.start = joint;
  reservations_.add(scratch_, joint);
  const SendTiming times = timing(topology_, send);
  for (std::size_t i = 0; i < times.leaves.size(); ++i)
    hold(times.leaves[i], joint + times.arrival[i]);
  sends_[chunk_].push_back(std::move(send));
  return true;
}

}  // namespace stellwerk
