// Judging programs of runtimes: MSCCL XML, execution plans of MSCCL++.
#pragma once

#include <string>
#include <string_view>

namespace stellwerk::tool {

/// Prints what the program does: whether it completes and with how full connections, what it leaves in the buffers, which
/// runtimes do not take it. Returns the exit status: 0, or 1 if it is wrong. Throws Error(unreadable_input) for a collective whose promise is
/// not known.
int judge_msccl(std::string_view text, const std::string& path);

/// The same for an execution plan of MSCCL++. Throws Error(unreadable_input) for one that is not judged, with the reason.
int judge_mscclpp(std::string_view text, const std::string& path);

}  // namespace stellwerk::tool
