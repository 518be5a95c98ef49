// Small networks and schedules for tests, written down in a few words. Links carry 1 GB/s unless
// they say otherwise, so that one byte takes 1000 ps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "stellwerk/core/problem.hpp"
#include "stellwerk/core/send.hpp"

namespace stellwerk::test_support {

inline constexpr std::int64_t kGigabyte = 1'000'000'000;

inline std::vector<NodeId> node_ids(const std::vector<int>& numbers) {
  std::vector<NodeId> result;
  for (const int number : numbers) result.emplace_back(number);
  return result;
}

/// GPUs first, then switches; `chunks` make one custom job over all GPUs.
struct SmallWorld {
  IdVector<NodeId, Node> nodes;
  IdVector<LinkId, Link> links;
  std::vector<CustomChunk> chunks;

  explicit SmallWorld(int gpus, int switches = 0) {
    for (int i = 0; i < gpus + switches; ++i) {
      Node node;
      node.name = (i < gpus ? "gpu" : "switch") + std::to_string(i);
      node.kind = i < gpus ? NodeKind::gpu : NodeKind::switch_;
      node.multicast = node.reduce = i >= gpus;
      nodes.push_back(node);
    }
  }
  SmallWorld& link(int from, int to, std::int64_t latency = 0, std::int64_t bandwidth = kGigabyte) {
    links.push_back({NodeId(from), NodeId(to), Time{latency}, Bandwidth{bandwidth}, ""});
    return *this;
  }
  SmallWorld& data(std::int64_t bytes, const std::vector<int>& origins,
                   const std::vector<int>& destinations, std::int64_t ready = 0) {
    chunks.push_back({Bytes{bytes}, node_ids(origins), node_ids(destinations), Time{ready}, {}});
    return *this;
  }
  SmallWorld& sum(std::int64_t bytes, const std::vector<int>& contributors,
                  const std::vector<int>& destinations, std::int64_t ready = 0) {
    chunks.push_back(
        {Bytes{bytes}, {}, node_ids(destinations), Time{ready}, node_ids(contributors)});
    return *this;
  }
  Problem problem() const {
    Topology topology("small", "", nodes, links);
    Job job;
    job.name = "job";
    job.collective = Collective::custom;
    job.custom = chunks;
    job.ranks = topology.gpus();
    return make_problem(std::move(topology), {job});
  }
};

/// A send of the whole chunk at full rate.
inline Send send_over(const Problem& problem, int chunk, std::int64_t start,
                      const std::vector<int>& links, Op op = Op::copy) {
  std::vector<LinkId> ids;
  for (const int link : links) ids.emplace_back(link);
  return whole_chunk_send(problem.topology, problem.chunks[ChunkId(chunk)], ChunkId(chunk), op,
                          Time{start}, std::move(ids));
}
/// The same of a byte range.
inline Send piece_over(const Problem& problem, int chunk, std::int64_t start,
                       const std::vector<int>& links, std::int64_t offset, std::int64_t bytes,
                       Op op = Op::copy) {
  Send send = send_over(problem, chunk, start, links, op);
  send.offset = Bytes{offset};
  send.bytes = Bytes{bytes};
  return send;
}
inline Send at_rate(Send send, std::int64_t rate) {
  send.rate = Bandwidth{rate};
  return send;
}

inline std::vector<std::int64_t> starts_of(const Schedule& sends) {
  std::vector<std::int64_t> result;
  for (const Send& send : sends) result.push_back(send.start.ps);
  return result;
}

}  // namespace stellwerk::test_support
