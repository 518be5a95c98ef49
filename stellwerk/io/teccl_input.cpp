// TE-CCL's inputs name one of five networks, which its source builds. Where the catalogue has the same machine it is taken
// from there; nodes are put in TE-CCL's order. Two NDv2 are what TE-CCL makes of them: node 0 is a switch by accident.
#include <cmath>
#include <utility>
#include <vector>

#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/io/json.hpp"
#include "stellwerk/io/planner_topologies.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

/// `order[k]` is the node that becomes node k.
Topology reordered(const Topology& topology, const std::vector<NodeId>& order) {
  IdVector<NodeId, Node> nodes;
  std::vector<NodeId> place(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    nodes.push_back(topology.node(order[k]));
    place[order[k].index()] = NodeId(k);
  }
  IdVector<LinkId, Link> links = topology.links();
  for (Link& link : links) {
    link.from = place[link.from.index()];
    link.to = place[link.to.index()];
  }
  return Topology(topology.name(), topology.note(), std::move(nodes), std::move(links));
}

/// The next switch in front of every `gpus_each` GPUs.
std::vector<NodeId> switches_first(const Topology& topology, std::size_t gpus_each) {
  std::vector<NodeId> switches, order;
  for (const NodeId id : topology.node_ids()) {
    if (topology.node(id).kind == NodeKind::switch_) switches.push_back(id);
  }
  const std::vector<NodeId>& gpus = topology.gpus();
  for (std::size_t k = 0; k < gpus.size(); ++k) {
    if (k % gpus_each == 0 && k / gpus_each < switches.size())
      order.push_back(switches[k / gpus_each]);
    order.push_back(gpus[k]);
  }
  return order;
}

Topology with_latency(const Topology& topology, Time latency) {
  IdVector<LinkId, Link> links = topology.links();
  for (Link& link : links) {
    link.latency = latency;
    link.source = "TE-CCL: " + to_string(link.bandwidth) + " from its source, alpha from the input";
  }
  return Topology(topology.name(), topology.note(), topology.nodes(), std::move(links));
}

/// A square of GPUs. TE-CCL also joins the end of every row to the beginning of the next.
Topology mesh(std::int64_t side, Time latency) {
  IdVector<NodeId, Node> nodes;
  IdVector<LinkId, Link> links;
  const std::int64_t n = side * side;
  for (std::int64_t k = 0; k < n; ++k) {
    Node node;
    node.name = "gpu" + std::to_string(k);
    nodes.push_back(std::move(node));
  }
  for (std::int64_t k = 0; k < n; ++k) {
    for (const std::int64_t step : {std::int64_t{1}, side}) {
      if (k + step >= n || (step == 1 && side == 1)) continue;
      const NodeId a(static_cast<std::size_t>(k)), b(static_cast<std::size_t>(k + step));
      for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
        links.push_back({from, to, latency, Bandwidth{100'000'000'000},
                         "TE-CCL: 100 GB/s from its source, alpha from the input"});
    }
  }
  return Topology("te-ccl-mesh-" + std::to_string(side),
                  "as TE-CCL builds it: rows are also joined end to beginning", std::move(nodes),
                  std::move(links));
}

}  // namespace

bool looks_like_teccl_input(std::string_view text) {
  return text.substr(0, 65'536).find("\"TopologyParams\"") != std::string_view::npos;
}

Topology read_teccl_input(std::string_view text, const std::string& file) {
  const json::Document document(text, file);
  const json::Place root(document), parameters = root.at("TopologyParams");
  const json::Place name = parameters.at("name");
  std::int64_t chassis = 1, side = 4;
  if (const auto place = parameters.find("chassis")) chassis = place->integer(1, 4096);
  if (const auto place = parameters.find("side_length")) side = place->integer(2, 512);
  Time latency;  // TE-CCL's own default is none
  if (const auto alphas = parameters.find("alpha"); alphas && alphas->size() > 0) {
    const json::Place alpha = (*alphas)[0];
    if (!(alpha.number() >= 0 && alpha.number() <= 1)) alpha.fail("is not a latency in seconds");
    latency = Time{std::llround(alpha.number() * 1e12)};
  }
  const std::string kind = lower_case(name.text());
  if (kind == "mesh") return mesh(side, latency);
  if (kind == "dgx1") return with_latency(catalogue_topology("dgx1"), latency);
  if (kind == "amd") {
    if (chassis > 1) {
      name.fail(
          "TE-CCL's AMD of several chassis is not built here: name a network of the catalogue, "
          "as mi250:" +
          std::to_string(chassis));
    }
    return with_latency(catalogue_topology("mi250:1"), latency);
  }
  if (kind == "ndv2") {
    if (chassis == 2) return catalogue_topology("ndv2-2-as-published");
    const Topology topology = catalogue_topology("ndv2:" + std::to_string(chassis));
    return chassis == 1 ? topology : reordered(topology, switches_first(topology, 8 * 4096));
  }
  if (kind == "dgx2") {
    const Topology topology = catalogue_topology("dgx2:2");  // whatever the chassis
    return reordered(topology, switches_first(topology, 16));
  }
  name.fail(in_quotes(name.text()) + " is none of TE-CCL's networks NDv2, DGX1, DGX2, AMD, Mesh");
}

}  // namespace stellwerk
