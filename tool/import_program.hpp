// Programs of runtimes as plans.
#pragma once

#include <string>
#include <string_view>

#include "stellwerk/lower/lift.hpp"

namespace stellwerk::tool {

struct LiftedProgram {
  lower::Lifted lifted;
  std::string contents;  ///< "ring, 512 steps": its name and how long it is
};

/// An MSCCL algorithm (XML), judged as by judge_msccl: out of place if it may be called so. Throws Error(unreadable_input) for what cannot be read or is no plan, and
/// Error(verification_failed) for what is not valid.
LiftedProgram import_msccl(std::string_view text, Topology topology, Bytes size,
                           const std::string& path);
/// The same for an execution plan of MSCCL++ (JSON).
LiftedProgram import_mscclpp(std::string_view text, Topology topology, Bytes size,
                             const std::string& path);

}  // namespace stellwerk::tool
