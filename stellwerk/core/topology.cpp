#include "stellwerk/core/topology.hpp"

#include <unordered_map>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/wide.hpp"

namespace stellwerk {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::unreadable_input, message);
}

std::string describe_node(std::size_t position, const Node& node) {
  return "node " + std::to_string(position) + " ('" + node.name + "')";
}

std::string describe_link(std::size_t position, const Node& from) {
  return "link " + std::to_string(position) + " (from '" + from.name + "')";
}

/// Groups link ids by one of their ends: counting sort, so that each group is ascending.
template <class End>
void group_links(const IdVector<LinkId, Link>& links, std::size_t nodes, End end,
                 std::vector<LinkId>& grouped, std::vector<std::size_t>& begin) {
  begin.assign(nodes + 1, 0);
  for (const Link& link : links) ++begin[end(link).index() + 1];
  for (std::size_t i = 0; i < nodes; ++i) begin[i + 1] += begin[i];
  grouped.resize(links.size());
  std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
  for (std::size_t i = 0; i < links.size(); ++i) {
    const LinkId id(i);
    grouped[next[end(links[id]).index()]++] = id;
  }
}

}  // namespace

std::string fault(const Node& node) {
  if (node.name.empty()) return "the node has no name: give it one";
  for (const char c : node.name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      return "the name contains a control character: remove it";
    }
  }
  const bool is_switch = node.kind == NodeKind::switch_;
  if (!is_switch && (node.multicast || node.reduce || node.max_groups)) {
    return "multicast, reduce and max_groups are for switches: remove them or make it a switch";
  }
  if (is_switch && node.buffer) return "a switch stores nothing: remove its buffer";
  if (is_switch && (node.injection || node.ejection)) {
    return "injection and ejection are for GPUs and relays: remove them";
  }
  if (node.max_groups && *node.max_groups < 0) return "max_groups is negative";
  if (node.buffer && node.buffer->value < 0) return "buffer is negative";
  if (node.injection && node.injection->bytes_per_second <= 0) return "injection must be positive";
  if (node.ejection && node.ejection->bytes_per_second <= 0) return "ejection must be positive";
  return "";
}

std::string fault(const Link& link) {
  if (link.from == link.to) return "the link leads from a node to itself: remove it";
  if (link.bandwidth.bytes_per_second <= 0) return "bandwidth must be positive";
  if (link.latency.ps < 0) return "latency is negative";
  if (link.latency > Time{std::int64_t{1000} * 1000 * 1000 * 1000 * 1000}) {
    return "a latency of more than 1000 s is surely a wrong unit";
  }
  return "";
}

const char* to_string(NodeKind kind) {
  switch (kind) {
    case NodeKind::gpu:
      return "gpu";
    case NodeKind::switch_:
      return "switch";
    case NodeKind::relay:
      return "relay";
  }
  return "gpu";
}

Topology::Topology(std::string name, std::string note, IdVector<NodeId, Node> nodes,
                   IdVector<LinkId, Link> links)
    : name_(std::move(name)),
      note_(std::move(note)),
      nodes_(std::move(nodes)),
      links_(std::move(links)) {
  std::unordered_map<std::string_view, std::size_t> names;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[NodeId(i)];
    const std::string wrong = fault(node);
    if (!wrong.empty()) refuse(describe_node(i, node).append(": ").append(wrong));
    const auto [other, fresh] = names.emplace(node.name, i);
    if (!fresh) {
      refuse("node " + std::to_string(i) + " and node " + std::to_string(other->second) +
             " are both named '" + node.name + "': names must be unique");
    }
    if (node.kind == NodeKind::gpu) gpus_.push_back(NodeId(i));
  }
  if (gpus_.empty()) refuse("the topology '" + name_ + "' has no GPU: add nodes of kind \"gpu\"");
  Int128 latencies = 0;
  Int128 bandwidths = 0;
  const auto in_range = [&](NodeId id) { return id.valid() && id.index() < nodes_.size(); };
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const Link& link = links_[LinkId(i)];
    if (!in_range(link.from) || !in_range(link.to)) {
      refuse("link " + std::to_string(i) + " ends at a node that does not exist");
    }
    const std::string wrong = fault(link);
    if (!wrong.empty()) refuse(describe_link(i, nodes_[link.from]).append(": ").append(wrong));
    latencies += link.latency.ps;
    bandwidths += link.bandwidth.bytes_per_second;
  }
  // So that sums over paths and over cuts stay within 64 bits, with room to add to them.
  constexpr Int128 kMost = Int128{1} << 61;
  if (latencies > kMost) refuse("the latencies of all links together are more than 26 days");
  if (bandwidths > kMost) refuse("the bandwidths of all links together are more than 2 EB/s");
  group_links(links_, nodes_.size(), [](const Link& l) { return l.from; }, out_, out_begin_);
  group_links(links_, nodes_.size(), [](const Link& l) { return l.to; }, in_, in_begin_);
}

std::span<const LinkId> Topology::out(NodeId id) const {
  return std::span(out_).subspan(out_begin_[id.index()],
                                 out_begin_[id.index() + 1] - out_begin_[id.index()]);
}

std::span<const LinkId> Topology::in(NodeId id) const {
  return std::span(in_).subspan(in_begin_[id.index()],
                                in_begin_[id.index() + 1] - in_begin_[id.index()]);
}

std::optional<NodeId> Topology::find(std::string_view name) const {
  for (const NodeId id : node_ids()) {
    if (nodes_[id].name == name) return id;
  }
  return std::nullopt;
}

std::string Topology::link_name(LinkId id) const {
  const Link& link = links_[id];
  int position = 1;
  for (const LinkId other : out(link.from)) {
    if (other < id && links_[other].to == link.to) ++position;
  }
  std::string text = nodes_[link.from].name + "->" + nodes_[link.to].name;
  if (position > 1) text += "#" + std::to_string(position);
  return text;
}

Topology reversed(const Topology& topology) {
  IdVector<NodeId, Node> nodes = topology.nodes();
  for (Node& node : nodes) {
    std::swap(node.multicast, node.reduce);
    std::swap(node.injection, node.ejection);
    // A reducing switch has no limit on groups of its own, and a multicast limit does not limit reductions.
    node.max_groups.reset();
  }
  IdVector<LinkId, Link> links = topology.links();
  for (Link& link : links) std::swap(link.from, link.to);
  return Topology(topology.name(), topology.note(), std::move(nodes), std::move(links));
}

}  // namespace stellwerk
