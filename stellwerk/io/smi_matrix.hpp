// The text of `nvidia-smi topo -m`, as it comes out of terminals, issue trackers and logs: tabs or blanks, prefixes,
// glued or missing cells. What can be repaired in one way only is repaired; the rest is refused.
#pragma once

#include <string>
#include <string_view>

#include "stellwerk/io/machine.hpp"

namespace stellwerk {

/// Is there a header line of GPU names and a row of cells beneath it?
bool looks_like_smi_matrix(std::string_view text);

/// GPU models and NIC speeds are not in such a text and stay unknown. Throws Error(unreadable_input) that begins with
/// `file` and names row and column.
Machine read_smi_matrix(std::string_view text, const std::string& file);

}  // namespace stellwerk
