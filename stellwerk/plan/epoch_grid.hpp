// The discrete clock of the epoch-based planners (milp, lp, rounds): see docs/model.md, "Epochs".
#pragma once

#include <cstdint>

#include "stellwerk/base/ids.hpp"
#include "stellwerk/core/problem.hpp"
#include "stellwerk/plan/planner.hpp"

namespace stellwerk {

/// Time in units of `duration`. A chunk that enters link e in epoch k occupies it for window(e, bytes) epochs. A GPU or
/// relay at the head can use it from the start of epoch k + latency(e) + window(e, bytes) on; a switch passes it on in
/// epoch k + latency(e) (cut-through). Links that meet at switches run at the speed of the slowest of them, so that a
/// send has one window on all its links; other links keep their own speed. Injection and ejection caps of a link's ends
/// limit its speed.
/// A latency below a tenth of an epoch is dropped, as in TE-CCL; others are rounded up, and between switches it is at
/// least one epoch, so that no cycle of switches feeds itself. Re-timing restores all of this to continuous time.
class EpochGrid {
 public:
  EpochGrid(const Problem& problem, Time duration);

  Time duration() const { return duration_; }
  int latency(LinkId link) const { return latency_[link]; }
  int window(LinkId link, Bytes bytes) const;
  /// Epochs from entering the link until the head can send the chunk on.
  int transit(LinkId link, Bytes bytes) const;
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
  IdVector<LinkId, Bandwidth> speed_;  ///< of the send that uses the link: see the class comment
  IdVector<LinkId, int> latency_;
};

/// The epoch duration for a choice: `fastest` = time of the smallest chunk on the fastest link (sizes that differ by a byte
/// or 1/64 count as one), `slowest` = of the largest chunk on the slowest link (plus the ps that whole chunks on faster
/// links need), `multiple` of the fastest, or explicit. `automatic` gives the largest duration
/// that makes the grid exact if that is at least `finest`, else the fastest, raised to `finest` if needed.
/// Throws Error(usage) when an explicit duration is not positive.
Time epoch_duration(const Problem& problem, const EpochChoice& choice, Time finest = Time{1});

}  // namespace stellwerk
