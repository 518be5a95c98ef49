#include "tests/property/random_plan.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <tuple>

namespace stellwerk::testing {
namespace {

std::int64_t duration(std::int64_t bytes, std::int64_t rate) {
  return static_cast<std::int64_t>((static_cast<Int128>(bytes) * 1'000'000'000'000 + rate - 1) /
                                   rate);
}

/// A window with an amount; the most of the sum over all instants.
struct Amount {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t amount;
};

std::int64_t peak(const std::vector<Amount>& amounts) {
  std::int64_t most = 0;
  for (const Amount& at : amounts) {
    std::int64_t sum = 0;
    for (const Amount& other : amounts) {
      if (other.begin <= at.begin && at.begin < other.end) sum += other.amount;
    }
    most = std::max(most, sum);
  }
  return most;
}

bool has(const std::vector<NodeId>& list, NodeId node) {
  return std::find(list.begin(), list.end(), node) != list.end();
}

// --- Networks ----------------------------------------------------------------------------------

Topology random_network(Rng& rng) {
  IdVector<NodeId, Node> nodes;
  IdVector<LinkId, Link> links;
  const auto gpus = static_cast<std::size_t>(rng.between(3, 8));
  const auto relays = static_cast<std::size_t>(rng.between(0, 1));
  const auto switches = static_cast<std::size_t>(rng.between(0, 3));
  for (std::size_t i = 0; i < gpus + relays + switches; ++i) {
    Node node;
    node.kind = i < gpus ? NodeKind::gpu : i < gpus + relays ? NodeKind::relay : NodeKind::switch_;
    node.name = std::string(to_string(node.kind)) + std::to_string(i);
    if (node.kind == NodeKind::switch_) {
      node.multicast = rng.below(2) == 0;
      node.reduce = rng.below(2) == 0;
    }
    nodes.push_back(node);
  }
  const auto add = [&](std::size_t from, std::size_t to) {
    const std::int64_t bandwidth =
        rng.below(2) == 0 ? 1'000'000'000 : rng.between(200'000'000, 3'000'000'000);
    const std::int64_t latency = rng.below(4) == 0 ? 0 : rng.between(1, 50'000);
    links.push_back({NodeId(from), NodeId(to), Time{latency}, Bandwidth{bandwidth}, ""});
  };
  // A ring keeps everything within reach, for members, too; the rest is as it comes.
  for (std::size_t i = 0; i < gpus; ++i) {
    add(i, (i + 1) % gpus);
    add((i + 1) % gpus, i);
  }
  for (std::size_t s = gpus; s < nodes.size(); ++s) {
    for (std::size_t i = 0; i < gpus; ++i) {
      if (rng.below(4) != 0) {
        add(i, s);
        add(s, i);
      }
    }
    if (s + 1 < nodes.size() && rng.below(2) == 0) {
      add(s, s + 1);
      add(s + 1, s);
    }
  }
  for (std::size_t k = rng.below(4); k > 0; --k) {
    const std::size_t from = rng.below(gpus);
    const std::size_t to = rng.below(gpus);
    if (from != to) add(from, to);
  }
  return Topology("random", "", std::move(nodes), std::move(links));
}

// --- Jobs --------------------------------------------------------------------------------------

Job random_job(Rng& rng, const Topology& topology, const std::string& name) {
  Job job;
  job.name = name;
  job.ranks = topology.gpus();
  rng.shuffle(job.ranks);
  if (rng.below(2) == 0) job.ranks.resize(2 + rng.below(job.ranks.size() - 1));
  const std::size_t n = job.ranks.size();
  job.collective = static_cast<Collective>(rng.below(11));
  job.size = Bytes{rng.between(1, 20'000)};
  job.chunks = static_cast<int>(rng.between(1, 3));
  job.root = static_cast<int>(rng.below(n));
  if (rng.below(3) == 0) job.start = Time{rng.between(0, 3'000'000)};
  if (job.collective == Collective::alltoallv) {
    job.matrix.assign(n, std::vector<Bytes>(n));
    for (auto& row : job.matrix) {
      for (Bytes& bytes : row) bytes = Bytes{rng.below(3) == 0 ? 0 : rng.between(1, 3000)};
    }
    job.matrix[0][1] = Bytes{7};
  }
  if (job.collective == Collective::custom) {
    const auto some = [&] {
      std::vector<NodeId> list = job.ranks;
      rng.shuffle(list);
      list.resize(1 + rng.below(list.size()));
      return list;
    };
    for (std::size_t k = 1 + rng.below(4); k > 0; --k) {
      CustomChunk chunk;
      chunk.bytes = Bytes{rng.between(1, 4000)};
      (rng.below(2) == 0 ? chunk.origins : chunk.contributors) = some();
      chunk.destinations = some();
      chunk.ready = Time{rng.below(2) == 0 ? 0 : rng.between(0, 4'000'000)};
      job.custom.push_back(chunk);
    }
  }
  return job;
}

// --- Plans: one send after the other, each as early as it fits ---------------------------------

/// From one storing node to the next: a link, or several with switches between.
using Hop = std::vector<LinkId>;

class Maker {
 public:
  Maker(Rng& rng, const Problem& problem, bool waste)
      : rng_(rng), problem_(problem), topology_(problem.topology), waste_(waste) {
    on_link_.resize(topology_.links().size());
  }

  Schedule make(std::map<std::pair<ChunkId, NodeId>, std::int64_t>& held) {
    std::vector<ChunkId> order;
    for (const ChunkId id : problem_.chunk_ids()) order.push_back(id);
    rng_.shuffle(order);
    for (const ChunkId id : order) {
      chunk_ = id;
      held_.clear();
      for (const NodeId node : chunk().origins) held_[node] = chunk().ready.ps;
      if (chunk().contributors.size() == 1) {
        held_[chunk().contributors.front()] = chunk().ready.ps;
      } else if (chunk().is_reduction()) {
        reduce();
      }
      distribute();
      for (const auto& [node, since] : held_) held[{id, node}] = since;
    }
    return std::move(sends_);
  }

 private:
  const Chunk& chunk() const { return problem_.chunks[chunk_]; }

  bool may_receive(NodeId node) const {
    const std::vector<NodeId>& ranks = problem_.jobs[chunk().job.index()].ranks;
    return problem_.relays == Relays::all || topology_.node(node).kind != NodeKind::gpu ||
           has(ranks, node);
  }

  /// Ways from the nodes that hold the chunk (or to `root`, against the links) with the fewest
  /// sends: for every storing node the hop by which it is reached.
  std::map<NodeId, Hop> search(const std::vector<NodeId>& starts, bool backwards) const {
    std::map<NodeId, Hop> hops;
    std::set<NodeId> seen(starts.begin(), starts.end());
    std::vector<std::pair<NodeId, Hop>> queue;
    for (const NodeId start : starts) queue.emplace_back(start, Hop{});
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const auto [node, path] = queue[i];  // copied: the queue grows
      auto next = backwards ? topology_.in(node) : topology_.out(node);
      std::vector<LinkId> links(next.begin(), next.end());
      for (std::size_t k = links.size(); k > 1; --k) std::swap(links[k - 1], links[rng_.below(k)]);
      for (const LinkId link : links) {
        const NodeId other = backwards ? topology_.link(link).from : topology_.link(link).to;
        if (seen.contains(other) || !may_receive(other)) continue;
        seen.insert(other);
        Hop longer = path;
        longer.insert(backwards ? longer.begin() : longer.end(), link);
        if (topology_.stores(other)) {
          hops[other] = longer;
          longer.clear();
        }
        queue.emplace_back(other, longer);
      }
    }
    return hops;
  }

  NodeId tail(const Hop& hop) const { return topology_.link(hop.front()).from; }
  NodeId head(const Hop& hop) const { return topology_.link(hop.back()).to; }

  /// May the send be added? At every instant that its windows meet.
  bool fits(const Send& send) const {
    for (const LinkWindow& w : windows(topology_, send)) {
      std::vector<Amount> amounts{{w.begin, w.end, send.rate.bytes_per_second}};
      for (const Amount& other : on_link_[w.link]) {
        if (other.begin < w.end && w.begin < other.end) amounts.push_back(other);
      }
      if (peak(amounts) > topology_.link(w.link).bandwidth.bytes_per_second) return false;
    }
    return true;
  }

  /// Moves the start to where the send fits: to `earliest`, or to where something ends.
  void place(Send& send, std::int64_t earliest) {
    send.start = Time{earliest};
    if (fits(send)) return;
    std::set<std::int64_t> starts;
    for (const LinkWindow& w : windows(topology_, send)) {
      for (const Amount& other : on_link_[w.link]) {
        const std::int64_t start = other.end - (w.begin - earliest);
        if (start > earliest) starts.insert(start);
      }
    }
    for (const std::int64_t start : starts) {
      send.start = Time{start};
      if (fits(send)) return;
    }
  }

  /// Adds a send of the chunk, perhaps slower than possible and perhaps in two pieces, not before
  /// `earliest`. Returns when the last byte reaches each receiver.
  std::map<NodeId, std::int64_t> add(Op op, std::vector<LinkId> links, std::int64_t earliest) {
    Send send;
    send.chunk = chunk_;
    send.op = op;
    send.links = std::move(links);
    send.bytes = chunk().bytes;
    send.rate = topology_.link(send.links.front()).bandwidth;
    for (const LinkId l : send.links) send.rate = std::min(send.rate, topology_.link(l).bandwidth);
    if (rng_.below(6) == 0) {
      send.rate =
          Bandwidth{rng_.between((send.rate.bytes_per_second + 2) / 3, send.rate.bytes_per_second)};
    }
    std::vector<Send> parts{send};
    if (send.bytes.value > 1 && rng_.below(6) == 0) {
      parts.push_back(send);
      parts[0].bytes = Bytes{rng_.between(1, send.bytes.value - 1)};
      parts[1].offset = parts[0].bytes;
      parts[1].bytes = send.bytes - parts[0].bytes;
      if (rng_.below(2) == 0) std::swap(parts[0], parts[1]);
    }
    std::map<NodeId, std::int64_t> arrivals;
    for (Send& part : parts) {
      place(part, earliest);
      earliest = part.start.ps;  // pieces keep their order
      for (const LinkWindow& w : windows(topology_, part)) {
        on_link_[w.link].push_back({w.begin, w.end, part.rate.bytes_per_second});
        const NodeId node = topology_.link(w.link).to;
        if (topology_.stores(node)) arrivals[node] = std::max(arrivals[node], w.last_in);
      }
      sends_.push_back(part);
    }
    return arrivals;
  }

  /// Brings the chunk from the nodes that hold it to all destinations.
  void distribute() {
    std::vector<NodeId> wanting = chunk().destinations;
    rng_.shuffle(wanting);
    for (const NodeId target : wanting) {
      if (held_.contains(target)) continue;
      std::vector<NodeId> holders;
      for (const auto& [node, since] : held_) holders.push_back(node);
      const std::map<NodeId, Hop> hops = search(holders, false);
      std::vector<Hop> way;
      for (NodeId node = target; !held_.contains(node); node = tail(way.back())) {
        way.push_back(hops.at(node));
      }
      std::reverse(way.begin(), way.end());
      for (const Hop& hop : way) {
        if (held_.contains(head(hop))) continue;  // a branch of an earlier multicast
        const auto arrivals = add(Op::copy, branch(hop), held_.at(tail(hop)));
        for (const auto& [node, at] : arrivals) held_.emplace(node, at);
      }
    }
    if (waste_ && rng_.below(8) == 0) {
      // Once more to somewhere, wanted there or not.
      std::vector<LinkId> out;
      const auto from =
          std::next(held_.begin(), static_cast<std::ptrdiff_t>(rng_.below(held_.size())));
      for (const LinkId l : topology_.out(from->first)) {
        const NodeId to = topology_.link(l).to;
        if (held_.contains(to) && held_.at(to) <= from->second) out.push_back(l);
      }
      if (!out.empty()) add(Op::copy, {out[rng_.below(out.size())]}, from->second);
    }
  }

  /// The hop, and where its last switch can multicast, links from there to others that want the
  /// chunk.
  std::vector<LinkId> branch(const Hop& hop) const {
    std::vector<LinkId> links = hop;
    if (hop.size() < 2) return links;
    const NodeId node = topology_.link(hop.back()).from;
    if (!topology_.node(node).multicast || rng_.below(3) == 0) return links;
    std::set<NodeId> reached{head(hop), tail(hop)};
    for (const LinkId l : topology_.out(node)) {
      const NodeId to = topology_.link(l).to;
      if (has(chunk().destinations, to) && !held_.contains(to) && reached.insert(to).second) {
        links.push_back(l);
      }
    }
    return links;
  }

  /// Brings all addends to one destination, over an in-tree of hops; the sum is held there.
  void reduce() {
    const std::vector<NodeId>& destinations = chunk().destinations;
    const NodeId root = destinations[rng_.below(destinations.size())];
    const std::map<NodeId, Hop> hops = search({root}, true);
    // Only ways of contributors matter.
    std::set<NodeId> nodes;
    for (const NodeId contributor : chunk().contributors) {
      for (NodeId node = contributor; node != root; node = head(hops.at(node))) nodes.insert(node);
    }
    std::map<NodeId, std::vector<NodeId>> children;
    for (const NodeId node : nodes) children[head(hops.at(node))].push_back(node);
    // When a node has everything of its children; leaves first by recursion.
    const std::function<std::int64_t(NodeId)> gather = [&](NodeId node) {
      std::int64_t complete = chunk().ready.ps;
      std::vector<std::pair<NodeId, std::int64_t>> ready;
      for (const NodeId child : children[node]) ready.emplace_back(child, gather(child));
      while (!ready.empty()) {
        // The next child, with others whose hops end over the same switch if that can merge.
        std::vector<LinkId> links = hops.at(ready.front().first);
        std::int64_t earliest = ready.front().second;
        ready.erase(ready.begin());
        const LinkId last = links.back();
        const bool merging = links.size() == 2 && rng_.below(4) != 0 &&
                             topology_.node(topology_.link(last).from).reduce;
        for (std::size_t i = 0; merging && i < ready.size();) {
          const Hop& hop = hops.at(ready[i].first);
          if (hop.size() == 2 && topology_.link(hop[1]).from == topology_.link(last).from) {
            links.insert(links.begin(), hop[0]);
            earliest = std::max(earliest, ready[i].second);
            ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(i));
          } else {
            ++i;
          }
        }
        const Op op = rng_.below(4) == 0 ? Op::share : Op::reduce;
        complete = std::max(complete, add(op, links, earliest).at(node));
      }
      return complete;
    };
    held_[root] = gather(root);
  }

  Rng& rng_;
  const Problem& problem_;
  const Topology& topology_;
  const bool waste_;
  ChunkId chunk_;
  std::map<NodeId, std::int64_t> held_;
  IdVector<LinkId, std::vector<Amount>> on_link_;
  Schedule sends_;
};

}  // namespace

std::vector<LinkWindow> windows(const Topology& topology, const Send& send) {
  const std::int64_t lasts = duration(send.bytes.value, send.rate.bytes_per_second);
  std::set<NodeId> sources, heads;
  for (const LinkId l : send.links) heads.insert(topology.link(l).to);
  for (const LinkId l : send.links) {
    const NodeId node = topology.link(l).from;
    if (!heads.contains(node)) sources.insert(node);
  }
  std::vector<LinkWindow> result;
  const auto add = [&](LinkId l, std::int64_t begin) {
    const std::int64_t latency = topology.link(l).latency.ps;
    result.push_back({l, begin, begin + lasts, begin + latency, begin + latency + lasts});
  };
  if (sources.size() == 1) {
    std::map<NodeId, std::int64_t> at{{*sources.begin(), send.start.ps}};
    for (const LinkId l : send.links) {
      const std::int64_t begin = at.at(topology.link(l).from);
      add(l, begin);
      at[topology.link(l).to] = begin + topology.link(l).latency.ps;
    }
    return result;
  }
  // All parts reach the destination together: so much before that, each link begins.
  std::map<NodeId, std::int64_t> before;
  std::int64_t most = 0;
  for (auto l = send.links.rbegin(); l != send.links.rend(); ++l) {
    const Link& link = topology.link(*l);
    before[link.from] = before[link.to] + link.latency.ps;
    most = std::max(most, before[link.from]);
  }
  for (const LinkId l : send.links) {
    add(l, send.start.ps + most - before[topology.link(l).from]);
  }
  return result;
}

Peaks peaks(const Problem& problem, const Schedule& sends) {
  const Topology& topology = problem.topology;
  const std::size_t n = topology.nodes().size();
  IdVector<NodeId, std::vector<Amount>> injection(n), ejection(n), groups(n), buffer(n);
  std::map<std::pair<NodeId, ChunkId>, Amount> stays;
  for (const Send& send : sends) {
    const Chunk& chunk = problem.chunks[send.chunk];
    const std::int64_t rate = send.rate.bytes_per_second;
    std::map<NodeId, std::pair<int, Amount>> out;
    const auto stay = [&](NodeId node, std::int64_t begin, std::int64_t end) {
      if (has(chunk.origins, node) || has(chunk.contributors, node) ||
          has(chunk.destinations, node)) {
        return;
      }
      const auto [own, fresh] =
          stays.emplace(std::pair(node, send.chunk), Amount{begin, end, chunk.bytes.value});
      own->second.begin = std::min(own->second.begin, begin);
      own->second.end = std::max(own->second.end, end);
    };
    for (const LinkWindow& w : windows(topology, send)) {
      const Link& link = topology.link(w.link);
      if (topology.stores(link.from)) {
        injection[link.from].push_back({w.begin, w.end, rate});
        stay(link.from, w.begin, w.end);
      } else {
        ++out[link.from].first;
        out[link.from].second = {w.begin, w.end, 1};
      }
      if (topology.stores(link.to)) {
        ejection[link.to].push_back({w.first_in, w.last_in, rate});
        stay(link.to, w.first_in, w.last_in);
      }
    }
    for (const auto& [node, count] : out) {
      if (count.first > 1) groups[node].push_back(count.second);
    }
  }
  for (const auto& [key, amount] : stays) buffer[key.first].push_back(amount);
  Peaks result;
  for (const NodeId node : topology.node_ids()) {
    result.injection.push_back(peak(injection[node]));
    result.ejection.push_back(peak(ejection[node]));
    result.groups.push_back(peak(groups[node]));
    result.buffer.push_back(peak(buffer[node]));
  }
  return result;
}

bool overloads_a_link(const Topology& topology, const Schedule& sends) {
  IdVector<LinkId, std::vector<Amount>> on_link(topology.links().size());
  for (const Send& send : sends) {
    for (const LinkWindow& w : windows(topology, send)) {
      on_link[w.link].push_back({w.begin, w.end, send.rate.bytes_per_second});
    }
  }
  for (const LinkId l : topology.link_ids()) {
    if (peak(on_link[l]) > topology.link(l).bandwidth.bytes_per_second) return true;
  }
  return false;
}

namespace {

void record_finish(RandomPlan& result) {
  Plan& plan = result.plan;
  plan.result.job_finish.resize(plan.problem.jobs.size());
  for (const ChunkId id : plan.problem.chunk_ids()) {
    const Chunk& chunk = plan.problem.chunks[id];
    for (const NodeId node : chunk.destinations) {
      Time& finish = plan.result.job_finish[chunk.job.index()];
      finish = std::max(finish, Time{result.held.at({id, node})});
    }
  }
  for (const Time finish : plan.result.job_finish) {
    plan.result.transfer_time = std::max(plan.result.transfer_time, finish);
  }
}

}  // namespace

RandomPlan random_plan(Rng& rng, const RandomPlanOptions& options) {
  RandomPlan result;
  Plan& plan = result.plan;
  Topology topology = random_network(rng);
  std::vector<Job> jobs{random_job(rng, topology, "first")};
  if (rng.below(3) == 0) jobs.push_back(random_job(rng, topology, "second"));
  // A ring of all GPUs does not lead through every subset: only relays or switches can replace it.
  bool everybody = true;
  for (const Job& job : jobs) everybody = everybody && job.ranks.size() == topology.gpus().size();
  const Relays relays = everybody && rng.below(2) == 0 ? Relays::members : Relays::all;
  plan.problem = make_problem(std::move(topology), std::move(jobs), relays);
  plan.sends = Maker(rng, plan.problem, options.waste).make(result.held);

  if (options.limits) {
    const Peaks most = peaks(plan.problem, plan.sends);
    IdVector<NodeId, Node> nodes = plan.problem.topology.nodes();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const NodeId id(i);
      Node& node = nodes[id];
      if (node.kind == NodeKind::switch_) {
        if (node.multicast && rng.below(2) == 0) {
          node.max_groups = static_cast<int>(most.groups[id]);
        }
        continue;
      }
      if (rng.below(2) == 0) node.buffer = Bytes{most.buffer[id]};
      if (rng.below(2) == 0 && most.injection[id] > 0)
        node.injection = Bandwidth{most.injection[id]};
      if (rng.below(2) == 0 && most.ejection[id] > 0) node.ejection = Bandwidth{most.ejection[id]};
    }
    plan.problem.topology = Topology("random", "", std::move(nodes), plan.problem.topology.links());
  }

  record_finish(result);
  return result;
}

std::optional<RandomPlan> plan_of(const Problem& problem, const Schedule& sends) {
  RandomPlan result;
  result.plan.problem = problem;
  result.plan.sends = sends;
  const Topology& topology = problem.topology;
  for (const ChunkId id : problem.chunk_ids()) {
    const Chunk& chunk = problem.chunks[id];
    // Data is a sum of one addend, which every origin has.
    std::map<NodeId, std::set<NodeId>> sets;
    std::map<std::size_t, std::set<NodeId>> moving;  // by send
    const std::set<NodeId> full =
        chunk.is_reduction()
            ? std::set<NodeId>(chunk.contributors.begin(), chunk.contributors.end())
            : std::set<NodeId>{chunk.owner};
    std::map<NodeId, std::int64_t> since;
    const auto has_all = [&](NodeId node, std::int64_t at) {
      if (sets[node] == full) since.emplace(node, at);
    };
    for (const NodeId node : chunk.contributors) sets[node] = {node};
    for (const NodeId node : chunk.origins) sets[node] = full;
    for (const auto& [node, set] : std::map(sets)) has_all(node, chunk.ready.ps);
    enum Kind { arrives, leaves, is_taken };
    std::vector<std::tuple<std::int64_t, Kind, std::size_t, NodeId>> events;
    for (std::size_t k = 0; k < sends.size(); ++k) {
      if (sends[k].chunk != id) continue;
      if (sends[k].bytes != chunk.bytes) return std::nullopt;
      for (const LinkWindow& w : windows(topology, sends[k])) {
        const Link& link = topology.link(w.link);
        if (topology.stores(link.to)) events.emplace_back(w.last_in, arrives, k, link.to);
        if (!topology.stores(link.from)) continue;
        events.emplace_back(w.begin, leaves, k, link.from);
        if (sends[k].op == Op::reduce) events.emplace_back(w.begin, is_taken, k, link.from);
      }
    }
    std::sort(events.begin(), events.end());
    for (const auto& [at, kind, k, node] : events) {
      std::set<NodeId>& own = sets[node];
      if (kind == leaves) moving[k].insert(own.begin(), own.end());
      if (kind == is_taken) {
        own.clear();
        since.erase(node);
      }
      if (kind == arrives) {
        own.insert(moving[k].begin(), moving[k].end());
        has_all(node, at);
      }
    }
    for (const auto& [node, at] : since) result.held[{id, node}] = at;
  }
  record_finish(result);
  return result;
}

}  // namespace stellwerk::testing
