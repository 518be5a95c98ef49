// Topologies as files: stellwerk.topology/1 (docs/formats.md).
#pragma once

#include <string>
#include <string_view>

#include "stellwerk/core/topology.hpp"

namespace stellwerk {

inline constexpr std::string_view kTopologyFormat = "stellwerk.topology/1";

/// Throws Error(unreadable_input): one line that names the file, the JSON pointer and the remedy.
Topology read_topology(const std::string& path);
/// `label` is what errors call the text.
Topology parse_topology(std::string_view text, const std::string& label);

/// One node and one link a line; reads back as exactly the same topology.
std::string format_topology(const Topology& topology);
/// All or nothing; see write_file.
void write_topology(const Topology& topology, const std::string& path);

}  // namespace stellwerk
