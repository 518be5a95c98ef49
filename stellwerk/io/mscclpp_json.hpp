// Execution plans of MSCCL++ (JSON), as version 0.9.0 and older ones write them.
#pragma once

#include <string>
#include <string_view>

#include "stellwerk/check/mscclpp_program.hpp"

namespace stellwerk {

/// A text, or the first few lines of one.
bool looks_like_mscclpp(std::string_view text);

/// Throws Error(unreadable_input) that begins with `file` and the JSON pointer. Unknown keys are passed over, as the runtime does; unknown
/// operations are refused.
check::MscclppProgram read_mscclpp(std::string_view text, const std::string& file);

}  // namespace stellwerk
