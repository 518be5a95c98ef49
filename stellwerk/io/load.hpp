// A topology from what a user types: a file or a name of the catalogue.
#pragma once

#include <optional>
#include <string>

#include "stellwerk/core/topology.hpp"
#include "stellwerk/io/fabric.hpp"
#include "stellwerk/io/machine.hpp"

namespace stellwerk {

/// What the user knows of a file that describes a machine.
struct MachineHints {
  std::optional<std::string> gpu;     ///< the model of its GPUs, where the file does not say it
  std::optional<std::string> format;  ///< a name of formats(), where the text is not recognised
};

/// An existing file (stellwerk.topology/1, or a machine of formats()) or else a name of the
/// catalogue. Throws Error(unreadable_input) for a broken or missing file and for a machine with
/// unknown rates, Error(usage) for a bad name.
Topology load_topology(const std::string& spec, const MachineHints& hints = {});

/// The machine that a file describes, with what the tables know filled in; nothing if `spec` is a
/// topology of our own. Throws as load_topology, but not for unknown rates.
std::optional<Machine> load_machine(const std::string& spec, const MachineHints& hints);

/// The network between machines that a file describes; nothing if `spec` is something else.
std::optional<ClusterFabric> load_fabric(const std::string& spec, const MachineHints& hints);

}  // namespace stellwerk
