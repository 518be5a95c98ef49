// Is a description of a network sound? What an engineer would look for before planning on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stellwerk/core/topology.hpp"
#include "stellwerk/io/fabric.hpp"
#include "stellwerk/io/machine.hpp"

namespace stellwerk {

struct Finding {
  enum class Level : std::uint8_t {
    fault,   ///< no plan can be made of it: somebody is cut off, a figure is unknown
    doubt,   ///< it can be, but real machines are seldom like this
    remark,  ///< worth knowing
  };
  Level level = Level::fault;
  std::string what;   ///< one line
  std::string where;  ///< the first place
};

const char* to_string(Finding::Level level);

/// GPUs that cannot reach each other, nodes without links or with links one way only, links with no opposite or a different
/// one, rates and latencies out of the ordinary, figures that are assumed. Faults first.
std::vector<Finding> findings(const Topology& topology);

/// Unknown rates and models, GPUs that nothing joins, NICs whose speed is unknown or cannot be; then those of the topology
/// that it makes, if it makes one. `file` begins messages about that.
std::vector<Finding> findings(const Machine& machine, const std::string& file);

/// Hosts that nothing joins to others, unknown rates, hosts with other numbers of ports than most.
std::vector<Finding> findings(const ClusterFabric& fabric);

}  // namespace stellwerk
