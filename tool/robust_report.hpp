// What the tool says about plans that were compared under noise.
#pragma once

#include <string>

#include "stellwerk/plan/robust_choice.hpp"

namespace stellwerk::tool {

/// The table of candidates: best first, the chosen one marked, at most ten.
std::string trials_table(const RobustChoice& choice);

}  // namespace stellwerk::tool
