// Certificates in words, for reports.
#include <algorithm>
#include <string>

#include "stellwerk/bound/bound.hpp"

namespace stellwerk {
namespace {

constexpr std::size_t kMostNames = 3;

/// "a, b, c and 5 more"; consecutive nodes of a long list as "a .. z".
std::string list(const std::vector<std::string>& names) {
  std::string text;
  const std::size_t shown = names.size() <= kMostNames + 1 ? names.size() : kMostNames;
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  if (shown < names.size()) text += " and " + std::to_string(names.size() - shown) + " more";
  return text;
}

bool consecutive(const std::vector<NodeId>& nodes) {
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    if (nodes[i].value != nodes[i - 1].value + 1) return false;
  }
  return true;
}

/// "h1.gpu0 .. h1.gpu7 (8 GPUs)", "h1.gpu3", "all but h0.gpu2".
std::string name_set(std::vector<NodeId> set, const Topology& topology) {
  std::sort(set.begin(), set.end());
  const std::size_t all = topology.nodes().size();
  if (set.size() + 1 == all) {
    for (const NodeId node : topology.node_ids()) {
      if (!std::binary_search(set.begin(), set.end(), node)) {
        return "all but " + topology.node(node).name;
      }
    }
  }
  if (set.size() == 1) return topology.node(set.front()).name;
  // A whole host, or several, by name.
  std::vector<std::string> hosts;
  bool whole = true;
  for (const NodeId node : set) {
    const std::string& host = topology.node(node).host;
    if (host.empty()) {
      whole = whole && topology.node(node).kind != NodeKind::gpu;
    } else if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) {
      hosts.push_back(host);
    }
  }
  const std::size_t gpus = static_cast<std::size_t>(std::count_if(
      set.begin(), set.end(), [&](NodeId n) { return topology.node(n).kind == NodeKind::gpu; }));
  for (const NodeId node : topology.gpus()) {
    const bool of_hosts =
        std::find(hosts.begin(), hosts.end(), topology.node(node).host) != hosts.end();
    whole = whole && (!of_hosts || std::binary_search(set.begin(), set.end(), node));
  }
  const std::string count = " (" + std::to_string(gpus) + (gpus == 1 ? " GPU)" : " GPUs)");
  if (whole && !hosts.empty())
    return (hosts.size() == 1 ? "host " : "hosts ") + list(hosts) + count;
  if (consecutive(set)) {
    return topology.node(set.front()).name + " .. " + topology.node(set.back()).name + count;
  }
  std::vector<std::string> names;
  for (const NodeId node : set) names.push_back(topology.node(node).name);
  return list(names) + count;
}

std::string name_entries(const std::vector<NodeId>& set, const Topology& topology) {
  std::vector<bool> inside(topology.nodes().size(), false);
  for (const NodeId node : set) inside[node.index()] = true;
  std::vector<std::string> names;
  Bandwidth total;
  for (const LinkId id : topology.link_ids()) {
    const Link& link = topology.link(id);
    if (inside[link.from.index()] || !inside[link.to.index()]) continue;
    names.push_back(topology.link_name(id));
    total = total + link.bandwidth;
  }
  return "crossed by " + list(names) + " at " + to_string(total) +
         (names.size() > 1 ? " together" : "");
}

std::string describe_cut(const Certificate& certificate, const Topology& topology) {
  std::string text = "the cut into " + name_set(certificate.set, topology) + ", " +
                     name_entries(certificate.set, topology);
  if (certificate.target && certificate.set.size() > 1) {
    text += ", for " + topology.node(*certificate.target).name;
  }
  if (!certificate.from.empty())
    text += ", for what comes from " + name_set(certificate.from, topology);
  if (!certificate.to.empty()) text += ", for what goes to " + name_set(certificate.to, topology);
  return text;
}

std::string describe_metric(const Certificate& certificate, const Topology& topology) {
  // The links that count most: bandwidth times length.
  std::vector<std::pair<double, LinkId>> weights;
  for (const LinkId id : topology.link_ids()) {
    const std::int64_t length = certificate.lengths[id.index()];
    if (length > 0) {
      weights.emplace_back(-static_cast<double>(length) *
                               static_cast<double>(topology.link(id).bandwidth.bytes_per_second),
                           id);
    }
  }
  std::sort(weights.begin(), weights.end());
  std::vector<std::string> names;
  for (const auto& [weight, id] : weights) names.push_back(topology.link_name(id));
  return std::to_string(names.size()) + " links together, above all " + list(names);
}

}  // namespace

std::string describe(const Certificate& certificate, const Problem& problem) {
  const Topology& topology = problem.topology;
  switch (certificate.kind) {
    case Certificate::Kind::none:
      return "nothing";
    case Certificate::Kind::cut:
    case Certificate::Kind::dynamic_cut:
      return describe_cut(certificate, topology);
    case Certificate::Kind::chunk_cut:
      return describe_cut(certificate, topology) + ", chunks whole";
    case Certificate::Kind::metric:
      return describe_metric(certificate, topology);
    case Certificate::Kind::latency: {
      const Chunk& chunk = problem.chunks[*certificate.chunk];
      return std::string("the latency from ") +
             name_set(chunk.is_reduction() ? chunk.contributors : chunk.origins, topology) +
             " to " + topology.node(*certificate.target).name;
    }
    case Certificate::Kind::partition:
    case Certificate::Kind::gossip: {
      std::vector<std::string> names;
      for (const std::vector<NodeId>& part : certificate.parts)
        names.push_back(name_set(part, topology));
      return "the links between " + std::to_string(certificate.parts.size()) +
             " parts: " + list(names);
    }
  }
  return "nothing";
}

}  // namespace stellwerk
