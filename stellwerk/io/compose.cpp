#include "stellwerk/io/compose.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "stellwerk/base/error.hpp"
#include "stellwerk/graph/union_find.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

/// "4 hosts: a, b, c, d", not all of them where there are many.
std::string some_of(const std::vector<std::string_view>& names) {
  constexpr std::size_t kMost = 8;
  std::string text = std::to_string(names.size()) + (names.size() == 1 ? " host: " : " hosts: ");
  for (std::size_t k = 0; k < names.size() && k < kMost; ++k)
    text += (k > 0 ? ", " : "") + one_line(names[k].substr(0, 60));
  return text + (names.size() > kMost ? ", ..." : "");
}

class Composer {
 public:
  Composer(const Machine& machine, const ClusterFabric& fabric, const NetworkRates& rates)
      : machine_(machine), fabric_(fabric), rates_(rates), nics_(machine.all(Device::Kind::nic)) {}

  Machine compose(const std::vector<std::string>& hosts) {
    result_.name = machine_.name + " x " + std::to_string(hosts.size());
    result_.format = machine_.format + " and " + fabric_.format;
    result_.notes = machine_.notes;
    result_.notes.insert(result_.notes.end(), fabric_.notes.begin(), fabric_.notes.end());
    if (nics_.empty())
      fail("machine " + in_quotes(machine_.name) +
           " has no NIC to plug in: take a file of it that has its NICs");
    std::map<std::string, std::vector<const ClusterFabric::Port*>> ports;
    for (const ClusterFabric::Port& port : fabric_.ports) ports[port.host].push_back(&port);
    for (const ClusterFabric::Switch& hub : fabric_.switches) {
      Device device;
      device.kind = Device::Kind::network;
      device.name = hub.name;
      device.id = hub.id;
      result_.add(std::move(device));
    }
    for (const std::string& host : hosts) {
      const auto found = ports.find(host);
      if (found == ports.end()) {
        std::vector<std::string_view> names;
        for (const auto& [name, list] : ports) names.push_back(name);
        fail("there is no host " + in_quotes(host) + " for --hosts" + did_you_mean(host, names) +
             "; the network has " + some_of(names));
      }
      add_host(host, found->second);
    }
    note_left_out();
    add_cables();
    check_joined();
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(
        ErrorCode::unreadable_input,
        one_line(fabric_.file.empty() ? "--fabric " + fabric_.name : fabric_.file) + ": " + what);
  }

  void add_host(const std::string& host, const std::vector<const ClusterFabric::Port*>& ports) {
    const std::size_t first = result_.devices.size();
    for (Device device : machine_.devices) {
      device.name = host + "." + device.name;
      device.host = device.host.empty() ? host : host + "." + device.host;
      result_.add(std::move(device));
    }
    for (Wire wire : machine_.wires) {
      wire.a += first;
      wire.b += first;
      result_.wires.push_back(std::move(wire));
    }
    // Names of the file's own kind ("HCA-1"): in order, if the numbers agree.
    const bool by_name = std::any_of(ports.begin(), ports.end(), [&](const auto* port) {
      return port->nic.empty() || has_nic(port->nic);
    });
    if (!by_name && ports.size() != nics_.size()) {
      fail("host " + in_quotes(host) + " has " + std::to_string(ports.size()) +
           " ports (the first " + in_quotes(ports[0]->nic) + "), the machine " +
           std::to_string(nics_.size()) + " NICs of other names (the first " +
           in_quotes(machine_.devices[nics_[0]].name) + ")");
    }
    for (std::size_t p = 0; p < ports.size(); ++p) {
      const std::string& name = ports[p]->nic;
      if (by_name && !name.empty() && !has_nic(name)) left_out_[name].push_back(host);
      for (std::size_t k = 0; k < nics_.size(); ++k) {
        const bool here =
            by_name ? name.empty() || name == machine_.devices[nics_[k]].name : p == k;
        if (here) plug(first + nics_[k], *ports[p]);
      }
    }
  }

  bool has_nic(const std::string& name) const {
    return std::any_of(nics_.begin(), nics_.end(),
                       [&](std::size_t nic) { return machine_.devices[nic].name == name; });
  }

  /// A cable in the fabric's file that is not in the result.
  void note_left_out() {
    std::string names;
    for (const std::size_t nic : nics_)
      names += (names.empty() ? "" : ", ") + machine_.devices[nic].name;
    for (const auto& [nic, hosts] : left_out_) {
      const std::string of =
          hosts.size() == 1
              ? "host " + in_quotes(hosts[0])
              : std::to_string(hosts.size()) + " hosts (the first " + in_quotes(hosts[0]) + ")";
      result_.notes.push_back("port " + in_quotes(nic) + " of " + of +
                              " is left out: the machine's NICs are " + names);
    }
  }

  void plug(std::size_t nic, const ClusterFabric::Port& port) {
    Wire wire;
    wire.kind = Wire::Kind::network;
    wire.a = port.at;
    wire.b = nic;
    if (port.bandwidth) {
      wire.bandwidth = port.bandwidth;
      wire.source = port.source;
    } else if (result_.devices[nic].speed) {
      wire.bandwidth = result_.devices[nic].speed;
      wire.source = "speed of the NIC from the file";
    } else if (rates_.nic) {
      wire.bandwidth = rates_.nic;
      wire.source = "speed of the NIC from the user";
    }
    result_.wires.push_back(std::move(wire));
  }

  /// Parallel cables of one rate are one wire.
  void add_cables() {
    struct Bundle {
      int count = 0;
      std::int64_t sum = 0;
      bool known = true;
      std::string source;
    };
    std::map<std::pair<std::size_t, std::size_t>, Bundle> bundles;
    for (const ClusterFabric::Cable& cable : fabric_.cables) {
      Bundle& bundle = bundles[std::minmax(cable.a, cable.b)];
      const std::optional<Bandwidth> rate = cable.bandwidth ? cable.bandwidth : rates_.uplink;
      ++bundle.count;
      bundle.known = bundle.known && rate;
      bundle.sum += rate ? rate->bytes_per_second : 0;
      if (bundle.count == 1)
        bundle.source = cable.bandwidth ? cable.source : "uplink from the user";
    }
    for (const auto& [ends, bundle] : bundles) {
      Wire wire;
      wire.kind = Wire::Kind::network;
      wire.a = ends.first;
      wire.b = ends.second;
      wire.count = bundle.count;
      if (bundle.known) wire.bandwidth = Bandwidth{bundle.sum};
      wire.source =
          (bundle.count > 1 ? std::to_string(bundle.count) + " cables together, each " : "") +
          bundle.source;
      result_.wires.push_back(std::move(wire));
    }
  }

  /// In the files; machine_topology looks at what becomes of it.
  void check_joined() const {
    graph::UnionFind joined(result_.devices.size());
    for (const Wire& wire : result_.wires) joined.join(wire.a, wire.b);
    const std::vector<std::size_t> gpus = result_.all(Device::Kind::gpu);
    const auto host = [&](std::size_t gpu) { return result_.devices[gpu].host; };
    std::set<std::string> reached;
    for (const std::size_t gpu : gpus) {
      if (joined.root(gpu) == joined.root(gpus[0])) reached.insert(host(gpu));
    }
    for (const std::size_t gpu : gpus) {
      if (!reached.contains(host(gpu)))
        fail("nothing joins host " + in_quotes(host(gpu)) + " to " + in_quotes(host(gpus[0])) +
             ": leave one of them out (--hosts), or look for what the file lacks");
    }
  }

  const Machine& machine_;
  const ClusterFabric& fabric_;
  const NetworkRates& rates_;
  std::vector<std::size_t> nics_;
  Machine result_;
  std::map<std::string, std::vector<std::string>> left_out_;  ///< names of ports, their hosts
};

}  // namespace

ClusterFabric generated_fabric(const std::string& kind, const Machine& machine, std::size_t hosts) {
  const bool rails = kind == "rails";
  if (!rails && kind != "switch") {
    throw Error(ErrorCode::usage,
                "--fabric " + in_quotes(kind) + " is neither 'rails' nor 'switch' nor a file");
  }
  ClusterFabric fabric;
  fabric.name = kind;
  fabric.format = rails ? "rails" : "one switch";
  const std::vector<std::size_t> nics = machine.all(Device::Kind::nic);
  std::map<std::string, std::size_t> count;  // a file may hold several hosts: each has a first NIC
  std::vector<std::size_t> rail;
  for (const std::size_t nic : nics) rail.push_back(rails ? count[machine.devices[nic].host]++ : 0);
  const std::size_t most = nics.empty() ? 0 : *std::max_element(rail.begin(), rail.end()) + 1;
  for (std::size_t k = 0; k < most; ++k)
    fabric.switches.push_back({rails ? "rail" + std::to_string(k) : "switch", ""});
  for (std::size_t h = 0; h < hosts; ++h) {
    for (std::size_t k = 0; k < nics.size(); ++k) {
      fabric.ports.push_back(
          {"h" + std::to_string(h), machine.devices[nics[k]].name, rail[k], std::nullopt, ""});
    }
  }
  return fabric;
}

Machine composed(const Machine& machine, const ClusterFabric& fabric,
                 const std::vector<std::string>& hosts, const NetworkRates& rates) {
  std::vector<std::string> chosen = hosts.empty() ? fabric.hosts() : hosts;
  if (chosen.empty())
    throw Error(
        ErrorCode::unreadable_input,
        one_line(fabric.file.empty() ? fabric.name : fabric.file) + ": there is no host in it");
  std::set<std::string> seen;
  for (const std::string& host : chosen) {
    if (!seen.insert(host).second)
      throw Error(ErrorCode::usage, "--hosts names " + in_quotes(host) + " twice");
  }
  return Composer(machine, fabric, rates).compose(chosen);
}

}  // namespace stellwerk
