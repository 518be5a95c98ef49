// Random problems with random valid schedules: small, wasteful, and full of everything the model
// allows.
//
// The generator places one send after the other at the first free instant after a random delay,
// against a naive record of what is in use, and keeps of every chunk who holds what since when. It
// shares no code with the verifier or with re-timing, so that each can be held against it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/core/plan.hpp"

namespace stellwerk::test_support {

struct RandomScheduleOptions {
  bool latencies = true;  ///< false: all links have latency 0 (as in a plan that drops them)
  bool reductions = true;
  bool limits = true;     ///< injection, ejection, max_groups
  bool buffers = true;    ///< transit buffers as large as the schedule needs, no larger
  bool waste = true;      ///< deliveries that nobody needs
  bool pieces = true;     ///< sends cut into byte ranges
  bool fractions = true;  ///< rates below the bandwidth
  bool delays = true;     ///< sends that start later than they could
};

struct RandomSchedule {
  Problem problem;
  Schedule sends;
};

class RandomScheduleMaker {
 public:
  RandomScheduleMaker(std::uint64_t seed, const RandomScheduleOptions& options)
      : rng_(seed), options_(options) {}

  RandomSchedule make() {
    for (;;) {  // now and then random walks get nowhere
      sends_.clear();
      uses_.clear();
      problem_ = Problem{random_topology(), {}, Relays::all, {}, {}};
      std::vector<Job> jobs;
      for (std::uint64_t j = 0, count = 1 + rng_.below(2); j < count; ++j)
        jobs.push_back(random_job(j));
      const Relays relays = chance(25) ? Relays::members : Relays::all;
      problem_ = make_problem(problem_.topology, std::move(jobs), relays);
      if (!schedule()) continue;
      if (options_.buffers && chance(40)) add_buffers();
      sort_sends(problem_.topology, sends_);
      return {std::move(problem_), std::move(sends_)};
    }
  }

  /// The same nodes and links with other latencies and bandwidths.
  static Topology perturbed(const Topology& topology, std::uint64_t seed) {
    Rng rng(seed);
    IdVector<LinkId, Link> links = topology.links();
    for (Link& link : links) {
      link.latency.ps = link.latency.ps * rng.between(0, 30) / 10 + rng.between(0, 50);
      link.bandwidth.bytes_per_second =
          std::max<std::int64_t>(1, link.bandwidth.bytes_per_second / 10 * rng.between(2, 18));
    }
    return {topology.name(), topology.note(), topology.nodes(), std::move(links)};
  }
  static Topology with_latencies(const Topology& topology, std::uint64_t seed) {
    Rng rng(seed);
    IdVector<LinkId, Link> links = topology.links();
    for (Link& link : links) link.latency.ps = rng.between(0, 3000);
    return {topology.name(), topology.note(), topology.nodes(), std::move(links)};
  }

 private:
  /// `amount` of a resource during [begin, end).
  struct Usage {
    std::int64_t begin, end, amount;
  };
  enum class Kind { link, injection, ejection, groups };
  using Resource = std::pair<Kind, std::int32_t>;
  /// What a send would use, relative to its start.
  struct Claim {
    Resource resource;
    std::int64_t begin, amount;
  };

  bool chance(std::uint64_t percent) { return rng_.below(100) < percent; }
  std::size_t pick(std::size_t size) { return static_cast<std::size_t>(rng_.below(size)); }

  // --- problems ----------------------------------------------------------------------------------

  Topology random_topology() {
    IdVector<NodeId, Node> nodes;
    IdVector<LinkId, Link> links;
    const std::size_t gpus = 2 + pick(5);
    const std::size_t relays = pick(2);
    const std::size_t switches = pick(3);
    const auto add_node = [&](const char* prefix, std::size_t number, NodeKind kind) {
      Node node;
      node.name = prefix + std::to_string(number);
      node.kind = kind;
      if (kind == NodeKind::switch_) {
        node.multicast = chance(60);
        node.reduce = chance(60);
        if (options_.limits && node.multicast && chance(50))
          node.max_groups = 1 + static_cast<int>(pick(2));
      } else if (options_.limits) {
        if (chance(25)) node.injection = bandwidth();
        if (chance(25)) node.ejection = bandwidth();
      }
      nodes.push_back(std::move(node));
    };
    for (std::size_t i = 0; i < gpus; ++i) add_node("gpu", i, NodeKind::gpu);
    for (std::size_t i = 0; i < relays; ++i) add_node("relay", i, NodeKind::relay);
    const std::size_t storing = nodes.size();
    for (std::size_t i = 0; i < switches; ++i) add_node("switch", i, NodeKind::switch_);
    const auto add_link = [&](std::size_t from, std::size_t to) {
      links.push_back({NodeId(from), NodeId(to), latency(), bandwidth(), ""});
    };
    for (std::size_t i = 0; i < gpus;
         ++i) {  // a ring, so that everything is reachable through ranks alone
      add_link(i, (i + 1) % gpus);
      if (chance(60)) add_link((i + 1) % gpus, i);
    }
    for (std::size_t i = 0; i < gpus; ++i) {
      if (const std::size_t to = pick(storing); to != i && chance(50)) add_link(i, to);
    }
    for (std::size_t r = gpus; r < storing; ++r) {
      add_link(r, pick(gpus));
      add_link(pick(gpus), r);
    }
    for (std::size_t s = storing; s < nodes.size(); ++s) {
      for (std::size_t i = 0; i < storing; ++i) {
        if (chance(80)) add_link(i, s);
        if (chance(80)) add_link(s, i);
      }
      if (s > storing && chance(50)) {
        add_link(s, s - 1);
        add_link(s - 1, s);
      }
    }
    return {"random", "", std::move(nodes), std::move(links)};
  }

  Bandwidth bandwidth() {
    constexpr std::int64_t kChoices[] = {1'000'000'000, 2'000'000'000, 3'000'000'000, 1'234'567'891,
                                         50'000'000'000};
    return {kChoices[pick(5)]};
  }
  Time latency() {
    if (!options_.latencies || chance(20)) return {0};
    return {rng_.between(1, 30'000)};
  }

  Job random_job(std::uint64_t number) {
    constexpr Collective kAny[] = {
        Collective::allgather,     Collective::broadcast, Collective::alltoall,
        Collective::scatter,       Collective::gather,    Collective::sendrecv,
        Collective::custom,        Collective::allreduce, Collective::reduce,
        Collective::reducescatter, Collective::custom};
    Job job;
    job.name = "job" + std::to_string(number);
    job.collective = kAny[pick(options_.reductions ? 11 : 7)];
    job.ranks = problem_.topology.gpus();
    rng_.shuffle(job.ranks);
    if (chance(30)) job.ranks.resize(2 + pick(job.ranks.size() - 1));
    job.size = {rng_.between(1, 3) == 1 ? rng_.between(1, 40) : rng_.between(1'000, 60'000)};
    job.chunks = 1 + static_cast<int>(pick(2));
    job.root = static_cast<int>(pick(job.ranks.size()));
    job.start = {chance(50) ? 0 : rng_.between(0, 20'000)};
    if (job.collective == Collective::custom) {
      for (std::size_t c = 0, count = 1 + pick(3); c < count; ++c)
        job.custom.push_back(random_chunk(job.ranks));
    }
    return job;
  }

  CustomChunk random_chunk(const std::vector<NodeId>& ranks) {
    const auto some = [&] {
      std::vector<NodeId> nodes(ranks);
      rng_.shuffle(nodes);
      nodes.resize(1 + pick(nodes.size()));
      return nodes;
    };
    CustomChunk chunk{{rng_.between(1, 20'000)}, {}, some(), {rng_.between(0, 5'000)}, {}};
    (options_.reductions && chance(40) ? chunk.contributors : chunk.origins) = some();
    return chunk;
  }

  // --- resources ---------------------------------------------------------------------------------

  std::optional<std::int64_t> limit(const Resource& resource) const {
    const Topology& topology = problem_.topology;
    const auto& [kind, number] = resource;
    if (kind == Kind::link) return topology.link(LinkId(number)).bandwidth.bytes_per_second;
    const Node& node = topology.node(NodeId(number));
    if (kind == Kind::groups)
      return node.max_groups ? std::optional<std::int64_t>(*node.max_groups) : std::nullopt;
    const auto& rate = kind == Kind::injection ? node.injection : node.ejection;
    return rate ? std::optional(rate->bytes_per_second) : std::nullopt;
  }

  std::vector<Claim> claims(const Send& send, const SendTiming& shape) const {
    std::vector<Claim> result;
    std::map<NodeId, int> leaving;
    const auto add = [&](Kind kind, std::int32_t number, std::int64_t begin, std::int64_t amount) {
      if (limit({kind, number})) result.push_back({{kind, number}, begin, amount});
    };
    for (std::size_t i = 0; i < send.links.size(); ++i) {
      const Link& link = problem_.topology.link(send.links[i]);
      const std::int64_t rate = send.rate.bytes_per_second;
      add(Kind::link, send.links[i].value, shape.entry[i].ps, rate);
      if (problem_.topology.stores(link.from))
        add(Kind::injection, link.from.value, shape.entry[i].ps, rate);
      if (problem_.topology.stores(link.to))
        add(Kind::ejection, link.to.value, (shape.entry[i] + link.latency).ps, rate);
      if (++leaving[link.from] == 2) add(Kind::groups, link.from.value, shape.entry[i].ps, 1);
    }
    return result;
  }

  bool fits(const Claim& claim, std::int64_t start, std::int64_t duration) const {
    const auto found = uses_.find(claim.resource);
    if (found == uses_.end()) return true;
    const std::int64_t begin = start + claim.begin;
    const auto load_at = [&](std::int64_t at) {
      std::int64_t sum = 0;
      for (const Usage& usage : found->second)
        sum += usage.begin <= at && at < usage.end ? usage.amount : 0;
      return sum;
    };
    const std::int64_t room = *limit(claim.resource) - claim.amount;
    if (load_at(begin) > room) return false;
    return std::none_of(found->second.begin(), found->second.end(), [&](const Usage& usage) {
      return begin <= usage.begin && usage.begin < begin + duration && load_at(usage.begin) > room;
    });
  }

  /// Places a send at the first instant >= `from` at which its resources are free, and returns its
  /// timing.
  SendTiming place(Send send, std::int64_t from) {
    const SendTiming shape = timing(problem_.topology, send);
    const std::vector<Claim> wanted = claims(send, shape);
    std::vector<std::int64_t> candidates{from};
    for (const Claim& claim : wanted) {
      for (const Usage& usage : uses_[claim.resource]) {
        if (usage.end - claim.begin > from) candidates.push_back(usage.end - claim.begin);
      }
    }
    std::sort(candidates.begin(), candidates.end());
    for (const std::int64_t start : candidates) {
      const bool free = std::all_of(wanted.begin(), wanted.end(), [&](const Claim& claim) {
        return fits(claim, start, shape.duration.ps);
      });
      if (!free) continue;
      for (const Claim& claim : wanted) {
        uses_[claim.resource].push_back(
            {start + claim.begin, start + claim.begin + shape.duration.ps, claim.amount});
      }
      send.start = Time{start};
      break;
    }
    sends_.push_back(std::move(send));
    return shape;
  }

  /// The fastest rate that all limits on the way allow, or a part of it.
  Bandwidth rate(const std::vector<LinkId>& links) {
    Bandwidth least = problem_.topology.link(links.front()).bandwidth;
    for (const LinkId id : links) {
      const Link& link = problem_.topology.link(id);
      least = std::min(least, link.bandwidth);
      if (const auto& cap = problem_.topology.node(link.from).injection)
        least = std::min(least, *cap);
      if (const auto& cap = problem_.topology.node(link.to).ejection) least = std::min(least, *cap);
    }
    if (!options_.fractions || chance(70)) return least;
    return {std::max<std::int64_t>(1, least.bytes_per_second * rng_.between(1, 9) / 10)};
  }

  std::int64_t delay() { return !options_.delays || chance(50) ? 0 : rng_.between(0, 30'000); }

  // --- trees -------------------------------------------------------------------------------------

  /// A random tree from `source`; empty if the walk got stuck or would end at a GPU that may not
  /// forward.
  std::vector<LinkId> random_tree(NodeId source, JobId job, bool multicast) {
    const Topology& topology = problem_.topology;
    std::set<NodeId> seen{source};
    std::vector<LinkId> links;
    std::vector<NodeId> open{source};
    for (std::size_t next = 0; next < open.size(); ++next) {
      const NodeId node = open[next];
      std::vector<LinkId> ways;
      for (const LinkId id : topology.out(node)) {
        const NodeId head = topology.link(id).to;
        if (!seen.contains(head) && (!topology.stores(head) || problem_.may_forward(head, job)))
          ways.push_back(id);
      }
      if (ways.empty()) return {};
      rng_.shuffle(ways);
      std::size_t branches = 1;
      if (multicast && node != source && topology.node(node).multicast &&
          topology.node(node).max_groups != 0) {
        branches += pick(3);
      }
      for (const LinkId id : ways) {
        const NodeId head = topology.link(id).to;
        if (branches == 0) break;
        if (!seen.insert(head).second) continue;
        links.push_back(id);
        if (!topology.stores(head)) open.push_back(head);
        --branches;
      }
    }
    return links;
  }

  /// Byte ranges of a chunk: usually the whole.
  std::vector<std::pair<Bytes, Bytes>> ranges(Bytes bytes) {
    if (!options_.pieces || bytes.value < 3 || !chance(15)) return {{Bytes{0}, bytes}};
    const Bytes cut{rng_.between(1, bytes.value - 1)};
    std::vector<std::pair<Bytes, Bytes>> result{{Bytes{0}, cut}, {cut, bytes - cut}};
    if (chance(50)) std::swap(result[0], result[1]);
    return result;
  }

  // --- chunks ------------------------------------------------------------------------------------

  bool schedule() {
    std::vector<ChunkId> order;
    for (const ChunkId id : problem_.chunk_ids()) order.push_back(id);
    rng_.shuffle(order);
    return std::all_of(order.begin(), order.end(), [&](ChunkId id) {
      const Chunk& chunk = problem_.chunks[id];
      std::map<NodeId, std::int64_t> since;
      if (chunk.is_reduction()) return reduce(id, since) && spread(id, since);
      for (const NodeId origin : chunk.origins) since[origin] = chunk.ready.ps;
      return spread(id, since);
    });
  }

  /// Copies a chunk from those who hold it until all destinations do.
  bool spread(ChunkId id, std::map<NodeId, std::int64_t>& since) {
    const Chunk& chunk = problem_.chunks[id];
    const auto missing = [&] {
      return std::any_of(chunk.destinations.begin(), chunk.destinations.end(),
                         [&](NodeId node) { return !since.contains(node); });
    };
    const std::uint64_t waste = options_.waste ? 4 : 0;
    for (int tries = 0; missing(); ++tries) {
      if (tries > 400) return false;
      auto holder = since.begin();
      std::advance(holder, static_cast<std::ptrdiff_t>(pick(since.size())));
      const auto [source, held] = *holder;
      const std::vector<LinkId> links = random_tree(source, chunk.job, true);
      if (links.empty()) continue;
      const bool useful = std::any_of(links.begin(), links.end(), [&](LinkId link) {
        const NodeId head = problem_.topology.link(link).to;
        return problem_.topology.stores(head) && !since.contains(head);
      });
      if (!useful && !chance(waste)) continue;
      std::map<NodeId, std::int64_t> arrived;
      for (const auto& [offset, bytes] : ranges(chunk.bytes)) {
        const SendTiming shape =
            place({id, Op::copy, {}, rate(links), links, offset, bytes}, held + delay());
        for (std::size_t i = 0; i < shape.leaves.size(); ++i) {
          std::int64_t& at = arrived[shape.leaves[i]];
          at = std::max(at, (sends_.back().start + shape.arrival[i]).ps);
        }
      }
      for (const auto& [node, at] : arrived) {
        const auto [entry, is_new] = since.emplace(node, at);
        if (!is_new) entry->second = std::min(entry->second, at);
      }
    }
    return true;
  }

  struct Sums {
    std::map<NodeId, std::set<NodeId>>
        parts;  // contributors in the node's partial sum; only where there are some
    std::map<NodeId, std::int64_t> in, out;  // last arrival, last departure
  };

  /// Brings all addends together; `since` tells afterwards who has the full sum.
  bool reduce(ChunkId id, std::map<NodeId, std::int64_t>& since) {
    const Chunk& chunk = problem_.chunks[id];
    const NodeId root = chunk.destinations[pick(chunk.destinations.size())];
    Sums sums;
    for (const NodeId node : chunk.contributors) {
      sums.parts[node] = {node};
      sums.in[node] = chunk.ready.ps;
    }
    for (int tries = 0;; ++tries) {
      if (tries > 400) return false;
      if (sums.parts.size() == 1 && sums.parts.begin()->first == root) {
        since[root] = sums.in[root];
        return true;
      }
      if (sums.parts.size() == 2 && chance(50) && exchange(id, sums, since)) return true;
      if (chance(30) && merge_in_switch(id, root, sums)) continue;
      auto part = sums.parts.begin();
      std::advance(part, static_cast<std::ptrdiff_t>(pick(sums.parts.size())));
      if (part->first != root) move(id, part->first, sums);
    }
  }

  void merged(Sums& sums, NodeId into, const std::set<NodeId>& part, std::int64_t at) {
    sums.parts[into].insert(part.begin(), part.end());
    sums.in[into] = std::max(sums.in[into], at);
  }

  void move(ChunkId id, NodeId source, Sums& sums) {
    const Chunk& chunk = problem_.chunks[id];
    const std::vector<LinkId> links = random_tree(source, chunk.job, false);
    if (links.empty()) return;
    const NodeId into = problem_.topology.link(links.back()).to;
    std::int64_t first = INT64_MAX;
    std::int64_t last = 0;
    for (const auto& [offset, bytes] : ranges(chunk.bytes)) {
      Send send{id, Op::reduce, {}, rate(links), links, offset, bytes};
      const std::int64_t arrival = timing(problem_.topology, send).arrival.front().ps;
      std::int64_t from = std::max(sums.in[source] + delay(), chunk.ready.ps);
      if (sums.out.contains(into)) from = std::max(from, sums.out[into] + 1 - arrival);
      // Pieces of this send must not mix with pieces of the one before it on the same links.
      if (sums.out.contains(source)) from = std::max(from, sums.out[source] + 1);
      place(std::move(send), from);
      first = std::min(first, sends_.back().start.ps);
      last = std::max(last, sends_.back().start.ps + arrival);
      last_start_ = std::max(last_start_, sends_.back().start.ps);
    }
    const std::set<NodeId> part = std::move(sums.parts[source]);
    sums.parts.erase(source);
    sums.out[source] = std::max(first, last_start_);
    last_start_ = 0;
    merged(sums, into, part, last);
  }

  bool merge_in_switch(ChunkId id, NodeId root, Sums& sums) {
    const Topology& topology = problem_.topology;
    const Chunk& chunk = problem_.chunks[id];
    for (const NodeId node : topology.node_ids()) {
      if (!topology.node(node).reduce) continue;
      std::vector<LinkId> out(topology.out(node).begin(), topology.out(node).end());
      rng_.shuffle(out);
      for (const LinkId last : out) {
        const NodeId into = topology.link(last).to;
        if (!topology.stores(into) || !problem_.may_forward(into, chunk.job)) continue;
        std::set<NodeId> sources;
        std::vector<LinkId> links;
        for (const LinkId link : topology.in(node)) {
          const NodeId source = topology.link(link).from;
          if (source == into || source == root || !sums.parts.contains(source)) continue;
          if (sources.insert(source).second) links.push_back(link);
        }
        if (sources.size() < 2) continue;
        links.push_back(last);
        const Send send{id, Op::reduce, {}, rate(links), links, Bytes{0}, chunk.bytes};
        const SendTiming shape = timing(topology, send);
        std::int64_t from = chunk.ready.ps;
        for (std::size_t i = 0; i < shape.sources.size(); ++i) {
          from = std::max(from, sums.in[shape.sources[i]] - shape.entry[i].ps);
        }
        from += delay();
        if (sums.out.contains(into))
          from = std::max(from, sums.out[into] + 1 - shape.arrival.front().ps);
        place(send, from);
        const std::int64_t start = sends_.back().start.ps;
        std::set<NodeId> all;
        for (std::size_t i = 0; i < shape.sources.size(); ++i) {
          const NodeId source = shape.sources[i];
          all.insert(sums.parts[source].begin(), sums.parts[source].end());
          sums.parts.erase(source);
          sums.out[source] = start + shape.entry[i].ps;
        }
        merged(sums, into, all, start + shape.arrival.front().ps);
        return true;
      }
    }
    return false;
  }

  /// Two nodes that hold everything between them share it with each other.
  bool exchange(ChunkId id, Sums& sums, std::map<NodeId, std::int64_t>& since) {
    const Chunk& chunk = problem_.chunks[id];
    const NodeId a = sums.parts.begin()->first;
    const NodeId b = sums.parts.rbegin()->first;
    const auto link_between = [&](NodeId from, NodeId to) -> std::optional<LinkId> {
      for (const LinkId link : problem_.topology.out(from)) {
        if (problem_.topology.link(link).to == to) return link;
      }
      return std::nullopt;
    };
    const auto there = link_between(a, b);
    const auto back = link_between(b, a);
    if (!there || !back) return false;
    const auto undo_sends = sends_.size();
    const auto undo_uses = uses_;
    const std::int64_t from = std::max({sums.in[a], sums.in[b], chunk.ready.ps}) + delay();
    Send send{id, Op::share, {}, rate({*there}), {*there}, Bytes{0}, chunk.bytes};
    const std::int64_t to_b = timing(problem_.topology, send).arrival.front().ps;
    place(std::move(send), from);
    const std::int64_t start_a = sends_.back().start.ps;
    send = {id, Op::share, {}, rate({*back}), {*back}, Bytes{0}, chunk.bytes};
    const std::int64_t to_a = timing(problem_.topology, send).arrival.front().ps;
    place(std::move(send), from);
    const std::int64_t start_b = sends_.back().start.ps;
    const auto clear = [&](NodeId node, std::int64_t at) {
      return !sums.out.contains(node) || sums.out[node] < at;
    };
    if (start_b >= start_a + to_b || start_a >= start_b + to_a || !clear(a, start_b + to_a) ||
        !clear(b, start_a + to_b)) {
      sends_.resize(undo_sends);
      uses_ = undo_uses;
      return false;
    }
    // Copies go out when both are done: one that overtook a share would make it come twice.
    since[a] = since[b] = std::max(start_b + to_a, start_a + to_b);
    return true;
  }

  // --- buffers -----------------------------------------------------------------------------------

  /// Gives some nodes a transit buffer of exactly the size that the schedule needs.
  void add_buffers() {
    const Topology& topology = problem_.topology;
    std::map<std::pair<NodeId, ChunkId>, std::pair<std::int64_t, std::int64_t>> stays;
    for (const Send& send : sends_) {
      const Chunk& chunk = problem_.chunks[send.chunk];
      const auto stay = [&](NodeId node, std::int64_t begin, std::int64_t end) {
        for (const auto* list : {&chunk.origins, &chunk.destinations, &chunk.contributors}) {
          if (std::find(list->begin(), list->end(), node) != list->end()) return;
        }
        const auto [it, is_new] = stays.try_emplace({node, send.chunk}, begin, end);
        it->second = {std::min(it->second.first, begin), std::max(it->second.second, end)};
      };
      const SendTiming shape = timing(topology, send);
      for (std::size_t i = 0; i < send.links.size(); ++i) {
        const Link& link = topology.link(send.links[i]);
        const std::int64_t begin = (send.start + shape.entry[i]).ps;
        const std::int64_t duration = shape.duration.ps;
        if (topology.stores(link.from)) stay(link.from, begin, begin + duration);
        if (topology.stores(link.to))
          stay(link.to, begin + link.latency.ps, begin + link.latency.ps + duration);
      }
    }
    IdVector<NodeId, Node> nodes = topology.nodes();
    for (const NodeId node : topology.node_ids()) {
      if (!topology.stores(node) || !chance(60)) continue;
      std::int64_t peak = 0;
      for (const auto& [place, at] : stays) {
        if (place.first != node) continue;
        std::int64_t sum = 0;
        for (const auto& [other, span] : stays) {
          if (other.first != node || at.first < span.first || at.first >= span.second) continue;
          sum += problem_.chunks[other.second].bytes.value;
        }
        peak = std::max(peak, sum);
      }
      nodes[node].buffer = Bytes{peak};
    }
    problem_.topology =
        Topology(topology.name(), topology.note(), std::move(nodes), topology.links());
  }

  Rng rng_;
  RandomScheduleOptions options_;
  Problem problem_;
  Schedule sends_;
  std::map<Resource, std::vector<Usage>> uses_;
  std::int64_t last_start_ = 0;
};

/// A valid schedule of a random problem; the same for the same seed and options.
inline RandomSchedule random_schedule(std::uint64_t seed,
                                      const RandomScheduleOptions& options = {}) {
  return RandomScheduleMaker(seed, options).make();
}

}  // namespace stellwerk::test_support
