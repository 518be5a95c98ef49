// Prim's algorithm in time-expanded resources.
//
// Problem. Every representative chunk needs a tree that spans its destinations; what counts is when
// the last one is reached while all chunks share the link orbits.
//
// Idea. Grow one tree after the other. The next send is the one with the least key: its arrival,
// given what the resources have left, plus a penalty on the resource time that it claims, which
// keeps slow orbits for where they are needed. All sends over one lane claim the same, so the only
// question per lane is which holder could send first: a heap of holders a lane and a lazy heap of
// lanes (keys only grow) make a tree cost about (nodes * (lanes of a node + log)) whatever the
// number of pairs that a switch connects. Which node a holder sends to is left to the frontier.
// A switch that copies serves many nodes with one send: where k links of the send lie in one orbit
// it runs at 1/k of the rate ("a wave"): the way down is paid k times, the way up once.
// Nodes that do not want the chunk are reached like others, then branches without need are cut.
//
// Guarantee: none; tests in symmetric_test.cpp say how near the bounds it comes.
#include "stellwerk/plan/symmetric_growth.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <tuple>

#include "stellwerk/plan/symmetric_dispatch.hpp"

namespace stellwerk::symmetric {

bool TreeGrower::later(const Holder& a, const Holder& b) {
  return std::tie(a.ready, a.tie) > std::tie(b.ready, b.tie);
}

bool TreeGrower::worse(const Candidate& a, const Candidate& b) {
  return std::tie(a.key, a.load, a.tie, a.lane) > std::tie(b.key, b.load, b.tie, b.lane);
}

TreeGrower::TreeGrower(const Problem& problem, const Quotient& quotient, const Lanes& lanes)
    : problem_(problem),
      quotient_(quotient),
      lanes_(lanes),
      frontier_(quotient, lanes),
      holders_(lanes.size()),
      stamps_(lanes.size(), 0) {
  for (const Chunk& chunk : problem.chunks) sizes_.push_back(chunk.bytes);
  std::sort(sizes_.begin(), sizes_.end());
  sizes_.erase(std::unique(sizes_.begin(), sizes_.end()), sizes_.end());
  for (const Bytes size : sizes_) {
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      shapes_.push_back(quotient.shape(lanes.lane(i).example, size));
      claims_.push_back(0);
      most_.push_back(0);
      for (const Use& use : shapes_.back().uses) {
        const double time = static_cast<double>(shapes_.back().duration) *
                            static_cast<double>(use.amount) /
                            static_cast<double>(quotient.capacity(use.resource));
        claims_.back() += time;
        most_.back() = std::max(most_.back(), time);
      }
    }
  }
}

std::optional<Grown> TreeGrower::grow(const std::vector<ChunkId>& order, const GrowthRules& rules,
                                      Rng& rng, const StopCondition& stop) {
  rules_ = rules;
  rng_ = &rng;
  if (rules.random) frontier_.shuffle(rng);
  grown_ = {};
  grown_.graph.shapes = shapes_;
  load_.assign(quotient_.resources(), 0);
  timelines_.clear();
  const bool waves = rules.most_leaves > 1;
  std::vector<std::int64_t> amount(quotient_.resources(), std::numeric_limits<std::int64_t>::max());
  std::vector<std::int64_t> duration = amount;
  for (const Shape& shape : shapes_) {
    for (const Use& use : shape.uses) {
      const auto r = static_cast<std::size_t>(use.resource);
      amount[r] = std::min(amount[r], use.amount);
      duration[r] = std::min(duration[r], shape.duration);
    }
  }
  for (std::size_t r = 0; r < quotient_.resources(); ++r) {
    const std::int64_t capacity = quotient_.capacity(static_cast<int>(r));
    timelines_.emplace_back(capacity, waves ? 1 : std::min(amount[r], capacity), duration[r]);
  }
  for (const ChunkId id : order) {
    if (stop.should_stop() || !grow_one(id, stop)) return std::nullopt;
  }
  return std::move(grown_);
}

/// Tells the frontier who is to be found. False when there is nothing to do.
bool TreeGrower::open_nodes(const Chunk& chunk) {
  const Topology& topology = problem_.topology;
  wanted_.assign(topology.nodes().size(), 0);
  for (const NodeId node : chunk.destinations) wanted_[node.index()] = 1;
  for (const NodeId node : chunk.origins) wanted_[node.index()] = 0;
  missing_ = static_cast<std::size_t>(std::count(wanted_.begin(), wanted_.end(), 1));
  if (missing_ == 0) return false;
  std::vector<char> closed(topology.nodes().size(), 0);
  for (const NodeId node : chunk.origins) closed[node.index()] = 1;
  detours_ = false;
  if (missing_ + chunk.origins.size() < topology.gpus().size() || problem_.relays == Relays::all) {
    std::vector<char> member(topology.nodes().size(), 0);
    for (const NodeId node : problem_.jobs[chunk.job.index()].ranks) member[node.index()] = 1;
    for (const NodeId node : topology.node_ids()) {
      if (!topology.stores(node) || wanted_[node.index()] != 0 || closed[node.index()] != 0)
        continue;
      const bool may = problem_.relays == Relays::all || member[node.index()] != 0 ||
                       topology.node(node).kind != NodeKind::gpu;
      closed[node.index()] = may ? 0 : 1;
      detours_ = detours_ || may;
    }
  }
  frontier_.reset(std::move(closed));
  return true;
}

bool TreeGrower::grow_one(ChunkId id, const StopCondition& stop) {
  const Chunk& chunk = problem_.chunks[id];
  if (!open_nodes(chunk)) return true;
  chunk_ = id;
  size_ = static_cast<std::size_t>(std::lower_bound(sizes_.begin(), sizes_.end(), chunk.bytes) -
                                   sizes_.begin());
  candidates_.clear();
  for (std::vector<Holder>& heap : holders_) heap.clear();
  const std::size_t first_task = grown_.graph.tasks.size();
  const std::size_t first_arc = grown_.graph.arcs.size();
  std::vector<ClaimTimeline> before;
  if (detours_ && rules_.contended) before = timelines_;
  for (const NodeId origin : chunk.origins) settle(origin, chunk.ready.ps, -1);
  while (missing_ > 0 && !candidates_.empty()) {
    std::pop_heap(candidates_.begin(), candidates_.end(), worse);
    const Candidate c = candidates_.back();
    candidates_.pop_back();
    if (c.stamp != stamps_[c.lane]) continue;
    if (++steps_ % 4096 == 0 && stop.should_stop()) return false;
    const Candidate now = candidate(c.lane);
    if (now.key > c.key || now.load > c.load) {
      push(now);
    } else {
      send(now);
    }
  }
  if (missing_ > 0) return false;
  if (detours_) {
    prune(chunk, first_task, first_arc);
    if (rules_.contended) {
      timelines_ = std::move(before);
      for (std::size_t i = first_task; i < grown_.graph.tasks.size(); ++i)
        symmetric::claim(grown_.graph.shape(grown_.graph.tasks[i]), timelines_, grown_.starts[i]);
    }
  }
  for (std::size_t i = first_task; i < grown_.graph.tasks.size(); ++i) {
    grown_.finish =
        std::max(grown_.finish, grown_.starts[i] + grown_.graph.shape(grown_.graph.tasks[i]).span);
  }
  return true;
}

/// `node` has the chunk from `ready` on: it can send it over all its lanes.
void TreeGrower::settle(NodeId node, std::int64_t ready, int task) {
  frontier_.close(node);
  if (wanted_[node.index()] != 0) --missing_;
  for (const std::size_t lane : lanes_.from(quotient_.orbit(node))) {
    std::vector<Holder>& heap = holders_[lane];
    frontier_.offer(node, lanes_.lane(lane), claim(lane));
    const std::uint64_t tie = rules_.random ? rng_->next() : ties_++;
    heap.push_back({ready, tie, node, task});
    std::push_heap(heap.begin(), heap.end(), later);
    if (heap.front().node == node) push(candidate(lane));
  }
}

/// Precondition: the lane has a holder.
TreeGrower::Candidate TreeGrower::candidate(std::size_t lane) {
  const Holder& holder = holders_[lane].front();
  const Shape& claims = shape(lane);
  Candidate c{0, 0, lane, lane, 0, holder.ready};
  if (rules_.contended) {
    c.start = earliest_start(claims, timelines_, holder.ready);
  } else {
    for (const Use& use : claims.uses)
      c.load = std::max(c.load, load_[static_cast<std::size_t>(use.resource)]);
  }
  c.key = static_cast<double>(c.start) + rules_.patience * static_cast<double>(claims.span) +
          rules_.penalty * claim(lane);
  return c;
}

void TreeGrower::push(const Candidate& c) {
  candidates_.push_back(c);
  candidates_.back().stamp = ++stamps_[c.lane];
  if (rules_.random) candidates_.back().tie = rng_->next();
  std::push_heap(candidates_.begin(), candidates_.end(), worse);
}

/// The lane's first holder sends to a node of the frontier's choice, or to many at once.
void TreeGrower::send(const Candidate& c) {
  const Lane& lane = lanes_.lane(c.lane);
  std::vector<Holder>& heap = holders_[c.lane];
  const Holder holder = heap.front();
  Shape wide;
  const bool wave = lane.multicast && rules_.most_leaves > 1 &&
                    frontier_.find_all(holder.node, lane, rules_.most_leaves, links_) &&
                    links_.size() > lane.links.size() &&
                    quotient_.possible(wide = quotient_.shape(links_, sizes_[size_]));
  if (!wave &&
      !frontier_.find(holder.node, lane, rules_.cheap * claim(c.lane), rules_.strict, links_)) {
    std::pop_heap(heap.begin(), heap.end(), later);
    heap.pop_back();
    if (!heap.empty()) push(candidate(c.lane));
    return;
  }
  int shape_id = static_cast<int>(size_ * lanes_.size() + c.lane);
  std::int64_t start = c.start;
  if (wave) {
    if (rules_.contended) start = earliest_start(wide, timelines_, holder.ready);
    shape_id = static_cast<int>(grown_.graph.shapes.size());
    grown_.graph.shapes.push_back(std::move(wide));
  }
  place(shape_id, start, holder, links_);
  if (!heap.empty()) push(candidate(c.lane));
}

void TreeGrower::place(int shape_id, std::int64_t start, const Holder& holder,
                       std::vector<LinkId> links) {
  const int task = static_cast<int>(grown_.graph.tasks.size());
  const Shape& claims = grown_.graph.shapes[static_cast<std::size_t>(shape_id)];
  const std::int64_t arrival = start + claims.span;
  if (rules_.contended) symmetric::claim(claims, timelines_, start);
  for (const Use& use : claims.uses) {
    load_[static_cast<std::size_t>(use.resource)] +=
        static_cast<double>(claims.duration) * static_cast<double>(use.amount) /
        static_cast<double>(quotient_.capacity(use.resource));
  }
  if (holder.task >= 0) grown_.graph.arcs.emplace_back(holder.task, task);
  grown_.starts.push_back(start);
  std::vector<NodeId> leaves;
  for (const LinkId link : links) {
    const NodeId head = problem_.topology.link(link).to;
    if (problem_.topology.stores(head)) leaves.push_back(head);
  }
  grown_.graph.tasks.push_back(
      {shape_id, chunk_, Op::copy, problem_.chunks[chunk_].ready.ps, std::move(links)});
  for (const NodeId leaf : leaves) settle(leaf, arrival, task);
}

/// Cuts sends that lead to no destination, from the leaves up. Waves keep all their leaves.
void TreeGrower::prune(const Chunk& chunk, std::size_t first_task, std::size_t first_arc) {
  TaskGraph& graph = grown_.graph;
  const std::size_t count = graph.tasks.size() - first_task;
  std::vector<char> needed(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    for (const LinkId link : graph.tasks[first_task + i].links)
      needed[i] = needed[i] | wanted_[problem_.topology.link(link).to.index()];
  }
  // Arcs lead from earlier tasks to later ones.
  for (std::size_t k = graph.arcs.size(); k > first_arc; --k) {
    const auto& [a, b] = graph.arcs[k - 1];
    if (needed[static_cast<std::size_t>(b) - first_task] != 0)
      needed[static_cast<std::size_t>(a) - first_task] = 1;
  }
  std::vector<int> number(count, -1);
  std::size_t kept = first_task;
  for (std::size_t i = 0; i < count; ++i) {
    if (needed[i] == 0) continue;
    number[i] = static_cast<int>(kept);
    if (kept != first_task + i) {
      graph.tasks[kept] = std::move(graph.tasks[first_task + i]);
      grown_.starts[kept] = grown_.starts[first_task + i];
    }
    ++kept;
  }
  graph.tasks.resize(kept);
  grown_.starts.resize(kept);
  std::size_t arcs = first_arc;
  for (std::size_t k = first_arc; k < graph.arcs.size(); ++k) {
    const int a = number[static_cast<std::size_t>(graph.arcs[k].first) - first_task];
    const int b = number[static_cast<std::size_t>(graph.arcs[k].second) - first_task];
    if (b >= 0) graph.arcs[arcs++] = {a, b};
  }
  graph.arcs.resize(arcs);
  assert(chunk.bytes == sizes_[size_]);
}

}  // namespace stellwerk::symmetric
