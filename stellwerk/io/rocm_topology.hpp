// What AMD's tools print of a machine: `rocm-smi --showtopo` (sections) and `amd-smi topology` (tables by bus id).
#pragma once

#include <string>
#include <string_view>

#include "stellwerk/io/machine.hpp"

namespace stellwerk {

/// Has the text a section or table of link types?
bool looks_like_rocm_topology(std::string_view text);

/// How many xGMI links join two GPUs is in neither text and stays unknown, and so do models. Throws
/// Error(unreadable_input) that begins with `file` and names row and column.
Machine read_rocm_topology(std::string_view text, const std::string& file);

}  // namespace stellwerk
