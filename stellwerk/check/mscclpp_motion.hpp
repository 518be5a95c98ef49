// What the operations of MSCCL++ move: from which places to which, as plain data or as packets.
#pragma once

#include <string>
#include <vector>

#include "stellwerk/check/mscclpp_program.hpp"

namespace stellwerk::check {

struct MscclppSide {
  MscclppRange range;
  bool packets = false;  ///< every word with a flag that says that it is there
};

/// Every place of `to` = the sum of the places of `from`.
struct MscclppMotion {
  std::vector<MscclppSide> from, to;
};

/// None for operations that move no data. Precondition: no fault of shape.
std::vector<MscclppMotion> mscclpp_motions(const MscclppStep& step);

/// What is wrong with the number or kinds of the step's places; empty if nothing is.
std::string mscclpp_shape_fault(const MscclppStep& step);

bool moves_packets(MscclppOp op);

}  // namespace stellwerk::check
