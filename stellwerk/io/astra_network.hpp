// ASTRA-sim's analytical network files: "topology: [ Ring, Switch ]" and the sizes, bandwidths and latencies of the dimensions.
#pragma once

#include <string>
#include <string_view>

#include "stellwerk/core/topology.hpp"

namespace stellwerk {

bool looks_like_astra_network(std::string_view text);

/// NPU number k has the coordinates of k in mixed radix, first dimension fastest. A dimension joins the NPUs that differ in it
/// only: a Ring both ways, FullyConnected each pair, a Switch through one switch of its own; every link has the dimension's bandwidth (GB/s,
/// 10^9) and latency (ns). Throws Error(unreadable_input) that begins with `file` and the line.
Topology read_astra_network(std::string_view text, const std::string& file);

}  // namespace stellwerk
