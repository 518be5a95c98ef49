// The discrete clock of the epoch-based planners (milp, lp, rounds): see docs/model.md, "Epochs".
#pragma once

#include <cstdint>

#include "stellwerk/base/ids.hpp"
#include "stellwerk/core/problem.hpp"
#include "stellwerk/plan/planner.hpp"

namespace stellwerk {

/// Time in units of `duration`. A chunk that enters link e in epoch k occupies it for window(e, bytes) epochs and can be
/// used at the head from the start of epoch k + window + latency(e) on (at a switch: is passed on in that epoch).
/// A latency below a tenth of an epoch is dropped, as in TE-CCL; others are rounded up. Re-timing restores them.
class EpochGrid {
 public:
  EpochGrid(const Problem& problem, Time duration);

  Time duration() const { return duration_; }
  int latency(LinkId link) const { return latency_[link]; }
  int window(LinkId link, Bytes bytes) const;
  /// Fraction of the link that the chunk uses in each epoch of its window: at most 1.
  double share(LinkId link, Bytes bytes) const;
  /// Bytes that the link carries in one epoch (fluid).
  double bytes_per_epoch(LinkId link) const;
  /// First epoch that begins at or after `time`.
  int epoch_at_or_after(Time time) const;
  /// True when the grid changes nothing: every chunk time and latency is a whole number of epochs.
  bool exact(const Problem& problem) const;

 private:
  const Topology* topology_;
  Time duration_;
  IdVector<LinkId, int> latency_;
};

/// The epoch duration for a choice: `fastest` = time of the smallest chunk on the fastest link, `slowest` = of the
/// largest chunk on the slowest link, `multiple` of the fastest, or explicit. `automatic` gives the largest duration
/// that makes the grid exact if that is at least `finest`, else the fastest, raised to `finest` if needed.
/// Throws Error(usage) when an explicit duration is not positive.
Time epoch_duration(const Problem& problem, const EpochChoice& choice, Time finest = Time{1});

}  // namespace stellwerk
