#include "stellwerk/io/machine_topology.hpp"

#include <algorithm>
#include <set>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

/// Boards that join all of their GPUs through NVSwitch have this many (HGX).
constexpr std::size_t kBoard = 8;

bool between_gpus(const Wire& wire) {
  return wire.kind == Wire::Kind::nvlink || wire.kind == Wire::Kind::xgmi;
}

const GpuModel* model_of(const Machine& machine, const Wire& wire) {
  for (const std::size_t end : {wire.a, wire.b}) {
    if (const GpuModel* model = find_gpu_model(machine.devices[end].model)) return model;
  }
  return nullptr;
}

/// A file of a board whose NVLinks only the running driver knows.
void add_board_switch(Machine& machine) {
  const std::vector<std::size_t> gpus = machine.all(Device::Kind::gpu);
  if (std::any_of(machine.wires.begin(), machine.wires.end(), between_gpus)) return;
  const GpuModel* model = find_gpu_model(machine.devices[gpus.front()].model);
  if (!model || model->links == 0) return;
  const bool alike = std::all_of(gpus.begin(), gpus.end(), [&](std::size_t g) {
    return machine.devices[g].model == model->name;
  });
  if (!alike || gpus.size() != kBoard || !model->switched) {
    machine.notes.push_back(
        "the file has no " + std::string(to_string(model->link)) + " though a " + model->name +
        " has " + std::to_string(model->links) + " links: take them from " +
        (model->link == Wire::Kind::xgmi ? "RCCL's topology dump" : "nvidia-smi topo -m"));
    return;
  }
  Device hub;
  hub.kind = Device::Kind::gpu_switch;
  hub.name = "nvswitch";
  const std::size_t at = machine.add(std::move(hub));
  for (const std::size_t gpu : gpus) {
    machine.wires.push_back(
        {Wire::Kind::nvlink, gpu, at, model->links, std::nullopt,
         "a board of eight " + std::string(model->name) + " joins all through NVSwitch"});
  }
}

/// xGMI whose number of links the file leaves out: all of a GPU's links, if they divide evenly among its peers.
void count_links(Machine& machine) {
  std::vector<int> peers(machine.devices.size());
  for (const Wire& wire : machine.wires) {
    if (!between_gpus(wire)) continue;
    ++peers[wire.a];
    ++peers[wire.b];
  }
  for (Wire& wire : machine.wires) {
    if (!between_gpus(wire) || wire.count) continue;
    const GpuModel* model = model_of(machine, wire);
    if (!model || model->links == 0) continue;
    const auto share = [&](std::size_t end) {
      return model->links % peers[end] == 0 ? model->links / peers[end] : 0;
    };
    if (share(wire.a) == 0 || share(wire.a) != share(wire.b)) continue;
    wire.count = share(wire.a);
    wire.source = "its links divided evenly among its peers";
  }
}

void fill_rate(const Machine& machine, Wire& wire) {
  if (wire.bandwidth) return;
  if (between_gpus(wire)) {
    const GpuModel* model = model_of(machine, wire);
    if (!model || !wire.count || model->megabytes == 0) return;
    wire.bandwidth = Bandwidth{*wire.count * model->megabytes * 1'000'000};
    wire.source = std::to_string(*wire.count) + " " + to_string(wire.kind) + ", " + wire.source +
                  "; from table: " + model->source;
    return;
  }
  if (wire.kind == Wire::Kind::pcie) {
    const GpuModel* model = model_of(machine, wire);
    // Above a switch or to a NIC: as fast as the GPUs of the machine.
    for (const std::size_t gpu : machine.all(Device::Kind::gpu)) {
      if (!model) model = find_gpu_model(machine.devices[gpu].model);
    }
    if (!model) return;
    const std::string speed = model->pcie;
    wire.bandwidth = pcie_bandwidth(speed, 16);
    wire.source =
        "assumed: PCIe x16 at " + speed + ", as " + model->name + " has; rate from NCCL's table";
    return;
  }
  // NCCL's least figure for two sockets of this century.
  wire.bandwidth = Bandwidth{10'000'000'000};
  wire.source = "assumed: 10 GB/s between sockets";
}

struct Assumed {
  Time latency;
  const char* source;
};

Assumed latency_of(const Machine& machine, const Wire& wire) {
  const bool hub = machine.devices[wire.a].kind == Device::Kind::gpu_switch ||
                   machine.devices[wire.b].kind == Device::Kind::gpu_switch;
  switch (wire.kind) {
    case Wire::Kind::nvlink:
      return hub ? Assumed{Time{350'000}, "0.35us a hop assumed (NVSwitch in TE-CCL, SIGCOMM 2024)"}
                 : Assumed{Time{700'000}, "0.7us assumed (NVLink in TE-CCL, SIGCOMM 2024)"};
    case Wire::Kind::xgmi:
      return {Time{1'000'000}, "1us assumed"};
    case Wire::Kind::pcie:
      return {Time{500'000}, "0.5us a hop assumed"};
    case Wire::Kind::between_sockets:
      return {Time{500'000}, "0.5us assumed"};
  }
  return {};
}

/// Links in the making: `a` and `b` are devices.
struct Cable {
  std::size_t a, b;
  Bandwidth bandwidth;
  Time latency;
  std::string source;
};

/// Removes what leads nowhere and what only joins two others.
class Simplified {
 public:
  Simplified(const Machine& machine, std::vector<Cable> cables)
      : machine_(machine), cables_(std::move(cables)), gone_(machine.devices.size()) {
    for (std::size_t d = 0; d < machine_.devices.size(); ++d)
      gone_[d] = machine_.devices[d].kind == Device::Kind::nic;
    drop_cables();
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t d = 0; d < machine_.devices.size(); ++d) changed = simplify(d) || changed;
    }
  }

  const std::vector<Cable>& cables() const { return cables_; }
  bool gone(std::size_t device) const { return gone_[device]; }

 private:
  void drop_cables() {
    std::erase_if(cables_, [&](const Cable& c) { return gone_[c.a] || gone_[c.b]; });
  }

  bool simplify(std::size_t d) {
    if (gone_[d] || machine_.devices[d].kind == Device::Kind::gpu) return false;
    std::vector<std::size_t> at;
    for (std::size_t c = 0; c < cables_.size(); ++c) {
      if (cables_[c].a == d || cables_[c].b == d) at.push_back(c);
    }
    if (at.size() > 2) return false;
    gone_[d] = true;
    if (at.size() == 2) {
      const Cable first = cables_[at[0]], second = cables_[at[1]];
      const std::size_t x = first.a == d ? first.b : first.a,
                        y = second.a == d ? second.b : second.a;
      if (x != y) {
        const Cable& slow = second.bandwidth < first.bandwidth ? second : first;
        cables_.push_back({x, y, slow.bandwidth, first.latency + second.latency,
                           slow.source + "; through " + machine_.devices[d].name});
      }
    }
    drop_cables();
    return true;
  }

  const Machine& machine_;
  std::vector<Cable> cables_;
  std::vector<bool> gone_;
};

}  // namespace

Machine filled(Machine machine, const std::optional<std::string>& gpu) {
  if (gpu) {
    if (!find_gpu_model(*gpu)) {
      std::vector<std::string_view> names;
      std::string list;
      for (const GpuModel& model : gpu_models()) {
        names.emplace_back(model.name);
        list += (list.empty() ? "" : ", ") + std::string(model.name);
      }
      throw Error(ErrorCode::usage, "--gpu " + in_quotes(*gpu) + " is not in the table (" + list +
                                        ")" + did_you_mean(*gpu, names));
    }
    for (const std::size_t g : machine.all(Device::Kind::gpu)) {
      if (machine.devices[g].model.empty()) machine.devices[g].model = *gpu;
    }
  }
  add_board_switch(machine);
  count_links(machine);
  for (Wire& wire : machine.wires) fill_rate(machine, wire);
  return machine;
}

std::vector<std::size_t> unknown_wires(const Machine& machine) {
  std::vector<std::size_t> result;
  for (std::size_t w = 0; w < machine.wires.size(); ++w) {
    if (!machine.wires[w].bandwidth) result.push_back(w);
  }
  return result;
}

Topology machine_topology(const Machine& machine, const std::string& file) {
  const std::vector<std::size_t> gpus = machine.all(Device::Kind::gpu);
  const bool linked = std::any_of(machine.wires.begin(), machine.wires.end(), between_gpus);
  const bool known = std::any_of(gpus.begin(), gpus.end(),
                                 [&](std::size_t g) { return !machine.devices[g].model.empty(); });
  if (!linked && !known) {
    throw Error(
        ErrorCode::unreadable_input,
        one_line(file) +
            ": neither links between GPUs nor their model are in it: name the GPU, for example "
            "--gpu h100 (or pcie4 if there is no NVLink)");
  }
  if (const auto unknown = unknown_wires(machine); !unknown.empty()) {
    const Wire& wire = machine.wires[unknown.front()];
    const GpuModel* model = model_of(machine, wire);
    throw Error(ErrorCode::unreadable_input,
                one_line(file) + ": the rate of " + std::to_string(unknown.size()) +
                    " links is unknown, the first " + to_string(wire.kind) + " from " +
                    machine.devices[wire.a].name + " to " + machine.devices[wire.b].name +
                    (model ? ": a table for " + std::string(model->name) +
                                 " does not tell it; write the topology to a file and add it"
                           : ": name the GPU, for example --gpu h100"));
  }
  std::vector<Cable> cables;
  for (const Wire& wire : machine.wires) {
    const Assumed latency = latency_of(machine, wire);
    cables.push_back(
        {wire.a, wire.b, *wire.bandwidth, latency.latency, wire.source + "; " + latency.source});
  }
  const Simplified simple(machine, std::move(cables));
  IdVector<NodeId, Node> nodes;
  std::vector<NodeId> node_of(machine.devices.size());
  // GPUs first, in the order of their numbers; then what lies between them.
  std::vector<std::size_t> order = machine.all(Device::Kind::gpu);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto& x = machine.devices[a].name;
    const auto& y = machine.devices[b].name;
    return std::pair(x.size(), x) < std::pair(y.size(), y);
  });
  for (std::size_t d = 0; d < machine.devices.size(); ++d) {
    if (machine.devices[d].kind != Device::Kind::gpu && !simple.gone(d)) order.push_back(d);
  }
  for (const std::size_t d : order) {
    Node node;
    node.name = machine.devices[d].name;
    node.kind = machine.devices[d].kind == Device::Kind::gpu ? NodeKind::gpu : NodeKind::switch_;
    node_of[d] = NodeId(nodes.size());
    nodes.push_back(std::move(node));
  }
  IdVector<LinkId, Link> links;
  for (const Cable& cable : simple.cables()) {
    links.push_back(
        {node_of[cable.a], node_of[cable.b], cable.latency, cable.bandwidth, cable.source});
    links.push_back(
        {node_of[cable.b], node_of[cable.a], cable.latency, cable.bandwidth, cable.source});
  }
  return Topology(machine.name, "from " + machine.format, std::move(nodes), std::move(links));
}

}  // namespace stellwerk
