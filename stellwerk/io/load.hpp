// A topology from what a user types: a file or a name of the catalogue.
#pragma once

#include <string>

#include "stellwerk/core/topology.hpp"

namespace stellwerk {

/// An existing file (stellwerk.topology/1) or else a name of the catalogue. Throws
/// Error(unreadable_input) for a broken or missing file, Error(usage) for a bad name.
Topology load_topology(const std::string& spec);

}  // namespace stellwerk
