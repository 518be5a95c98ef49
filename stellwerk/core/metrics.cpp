#include "stellwerk/core/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace stellwerk {
namespace {

std::optional<double> rate(Bytes size, Time time) {
  if (time.ps <= 0) return std::nullopt;
  return static_cast<double>(size.value) * 1e12 / static_cast<double>(time.ps);
}

std::optional<double> gap(Time transfer_time, const std::optional<Bound>& bound) {
  if (!bound || bound->value.ps <= 0) return std::nullopt;
  // The difference first, in integers: a plan that meets its bound has a gap of exactly 0.
  return static_cast<double>((transfer_time - bound->value).ps) /
         static_cast<double>(bound->value.ps);
}

Figures figures(const Job& job, Time time) {
  Figures result;
  result.size_bytes = effective_size(job);
  const OutputBytes output = output_bytes(job);
  result.output_bytes = output.largest;
  if (output.smallest != output.largest) result.output_bytes_smallest = output.smallest;
  result.algbw = rate(*result.size_bytes, time);
  if (result.algbw) {
    result.busbw = *result.algbw * busbw_factor(job.collective, job.ranks.size());
  }
  return result;
}

bool differs(const std::optional<double>& recorded, const std::optional<double>& derived) {
  if (!recorded) return false;
  if (!derived) return true;
  return !(std::abs(*recorded - *derived) <= 1e-9 * std::max(1.0, std::abs(*derived)));
}

template <class T>
bool differs(const std::optional<T>& recorded, const std::optional<T>& derived) {
  return recorded && recorded != derived;
}

std::string first_difference(const Figures& recorded, const Figures& derived) {
  if (differs(recorded.size_bytes, derived.size_bytes)) return "size_bytes";
  if (differs(recorded.output_bytes, derived.output_bytes)) return "output_bytes";
  if (differs(recorded.output_bytes_smallest, derived.output_bytes_smallest)) {
    return "output_bytes_smallest";
  }
  if (differs(recorded.algbw, derived.algbw)) return "algbw";
  if (differs(recorded.busbw, derived.busbw)) return "busbw";
  if (differs(recorded.slowdown, derived.slowdown)) return "slowdown";
  return "";
}

struct Interval {
  Time begin;
  Time end;
};

/// Length of the union of `intervals` within [0, horizon).
Time covered(std::vector<Interval>& intervals, Time horizon) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  Time total;
  Time reached;
  for (const Interval& interval : intervals) {
    const Time begin = std::max(interval.begin, reached);
    const Time end = std::min(interval.end, horizon);
    if (end > begin) total += end - begin;
    reached = std::max(reached, end);
  }
  return total;
}

/// A set of nodes, for many look-ups.
class NodeSet {
 public:
  void add(const std::vector<NodeId>& nodes) {
    nodes_.insert(nodes_.end(), nodes.begin(), nodes.end());
    std::sort(nodes_.begin(), nodes_.end());
  }
  bool contains(NodeId id) const { return std::binary_search(nodes_.begin(), nodes_.end(), id); }

 private:
  std::vector<NodeId> nodes_;
};

/// Sends of which the demand needs at least this many, each of the whole chunk. For a sum every
/// contributor but the one where it is formed must send its addend on, and every destination but
/// that one must get the sum; it is best formed at a contributor that is also a destination.
std::int64_t deliveries_needed(const Chunk& chunk) {
  std::int64_t both = 0;
  NodeSet holders;
  holders.add(chunk.is_reduction() ? chunk.contributors : chunk.origins);
  for (const NodeId id : chunk.destinations) both += holders.contains(id) ? 1 : 0;
  const auto wanting = static_cast<std::int64_t>(chunk.destinations.size());
  if (!chunk.is_reduction()) return wanting - both;
  const auto addends = static_cast<std::int64_t>(chunk.contributors.size());
  if (addends == 1) return wanting - both;
  return addends - 1 + wanting - (both > 0 ? 1 : 0);
}

/// One arrival of bytes of a chunk at a node.
struct Delivery {
  Time arrival;
  std::size_t send;
  NodeId node;
  Bytes bytes;
};

/// Who holds the full sum of a reduction chunk, and from when on. Counts stand for sets of
/// contributors: in a valid plan the sets that merge are disjoint.
std::unordered_map<NodeId, Time> full_since(const Problem& problem, const Schedule& sends,
                                            const std::vector<std::size_t>& of_chunk,
                                            const Chunk& chunk) {
  // Pieces of one reduce send share chunk, op and links: they leave with the first start and merge
  // with the last arrival.
  struct Move {
    Time start = Time::max();
    std::vector<NodeId> sources;
    std::vector<std::pair<NodeId, Time>> arrivals;
    bool keeps = false;
    std::int64_t payload = 0;
    Bytes bytes;
  };
  std::vector<Move> moves;
  std::map<std::pair<Op, std::vector<LinkId>>, std::size_t> open;
  for (const std::size_t k : of_chunk) {
    const Send& send = sends[k];
    if (send.op == Op::copy) continue;
    const SendTiming when = timing(problem.topology, send);
    const auto key = std::pair(send.op, send.links);
    const auto [found, fresh] = open.emplace(key, moves.size());
    if (fresh) moves.emplace_back();
    Move& move = moves[found->second];
    move.start = std::min(move.start, send.start);
    move.sources = when.sources;
    move.keeps = send.op == Op::share;
    move.bytes += send.bytes;
    if (move.arrivals.empty()) {
      for (const NodeId leaf : when.leaves) move.arrivals.emplace_back(leaf, Time{});
    }
    for (std::size_t i = 0; i < move.arrivals.size(); ++i) {
      move.arrivals[i].second = std::max(move.arrivals[i].second, send.start + when.arrival[i]);
    }
    if (move.bytes >= chunk.bytes) open.erase(found);
  }
  struct Event {
    Time when;
    bool start;  ///< arrivals at an instant come before starts
    std::size_t move;
    std::size_t arrival;
  };
  std::vector<Event> events;
  for (std::size_t m = 0; m < moves.size(); ++m) {
    events.push_back({moves[m].start, true, m, 0});
    for (std::size_t a = 0; a < moves[m].arrivals.size(); ++a) {
      events.push_back({moves[m].arrivals[a].second, false, m, a});
    }
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return std::tuple(a.when, a.start, a.move, a.arrival) <
           std::tuple(b.when, b.start, b.move, b.arrival);
  });
  std::unordered_map<NodeId, std::int64_t> count;
  std::unordered_map<NodeId, Time> full;
  const auto all = static_cast<std::int64_t>(chunk.contributors.size());
  for (const NodeId id : chunk.contributors) count[id] = 1;
  if (all == 1) full[chunk.contributors.front()] = chunk.ready;
  for (const Event& event : events) {
    Move& move = moves[event.move];
    if (event.start) {
      for (const NodeId source : move.sources) {
        move.payload += count[source];
        if (!move.keeps) count[source] = 0;
      }
    } else {
      const NodeId leaf = move.arrivals[event.arrival].first;
      count[leaf] += move.payload;
      if (count[leaf] == all) full.emplace(leaf, event.when);
    }
  }
  return full;
}

/// Copies that arrive where the chunk already is whole.
void count_waste(const Problem& problem, const Schedule& sends,
                 const std::vector<std::size_t>& of_chunk, const Chunk& chunk, Usage& usage) {
  std::vector<Delivery> deliveries;
  SendTiming when;
  for (const std::size_t k : of_chunk) {
    if (sends[k].op != Op::copy) continue;
    timing(problem.topology, sends[k], when);
    for (std::size_t i = 0; i < when.leaves.size(); ++i) {
      deliveries.push_back({sends[k].start + when.arrival[i], k, when.leaves[i], sends[k].bytes});
    }
  }
  std::sort(deliveries.begin(), deliveries.end(), [](const Delivery& a, const Delivery& b) {
    return std::pair(a.arrival, a.send) < std::pair(b.arrival, b.send);
  });
  std::unordered_map<NodeId, Time> whole;
  if (chunk.is_reduction()) {
    whole = full_since(problem, sends, of_chunk, chunk);
  } else {
    for (const NodeId id : chunk.origins) whole[id] = Time{};
  }
  std::unordered_map<NodeId, Bytes> arrived;
  for (const Delivery& delivery : deliveries) {
    const auto held = whole.find(delivery.node);
    if (held != whole.end() && held->second <= delivery.arrival) {
      ++usage.wasted_copies;
      usage.wasted_bytes += delivery.bytes;
      continue;
    }
    Bytes& bytes = arrived[delivery.node];
    bytes += delivery.bytes;
    if (bytes >= chunk.bytes) whole[delivery.node] = delivery.arrival;
  }
}

/// A node's data in transit grows and shrinks.
struct Step {
  Time when;
  std::int64_t bytes;
};

/// Stays in transit of one chunk: from its first byte in to the end of its last send out.
template <class Add>
void collect_transit(const Problem& problem, const Schedule& sends,
                     const std::vector<std::size_t>& of_chunk, const Chunk& chunk, const Add& add) {
  std::map<NodeId, Interval> stays;
  NodeSet at_home;
  for (const auto* nodes : {&chunk.origins, &chunk.contributors, &chunk.destinations}) {
    at_home.add(*nodes);
  }
  const auto extend = [&](NodeId id, Time begin, Time end) {
    const auto [stay, fresh] = stays.emplace(id, Interval{begin, end});
    if (fresh) return;
    stay->second.begin = std::min(stay->second.begin, begin);
    stay->second.end = std::max(stay->second.end, end);
  };
  SendTiming when;
  for (const std::size_t k : of_chunk) {
    timing(problem.topology, sends[k], when);
    for (std::size_t i = 0; i < when.leaves.size(); ++i) {
      if (at_home.contains(when.leaves[i])) continue;
      const Time last = sends[k].start + when.arrival[i];
      extend(when.leaves[i], last - when.duration, last);
    }
  }
  if (stays.empty()) return;
  for (const std::size_t k : of_chunk) {
    timing(problem.topology, sends[k], when);
    for (std::size_t i = 0; i < sends[k].links.size(); ++i) {
      const NodeId tail = problem.topology.link(sends[k].links[i]).from;
      const auto stay = stays.find(tail);
      if (stay == stays.end()) continue;
      stay->second.end = std::max(stay->second.end, sends[k].start + when.entry[i] + when.duration);
    }
  }
  for (const auto& [id, stay] : stays) add(id, stay);
}

/// Links and nodes that are used alike: those that the problem's symmetry maps to each other. What
/// the sends of the representatives do to one of them, their images do to each, `share` times.
class Resources {
 public:
  explicit Resources(const Problem& problem) {
    const Topology& topology = problem.topology;
    if (!problem.symmetry.trivial()) {
      orbits_ = find_orbits(topology, problem.symmetry, problem.jobs.front().ranks);
      order_ = orbits_->order;
    }
    links_ = orbits_ ? orbits_->link_size.size() : topology.links().size();
    nodes_ = orbits_ ? orbits_->node_size.size() : topology.nodes().size();
  }
  std::int64_t order() const { return order_; }
  std::size_t links() const { return links_; }
  std::size_t nodes() const { return nodes_; }
  std::size_t of(LinkId id) const { return orbits_ ? orbits_->link[id] : id.index(); }
  std::size_t of(NodeId id) const { return orbits_ ? orbits_->node[id] : id.index(); }
  std::int64_t link_share(std::size_t r) const {
    return orbits_ ? order_ / orbits_->link_size[r] : 1;
  }
  std::int64_t node_share(std::size_t r) const {
    return orbits_ ? order_ / orbits_->node_size[r] : 1;
  }

 private:
  std::optional<Orbits> orbits_;
  std::int64_t order_ = 1;
  std::size_t links_ = 0;
  std::size_t nodes_ = 0;
};

}  // namespace

RecordedMetrics derive_metrics(const Plan& plan) {
  RecordedMetrics result;
  const std::vector<Job>& jobs = plan.problem.jobs;
  result.gap = gap(plan.result.transfer_time, plan.result.bound);
  result.gap_chunked = gap(plan.result.transfer_time, plan.result.bound_chunked);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Time finish =
        i < plan.result.job_finish.size() ? plan.result.job_finish[i] : plan.result.transfer_time;
    result.jobs.push_back(figures(jobs[i], finish - jobs[i].start));
    if (i < plan.result.job_alone.size() && plan.result.job_alone[i].ps > 0) {
      result.jobs.back().slowdown = static_cast<double>((finish - jobs[i].start).ps) /
                                    static_cast<double>(plan.result.job_alone[i].ps);
    }
  }
  if (jobs.size() == 1) {
    result.total = figures(jobs.front(), plan.result.transfer_time);
    if (jobs.front().collective != Collective::custom) {
      result.chunks_per_block = jobs.front().chunks;
    }
  } else {
    Bytes size;
    for (const Figures& job : result.jobs) size += *job.size_bytes;
    result.total.size_bytes = size;
    result.total.algbw = rate(size, plan.result.transfer_time);
  }
  return result;
}

std::string first_difference(const RecordedMetrics& recorded, const RecordedMetrics& derived) {
  if (differs(recorded.gap, derived.gap)) return "gap";
  if (differs(recorded.gap_chunked, derived.gap_chunked)) return "gap_chunked";
  if (differs(recorded.chunks_per_block, derived.chunks_per_block)) return "chunks_per_block";
  std::string total = first_difference(recorded.total, derived.total);
  if (!total.empty()) return total;
  for (std::size_t i = 0; i < recorded.jobs.size(); ++i) {
    if (i >= derived.jobs.size()) return "jobs/" + std::to_string(i);
    std::string job = first_difference(recorded.jobs[i], derived.jobs[i]);
    if (!job.empty()) return "jobs/" + std::to_string(i) + "/" + job;
  }
  return "";
}

double Usage::overhead() const {
  if (needed.value <= 0) return 1;
  return static_cast<double>(sent.value) / static_cast<double>(needed.value);
}

Usage measure_usage(const Problem& problem, const Schedule& sends, Time horizon) {
  const Topology& topology = problem.topology;
  Usage usage;
  usage.horizon = horizon;
  usage.links.resize(topology.links().size());
  usage.idle.resize(topology.nodes().size());
  usage.peak_transit.resize(topology.nodes().size());

  const Resources resources(problem);

  std::vector<std::vector<std::size_t>> by_chunk(problem.chunks.size());
  std::vector<std::vector<Interval>> on_link(resources.links());
  std::vector<Bytes> carried(resources.links());
  SendTiming when;
  for (std::size_t k = 0; k < sends.size(); ++k) {
    const Send& send = sends[k];
    by_chunk[send.chunk.index()].push_back(k);
    timing(topology, send, when);
    for (std::size_t i = 0; i < send.links.size(); ++i) {
      const Time begin = send.start + when.entry[i];
      const std::size_t resource = resources.of(send.links[i]);
      on_link[resource].push_back({begin, begin + when.duration});
      carried[resource] += resources.link_share(resource) * send.bytes;
    }
    const std::size_t deliveries = std::max(when.leaves.size(), when.sources.size());
    usage.sent += resources.order() * static_cast<std::int64_t>(deliveries) * send.bytes;
  }

  std::vector<std::optional<Time>> busy(resources.links());
  for (const LinkId id : topology.link_ids()) {
    LinkUsage& link = usage.links[id];
    const std::size_t resource = resources.of(id);
    if (!busy[resource]) busy[resource] = covered(on_link[resource], horizon);
    link.bytes = carried[resource];
    link.busy = *busy[resource];
    link.idle = horizon - link.busy;
    if (horizon.ps > 0) {
      link.utilisation = static_cast<double>(link.bytes.value) * 1e12 /
                         static_cast<double>(topology.link(id).bandwidth.bytes_per_second) /
                         static_cast<double>(horizon.ps);
      usage.mean_link_idle += static_cast<double>(link.idle.ps) / static_cast<double>(horizon.ps);
    }
  }
  if (!usage.links.empty()) usage.mean_link_idle /= static_cast<double>(usage.links.size());
  std::vector<std::optional<Time>> idle(resources.nodes());
  for (const NodeId id : topology.node_ids()) {
    if (!topology.stores(id)) continue;
    std::optional<Time>& same = idle[resources.of(id)];
    if (!same) {
      std::vector<Interval> intervals;
      for (const auto& links : {topology.in(id), topology.out(id)}) {
        for (const LinkId link : links) {
          const auto& own = on_link[resources.of(link)];
          intervals.insert(intervals.end(), own.begin(), own.end());
        }
      }
      same = horizon - covered(intervals, horizon);
    }
    usage.idle[id] = *same;
  }

  std::vector<std::vector<Step>> steps(resources.nodes());
  for (const ChunkId id : problem.chunk_ids()) {
    const Chunk& chunk = problem.chunks[id];
    usage.needed += resources.order() * deliveries_needed(chunk) * chunk.bytes;
    count_waste(problem, sends, by_chunk[id.index()], chunk, usage);
    collect_transit(problem, sends, by_chunk[id.index()], chunk,
                    [&](NodeId node, const Interval& stay) {
                      const std::size_t resource = resources.of(node);
                      const std::int64_t bytes = resources.node_share(resource) * chunk.bytes.value;
                      steps[resource].push_back({stay.begin, bytes});
                      steps[resource].push_back({stay.end, -bytes});
                    });
  }
  usage.wasted_copies *= resources.order();
  usage.wasted_bytes = resources.order() * usage.wasted_bytes;
  std::vector<Bytes> peak(resources.nodes());
  for (std::size_t r = 0; r < steps.size(); ++r) {
    std::sort(steps[r].begin(), steps[r].end(), [](const Step& a, const Step& b) {
      return std::pair(a.when, a.bytes) < std::pair(b.when, b.bytes);
    });
    std::int64_t held = 0;
    for (const Step& step : steps[r]) {
      held += step.bytes;
      peak[r] = std::max(peak[r], Bytes{held});
    }
  }
  for (const NodeId id : topology.node_ids()) usage.peak_transit[id] = peak[resources.of(id)];
  return usage;
}

}  // namespace stellwerk
