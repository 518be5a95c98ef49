// MSCCL algorithms in XML, as microsoft/msccl, Azure's executor and RCCL read them.
#pragma once

#include <string>
#include <string_view>

#include "stellwerk/check/msccl_program.hpp"

namespace stellwerk {

/// Does the text begin with <algo, after comments and <?xml ...?>?
bool looks_like_msccl_xml(std::string_view text);

/// Throws Error(unreadable_input) that begins with `file` and names the line and the attribute. Attributes that only some runtimes
/// need may be missing, and are then told (syntax.missing; outofplace is then the opposite of inplace); unknown elements are passed over, as all runtimes do.
check::MscclProgram read_msccl_xml(std::string_view text, const std::string& file);

}  // namespace stellwerk
