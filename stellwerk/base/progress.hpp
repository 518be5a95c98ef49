// Where long work reports how it stands. The library never prints; the tool decides what to show.
#pragma once

#include <optional>
#include <string>

#include "stellwerk/base/units.hpp"

namespace stellwerk {

/// One report of a running planner.
struct ProgressReport {
  std::string stage;              ///< what is being done: "milp, 34 epochs"
  std::optional<Time> incumbent;  ///< transfer time of the best plan so far
  std::optional<Time> bound;      ///< proven lower bound so far
};

/// The sink; the default one drops everything. Implementations must be cheap and must not throw.
class Progress {
 public:
  virtual ~Progress() = default;
  virtual void report(const ProgressReport& /*report*/) {}
};

}  // namespace stellwerk
