// From a machine as a file describes it to a network that can be planned for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stellwerk/core/topology.hpp"
#include "stellwerk/io/machine.hpp"

namespace stellwerk {

/// The machine with what the tables know filled in: rates of NVLink, xGMI and PCIe by the model of the GPUs, NVSwitch
/// where a file of a known board leaves it out. `gpu` names the model where the file does not; what the file says goes
/// first. Every figure filled in says so in its `source`. Throws Error(usage) for a model that is not in the table.
Machine filled(Machine machine, const std::optional<std::string>& gpu);

/// Wires whose rate is still unknown.
std::vector<std::size_t> unknown_wires(const Machine& machine);

/// GPUs, and the switches between them. PCIe switches, sockets and NICs forward without storing; those that join only
/// two devices become one link, those that lead nowhere (NICs without a network) are left out. Where NVLink or xGMI joins all
/// GPUs of a host, PCIe is kept between GPUs and NICs only. Latencies are assumed, and say so. Throws Error(unreadable_input)
/// that begins with `file` if a rate is unknown, or if neither links between GPUs nor their model are
/// known, with the option that names it.
Topology machine_topology(const Machine& machine, const std::string& file);

}  // namespace stellwerk
