#include "stellwerk/io/soundness.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/graph/union_find.hpp"
#include "stellwerk/io/machine_topology.hpp"

namespace stellwerk {
namespace {

using Level = Finding::Level;

constexpr Bandwidth kSlow{100'000'000}, kFast{10'000'000'000'000};
constexpr Time kLate{100'000'000};
/// 100 Mbit/s and 3.2 Tbit/s.
constexpr Bandwidth kSlowNic{12'500'000}, kFastNic{400'000'000'000};

/// Gathers findings of one kind: how many, and the first.
class Counter {
 public:
  void add(std::string where) {
    if (count_++ == 0) first_ = std::move(where);
  }
  void report(std::vector<Finding>& list, Level level, const std::string& one,
              const std::string& several) const {
    if (count_ == 0) return;
    list.push_back({level, std::to_string(count_) + " " + (count_ == 1 ? one : several), first_});
  }

 private:
  std::size_t count_ = 0;
  std::string first_;
};

/// The nodes that can be reached from `start` along links, or against them.
std::vector<char> reached(const Topology& topology, NodeId start, bool along) {
  std::vector<char> seen(topology.nodes().size(), 0);
  std::vector<NodeId> stack{start};
  seen[start.index()] = 1;
  while (!stack.empty()) {
    const NodeId at = stack.back();
    stack.pop_back();
    for (const LinkId id : along ? topology.out(at) : topology.in(at)) {
      const NodeId next = along ? topology.link(id).to : topology.link(id).from;
      if (std::exchange(seen[next.index()], char{1}) == 0) stack.push_back(next);
    }
  }
  return seen;
}

void check_reach(const Topology& topology, std::vector<Finding>& list) {
  const NodeId first = topology.gpus().front();
  const std::vector<char> from = reached(topology, first, true),
                          to = reached(topology, first, false);
  Counter cut, nowhere;
  for (const NodeId gpu : topology.gpus()) {
    const std::string pair = topology.node(first).name + " and " + topology.node(gpu).name;
    if (!from[gpu.index()] || !to[gpu.index()]) cut.add(pair);
  }
  for (const NodeId id : topology.node_ids()) {
    if (topology.node(id).kind == NodeKind::gpu) continue;
    if (topology.out(id).empty() || topology.in(id).empty()) nowhere.add(topology.node(id).name);
  }
  cut.report(list, Level::fault, "GPU cannot exchange data with the first one",
             "GPUs cannot exchange data with the first one");
  nowhere.report(list, Level::doubt,
                 "switch or relay cannot forward: it has no link in, or none out",
                 "switches or relays cannot forward: they have no link in, or none out");
}

void check_symmetry(const Topology& topology, std::vector<Finding>& list) {
  struct Sums {
    std::int64_t there = 0, back = 0;
    LinkId first;
  };
  std::map<std::pair<NodeId, NodeId>, Sums> pairs;
  for (const LinkId id : topology.link_ids()) {
    const Link& link = topology.link(id);
    const bool forward = link.from < link.to;
    const auto [entry, added] =
        pairs.try_emplace(forward ? std::pair(link.from, link.to) : std::pair(link.to, link.from));
    if (added) entry->second.first = id;
    (forward ? entry->second.there : entry->second.back) += link.bandwidth.bytes_per_second;
  }
  Counter single, different;
  for (const auto& [ends, sums] : pairs) {
    const std::string name = topology.link_name(sums.first);
    if (sums.there == 0 || sums.back == 0) {
      single.add(name);
    } else if (sums.there != sums.back) {
      different.add(name);
    }
  }
  single.report(list, Level::doubt, "pair of nodes is joined one way only",
                "pairs of nodes are joined one way only");
  different.report(list, Level::doubt, "pair of nodes has different rates there and back",
                   "pairs of nodes have different rates there and back");
}

void check_figures(const Topology& topology, std::vector<Finding>& list) {
  Counter slow, fast, late, instant, assumed, unsourced;
  for (const LinkId id : topology.link_ids()) {
    const Link& link = topology.link(id);
    const std::string name = topology.link_name(id);
    if (link.bandwidth < kSlow) slow.add(name + ": " + to_string(link.bandwidth));
    if (link.bandwidth > kFast) fast.add(name + ": " + to_string(link.bandwidth));
    if (link.latency > kLate) late.add(name + ": " + to_string(link.latency));
    if (link.latency == Time{}) instant.add(name);
    if (link.source.empty()) unsourced.add(name);
    if (link.source.find("assumed") != std::string::npos) assumed.add(name + ": " + link.source);
  }
  slow.report(list, Level::doubt, "link is slower than 100 MB/s", "links are slower than 100 MB/s");
  fast.report(list, Level::doubt, "link is faster than 10 TB/s", "links are faster than 10 TB/s");
  late.report(list, Level::doubt, "link has more than 100 us of latency",
              "links have more than 100 us of latency");
  instant.report(list, Level::doubt, "link has no latency", "links have no latency");
  assumed.report(list, Level::remark, "link has a figure that is assumed",
                 "links have figures that are assumed");
  unsourced.report(list, Level::remark, "link does not say where its figures are from",
                   "links do not say where their figures are from");
}

/// Faults first, else in the order in which they were found.
std::vector<Finding> sorted(const std::vector<Finding>& list) {
  std::vector<Finding> result;
  for (const Level level : {Level::fault, Level::doubt, Level::remark}) {
    for (const Finding& finding : list) {
      if (finding.level == level) result.push_back(finding);
    }
  }
  return result;
}

}  // namespace

const char* to_string(Finding::Level level) {
  switch (level) {
    case Level::fault:
      return "fault";
    case Level::doubt:
      return "doubt";
    case Level::remark:
      return "remark";
  }
  return "";
}

std::vector<Finding> findings(const Topology& topology) {
  std::vector<Finding> list;
  check_reach(topology, list);
  check_symmetry(topology, list);
  check_figures(topology, list);
  return sorted(list);
}

std::vector<Finding> findings(const Machine& machine, const std::string& file) {
  std::vector<Finding> list;
  Counter unknown, models, alone, silent, absurd;
  for (const std::size_t k : unknown_wires(machine)) {
    const Wire& wire = machine.wires[k];
    unknown.add(machine.devices[wire.a].name + " - " + machine.devices[wire.b].name + " (" +
                to_string(wire.kind) + ")");
  }
  std::vector<char> joined(machine.devices.size(), 0);
  for (const Wire& wire : machine.wires) joined[wire.a] = joined[wire.b] = 1;
  for (std::size_t k = 0; k < machine.devices.size(); ++k) {
    const Device& device = machine.devices[k];
    if (device.kind == Device::Kind::gpu) {
      if (device.model.empty()) models.add(device.name);
      if (!joined[k]) alone.add(device.name);
    } else if (device.kind == Device::Kind::nic) {
      if (!device.speed) {
        silent.add(device.name);
      } else if (*device.speed < kSlowNic || *device.speed > kFastNic) {
        absurd.add(device.name + ": " + to_string(*device.speed));
      }
    }
  }
  unknown.report(list, Level::fault, "cable has an unknown rate: name the GPU, as in --gpu h100",
                 "cables have unknown rates: name the GPU, as in --gpu h100");
  alone.report(list, Level::fault, "GPU is joined to nothing", "GPUs are joined to nothing");
  absurd.report(list, Level::doubt, "NIC has a speed that no NIC has",
                "NICs have speeds that no NIC has");
  models.report(list, Level::remark, "GPU is of an unknown model", "GPUs are of unknown models");
  silent.report(list, Level::remark, "NIC has an unknown speed", "NICs have unknown speeds");
  for (const std::string& note : machine.notes) list.push_back({Level::remark, note, ""});
  if (unknown_wires(machine).empty()) {
    try {
      const std::vector<Finding> more = findings(machine_topology(machine, file));
      list.insert(list.end(), more.begin(), more.end());
    } catch (const Error& error) {
      list.push_back({Level::fault, error.what(), ""});
    }
  }
  return sorted(list);
}

std::vector<Finding> findings(const ClusterFabric& fabric) {
  std::vector<Finding> list;
  graph::UnionFind joined(std::max<std::size_t>(1, fabric.switches.size()));
  Counter cables, ports, apart, other;
  for (const ClusterFabric::Cable& cable : fabric.cables) {
    joined.join(cable.a, cable.b);
    if (!cable.bandwidth)
      cables.add(fabric.switches[cable.a].name + " - " + fabric.switches[cable.b].name);
  }
  std::map<std::string, std::size_t> count;
  for (const ClusterFabric::Port& port : fabric.ports) {
    ++count[port.host];
    const std::string name = port.host + (port.nic.empty() ? "" : " " + port.nic);
    if (!port.bandwidth) ports.add(name);
    if (joined.root(port.at) != joined.root(fabric.ports[0].at))
      apart.add(name + ", not joined to " + fabric.ports[0].host);
  }
  // How many ports most hosts have.
  std::map<std::size_t, std::size_t> frequency;
  for (const auto& [host, ports_of_host] : count) ++frequency[ports_of_host];
  std::pair<std::size_t, std::size_t> most;  // hosts, ports
  for (const auto& [ports_of_host, hosts] : frequency)
    most = std::max(most, {hosts, ports_of_host});
  for (const auto& [host, ports_of_host] : count) {
    if (ports_of_host != most.second)
      other.add(host + ": " + std::to_string(ports_of_host) + ", most have " +
                std::to_string(most.second));
  }
  apart.report(list, Level::doubt, "port is in a part of the network of its own",
               "ports are in other parts of the network than the first");
  other.report(list, Level::doubt, "host has another number of ports than most",
               "hosts have other numbers of ports than most");
  cables.report(list, Level::remark, "cable has an unknown rate: compose needs --uplink-speed",
                "cables have unknown rates: compose needs --uplink-speed");
  ports.report(list, Level::remark, "port has an unknown rate: compose needs --nic-speed",
               "ports have unknown rates: compose needs --nic-speed, unless the machine says it");
  for (const std::string& note : fabric.notes) list.push_back({Level::remark, note, ""});
  return sorted(list);
}

}  // namespace stellwerk
