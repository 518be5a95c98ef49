// Programs as MSCCL XML.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stellwerk/lower/program.hpp"

namespace stellwerk {

enum class MscclDialect : std::uint8_t {
  msccl,  ///< microsoft/msccl
  azure,  ///< Azure/msccl-executor-nccl
  rccl,   ///< ROCm/rccl
};

/// Throws Error(usage) with the names there are.
MscclDialect parse_msccl_dialect(std::string_view name);

/// What that runtime can hold; docs/programs.md has the sources.
lower::Limits msccl_limits(MscclDialect dialect);

/// What a runtime asks of a file besides the program.
struct MscclFile {
  std::string name = "stellwerk";
  std::string protocol = "Simple";  ///< Simple, LL or LL128
  std::int64_t min_bytes = 0,
               max_bytes = 0;  ///< sizes it is for; 0 for max: the dialect's word for no limit
};

/// Throws Error(unsolved) for what MSCCL does not know: a root other than rank 0.
std::string format_msccl_xml(const lower::Program& program, MscclDialect dialect,
                             const MscclFile& file);

}  // namespace stellwerk
