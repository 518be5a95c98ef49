// Machines and a network between them become one cluster.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stellwerk/io/fabric.hpp"
#include "stellwerk/io/machine.hpp"

namespace stellwerk {

/// What neither file says.
struct NetworkRates {
  std::optional<Bandwidth> nic;     ///< of a NIC's port
  std::optional<Bandwidth> uplink;  ///< of a cable between switches
};

/// A network to order: "rails" (all first NICs meet at one switch, all second ones at another, ...) or "switch"
/// (all NICs at one), for hosts h0, h1, ... Throws Error(usage) for another kind.
ClusterFabric generated_fabric(const std::string& kind, const Machine& machine, std::size_t hosts);

/// The hosts of `fabric` in `hosts` (all of them if empty), each a copy of `machine`, plugged in where the fabric says: by
/// the names of NICs, or in order where a host has as many ports as the machine has NICs. Parallel cables become one. Throws
/// Error(unreadable_input) that begins with the fabric's name: unknown hosts, NICs without a port, hosts that nothing joins.
Machine composed(const Machine& machine, const ClusterFabric& fabric,
                 const std::vector<std::string>& hosts, const NetworkRates& rates);

}  // namespace stellwerk
