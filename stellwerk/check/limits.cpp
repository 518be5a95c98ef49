#include "stellwerk/check/limits.hpp"

#include <algorithm>

#include "stellwerk/check/load.hpp"

namespace stellwerk::check {
namespace {

Bandwidth rate(Int128 sum) { return {static_cast<std::int64_t>(std::min<Int128>(sum, INT64_MAX))}; }

/// "send 3 (chunk 7), send 9 (chunk 8)": the first few of the sends that are there.
class Culprits {
 public:
  explicit Culprits(const Quotient& quotient) : images_(!quotient.trivial()) {}
  void add(std::uint32_t send, ChunkId chunk) {
    ++count_;
    if (count_ > 3) return;
    text_ += (text_.empty() ? "" : ", ") + std::string("send ") + std::to_string(send) +
             " (chunk " + std::to_string(chunk.value) + ")";
  }
  std::string text() const {
    return (count_ > 3 ? text_ + " and " + std::to_string(count_ - 3) + " more" : text_) +
           (images_ ? ", with their images" : "");
  }

 private:
  bool images_;
  std::size_t count_ = 0;
  std::string text_;
};

/// One limit a resource, or kUnlimited: what the representatives may use of a node, so that their
/// images do not exceed `limit(node)`.
template <class Limit>
std::vector<std::int64_t> node_limits(const Problem& problem, const Quotient& quotient,
                                      const Limit& limit) {
  std::vector<std::int64_t> limits;
  limits.reserve(quotient.nodes());
  for (std::size_t r = 0; r < quotient.nodes(); ++r) {
    const std::int64_t whole = limit(problem.topology.node(quotient.node_of(r)));
    limits.push_back(whole == kUnlimited ? kUnlimited : whole / quotient.node_share(r));
  }
  return limits;
}

bool any(const std::vector<std::int64_t>& limits) {
  return std::any_of(limits.begin(), limits.end(), [](std::int64_t l) { return l != kUnlimited; });
}

/// Injection (at the tails of links) or ejection (at their heads).
Judgement judge_node_rates(const Problem& problem, const Flights& flights, const Quotient& quotient,
                           bool injection) {
  const Topology& topology = problem.topology;
  const auto limit_of = [&](const Node& node) {
    const std::optional<Bandwidth> limit = injection ? node.injection : node.ejection;
    return limit ? limit->bytes_per_second : kUnlimited;
  };
  const std::vector<std::int64_t> limits = node_limits(problem, quotient, limit_of);
  if (!any(limits)) return {};
  const auto node_of = [&](const Use& use) {
    const Link& link = topology.link(use.link);
    return quotient.node(injection ? link.from : link.to);
  };
  const auto load_of = [&](const Use& use) {
    const std::int64_t begin = injection ? use.begin : flights.first_in(use);
    return Load{begin, begin + flights.end(use) - use.begin,
                flights.send(use.send).rate.bytes_per_second};
  };
  const auto overload = first_overload(limits, [&](const auto& use_load) {
    for (const Use& use : flights.uses()) {
      if (flights.end(use) == use.begin) continue;
      const std::size_t node = node_of(use);
      if (limits[node] != kUnlimited) use_load(node, load_of(use));
    }
  });
  if (!overload) return {};
  Culprits culprits(quotient);
  for (const Use& use : flights.uses()) {
    if (node_of(use) != overload->resource) continue;
    const Load load = load_of(use);
    if (load.begin <= overload->instant && overload->instant < load.end) {
      culprits.add(use.send, flights.send(use.send).chunk);
    }
  }
  const Node& node = topology.node(quotient.node_of(overload->resource));
  const Int128 sum = overload->sum * quotient.node_share(overload->resource);
  return found(Violation::node_capacity,
               node.name + (injection ? " sends at " : " receives at ") + to_string(rate(sum)) +
                   " from " + to_exact_string(Time{overload->instant}) + " on, more than its " +
                   (injection ? "injection of " : "ejection of ") +
                   to_string(Bandwidth{limit_of(node)}) + ": " + culprits.text());
}

}  // namespace

ByChunk::ByChunk(const Problem& problem, const Schedule& sends)
    : begin_(problem.chunks.size() + 1, 0), sends_(sends.size()) {
  for (const Send& send : sends) ++begin_[send.chunk.index() + 1];
  for (std::size_t c = 0; c < problem.chunks.size(); ++c) begin_[c + 1] += begin_[c];
  std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
  for (std::uint32_t id = 0; id < sends.size(); ++id) sends_[next[sends[id].chunk.index()]++] = id;
}

Judgement judge_links(const Problem& problem, const Flights& flights, const Quotient& quotient) {
  const Topology& topology = problem.topology;
  std::vector<std::int64_t> limits;
  limits.reserve(quotient.links());
  for (std::size_t r = 0; r < quotient.links(); ++r) {
    const Link& link = topology.link(quotient.link_of(r));
    limits.push_back(link.bandwidth.bytes_per_second / quotient.link_share(r));
  }
  // Events: the limit is the most that the link ever carries; what it lacks of that is taken.
  const Changes& changes = flights.changes();
  for (const Changes::Shortage& shortage : changes.shortages()) {
    limits[shortage.link.index()] = changes.most(shortage.link);
  }
  const auto load_of = [&](const Use& use) {
    return Load{use.begin, flights.end(use), flights.send(use.send).rate.bytes_per_second};
  };
  const auto overload = first_overload(limits, [&](const auto& use_load) {
    for (const Use& use : flights.uses()) {
      if (flights.end(use) > use.begin) use_load(quotient.link(use.link), load_of(use));
    }
    for (const Changes::Shortage& shortage : changes.shortages()) {
      use_load(shortage.link.index(), Load{shortage.begin, shortage.end, shortage.missing});
    }
  });
  if (!overload) return {};
  Culprits culprits(quotient);
  for (const Use& use : flights.uses()) {
    if (quotient.link(use.link) != overload->resource) continue;
    const Load load = load_of(use);
    if (load.begin <= overload->instant && overload->instant < load.end) {
      culprits.add(use.send, flights.send(use.send).chunk);
    }
  }
  const LinkId link = quotient.link_of(overload->resource);
  Int128 sum = overload->sum * quotient.link_share(overload->resource);
  Bandwidth capacity = topology.link(link).bandwidth;
  if (!changes.none()) {
    capacity.bytes_per_second = changes.bandwidth(link, overload->instant);
    sum -= changes.most(link) - capacity.bytes_per_second;
  }
  return found(Violation::link_capacity,
               "link " + topology.link_name(link) + " carries " + to_string(rate(sum)) + " from " +
                   to_exact_string(Time{overload->instant}) + " on, more than its " +
                   to_string(capacity) + ": " + culprits.text());
}

Judgement judge_nodes(const Problem& problem, const Flights& flights, const Quotient& quotient) {
  if (auto finding = judge_node_rates(problem, flights, quotient, true)) return finding;
  return judge_node_rates(problem, flights, quotient, false);
}

Judgement judge_buffers(const Problem& problem, const Flights& flights, const ByChunk& by_chunk,
                        const Quotient& quotient) {
  const Topology& topology = problem.topology;
  const std::vector<std::int64_t> limits = node_limits(problem, quotient, [](const Node& node) {
    return node.buffer ? node.buffer->value : kUnlimited;
  });
  if (!any(limits)) return {};

  /// A chunk in transit at a node.
  struct Stay {
    NodeId node;
    ChunkId chunk;
    std::int64_t begin;
    std::int64_t end;
  };
  std::vector<Stay> stays;
  // Per node, for the chunk in hand: does it need the chunk itself, or which of the stays is its.
  struct Mark {
    ChunkId chunk;
    bool needs = false;
    std::size_t stay = 0;
  };
  IdVector<NodeId, Mark> marks(topology.nodes().size());
  for (const ChunkId id : problem.chunk_ids()) {
    if (by_chunk[id].empty()) continue;
    const Chunk& chunk = problem.chunks[id];
    for (const auto* nodes : {&chunk.origins, &chunk.contributors, &chunk.destinations}) {
      for (const NodeId node : *nodes) marks[node] = {id, true, 0};
    }
    const auto stay = [&](NodeId node, std::int64_t begin, std::int64_t end) {
      if (limits[quotient.node(node)] == kUnlimited) return;
      Mark& mark = marks[node];
      if (mark.chunk == id && mark.needs) return;
      if (mark.chunk != id) {
        mark = {id, false, stays.size()};
        stays.push_back({node, id, begin, end});
      }
      Stay& own = stays[mark.stay];
      own.begin = std::min(own.begin, begin);
      own.end = std::max(own.end, end);
    };
    for (const std::uint32_t send : by_chunk[id]) {
      for (const Use& use : flights.uses(send)) {
        const Link& link = topology.link(use.link);
        if (topology.stores(link.from)) {
          stay(link.from, use.begin, flights.end(use));
        }
        if (topology.stores(link.to) && flights.arrives(use)) {
          stay(link.to, flights.first_in(use), flights.last_in(use));
        }
      }
    }
  }
  const auto overload = first_overload(limits, [&](const auto& use_load) {
    for (const Stay& stay : stays) {
      use_load(quotient.node(stay.node),
               Load{stay.begin, stay.end, problem.chunks[stay.chunk].bytes.value});
    }
  });
  if (!overload) return {};
  std::size_t held = 0;
  ChunkId last;  // the one that is too much
  for (const Stay& stay : stays) {
    if (quotient.node(stay.node) != overload->resource) continue;
    if (stay.begin <= overload->instant && overload->instant < stay.end) ++held;
    if (stay.begin == overload->instant) last = stay.chunk;
  }
  const Node& node = topology.node(quotient.node_of(overload->resource));
  const std::int64_t share = quotient.node_share(overload->resource);
  const auto bytes = static_cast<std::int64_t>(std::min<Int128>(overload->sum * share, INT64_MAX));
  return found(Violation::buffer,
               node.name + " holds " + std::to_string(held * static_cast<std::size_t>(share)) +
                   " chunks in transit, " + to_string(Bytes{bytes}) + ", when " +
                   (quotient.trivial() ? "" : "an image of ") + Names(problem).chunk(last) +
                   " comes in at " + to_exact_string(Time{overload->instant}) +
                   ", but its buffer is " + to_string(*node.buffer));
}

Judgement judge_groups(const Problem& problem, const Flights& flights, const Quotient& quotient) {
  const std::vector<std::int64_t> limits = node_limits(problem, quotient, [](const Node& node) {
    return node.max_groups ? std::int64_t{*node.max_groups} : kUnlimited;
  });
  if (!any(limits)) return {};
  const auto overload = first_overload(limits, [&](const auto& use_load) {
    for (const Group& group : flights.groups()) {
      use_load(quotient.node(group.node),
               Load{group.begin, group.begin + flights.duration(group.send), 1});
    }
  });
  if (!overload) return {};
  Culprits culprits(quotient);
  for (const Group& group : flights.groups()) {
    if (quotient.node(group.node) == overload->resource && group.begin <= overload->instant &&
        overload->instant < group.begin + flights.duration(group.send)) {
      culprits.add(group.send, flights.send(group.send).chunk);
    }
  }
  const Node& node = problem.topology.node(quotient.node_of(overload->resource));
  const Int128 sum = overload->sum * quotient.node_share(overload->resource);
  return found(Violation::groups,
               node.name + " serves " + std::to_string(static_cast<std::int64_t>(sum)) +
                   " multicast groups from " + to_exact_string(Time{overload->instant}) +
                   " on, more than its " + std::to_string(*node.max_groups) + ": " +
                   culprits.text());
}

}  // namespace stellwerk::check
