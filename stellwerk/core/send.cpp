#include "stellwerk/core/send.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace stellwerk {
namespace {

/// An in-tree: several sources, one destination, links leaves first. Every part meets at each switch at one instant;
/// offsets are counted from the source with the longest latency to the destination.
SendTiming in_tree_timing(const Topology& topology, const Send& send) {
  SendTiming result;
  result.duration = transmission_time(send.bytes, send.rate);
  std::unordered_map<NodeId, Time> to_root;  // latency from a node to the destination
  std::unordered_map<NodeId, int> entering;
  for (const LinkId id : send.links) ++entering[topology.link(id).to];
  std::vector<Time> remaining(send.links.size());
  const NodeId root = topology.link(send.links.back()).to;
  to_root[root] = Time{0};
  Time longest{0};
  for (std::size_t i = send.links.size(); i-- > 0;) {
    const Link& link = topology.link(send.links[i]);
    remaining[i] = to_root[link.to] + link.latency;
    to_root[link.from] = remaining[i];
    longest = std::max(longest, remaining[i]);
  }
  for (std::size_t i = 0; i < send.links.size(); ++i) {
    result.entry.push_back(longest - remaining[i]);
    const NodeId tail = topology.link(send.links[i]).from;
    if (!entering.contains(tail)) result.sources.push_back(tail);
  }
  result.leaves = {root};
  result.arrival = {longest + result.duration};
  return result;
}

/// Does every link begin where the one before it ends?
bool is_path(const Topology& topology, const Send& send) {
  for (std::size_t i = 1; i < send.links.size(); ++i) {
    if (topology.link(send.links[i]).from != topology.link(send.links[i - 1]).to) return false;
  }
  return true;
}

}  // namespace

std::string_view to_string(Op op) {
  switch (op) {
    case Op::copy:
      return "copy";
    case Op::reduce:
      return "reduce";
    case Op::share:
      return "share";
  }
  return "copy";
}

Send whole_chunk_send(const Topology& topology, const Chunk& chunk, ChunkId id, Op op, Time start,
                      std::vector<LinkId> links) {
  Send send{id,       op,         start, topology.link(links.front()).bandwidth, std::move(links),
            Bytes{0}, chunk.bytes};
  for (const LinkId link : send.links)
    send.rate = std::min(send.rate, topology.link(link).bandwidth);
  return send;
}

SendTiming timing(const Topology& topology, const Send& send) {
  SendTiming result;
  timing(topology, send, result);
  return result;
}

void timing(const Topology& topology, const Send& send, SendTiming& result) {
  result.entry.clear();
  result.leaves.clear();
  result.arrival.clear();
  result.duration = transmission_time(send.bytes, send.rate);
  const NodeId source = topology.link(send.links.front()).from;
  result.sources.assign(1, source);
  if (is_path(topology, send)) {  // the common case, without a map
    Time offset{0};
    for (const LinkId id : send.links) {
      const Link& link = topology.link(id);
      result.entry.push_back(offset);
      offset += link.latency;
      if (!topology.stores(link.to)) continue;
      result.leaves.push_back(link.to);
      result.arrival.push_back(offset + result.duration);
    }
    return;
  }
  std::unordered_map<NodeId, Time> reached;  // offset at which the first byte is at a node
  reached[source] = Time{0};
  for (const LinkId id : send.links) {
    const Link& link = topology.link(id);
    const auto tail = reached.find(link.from);
    if (tail == reached.end()) {
      result = in_tree_timing(topology, send);
      return;
    }
    result.entry.push_back(tail->second);
    const Time at_head = tail->second + link.latency;
    reached[link.to] = at_head;
    if (topology.stores(link.to)) {
      result.leaves.push_back(link.to);
      result.arrival.push_back(at_head + result.duration);
    }
  }
}

void sort_sends(const Topology& topology, std::vector<Send>& sends) {
  const auto key = [&](const Send& send) {
    return std::tuple(send.start, send.chunk, topology.link(send.links.front()).from);
  };
  std::sort(sends.begin(), sends.end(), [&](const Send& a, const Send& b) {
    const auto ka = key(a);
    const auto kb = key(b);
    if (ka != kb) return ka < kb;
    return std::tie(a.links, a.offset) < std::tie(b.links, b.offset);
  });
}

}  // namespace stellwerk
