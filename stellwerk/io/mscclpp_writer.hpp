// Programs of puts as execution plans of MSCCL++ (JSON).
#pragma once

#include <cstdint>
#include <string>

#include "stellwerk/lower/put_program.hpp"

namespace stellwerk {

/// What MSCCL++ can hold; docs/programs.md has the sources.
lower::PutLimits mscclpp_limits();

/// Places are counted in 32 bits: calls of more bytes than this would wrap around.
std::int64_t largest_call(const lower::PutProgram& program);

/// What the runtime asks of a file besides the program.
struct MscclppFile {
  std::string name = "stellwerk";  ///< unique among the plans of a process
  std::int64_t min_bytes = 0,
               max_bytes =
                   0;  ///< sizes of the call it is for; 0 for max: what the runtime can count
};

/// Throws Error(unsolved) for what MSCCL++ does not know: a root other than rank 0, sizes that it cannot count.
std::string format_mscclpp(const lower::PutProgram& program, const MscclppFile& file);

}  // namespace stellwerk
