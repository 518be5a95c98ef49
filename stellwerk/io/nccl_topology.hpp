// NCCL and RCCL topology files (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE): complete dumps and the partial ones
// that clouds ship. Facts about the format: docs/machines.md.
#pragma once

#include <string>
#include <string_view>

#include "stellwerk/io/machine.hpp"

namespace stellwerk {

/// Is this text the beginning of such a file? Looks for <system version= after comments.
bool looks_like_nccl_topology(std::string_view text);

/// Throws Error(unreadable_input) that begins with `file` and names the element: XML that is broken or too deep,
/// repeated bus ids, links to GPUs that are not there.
Machine read_nccl_topology(std::string_view text, const std::string& file);

}  // namespace stellwerk
