// Small networks and problems for tests, built in a line or two.
//
// Units: unless a test says otherwise links carry 1 GB/s without latency and chunks have 1000 bytes,
// so that a chunk takes 1 us on a link: one epoch of the grids used here.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "stellwerk/core/problem.hpp"

namespace stellwerk::testing {

inline constexpr std::int64_t kNs = 1000;  ///< in ps
inline constexpr std::int64_t kUs = 1000 * kNs;
inline constexpr std::int64_t kGb = 1'000'000'000;
inline constexpr Bytes kChunk{1000};
inline constexpr Time kEpoch{kUs};

/// A topology under construction. Nodes are numbered in the order in which they are added.
struct Network {
  IdVector<NodeId, Node> nodes;
  IdVector<LinkId, Link> links;

  NodeId add(NodeKind kind, const std::string& prefix) {
    Node node;
    node.kind = kind;
    node.name = prefix + std::to_string(nodes.size());
    nodes.push_back(std::move(node));
    return NodeId(nodes.size() - 1);
  }
  NodeId gpu() { return add(NodeKind::gpu, "g"); }
  NodeId relay() { return add(NodeKind::relay, "r"); }
  NodeId switch_node(bool multicast = false, bool reduce = false) {
    const NodeId id = add(NodeKind::switch_, "s");
    nodes[id].multicast = multicast;
    nodes[id].reduce = reduce;
    return id;
  }
  /// `speed` in chunks per us: 2 is 2 GB/s.
  LinkId link(NodeId from, NodeId to, double speed = 1, Time latency = Time{0}) {
    links.push_back({from, to, latency, Bandwidth{static_cast<std::int64_t>(speed * kGb)}, ""});
    return LinkId(links.size() - 1);
  }
  void both(NodeId a, NodeId b, double speed = 1, Time latency = Time{0}) {
    link(a, b, speed, latency);
    link(b, a, speed, latency);
  }
  Topology topology() const { return Topology("test", "", nodes, links); }
};

/// g0 - g1 - ... - g(n-1), links in both directions: 2i goes up from i, 2i + 1 down to it.
inline Network line(int gpus, double speed = 1, Time latency = Time{0}) {
  Network network;
  for (int i = 0; i < gpus; ++i) network.gpu();
  for (int i = 0; i + 1 < gpus; ++i) network.both(NodeId(i), NodeId(i + 1), speed, latency);
  return network;
}

inline Network ring(int gpus, bool both_ways = true) {
  Network network;
  for (int i = 0; i < gpus; ++i) network.gpu();
  for (int i = 0; i < gpus; ++i) {
    network.link(NodeId(i), NodeId((i + 1) % gpus));
    if (both_ways) network.link(NodeId((i + 1) % gpus), NodeId(i));
  }
  return network;
}

inline Network full_mesh(int gpus) {
  Network network;
  for (int i = 0; i < gpus; ++i) network.gpu();
  for (int i = 0; i < gpus; ++i) {
    for (int j = 0; j < gpus; ++j) {
      if (i != j) network.link(NodeId(i), NodeId(j));
    }
  }
  return network;
}

/// g0 .. g(n-1) around the switch n: link i goes up from GPU i, link n + i down to it.
inline Network star(int gpus, bool multicast = false, bool reduce = false) {
  Network network;
  for (int i = 0; i < gpus; ++i) network.gpu();
  const NodeId hub = network.switch_node(multicast, reduce);
  for (int i = 0; i < gpus; ++i) network.link(NodeId(i), hub);
  for (int i = 0; i < gpus; ++i) network.link(hub, NodeId(i));
  return network;
}

inline std::vector<NodeId> nodes(const std::vector<int>& positions) {
  std::vector<NodeId> result;
  for (const int position : positions) result.emplace_back(position);
  return result;
}

/// One chunk of a custom job.
inline CustomChunk data(const std::vector<int>& origins, const std::vector<int>& destinations,
                        Time ready = Time{0}, Bytes bytes = kChunk) {
  return {bytes, nodes(origins), nodes(destinations), ready, {}};
}
inline CustomChunk sum(const std::vector<int>& contributors, const std::vector<int>& destinations,
                       Time ready = Time{0}, Bytes bytes = kChunk) {
  return {bytes, {}, nodes(destinations), ready, nodes(contributors)};
}

/// A custom job over all GPUs, or over `ranks`.
inline Problem problem(const Network& network, std::vector<CustomChunk> chunks,
                       const std::vector<int>& ranks = {}, Relays relays = Relays::all) {
  Topology topology = network.topology();
  Job job;
  job.name = "job";
  job.collective = Collective::custom;
  job.ranks = ranks.empty() ? topology.gpus() : nodes(ranks);
  job.custom = std::move(chunks);
  return make_problem(std::move(topology), {job}, relays);
}

/// A collective over all GPUs, or over `ranks`, whose blocks are `blocks` chunks of kChunk each.
inline Job collective_job(const Topology& topology, Collective collective, int chunks = 1,
                          const std::vector<int>& ranks = {}) {
  Job job;
  job.name = std::string(to_string(collective));
  job.collective = collective;
  job.ranks = ranks.empty() ? topology.gpus() : nodes(ranks);
  job.chunks = chunks;
  const auto n = static_cast<std::int64_t>(job.ranks.size());
  const std::int64_t block = chunks * kChunk.value;
  job.size = Bytes{row(collective).whole_buffer ? block : n * block};
  if (collective == Collective::alltoallv) {
    for (std::int64_t i = 0; i < n; ++i) {
      job.matrix.emplace_back();
      for (std::int64_t j = 0; j < n; ++j) job.matrix.back().push_back(Bytes{i == j ? 0 : block});
    }
  }
  return job;
}
inline Problem problem(const Network& network, Collective collective, int chunks = 1,
                       const std::vector<int>& ranks = {}, Relays relays = Relays::all) {
  Topology topology = network.topology();
  Job job = collective_job(topology, collective, chunks, ranks);
  return make_problem(std::move(topology), {std::move(job)}, relays);
}

}  // namespace stellwerk::testing
