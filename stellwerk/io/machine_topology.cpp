#include "stellwerk/io/machine_topology.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "stellwerk/base/error.hpp"
#include "stellwerk/graph/union_find.hpp"
#include "stellwerk/io/text.hpp"
#include "stellwerk/io/useful_wires.hpp"

namespace stellwerk {
namespace {

/// Boards that join all of their GPUs through NVSwitch have this many (HGX).
constexpr std::size_t kBoard = 8;

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
        "the file has no " + std::string(to_string(model->link)) + " though each " + model->name +
        " has links of it (" + std::to_string(model->links) + "): take them from " +
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
  // Between NCCL's figures for sockets of 2016 (6 GB/s) and of 2020 (16 GB/s).
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
  const int network = (machine.devices[wire.a].kind == Device::Kind::network) +
                      (machine.devices[wire.b].kind == Device::Kind::network);
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
    case Wire::Kind::network:
      return network == 2
                 ? Assumed{Time{300'000}, "0.3us between switches assumed"}
                 : Assumed{Time{1'300'000},
                           "1.3us to or from the switch assumed (InfiniBand in TACCL, NSDI 2023)"};
  }
  return {};
}

/// Links in the making: `a` and `b` are devices.
struct Cable {
  std::size_t a, b;
  Bandwidth bandwidth;
  Time latency;
  std::string source;   ///< of the slowest of the wires that it is made of
  std::string through;  ///< "; through h0.mlx5_1 (net 0)" for each device that it has replaced
};

/// For people, and for the writer of NCCL's graphs, which needs the numbers of NICs.
std::string through(const Device& device) {
  return "; through " + one_line(device.name) +
         (device.net ? " (net " + std::to_string(*device.net) + ")" : "");
}

/// Removes what leads nowhere and what only joins two others.
class Simplified {
 public:
  Simplified(const Machine& machine, std::vector<Cable> cables)
      : machine_(machine),
        cables_(std::move(cables)),
        at_(machine.devices.size()),
        gone_(machine.devices.size()) {
    for (std::size_t c = 0; c < cables_.size(); ++c) plug(c);
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t d = 0; d < machine_.devices.size(); ++d) changed = simplify(d) || changed;
    }
    std::erase_if(cables_, [](const Cable& c) { return c.a == c.b; });
  }

  const std::vector<Cable>& cables() const { return cables_; }
  bool gone(std::size_t device) const { return gone_[device]; }

 private:
  void plug(std::size_t c) {
    at_[cables_[c].a].push_back(c);
    at_[cables_[c].b].push_back(c);
  }
  void unplug(std::size_t c) {
    std::erase(at_[cables_[c].a], c);
    std::erase(at_[cables_[c].b], c);
    cables_[c].b = cables_[c].a;  // removed at the end
  }

  bool simplify(std::size_t d) {
    if (gone_[d] || machine_.devices[d].kind == Device::Kind::gpu || at_[d].size() > 2)
      return false;
    const std::vector<std::size_t> cables = at_[d];
    gone_[d] = true;
    for (const std::size_t c : cables) {
      if (cables.size() == 1) unplug(c);
    }
    if (cables.size() == 2) {
      const Cable first = cables_[cables[0]], second = cables_[cables[1]];
      const std::size_t x = first.a == d ? first.b : first.a,
                        y = second.a == d ? second.b : second.a;
      for (const std::size_t c : cables) unplug(c);
      if (x != y) {
        const Cable& slow = second.bandwidth < first.bandwidth ? second : first;
        cables_.push_back({x, y, slow.bandwidth, first.latency + second.latency, slow.source,
                           first.through + second.through + through(machine_.devices[d])});
        plug(cables_.size() - 1);
      }
    }
    return true;
  }

  const Machine& machine_;
  std::vector<Cable> cables_;
  std::vector<std::vector<std::size_t>> at_;  ///< cables of every device
  std::vector<bool> gone_;
};

/// GPUs by host and number; then what lies between them.
std::vector<std::size_t> node_order(const Machine& machine, const Simplified& simple) {
  std::map<std::string, std::size_t> hosts;
  std::vector<std::size_t> order = machine.all(Device::Kind::gpu);
  for (const std::size_t gpu : order) hosts.try_emplace(machine.devices[gpu].host, hosts.size());
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Device &x = machine.devices[a], &y = machine.devices[b];
    return std::tuple(hosts[x.host], x.name.size(), x.name) <
           std::tuple(hosts[y.host], y.name.size(), y.name);
  });
  for (std::size_t d = 0; d < machine.devices.size(); ++d) {
    if (machine.devices[d].kind != Device::Kind::gpu && !simple.gone(d)) order.push_back(d);
  }
  return order;
}

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

namespace {

[[noreturn]] void refuse_unknown(const Machine& machine, const Wire& wire, std::size_t count,
                                 const std::string& file) {
  std::string remedy = "name the GPU, for example --gpu h100";
  if (wire.kind == Wire::Kind::network) {
    remedy = "give it, for example --nic-speed 400Gbps or --uplink-speed 400Gbps";
  } else if (const GpuModel* model = model_of(machine, wire)) {
    remedy = "the table for " + std::string(model->name) +
             " does not tell it; write the topology to a file and add it";
  }
  throw Error(ErrorCode::unreadable_input,
              one_line(file) + ": the rate of " + std::to_string(count) +
                  " links is unknown, the first " + to_string(wire.kind) + " from " +
                  machine.devices[wire.a].name + " to " + machine.devices[wire.b].name + ": " +
                  remedy);
}

/// What is planned for is this topology: a wire in the files need not be a way in it.
void check_hosts_joined(const Topology& topology, const std::string& file) {
  graph::UnionFind joined(topology.nodes().size());
  for (const Link& link : topology.links()) joined.join(link.from.index(), link.to.index());
  const auto host = [&](NodeId gpu) { return topology.node(gpu).host; };
  const std::vector<NodeId>& gpus = topology.gpus();
  std::set<std::string> reached;
  for (const NodeId gpu : gpus) {
    if (joined.root(gpu.index()) == joined.root(gpus[0].index())) reached.insert(host(gpu));
  }
  for (const NodeId gpu : gpus) {
    if (reached.contains(host(gpu))) continue;
    throw Error(ErrorCode::unreadable_input,
                one_line(file) + ": nothing joins host " + in_quotes(host(gpu)) + " to " +
                    in_quotes(host(gpus[0])) +
                    ": no way leads from a GPU over PCIe to a NIC that is plugged in; take a file "
                    "that says where the NICs are (NCCL_TOPO_DUMP_FILE, nvidia-smi topo -m)");
  }
}

}  // namespace

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
  const std::vector<bool> useful = useful_wires(machine);
  std::vector<Cable> cables;
  std::vector<const Wire*> unknown;
  for (std::size_t w = 0; w < machine.wires.size(); ++w) {
    const Wire& wire = machine.wires[w];
    if (!useful[w]) continue;
    if (!wire.bandwidth) {
      unknown.push_back(&wire);
      continue;
    }
    const Assumed latency = latency_of(machine, wire);
    cables.push_back({wire.a, wire.b, *wire.bandwidth, latency.latency,
                      wire.source + "; " + latency.source, ""});
  }
  if (!unknown.empty()) refuse_unknown(machine, *unknown.front(), unknown.size(), file);
  const Simplified simple(machine, std::move(cables));
  IdVector<NodeId, Node> nodes;
  std::vector<NodeId> node_of(machine.devices.size());
  const std::vector<std::size_t> order = node_order(machine, simple);
  for (const std::size_t d : order) {
    Node node;
    node.name = machine.devices[d].name;
    node.host = machine.devices[d].host;
    node.kind = machine.devices[d].kind == Device::Kind::gpu ? NodeKind::gpu : NodeKind::switch_;
    node_of[d] = NodeId(nodes.size());
    nodes.push_back(std::move(node));
  }
  IdVector<LinkId, Link> links;
  for (const Cable& cable : simple.cables()) {
    std::string source = cable.source + cable.through;
    for (const std::size_t end : {cable.a, cable.b}) {
      const Device& device = machine.devices[end];
      if (device.kind == Device::Kind::nic) source += through(device);
    }
    links.push_back({node_of[cable.a], node_of[cable.b], cable.latency, cable.bandwidth, source});
    links.push_back({node_of[cable.b], node_of[cable.a], cable.latency, cable.bandwidth, source});
  }
  Topology topology(machine.name, "from " + machine.format, std::move(nodes), std::move(links));
  check_hosts_joined(topology, file);
  return topology;
}

}  // namespace stellwerk
