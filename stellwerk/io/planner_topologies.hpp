// Networks as other planners describe them: TACCL's topology files and TE-CCL's inputs.
#pragma once

#include <string>
#include <string_view>

#include "stellwerk/core/topology.hpp"

namespace stellwerk {

bool looks_like_taccl_topology(std::string_view text);
/// One node of a TACCL topology: matrices ("links", "betas"), or rates of one or two kinds of links (one: all GPUs at a
/// switch; two: the mesh of eight of an NDv2). Betas are us for a megabyte. Errors begin with `file` and name a JSON pointer.
Topology read_taccl_topology(std::string_view text, const std::string& file);

bool looks_like_teccl_input(std::string_view text);
/// The network that TE-CCL plans on for this input, its nodes numbered as TE-CCL numbers them, so that its schedules fit.
Topology read_teccl_input(std::string_view text, const std::string& file);

}  // namespace stellwerk
