// Which of NCCL's own algorithms and protocols suits which size on a network: for those who cannot load programs.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "stellwerk/base/progress.hpp"
#include "stellwerk/base/stop.hpp"
#include "stellwerk/core/problem.hpp"

namespace stellwerk {

/// An algorithm and a protocol, by the names in files of NCCL's tuner plugin.
struct NcclOption {
  std::string_view algorithm;  ///< "ring", "tree" or "pat"
  std::string_view protocol;   ///< "ll", "ll128" or "simple"
};

/// times[option][size]: how long a call of that size takes.
struct NcclTimes {
  std::vector<NcclOption> options;
  std::vector<std::vector<Time>> times;
};

/// Simulates the collective over all GPUs with every option that NCCL has for it. Throws Error(usage) for a collective
/// that NCCL does not choose an algorithm for, Error(unsolved) if the GPUs do not reach each other or `stop` comes first.
NcclTimes nccl_times(const Topology& topology, Collective collective,
                     const std::vector<Bytes>& sizes, const StopCondition& stop,
                     Progress* progress = nullptr);

/// How many hosts the GPUs are in; nothing if one of them has none.
std::optional<std::size_t> host_count(const Topology& topology);

/// The network as a protocol sees it: rates less what its flags take, latencies with its synchronisation.
Topology seen_through(const Topology& topology, std::string_view protocol);

}  // namespace stellwerk
