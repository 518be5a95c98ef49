#include "stellwerk/io/topology_file.hpp"

#include <limits>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/file.hpp"
#include "stellwerk/io/parts.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

constexpr std::int64_t kMaxInt = std::numeric_limits<int>::max();
/// Twice the largest of the catalogue. More are no network but a bomb.
constexpr std::size_t kMostNodes = std::size_t{1} << 21;

NodeKind kind_at(const json::Place& place) {
  const std::string_view text = place.text();
  for (const NodeKind kind : {NodeKind::gpu, NodeKind::switch_, NodeKind::relay}) {
    if (text == to_string(kind)) return kind;
  }
  place.fail("there is no node kind " + in_quotes(text) + ": use gpu, switch or relay");
}

Node node_at(const json::Place& place) {
  place.expect_keys({"name", "kind", "host", "rail", "rack", "multicast", "reduce", "max_groups",
                     "buffer", "injection", "ejection"});
  Node node;
  node.name = place.at("name").text();
  node.kind = kind_at(place.at("kind"));
  if (const auto host = place.find("host")) node.host = host->text();
  if (const auto rail = place.find("rail")) {
    node.rail = static_cast<int>(rail->integer(std::numeric_limits<int>::min(), kMaxInt));
  }
  if (const auto rack = place.find("rack")) node.rack = rack->text();
  if (const auto multicast = place.find("multicast")) node.multicast = multicast->boolean();
  if (const auto reduce = place.find("reduce")) node.reduce = reduce->boolean();
  if (const auto groups = place.find("max_groups")) {
    node.max_groups = static_cast<int>(groups->integer(0, kMaxInt));
  }
  if (const auto buffer = place.find("buffer")) node.buffer = buffer->bytes();
  if (const auto injection = place.find("injection")) node.injection = injection->bandwidth();
  if (const auto ejection = place.find("ejection")) node.ejection = ejection->bandwidth();
  const std::string wrong = fault(node);
  if (!wrong.empty()) place.fail((node.name.empty() ? "" : in_quotes(node.name) + ": ") + wrong);
  return node;
}

Link link_at(const json::Place& place, const NodeNames& names) {
  place.expect_keys({"from", "to", "bandwidth", "latency", "source"});
  Link link;
  link.from = names.at(place.at("from"));
  link.to = names.at(place.at("to"));
  link.bandwidth = place.at("bandwidth").bandwidth();
  link.latency = place.at("latency").time();
  if (const auto source = place.find("source")) link.source = source->text();
  const std::string wrong = fault(link);
  if (!wrong.empty()) place.fail(wrong);
  return link;
}

}  // namespace

NodeNames::NodeNames(const Topology& topology) {
  for (const NodeId id : topology.node_ids()) add(topology.node(id).name, id);
}

bool NodeNames::add(std::string_view name, NodeId id) { return ids_.emplace(name, id).second; }

NodeId NodeNames::known(std::string_view name) const { return ids_.at(name); }

NodeId NodeNames::at(const json::Place& place) const {
  const std::string_view name = place.text();
  const auto found = ids_.find(name);
  if (found != ids_.end()) return found->second;
  // In the order of the nodes, so that the guess does not depend on hashing.
  std::vector<std::string_view> names(ids_.size());
  for (const auto& [text, id] : ids_) names[id.index()] = text;
  const std::string guess = did_you_mean(name, names);
  place.fail("there is no node " + in_quotes(name) +
             (guess.empty() ? ": use the name of a node of the topology" : guess));
}

Topology topology_at(const json::Place& place) {
  json::expect_format(place, kTopologyFormat);
  place.expect_keys({"format", "name", "note", "nodes", "links"});
  std::string name, note;
  if (const auto text = place.find("name")) name = text->text();
  if (const auto text = place.find("note")) note = text->text();

  const json::Place node_list = place.at("nodes");
  const json::Place link_list = place.at("links");  // before the nodes are read: there may be many
  const std::size_t node_count = node_list.size();
  if (node_count > kMostNodes)
    node_list.fail("has " + std::to_string(node_count) + " nodes: at most " +
                   std::to_string(kMostNodes) + " are read");
  IdVector<NodeId, Node> nodes;
  nodes.reserve(node_count);
  NodeNames names;
  names.reserve(node_count);
  for (std::size_t i = 0; i < node_count; ++i) {
    const json::Place item = node_list[i];
    nodes.push_back(node_at(item));  // does not move: reserved
    if (!names.add(nodes.back().name, NodeId(i))) {
      const NodeId other = names.known(nodes.back().name);
      item.at("name").fail(in_quotes(nodes.back().name) + " is the name of node " +
                           std::to_string(other.value) + ", too: names must be unique");
    }
  }

  const std::size_t link_count = link_list.size();
  if (link_count > static_cast<std::size_t>(kMaxInt)) link_list.fail("more than 2^31 links");
  IdVector<LinkId, Link> links;
  links.reserve(link_count);
  for (std::size_t i = 0; i < link_count; ++i) links.push_back(link_at(link_list[i], names));
  try {
    return Topology(std::move(name), std::move(note), std::move(nodes), std::move(links));
  } catch (const Error& error) {
    place.fail(error.what());
  }
}

void append_topology(std::string& text, const Topology& topology, std::string_view indent) {
  const std::string line = "\n" + std::string(indent);
  const auto field = [&](std::string_view key, const std::string& value) {
    text += ", \"" + std::string(key) + "\": " + value;
  };
  text += "{" + line + "  \"format\": " + json::quote(kTopologyFormat);
  if (!topology.name().empty()) text += "," + line + "  \"name\": " + json::quote(topology.name());
  if (!topology.note().empty()) text += "," + line + "  \"note\": " + json::quote(topology.note());
  text += "," + line + "  \"nodes\": [";
  bool first = true;
  for (const Node& node : topology.nodes()) {
    text += (first ? "" : ",") + line + "    {\"name\": " + json::quote(node.name);
    first = false;
    field("kind", json::quote(to_string(node.kind)));
    if (!node.host.empty()) field("host", json::quote(node.host));
    if (node.rail) field("rail", std::to_string(*node.rail));
    if (!node.rack.empty()) field("rack", json::quote(node.rack));
    if (node.multicast) field("multicast", "true");
    if (node.reduce) field("reduce", "true");
    if (node.max_groups) field("max_groups", std::to_string(*node.max_groups));
    if (node.buffer) field("buffer", json::quote(to_exact_string(*node.buffer)));
    if (node.injection) field("injection", json::quote(to_exact_string(*node.injection)));
    if (node.ejection) field("ejection", json::quote(to_exact_string(*node.ejection)));
    text += "}";
  }
  text += line + "  ]," + line + "  \"links\": [";
  first = true;
  for (const Link& link : topology.links()) {
    text +=
        (first ? "" : ",") + line + "    {\"from\": " + json::quote(topology.node(link.from).name);
    first = false;
    field("to", json::quote(topology.node(link.to).name));
    field("bandwidth", json::quote(to_exact_string(link.bandwidth)));
    field("latency", json::quote(to_exact_string(link.latency)));
    if (!link.source.empty()) field("source", json::quote(link.source));
    text += "}";
  }
  text += line + "  ]" + line + "}";
}

Topology parse_topology(std::string_view text, const std::string& label) {
  const json::Document document(text, label, json::Origin::own);
  return topology_at(json::Place(document));
}

Topology read_topology(const std::string& path) { return parse_topology(read_file(path), path); }

std::string format_topology(const Topology& topology) {
  std::string text;
  append_topology(text, topology, "");
  return text + "\n";
}

void write_topology(const Topology& topology, const std::string& path) {
  write_file(path, format_topology(topology));
}

}  // namespace stellwerk
