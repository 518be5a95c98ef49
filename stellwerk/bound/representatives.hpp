// One node for each way a node can look from nearby.
#pragma once

#include <vector>

#include "stellwerk/bound/images.hpp"

namespace stellwerk::bound {

/// One rank of each orbit of the symmetry; without one, one rank of each class of ranks whose
/// surroundings and demands look alike. The ones that promise the largest bounds come first: those
/// for which most bytes must pass their own links in or out, and rare ones before common ones.
std::vector<NodeId> representatives(const Network& network, const Images& images);

}  // namespace stellwerk::bound
