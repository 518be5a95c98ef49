// From measured collectives to the latency and the bandwidth of links.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stellwerk/core/topology.hpp"
#include "stellwerk/io/nccl_tests.hpp"

namespace stellwerk {

/// time = alpha + beta * size, in us and us per byte.
struct AlphaBeta {
  double alpha_us = 0;
  double us_per_byte = 0;
  std::size_t points = 0;
  double median_error = 0, largest_error = 0;  ///< relative, of the points
  std::int64_t largest_at = 0;                 ///< size of the point with the largest error
};

/// Least squares of relative errors, in which points far off the line count less (Huber's weights, errors above 5%).
/// `points` are (bytes, us), positive. Throws Error(unreadable_input) for fewer than two different sizes.
AlphaBeta fit_line(std::span<const std::pair<std::int64_t, double>> points,
                   const std::string& file);

/// What a log says about links.
struct LinkFit {
  std::string name;  ///< the log
  Collective collective = Collective::allreduce;
  bool between_hosts = false;  ///< else within a host
  int steps = 1;               ///< messages one after the other, if it is done by a ring
  AlphaBeta line;
  Bandwidth rate;  ///< of a GPU within its host, or of all NICs of a host together, each way
  Time step;       ///< alpha / steps: launch of the kernel included
};

/// Throws Error(unreadable_input): a log that does not tell its collective (then `collective` must), has too few rows, or
/// times that do not grow with size.
LinkFit fit_links(const NcclTestsLog& log, std::optional<Collective> collective, bool in_place);

/// One fit for every class of links: every log gives a lower bound on rates and an upper one on steps, and the tightest counts.
std::vector<LinkFit> tightest(const std::vector<LinkFit>& fits);

/// `topology` with the links of the fit's class brought to its figures: their rates scaled by one factor, so that the GPU (or
/// host) with the least has the fitted rate, each with its share of a step as latency. Throws Error(unreadable_input) if there
/// is no such link.
Topology with_fit(const Topology& topology, const LinkFit& fit);

}  // namespace stellwerk
