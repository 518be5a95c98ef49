// Figures that follow from a plan: gaps, bandwidths, and how its links and buffers are used
// (docs/model.md, "Metrics").
#pragma once

#include <cstdint>
#include <string>

#include "stellwerk/core/plan.hpp"

namespace stellwerk {

/// Gap, algbw, busbw and sizes, from the recorded times and bounds and from the jobs. With one job
/// `total` is that job's figures over the transfer time; with several it is the sum of the sizes,
/// without busbw and output size. A job's own rates count from its start to its finish.
RecordedMetrics derive_metrics(const Plan& plan);

/// The name of the first field that `recorded` states and that is not what `derived` says, as in
/// "gap" or "jobs/1/algbw"; empty if there is none. Rates and gaps may differ by one part in 10^9.
std::string first_difference(const RecordedMetrics& recorded, const RecordedMetrics& derived);

/// How one link is used between 0 and the horizon.
struct LinkUsage {
  Bytes bytes;             ///< carried, after the horizon included
  Time busy;               ///< while at least one send is on it
  Time idle;               ///< horizon - busy
  double utilisation = 0;  ///< share of what it could carry, by bytes
};

/// How the network is used. The horizon is the transfer time: the last wanted arrival.
struct Usage {
  Time horizon;
  IdVector<LinkId, LinkUsage> links;
  double mean_link_idle = 0;    ///< mean over the links of idle / horizon
  IdVector<NodeId, Time> idle;  ///< GPUs and relays: none of the node's links carries anything
  IdVector<NodeId, Bytes> peak_transit;  ///< most data in transit at once (docs/model.md, "Sends")
  Bytes sent;                            ///< bytes times GPU-to-GPU deliveries
  Bytes needed;                          ///< the least `sent` that meets the demand
  std::int64_t wasted_copies = 0;        ///< deliveries to a node that already has the chunk
  Bytes wasted_bytes;                    ///< their bytes

  /// sent / needed; 1 where nothing is needed.
  double overhead() const;
};

/// Precondition: `sends` is valid for `problem`. Of a compressed problem: what all images do.
Usage measure_usage(const Problem& problem, const Schedule& sends, Time horizon);

}  // namespace stellwerk
