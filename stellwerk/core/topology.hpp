// The network: a directed multigraph of GPUs, switches and relays, with latency and bandwidth on its links.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stellwerk/base/ids.hpp"
#include "stellwerk/base/units.hpp"

namespace stellwerk {

enum class NodeKind : std::uint8_t {
  gpu,      ///< stores, copies and forwards; may be a rank
  switch_,  ///< forwards without storing
  relay,    ///< stores and forwards, never a rank (a host, a DPU)
};

const char* to_string(NodeKind kind);

struct Node {
  std::string name;
  NodeKind kind = NodeKind::gpu;
  std::string host;         ///< label only; may be empty
  std::optional<int> rail;  ///< label only
  std::string rack;         ///< label only; may be empty
  bool multicast = false;   ///< switches: one incoming copy may leave on several links at once
  bool reduce = false;  ///< switches: several incoming partial results may merge into one outgoing
  std::optional<int> max_groups;       ///< switches: multicast sends in progress at once
  std::optional<Bytes> buffer;         ///< room for data in transit
  std::optional<Bandwidth> injection;  ///< cap on the sum of the rates of the node's own sends
  std::optional<Bandwidth> ejection;   ///< cap on the sum of the rates arriving at the node

  bool stores() const { return kind != NodeKind::switch_; }
  friend bool operator==(const Node&, const Node&) = default;
};

struct Link {
  NodeId from;
  NodeId to;
  Time latency;         ///< alpha
  Bandwidth bandwidth;  ///< 1 / beta
  std::string source;   ///< where the numbers came from (file, table, fit, user); may be empty

  friend bool operator==(const Link&, const Link&) = default;
};

/// What is wrong with a node or a link by itself, and the remedy; empty if nothing is.
std::string fault(const Node& node);
std::string fault(const Link& link);

/// An immutable network. Nodes and links are numbered from 0 in the order in which they were added.
class Topology {
 public:
  /// Validates and indexes. Throws Error(unreadable_input) naming the node or link: empty or repeated names, links
  /// to nowhere or to their own tail, non-positive bandwidth, negative latency, no GPU, limits that make no sense,
  /// latencies or bandwidths whose sums would not fit.
  Topology(std::string name, std::string note, IdVector<NodeId, Node> nodes,
           IdVector<LinkId, Link> links);

  /// An empty network, for default-constructed problems only.
  Topology() = default;

  const std::string& name() const { return name_; }
  const std::string& note() const { return note_; }
  const IdVector<NodeId, Node>& nodes() const { return nodes_; }
  const IdVector<LinkId, Link>& links() const { return links_; }
  const Node& node(NodeId id) const { return nodes_[id]; }
  const Link& link(LinkId id) const { return links_[id]; }
  IdRange<NodeId> node_ids() const { return IdRange<NodeId>(nodes_.size()); }
  IdRange<LinkId> link_ids() const { return IdRange<LinkId>(links_.size()); }

  /// Links that leave / enter a node, in ascending order.
  std::span<const LinkId> out(NodeId id) const;
  std::span<const LinkId> in(NodeId id) const;

  /// All GPUs in ascending order.
  const std::vector<NodeId>& gpus() const { return gpus_; }

  bool stores(NodeId id) const { return nodes_[id].stores(); }
  std::optional<NodeId> find(std::string_view name) const;

  /// "h0.gpu0->h1.gpu1", with "#2" appended for the second of several parallel links.
  std::string link_name(LinkId id) const;

  friend bool operator==(const Topology& a, const Topology& b) {
    return a.name_ == b.name_ && a.note_ == b.note_ && a.nodes_ == b.nodes_ && a.links_ == b.links_;
  }

 private:
  std::string name_;
  std::string note_;
  IdVector<NodeId, Node> nodes_;
  IdVector<LinkId, Link> links_;
  std::vector<NodeId> gpus_;
  std::vector<LinkId> out_, in_;  // links grouped by tail / head
  std::vector<std::size_t> out_begin_, in_begin_;
};

/// The same nodes with every link turned round; link numbers stay. Multicast and reduce capabilities swap, as do
/// injection and ejection: what time reversal needs (docs/model.md, "Plans").
Topology reversed(const Topology& topology);

}  // namespace stellwerk
