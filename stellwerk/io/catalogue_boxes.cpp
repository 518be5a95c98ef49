#include "stellwerk/io/catalogue_boxes.hpp"

namespace stellwerk {

Boxes add_boxes(CatalogueDraft& draft, const BoxKind& kind, std::size_t count) {
  Boxes boxes;
  for (std::size_t b = 0; b < count; ++b) {
    const std::string host = "h" + std::to_string(b);
    boxes.emplace_back();
    for (std::size_t g = 0; g < kind.gpus; ++g) {
      const NodeId id = draft.add(host + ".gpu" + std::to_string(g), NodeKind::gpu, host);
      draft.nodes[id].rail = static_cast<int>(kind.rails == 0 ? g : g % kind.rails);
      boxes.back().push_back(id);
    }
    if (kind.gpus == 1) continue;
    const NodeId id = draft.add(host + "." + kind.switch_name, NodeKind::switch_, host);
    draft.nodes[id].multicast = kind.multicast;
  }
  return boxes;
}

void connect_boxes(CatalogueDraft& draft, const BoxKind& kind, const Boxes& boxes) {
  for (const std::vector<NodeId>& gpus : boxes) {
    if (gpus.size() == 1) continue;
    const NodeId box_switch(gpus.back().index() + 1);
    for (const NodeId gpu : gpus) {
      connect_both(draft, gpu, box_switch, kind.bandwidth, kind.latency, kind.source);
    }
  }
}

void connect_both(CatalogueDraft& draft, NodeId a, NodeId b, Bandwidth bandwidth, Time latency,
                  const std::string& source) {
  draft.connect(a, b, bandwidth, latency, source);
  draft.connect(b, a, bandwidth, latency, source);
}

void add_nic_fabric(CatalogueDraft& draft, const NicFabric& fabric, const Boxes& boxes) {
  const std::size_t switches = fabric.one_switch ? 1 : fabric.rails * fabric.nics;
  std::vector<NodeId> rail_switch;
  for (std::size_t s = 0; s < switches; ++s) {
    const std::string name = fabric.one_switch ? "fabric" : "rail" + std::to_string(s);
    rail_switch.push_back(draft.add(name, NodeKind::switch_, ""));
    Node& node = draft.nodes[rail_switch.back()];
    node.multicast = fabric.multicast;
    if (!fabric.one_switch) node.rail = static_cast<int>(s / fabric.nics);
  }
  // Rail by rail, so that the links of one switch have neighbouring numbers.
  for (std::size_t rail = 0; rail < fabric.rails; ++rail) {
    for (std::size_t nic = 0; nic < fabric.nics; ++nic) {
      const NodeId to = rail_switch[fabric.one_switch ? 0 : rail * fabric.nics + nic];
      for (const std::vector<NodeId>& gpus : boxes) {
        for (std::size_t g = rail; g < gpus.size(); g += fabric.rails) {
          connect_both(draft, gpus[g], to, fabric.bandwidth, fabric.latency, fabric.source);
        }
      }
    }
  }
}

}  // namespace stellwerk
