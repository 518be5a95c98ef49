// Paths for parcels such that no link is much fuller than it must be.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/base/stop.hpp"
#include "stellwerk/plan/parcels.hpp"

namespace stellwerk {

struct RoutingOptions {
  /// What the latency of a link costs, relative to the time that a parcel of the mean size takes on
  /// it. 1: as it is; less: long ways are taken to even out loads.
  double latency_weight = 1;
  /// Good enough: the fullest link takes at most this long. 0: unknown.
  double target_seconds = 0;
  int sweeps = 16;
};

/// One path a parcel: links from its origin to its target.
struct ParcelPaths {
  std::vector<std::uint32_t> begin;  ///< of a parcel's links; one more than parcels
  std::vector<LinkId> links;
  double fullest_seconds = 0;  ///< the time that the fullest link takes to carry its parcels

  std::span<const LinkId> of(std::size_t parcel) const {
    return std::span(links).subspan(begin[parcel], begin[parcel + 1] - begin[parcel]);
  }
};

/// Stops early when `stop` says so, but not before every parcel has a path; without any paths if
/// even that takes too long. Precondition: every target can be reached.
ParcelPaths route_parcels(const Topology& topology, const ParcelDemand& demand,
                          const RoutingOptions& options, Rng& rng, const StopCondition& stop);

}  // namespace stellwerk
