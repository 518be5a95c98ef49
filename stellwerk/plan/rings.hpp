// What planners that send along rings have in common.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stellwerk/plan/ring_order.hpp"

namespace stellwerk {

/// The rings of every job, and which chunk rides which.
class JobRings {
 public:
  /// Throws nothing; `unreachable` says when two ranks are not connected.
  JobRings(const Problem& problem, Routers& routers);

  /// "job 'x': no path leads from a to b", if so.
  const std::optional<std::string>& unreachable() const { return unreachable_; }

  /// The ring of the `k`-th chunk of a job, and where its owner is on it.
  struct Seat {
    const RingOrder* ring;
    std::size_t owner;
  };
  Seat seat(const Chunk& chunk, std::size_t k) const;

 private:
  const Problem& problem_;
  std::vector<std::vector<RingOrder>> rings_;                         // by job
  std::vector<std::vector<IdVector<NodeId, std::size_t>>> position_;  // by job and ring
  std::optional<std::string> unreachable_;
};

}  // namespace stellwerk
