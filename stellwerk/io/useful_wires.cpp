#include "stellwerk/io/useful_wires.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>

#include "stellwerk/graph/union_find.hpp"

namespace stellwerk {
namespace {

/// Hosts whose GPUs NVLink or xGMI joins.
std::set<std::string> well_joined_hosts(const Machine& machine) {
  graph::UnionFind joined(machine.devices.size());
  for (const Wire& wire : machine.wires) {
    if (between_gpus(wire)) joined.join(wire.a, wire.b);
  }
  std::map<std::string, std::set<std::size_t>> groups;
  for (const std::size_t gpu : machine.all(Device::Kind::gpu))
    groups[machine.devices[gpu].host].insert(joined.root(gpu));
  std::set<std::string> result;
  for (const auto& [host, roots] : groups) {
    if (roots.size() == 1) result.insert(host);
  }
  return result;
}

class WaysToGpus {
 public:
  explicit WaysToGpus(const Machine& machine)
      : machine_(machine),
        up_(machine.devices.size()),
        down_(machine.devices.size()),
        across_(machine.devices.size()),
        has_gpu_(machine.devices.size()),
        done_(machine.devices.size()),
        useful_(machine.wires.size()) {
    for (std::size_t w = 0; w < machine.wires.size(); ++w) {
      const Wire& wire = machine.wires[w];
      if (wire.kind == Wire::Kind::pcie) {
        up_[wire.b] = w;
        down_[wire.a].push_back(w);
      } else if (wire.kind == Wire::Kind::between_sockets) {
        across_[wire.a].push_back(w);
        across_[wire.b].push_back(w);
      }
    }
    for (const std::size_t gpu : machine.all(Device::Kind::gpu)) {
      for (std::optional<std::size_t> d = gpu; d && !has_gpu_[*d]; d = parent(*d))
        has_gpu_[*d] = true;
    }
  }

  void keep(std::size_t wire) { useful_[wire] = true; }

  void keep_from(std::size_t nic) {
    std::size_t d = nic;
    while (!has_gpu_[d] && up_[d]) {
      keep(*up_[d]);
      d = *parent(d);
    }
    if (!has_gpu_[d]) {
      keep_across(d);
      return;
    }
    keep_below(d);
    while (up_[d] && machine_.devices[*parent(d)].kind == Device::Kind::bridge) {
      keep(*up_[d]);
      d = *parent(d);
      keep_below(d);
    }
  }

  const std::vector<bool>& useful() const { return useful_; }

 private:
  std::optional<std::size_t> parent(std::size_t d) const {
    if (!up_[d]) return std::nullopt;
    return machine_.wires[*up_[d]].a;
  }

  std::size_t other_end(std::size_t wire, std::size_t d) const {
    return machine_.wires[wire].a == d ? machine_.wires[wire].b : machine_.wires[wire].a;
  }

  /// All GPUs below.
  void keep_below(std::size_t d) {
    if (done_[d]) return;
    done_[d] = true;
    for (const std::size_t wire : down_[d]) {
      if (!has_gpu_[machine_.wires[wire].b]) continue;
      keep(wire);
      keep_below(machine_.wires[wire].b);
    }
  }

  /// The shortest ways to the nearest sockets with GPUs, breadth first.
  void keep_across(std::size_t socket) {
    if (done_[socket]) return;
    done_[socket] = true;
    std::map<std::size_t, std::set<std::size_t>> came_by{{socket, {}}};  // by socket, wires
    for (std::set<std::size_t> ring{socket}, found; !ring.empty() && found.empty();) {
      std::map<std::size_t, std::set<std::size_t>> next;
      for (const std::size_t d : ring) {
        for (const std::size_t wire : across_[d]) {
          if (!came_by.contains(other_end(wire, d))) next[other_end(wire, d)].insert(wire);
        }
      }
      ring.clear();
      for (const auto& [d, wires] : next) {
        ring.insert(d);
        if (has_gpu_[d]) found.insert(d);
      }
      came_by.merge(next);
      for (const std::size_t d : found) keep_below(d);
      for (std::set<std::size_t> back = found, before; !back.empty(); back.swap(before)) {
        before.clear();
        for (const std::size_t d : back) {
          for (const std::size_t wire : came_by.at(d)) {
            keep(wire);
            before.insert(other_end(wire, d));
          }
        }
      }
    }
  }

  const Machine& machine_;
  std::vector<std::optional<std::size_t>> up_;           ///< by device, its wire to the parent
  std::vector<std::vector<std::size_t>> down_, across_;  ///< by device, wires
  std::vector<bool> has_gpu_;                            ///< is one, or has one below
  std::vector<bool> done_;                               ///< its ways to GPUs are kept
  std::vector<bool> useful_;
};

}  // namespace

bool between_gpus(const Wire& wire) {
  return wire.kind == Wire::Kind::nvlink || wire.kind == Wire::Kind::xgmi;
}

std::vector<bool> useful_wires(const Machine& machine) {
  const std::set<std::string> joined = well_joined_hosts(machine);
  WaysToGpus ways(machine);
  std::set<std::size_t> plugged;
  for (std::size_t w = 0; w < machine.wires.size(); ++w) {
    const Wire& wire = machine.wires[w];
    const bool pcie = wire.kind == Wire::Kind::pcie || wire.kind == Wire::Kind::between_sockets;
    if (!pcie || !joined.contains(machine.devices[wire.a].host)) ways.keep(w);
    if (wire.kind == Wire::Kind::network) plugged.insert({wire.a, wire.b});
  }
  for (const std::size_t d : plugged) {
    if (machine.devices[d].kind == Device::Kind::nic) ways.keep_from(d);
  }
  return ways.useful();
}

}  // namespace stellwerk
