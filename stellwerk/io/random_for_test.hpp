// Random valid topologies, jobs and plans, for tests. The plans are well-formed, not causal.
#pragma once

#include <string>
#include <vector>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/core/plan.hpp"

namespace stellwerk::testing {

/// Names that must be escaped, or hold more than one byte a letter.
inline std::string random_name(Rng& rng, std::size_t number) {
  static const std::vector<std::string> kDecorations = {"gpu", "h0.gpu", "q\"uote", "back\\slash",
                                                        "ü",   "a/b~c",  " ",       "日本"};
  return kDecorations[rng.below(kDecorations.size())] + std::to_string(number);
}

/// Two to eight GPUs and some others; any number of links, parallel ones too.
inline Topology random_topology(Rng& rng) {
  IdVector<NodeId, Node> nodes;
  const std::size_t gpus = 2 + rng.below(7);
  const std::size_t others = rng.below(4);
  for (std::size_t i = 0; i < gpus + others; ++i) {
    Node node;
    node.name = random_name(rng, i);
    if (i >= gpus) node.kind = rng.below(2) == 0 ? NodeKind::switch_ : NodeKind::relay;
    if (rng.below(2) == 0) node.host = "h" + std::to_string(rng.below(3));
    if (rng.below(3) == 0) node.rail = static_cast<int>(rng.between(-5, 1000000));
    if (rng.below(3) == 0) node.rack = "r\t" + std::to_string(rng.below(3));
    if (node.kind == NodeKind::switch_) {
      node.multicast = rng.below(2) == 0;
      node.reduce = rng.below(2) == 0;
      if (rng.below(2) == 0) node.max_groups = static_cast<int>(rng.below(100));
    } else {
      if (rng.below(3) == 0) node.buffer = Bytes{rng.between(0, std::int64_t{1} << 40)};
      if (rng.below(3) == 0) node.injection = Bandwidth{rng.between(1, 1'000'000'000'000)};
      if (rng.below(3) == 0) node.ejection = Bandwidth{rng.between(1, 1'000'000'000'000)};
    }
    nodes.push_back(node);
  }
  rng.shuffle(static_cast<std::vector<Node>&>(nodes));
  IdVector<LinkId, Link> links;
  for (std::size_t k = rng.below(30); k > 0; --k) {
    const NodeId from(static_cast<std::size_t>(rng.below(nodes.size())));
    const NodeId to(static_cast<std::size_t>(rng.below(nodes.size())));
    if (from == to) continue;
    static const std::vector<std::int64_t> kScales = {1, 1000, 1'000'000, 100'000'000};
    const std::int64_t scale = kScales[rng.below(kScales.size())];
    links.push_back({from, to, Time{rng.between(0, 9999) * scale},
                     Bandwidth{rng.between(1, 9999) * scale},
                     rng.below(2) == 0 ? "" : "from\na fit"});
  }
  return Topology(rng.below(2) == 0 ? "" : "a name", rng.below(2) == 0 ? "" : "note \"x\"\n",
                  std::move(nodes), std::move(links));
}

inline std::vector<NodeId> random_subset(Rng& rng, std::vector<NodeId> nodes, std::size_t least) {
  rng.shuffle(nodes);
  nodes.resize(least + rng.below(nodes.size() - least + 1));
  return nodes;
}

/// `size` and `auto_chunks` only where files keep them.
inline Job random_job(Rng& rng, const Topology& topology, std::size_t number) {
  Job job;
  job.name = random_name(rng, number);
  job.collective = static_cast<Collective>(rng.below(collectives().size()));
  job.ranks = rng.below(2) == 0 ? topology.gpus() : random_subset(rng, topology.gpus(), 2);
  job.root = static_cast<int>(rng.below(2) == 0 ? 0 : rng.below(job.ranks.size()));
  if (rng.below(2) == 0) job.start = Time{rng.between(0, 5'000'000)};
  job.weight = rng.between(1, 5);
  const std::size_t n = job.ranks.size();
  if (job.collective == Collective::custom) {
    for (std::size_t k = 1 + rng.below(4); k > 0; --k) {
      CustomChunk chunk;
      chunk.bytes = Bytes{rng.between(1, 1 << 20)};
      chunk.destinations = random_subset(rng, job.ranks, 1);
      (rng.below(2) == 0 ? chunk.origins : chunk.contributors) = random_subset(rng, job.ranks, 1);
      if (rng.below(2) == 0) chunk.ready = Time{rng.between(0, 1'000'000)};
      job.custom.push_back(chunk);
    }
    return job;
  }
  job.chunks = static_cast<int>(rng.between(1, 4));
  if (job.collective == Collective::alltoallv) {
    job.matrix.assign(n, std::vector<Bytes>(n));
    for (auto& row_of_rank : job.matrix) {
      for (Bytes& bytes : row_of_rank) bytes = Bytes{rng.between(0, 5) * 1000};
    }
    job.matrix[0][1] = Bytes{7};
    return job;
  }
  job.size = Bytes{rng.between(1, std::int64_t{1} << (1 + rng.below(40)))};
  return job;
}

inline std::vector<Job> random_jobs(Rng& rng, const Topology& topology) {
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < 1 + rng.below(3); ++i) jobs.push_back(random_job(rng, topology, i));
  return jobs;
}

inline Certificate random_certificate(Rng& rng, const Problem& problem) {
  using Kind = Certificate::Kind;
  static const std::vector<Kind> kKinds = {Kind::none,        Kind::cut,       Kind::metric,
                                           Kind::latency,     Kind::partition, Kind::chunk_cut,
                                           Kind::dynamic_cut, Kind::gossip};
  const auto some_nodes = [&] { return random_subset(rng, problem.topology.gpus(), 1); };
  Certificate result;
  result.kind = kKinds[rng.below(kKinds.size())];
  const bool wide = result.kind == Kind::chunk_cut || result.kind == Kind::dynamic_cut;
  if (result.kind == Kind::cut || wide) {
    result.set = some_nodes();
    if (rng.below(2) == 0) result.target = result.set.front();
    if (wide && rng.below(2) == 0) result.from = some_nodes();
    if (wide && rng.below(2) == 0) result.to = some_nodes();
    if (wide && rng.below(2) == 0) result.chunk = ChunkId(0);
  } else if (result.kind == Kind::metric) {
    for (std::size_t i = 0; i < problem.topology.links().size(); ++i) {
      result.lengths.push_back(rng.between(0, 1000));
    }
  } else if (result.kind == Kind::latency) {
    result.chunk = ChunkId(problem.chunks.size() - 1);
    result.target = problem.topology.gpus().back();
  } else if (result.kind == Kind::partition || result.kind == Kind::gossip) {
    result.parts = {some_nodes(), some_nodes()};
  }
  return result;
}

inline Plan random_plan(Rng& rng) {
  Plan plan;
  Topology topology = random_topology(rng);
  std::vector<Job> jobs = random_jobs(rng, topology);
  plan.problem = make_problem(std::move(topology), std::move(jobs),
                              rng.below(2) == 0 ? Relays::all : Relays::members);
  const Problem& problem = plan.problem;
  const bool pieces = rng.below(2) == 0;
  const std::size_t links = problem.topology.links().size();
  for (std::size_t k = links == 0 ? 0 : rng.below(40); k > 0; --k) {
    const ChunkId chunk(static_cast<std::size_t>(rng.below(problem.chunks.size())));
    Send send = whole_chunk_send(problem.topology, problem.chunks[chunk], chunk,
                                 static_cast<Op>(rng.below(3)), Time{rng.between(0, 1'000'000)},
                                 {LinkId(static_cast<std::size_t>(rng.below(links)))});
    while (rng.below(3) == 0)
      send.links.push_back(LinkId(static_cast<std::size_t>(rng.below(links))));
    if (pieces && rng.below(2) == 0) {
      send.offset = Bytes{rng.between(0, send.bytes.value - 1)};
      send.bytes = Bytes{rng.between(1, (send.bytes - send.offset).value)};
    }
    plan.sends.push_back(send);
  }
  Result& result = plan.result;
  result.transfer_time = Time{rng.between(1, std::int64_t{1} << 50)};
  for (std::size_t i = 0; i < problem.jobs.size(); ++i) {
    result.job_finish.push_back(Time{rng.between(1, result.transfer_time.ps)});
  }
  if (rng.below(3) > 0) {
    result.bound =
        Bound{Time{rng.between(0, result.transfer_time.ps)}, random_certificate(rng, problem)};
  }
  if (rng.below(3) > 0) {
    result.bound_chunked =
        Bound{Time{rng.between(1, result.transfer_time.ps)}, random_certificate(rng, problem)};
  }
  result.planner = "random";
  result.options = {{"z", "1"}, {"a\"", "x y"}, {"gap", "0.01"}};
  result.seed = rng.next();
  result.version = "1.2.3";
  result.termination = {Termination::Reason::feasible, Limit::time};
  if (rng.below(2) == 0)
    result.epoch = EpochRecord{Time{rng.between(1, 1 << 30)}, 34, rng.between(0, 34)};
  result.solver_time_s = rng.uniform();
  result.core_seconds = 100 * rng.uniform();
  result.peak_rss_bytes = rng.between(0, std::int64_t{1} << 40);
  return plan;
}

}  // namespace stellwerk::testing
