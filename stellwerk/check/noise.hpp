// Noise on a cluster: what makes a plan's run differ from its promise.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stellwerk/base/ids.hpp"
#include "stellwerk/base/rng.hpp"
#include "stellwerk/base/units.hpp"
#include "stellwerk/core/topology.hpp"

namespace stellwerk {

/// Three kinds of noise, each absent at 0; they may be combined. A *stretch* is a factor on how long
/// a send keeps its links, in millionths.
struct NoiseModel {
  std::int64_t link = 0;  ///< every link is slower all the time: its speed is uniform in
                          ///< [1 - link, 1] of what it should be; in millionths, below 1,000,000
  std::int64_t send =
      0;      ///< every send lasts 1 + X times as long, X exponential with this mean; in
              ///< millionths
  Time late;  ///< every GPU begins to send late, by a time uniform in [0, late]

  friend bool operator==(const NoiseModel&, const NoiseModel&) = default;
};

/// Reads "link:20%", "send:0.3", "late:20us", or several with commas between them. Throws
/// Error(usage) naming the text and what would do.
NoiseModel parse_noise(std::string_view text);

/// In the form that parse_noise reads; "none" without noise.
std::string to_string(const NoiseModel& model);

inline constexpr std::int64_t kNoStretch = 1'000'000;

/// What happens in one run. Vectors are empty where the model leaves them alone.
struct NoiseDraw {
  IdVector<LinkId, std::int64_t> link;  ///< stretch of all that crosses the link
  std::vector<std::int64_t> send;       ///< stretch, by number of the send
  IdVector<NodeId, Time> late;          ///< nothing leaves the node before this
};

/// Run number `run` of the random sequence `seed`. Links and nodes fare alike in all plans of one
/// topology, so that plans are compared on the same bad days.
NoiseDraw draw_noise(const NoiseModel& model, const Topology& topology, std::size_t sends,
                     std::uint64_t seed, int run);

/// Exponential with mean 1, in millionths, from integer comparisons alone (von Neumann 1951), so
/// that it is the same on every machine.
std::int64_t draw_exponential(Rng& rng);

}  // namespace stellwerk
