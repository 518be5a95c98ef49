// stellwerk topo: shows, lists and converts topologies.
#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/io/load.hpp"
#include "stellwerk/io/machine_topology.hpp"
#include "stellwerk/io/topology_file.hpp"
#include "tool/commands.hpp"
#include "tool/problem_options.hpp"
#include "tool/table.hpp"

namespace stellwerk::tool {
namespace {

std::string plural(std::size_t count, const std::string& word) {
  const std::string ending = count == 1 ? "" : word.ends_with("switch") ? "es" : "s";
  return fmt::format("{} {}{}", count, word, ending);
}

std::string nodes_text(const Topology& topology) {
  std::map<NodeKind, std::size_t> counts;
  for (const Node& node : topology.nodes()) ++counts[node.kind];
  std::string text;
  for (const auto& [kind, count] : counts) {
    text +=
        (text.empty() ? "" : ", ") + plural(count, kind == NodeKind::gpu ? "GPU" : to_string(kind));
  }
  return text;
}

/// Hosts, rails and racks as far as nodes are labelled.
std::string labels_text(const Topology& topology) {
  std::set<std::string> hosts, racks;
  std::set<int> rails;
  for (const Node& node : topology.nodes()) {
    if (!node.host.empty()) hosts.insert(node.host);
    if (!node.rack.empty()) racks.insert(node.rack);
    if (node.rail) rails.insert(*node.rail);
  }
  std::string text;
  for (const auto& [count, word] :
       {std::pair{hosts.size(), "host"}, std::pair{rails.size(), "rail"},
        std::pair{racks.size(), "rack"}}) {
    if (count > 0) text += (text.empty() ? "" : ", ") + plural(count, word);
  }
  return text;
}

/// What switches can do and which nodes are limited, one phrase each; empty if there is nothing to
/// say.
std::string abilities_text(const Topology& topology) {
  std::map<std::string, std::size_t> counts;
  for (const Node& node : topology.nodes()) {
    if (node.multicast) ++counts["multicast"];
    if (node.reduce) ++counts["reduce"];
    if (node.max_groups) ++counts["limited groups"];
    if (node.buffer) ++counts["limited buffer"];
    if (node.injection) ++counts["limited injection"];
    if (node.ejection) ++counts["limited ejection"];
  }
  std::string text;
  for (const auto& [what, count] : counts) {
    text += (text.empty() ? "" : ", ") + fmt::format("{} with {}", plural(count, "node"), what);
  }
  return text;
}

/// "gpu-gpu, same host": links of one class differ in nothing that a summary should tell.
std::string ends_text(const Topology& topology, const Link& link) {
  const Node& from = topology.node(link.from);
  const Node& to = topology.node(link.to);
  std::string text = fmt::format("{}->{}", to_string(from.kind), to_string(to.kind));
  if (!from.host.empty() && !to.host.empty())
    text += from.host == to.host ? ", in a host" : ", between hosts";
  return text;
}

std::string links_table(const Topology& topology) {
  struct Class {
    std::size_t count = 0;
    std::string source;
    std::string example;
  };
  std::map<std::tuple<std::string, std::int64_t, std::int64_t>, Class> classes;
  for (const LinkId id : topology.link_ids()) {
    const Link& link = topology.link(id);
    Class& entry =
        classes[{ends_text(topology, link), -link.bandwidth.bytes_per_second, link.latency.ps}];
    if (entry.count++ == 0) {
      entry.source = link.source;
      entry.example = topology.link_name(id);
    }
  }
  Table table;
  table.add({"links", "class", "bandwidth", "latency", "first", "source"});
  for (const auto& [key, entry] : classes) {
    const auto& [ends, bandwidth, latency] = key;
    table.add({fmt::format("{}", entry.count), ends, to_string(Bandwidth{-bandwidth}),
               to_string(Time{latency}), entry.example, entry.source});
  }
  return table.text();
}

/// A machine as a file describes it, with what is unknown.
int show_machine(const Machine& machine) {
  std::string devices;
  for (const Device::Kind kind : {Device::Kind::gpu, Device::Kind::gpu_switch, Device::Kind::nic,
                                  Device::Kind::bridge, Device::Kind::socket}) {
    if (const std::size_t count = machine.count(kind); count > 0)
      devices += (devices.empty() ? "" : ", ") + plural(count, to_string(kind));
  }
  std::set<std::string> models;
  for (const std::size_t gpu : machine.all(Device::Kind::gpu)) {
    const std::string& model = machine.devices[gpu].model;
    models.insert(model.empty() ? "unknown" : model);
  }
  Table table;
  table.add({"machine", machine.name});
  table.add({"format", machine.format});
  table.add({"devices", devices});
  table.add({"GPU model", fmt::format("{}", fmt::join(models, ", "))});
  for (const std::string& note : machine.notes) table.add({"note", note});
  struct Class {
    std::size_t count = 0;
    std::string example;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Class> classes;
  for (const Wire& wire : machine.wires) {
    const Device &a = machine.devices[wire.a], &b = machine.devices[wire.b];
    const std::string kind =
        fmt::format("{}, {} to {}", to_string(wire.kind), to_string(a.kind), to_string(b.kind));
    Class& entry = classes[{kind, wire.bandwidth ? to_string(*wire.bandwidth) : "unknown",
                            wire.source.empty() ? "not in the file" : wire.source}];
    if (entry.count++ == 0) entry.example = a.name + " - " + b.name;
  }
  Table wires;
  wires.add({"cables", "class", "bandwidth each way", "first", "source"});
  for (const auto& [key, entry] : classes) {
    const auto& [kind, bandwidth, source] = key;
    wires.add({fmt::format("{}", entry.count), kind, bandwidth, entry.example, source});
  }
  Table nics;
  nics.add({"NIC", "speed each way"});
  for (const std::size_t nic : machine.all(Device::Kind::nic)) {
    const Device& device = machine.devices[nic];
    nics.add({device.name, device.speed ? to_string(*device.speed) : "unknown"});
  }
  fmt::print("{}\n{}", table.text(), wires.text());
  if (machine.count(Device::Kind::nic) > 0) fmt::print("\n{}", nics.text());
  if (!unknown_wires(machine).empty())
    fmt::print("\nTo plan for this machine, name its GPU, for example --gpu h100.\n");
  return 0;
}

/// A network between machines.
int show_fabric(const ClusterFabric& fabric) {
  Table table;
  table.add({"network", fabric.name});
  table.add({"format", fabric.format});
  table.add({"devices", fmt::format("{}, {}", plural(fabric.switches.size(), "switch"),
                                    plural(fabric.hosts().size(), "host"))});
  for (const std::string& note : fabric.notes) table.add({"note", note});
  struct Class {
    std::size_t count = 0;
    std::string first;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Class> classes;
  const auto add = [&](const std::string& kind, const std::optional<Bandwidth>& rate,
                       const std::string& source, const std::string& ends) {
    Class& entry = classes[{kind, rate ? to_string(*rate) : "unknown",
                            source.empty() ? "not in the file" : source}];
    if (entry.count++ == 0) entry.first = ends;
  };
  for (const ClusterFabric::Cable& cable : fabric.cables) {
    add("switch to switch", cable.bandwidth, cable.source,
        fabric.switches[cable.a].name + " - " + fabric.switches[cable.b].name);
  }
  for (const ClusterFabric::Port& port : fabric.ports) {
    add(port.nic.empty() ? "host to switch" : "NIC to switch", port.bandwidth, port.source,
        port.host + (port.nic.empty() ? "" : " " + port.nic) + " - " +
            fabric.switches[port.at].name);
  }
  Table cables;
  cables.add({"cables", "class", "bandwidth each way", "first", "source"});
  for (const auto& [key, entry] : classes) {
    const auto& [kind, bandwidth, source] = key;
    cables.add({fmt::format("{}", entry.count), kind, bandwidth, entry.first, source});
  }
  fmt::print("{}\n{}\nJoin machines by it: stellwerk topo compose MACHINE --fabric FILE\n",
             table.text(), cables.text());
  return 0;
}

int show(const std::string& name, const MachineHints& hints) {
  if (const auto fabric = load_fabric(name, hints)) return show_fabric(*fabric);
  if (const auto machine = load_machine(name, hints)) return show_machine(*machine);
  const Topology topology = load_topology(name, hints);
  Table table;
  table.add({"topology", topology.name()});
  if (!topology.note().empty()) table.add({"note", topology.note()});
  table.add({"nodes", nodes_text(topology)});
  if (const std::string labels = labels_text(topology); !labels.empty())
    table.add({"labels", labels});
  if (const std::string abilities = abilities_text(topology); !abilities.empty()) {
    table.add({"abilities and limits", abilities});
  }
  fmt::print("{}\n{}", table.text(), links_table(topology));
  return 0;
}

}  // namespace

RunCommand declare_topo_show(Arguments& arguments) {
  const auto name = std::make_shared<std::string>();
  const auto hints = std::make_shared<MachineHints>();
  arguments.operand({"TOPOLOGY", "", "a built-in topology or a file", "stellwerk topo show ndv2:2"},
                    *name);
  declare(arguments, *hints);
  return [name, hints] { return show(*name, *hints); };
}

RunCommand declare_topo_list(Arguments& /*arguments*/) {
  return [] {
    Table table;
    table.add({"name", "what it is", "options"});
    for (const CatalogueRow& row : catalogue())
      table.add({std::string(row.pattern), std::string(row.summary), std::string(row.options)});
    fmt::print("{}\nEvery name takes: {}\n", table.text(), catalogue_common_options());
    return 0;
  };
}

RunCommand declare_topo_convert(Arguments& arguments) {
  const auto name = std::make_shared<std::string>();
  const auto output = std::make_shared<std::optional<std::string>>();
  arguments.operand(
      {"TOPOLOGY", "", "a built-in topology or a file", "stellwerk topo convert ndv2:2"}, *name);
  const auto hints = std::make_shared<MachineHints>();
  declare(arguments, *hints);
  arguments.value(
      {"-o,--output", "FILE", "write to a file (.zst: compressed) instead of standard output",
       "-o ndv2-2.json"},
      *output);
  return [name, output, hints] {
    const Topology topology = load_topology(*name, *hints);
    if (*output) {
      write_topology(topology, **output);
    } else {
      fmt::print("{}", format_topology(topology));
    }
    return 0;
  };
}

}  // namespace stellwerk::tool
