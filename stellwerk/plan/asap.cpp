#include "stellwerk/plan/asap.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "stellwerk/check/simulate.hpp"

namespace stellwerk {
namespace {

constexpr std::size_t kMostPairs = std::size_t{1} << 23;

}  // namespace

ChunkNodeTimes::ChunkNodeTimes(const Problem& problem) : nodes_(problem.topology.nodes().size()) {
  const std::size_t chunks = problem.chunks.size();
  if (nodes_ > 0 && chunks <= kMostPairs / nodes_) all_.assign(chunks * nodes_, Time::max());
}

Time ChunkNodeTimes::get(ChunkId chunk, NodeId node) const {
  if (!all_.empty()) return all_[key(chunk, node)];
  const auto found = some_.find(key(chunk, node));
  return found == some_.end() ? Time::max() : found->second;
}

void ChunkNodeTimes::set(ChunkId chunk, NodeId node, Time time) {
  (all_.empty() ? some_[key(chunk, node)] : all_[key(chunk, node)]) = time;
}

Time LinkTimes::earliest(Time from, Time duration) const {
  if (from >= free_) return from;
  // The first gap that ends late enough.
  auto gap = std::partition_point(gaps_.begin(), gaps_.end(),
                                  [&](const Gap& g) { return g.end < from + duration; });
  for (; gap != gaps_.end(); ++gap) {
    const Time begin = std::max(from, gap->begin);
    if (begin + duration <= gap->end) return begin;
  }
  return std::max(from, free_);
}

void LinkTimes::take(Time begin, Time duration, Time least) {
  const Time end = begin + duration;
  if (begin >= free_) {
    if (begin - free_ >= least) gaps_.push_back({free_, begin});
    free_ = end;
    return;
  }
  const auto gap =
      std::partition_point(gaps_.begin(), gaps_.end(), [&](const Gap& g) { return g.end < end; });
  const Gap before{gap->begin, begin}, after{end, gap->end};
  const bool keep_before = before.end - before.begin >= least;
  const bool keep_after = after.end - after.begin >= least;
  if (keep_before && keep_after) {
    *gap = after;
    gaps_.insert(gap, before);
  } else if (keep_before || keep_after) {
    *gap = keep_before ? before : after;
  } else {
    gaps_.erase(gap);
  }
}

AsapBuilder::AsapBuilder(const Problem& problem)
    : problem_(problem),
      least_(Bytes{std::numeric_limits<std::int64_t>::max()}),
      links_(problem.topology.links().size()),
      complete_(problem),
      partial_(problem) {
  for (const ChunkId id : problem.chunk_ids()) {
    const Chunk& chunk = problem.chunks[id];
    least_ = std::min(least_, chunk.bytes);
    for (const NodeId origin : chunk.origins) complete_.set(id, origin, chunk.ready);
  }
}

Time AsapBuilder::earliest(ChunkId chunk, const Hop& hop, Time held) const {
  const Time duration = transmission_time(problem_.chunks[chunk].bytes, hop.bandwidth);
  Time start = held;
  for (bool moved = true; moved;) {
    moved = false;
    Time offset;
    for (const LinkId link : hop.links) {
      const Time free = links_[link].earliest(start + offset, duration) - offset;
      moved = moved || free > start;
      start = free;
      offset += problem_.topology.link(link).latency;
    }
    if (hop.links.size() == 1) break;
  }
  return start;
}

Time AsapBuilder::append(ChunkId chunk, Op op, const Hop& hop, Time start) {
  const Topology& topology = problem_.topology;
  Send send{chunk, op, start, hop.bandwidth, hop.links, Bytes{0}, problem_.chunks[chunk].bytes};
  const Time duration = transmission_time(send.bytes, send.rate);
  Time offset;
  for (const LinkId link : hop.links) {
    links_[link].take(start + offset, duration,
                      transmission_time(least_, topology.link(link).bandwidth));
    offset += topology.link(link).latency;
  }
  sends_.push_back(std::move(send));
  return start + hop.latency + duration;
}

Time AsapBuilder::copy(ChunkId chunk, const Hop& hop) {
  const Time held = complete_.get(chunk, hop.to);
  if (held != Time::max()) return held;
  const Time arrival =
      append(chunk, Op::copy, hop, earliest(chunk, hop, complete_.get(chunk, hop.from)));
  complete_.set(chunk, hop.to, arrival);
  return arrival;
}

Time AsapBuilder::partial_ready(ChunkId chunk, NodeId node) const {
  const Time arrived = partial_.get(chunk, node);
  const Time ready = problem_.chunks[chunk].ready;
  return arrived == Time::max() ? ready : std::max(ready, arrived);
}

void AsapBuilder::merge(ChunkId chunk, NodeId node, Time arrival) {
  const Time latest = partial_.get(chunk, node);
  if (latest == Time::max() || latest < arrival) partial_.set(chunk, node, arrival);
}

Time AsapBuilder::reduce(ChunkId chunk, const Hop& hop) {
  const Time arrival =
      append(chunk, Op::reduce, hop, earliest(chunk, hop, partial_ready(chunk, hop.from)));
  merge(chunk, hop.to, arrival);
  return arrival;
}

Time AsapBuilder::exchange(ChunkId chunk, const Hop& there, const Hop& back) {
  // Both at once: neither may hear of the other's before it has sent its own.
  Time start = std::max(partial_ready(chunk, there.from), partial_ready(chunk, back.from));
  for (Time before{-1}; start != before;) {
    before = start;
    start = earliest(chunk, back, earliest(chunk, there, start));
  }
  const Time first = append(chunk, Op::share, there, start);
  const Time second = append(chunk, Op::share, back, start);
  merge(chunk, there.to, first);
  merge(chunk, back.to, second);
  return std::max(first, second);
}

void AsapBuilder::finish_sum(ChunkId chunk, NodeId node) {
  complete_.set(chunk, node, partial_ready(chunk, node));
}

Schedule AsapBuilder::take() {
  sort_sends(problem_.topology, sends_);
  const auto& nodes = problem_.topology.nodes();
  const bool limits = std::any_of(nodes.begin(), nodes.end(), [](const Node& node) {
    return node.injection || node.ejection || node.buffer;
  });
  return limits ? simulate(problem_, sends_).sends : std::move(sends_);
}

}  // namespace stellwerk
