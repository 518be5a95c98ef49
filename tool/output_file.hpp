// Output files, tried before the work starts.
#pragma once

#include <string>

namespace stellwerk::tool {

/// Throws Error(unreadable_input) if a file of this name cannot be written, so that nobody waits
/// for a plan in vain.
void check_writable(const std::string& path);

}  // namespace stellwerk::tool
