// When sends meet the demand, taken as they are.
#pragma once

#include <vector>

#include "stellwerk/core/problem.hpp"
#include "stellwerk/core/send.hpp"

namespace stellwerk {

/// When each job's last demand is met: a copy counts when it (or the last part of it) first arrives, a sum is complete with
/// the last arrival. Precondition: the sends are valid. Time linear in sends and demands.
std::vector<Time> finish_times(const Problem& problem, const Schedule& sends);

}  // namespace stellwerk
