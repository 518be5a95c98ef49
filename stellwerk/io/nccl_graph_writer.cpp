#include "stellwerk/io/nccl_graph_writer.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "stellwerk/base/error.hpp"

namespace stellwerk {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::unsolved, "NCCL's graphs hold rings of one host only: " + what);
}

/// The order in which a chunk goes round all ranks, from rank 0 on.
std::vector<NodeId> order_of(const std::map<NodeId, NodeId>& next, NodeId first,
                             const std::vector<NodeId>& ranks, const std::string& chunk) {
  std::vector<NodeId> order{first};
  for (auto step = next.find(first); step != next.end() && order.size() <= ranks.size();
       step = next.find(order.back()))
    order.push_back(step->second);
  std::vector<NodeId> sorted = order, all = ranks;
  std::sort(sorted.begin(), sorted.end());
  std::sort(all.begin(), all.end());
  if (sorted != all)
    refuse("chunk " + chunk + " does not go round all ranks (plan with --planner ring)");
  std::rotate(order.begin(), std::find(order.begin(), order.end(), ranks[0]), order.end());
  return order;
}

}  // namespace

std::string format_nccl_graph(const Plan& plan) {
  const Topology& topology = plan.problem.topology;
  if (plan.problem.jobs.size() != 1) refuse("the plan has several jobs");
  const std::vector<NodeId>& ranks = plan.problem.jobs[0].ranks;
  for (const NodeId rank : ranks) {
    if (topology.node(rank).host != topology.node(ranks[0]).host)
      refuse("the plan is for several hosts");
  }
  std::vector<std::map<NodeId, NodeId>> next(plan.problem.chunks.size());
  bool nvlink = true;
  for (const Send& send : plan.sends) {
    const SendTiming times = timing(topology, send);
    const std::string chunk = std::to_string(send.chunk.value);
    if (send.op != Op::copy)
      refuse("the plan has sums: export the AllGather, NCCL uses a ring for both");
    if (times.leaves.size() != 1 || times.sources.size() != 1)
      refuse("chunk " + chunk + " is multicast (plan with --planner ring)");
    const auto [entry, added] = next[send.chunk.index()].emplace(times.sources[0], times.leaves[0]);
    if (!added && entry->second != times.leaves[0])
      refuse("a rank sends chunk " + chunk + " to two others (plan with --planner ring)");
    for (const LinkId id : send.links) {
      nvlink = nvlink && topology.link(id).source.find("NVLink") != std::string::npos;
    }
  }
  std::set<std::vector<NodeId>> rings;
  std::vector<std::vector<NodeId>> ring_of;
  for (std::size_t c = 0; c < next.size(); ++c) {
    const Chunk& chunk = plan.problem.chunks[ChunkId(c)];
    if (chunk.origins.empty()) refuse("the plan has sums");
    ring_of.push_back(order_of(next[c], chunk.origins[0], ranks, std::to_string(c)));
    rings.insert(ring_of.back());
  }
  // Rings that share a link share its rate.
  std::map<LinkId, std::set<std::vector<NodeId>>> users;
  for (const Send& send : plan.sends) {
    for (const LinkId id : send.links) users[id].insert(ring_of[send.chunk.index()]);
  }
  double each = std::numeric_limits<double>::max();
  for (const auto& [id, sharing] : users) {
    each = std::min(each, static_cast<double>(topology.link(id).bandwidth.bytes_per_second) / 1e9 /
                              static_cast<double>(sharing.size()));
  }
  // A GPU's number in its host.
  std::map<NodeId, std::size_t> device;
  for (const NodeId gpu : topology.gpus()) {
    if (topology.node(gpu).host == topology.node(ranks[0]).host) device.emplace(gpu, device.size());
  }
  std::string speed = std::to_string(each);
  speed.resize(speed.find('.') + 2);
  std::string text =
      "<graphs version=\"1\">\n  <graph id=\"0\" pattern=\"4\" crossnic=\"0\" nchannels=\"" +
      std::to_string(rings.size()) + "\" speedintra=\"" + speed + "\" speedinter=\"" + speed +
      "\" latencyinter=\"0\" typeintra=\"" + (nvlink ? "NVL" : "SYS") +
      "\" typeinter=\"PIX\" samechannels=\"0\">\n";
  for (const std::vector<NodeId>& ring : rings) {
    text += "    <channel>\n";
    for (const NodeId gpu : ring)
      text += "      <gpu dev=\"" + std::to_string(device.at(gpu)) + "\"/>\n";
    text += "    </channel>\n";
  }
  return text + "  </graph>\n</graphs>\n";
}

}  // namespace stellwerk
