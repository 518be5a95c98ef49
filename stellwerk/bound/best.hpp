// The best bound so far.
#pragma once

#include <optional>
#include <utility>

#include "stellwerk/core/plan.hpp"

namespace stellwerk::bound {

/// Keeps the largest of the bounds offered; of equal ones the first, so offer simple kinds first.
class Best {
 public:
  Best() = default;
  explicit Best(Bound start) : bound_(std::move(start)) {}

  Time value() const { return bound_.value; }
  const Bound& bound() const { return bound_; }

  void offer(std::optional<Time> value, const Certificate& certificate) {
    if (value && *value > bound_.value) bound_ = {*value, certificate};
  }

 private:
  Bound bound_{Time{}, {}};
};

}  // namespace stellwerk::bound
