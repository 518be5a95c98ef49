// A link fails at half time: how much later is the plan done, and how soon is it known?
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stellwerk/core/plan.hpp"

namespace stellwerk {

/// A plan of which links fail, one at a time.
struct FailureCase {
  std::string topology;  ///< a name of the catalogue
  Collective collective = Collective::allgather;
  std::string size;
  int chunks = 1;
  std::string planner;
  int events = 8;
  bool inside = false;  ///< links inside hosts fail, not those between them
};
const std::vector<FailureCase>& failure_cases();

/// Over all events; delays and baselines as parts of the old plan's time.
struct FailureRow {
  FailureCase what;
  Time transfer_time;  ///< of the old plan
  struct Figure {
    double mean = 0, most = 0;
  };
  Figure delay, restart, waiting;  ///< waiting: the link is back after a tenth of the plan
  Figure bound_delay;              ///< of the residual bound
  Figure over_bound;               ///< finish / residual bound
  Figure over_chunked;             ///< finish / residual bound for these chunks, moved whole
  Figure seconds;                  ///< CPU time of planning anew
  int verified = 0, events = 0;
};

/// Plans the case, lets `events` links fail, one at a time and spread over those that leave a host
/// (all, where there are none), at half of the plan's time. Throws Error(unsolved) without a plan.
FailureRow measure_failures(const FailureCase& what, std::optional<int> events);

}  // namespace stellwerk
