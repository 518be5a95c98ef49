// TE-CCL's schedules (its output JSON): read, put on a network, and timed anew.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stellwerk/core/plan.hpp"

namespace stellwerk {

struct TecclSchedule {
  /// "Chunk c from s traveled over a->b in epoch e via switches ...".
  struct Flow {
    int chunk = 0, origin = 0, from = 0, to = 0;
    std::int64_t epoch = 0;
    std::vector<int> via;  ///< switches on the way
  };
  struct Demand {
    int origin = 0, destination = 0, chunk = 0;
    friend auto operator<=>(const Demand&, const Demand&) = default;
  };
  Time epoch;                   ///< duration
  Time finish;                  ///< as published
  std::vector<Flow> flows;      ///< by epoch
  std::vector<Demand> demands;  ///< sorted
};

/// Throws Error(unreadable_input) that begins with `file` and names the place.
TecclSchedule parse_teccl_schedule(std::string_view text, const std::string& file);

/// The network that the schedule itself shows: a link for every pair of nodes that it uses, a chunk an epoch, no latency. Its
/// nodes are GPUs, those that are only passed through are switches that multicast.
Topology teccl_network(const TecclSchedule& schedule, Bytes chunk);

/// The schedule on `topology`, node number k being its k-th node: an AllGather if all send all their chunks to all others, else a
/// custom job. Flows of one chunk through one switch in one epoch are one multicast. The order of every link is kept, each
/// send is as early as its data and its links allow. Flows that nobody needs are kept, too. Throws
/// Error(unreadable_input) that begins with `file`: nodes or links that the topology lacks, chunks that are passed on
/// before they arrive, demand that is not met.
Plan teccl_plan(const TecclSchedule& schedule, Topology topology, Bytes chunk,
                const std::string& file);

}  // namespace stellwerk
