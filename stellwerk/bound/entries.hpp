// Links that enter a set, and how far their ends are from what is wanted.
#pragma once

#include <cstdint>
#include <vector>

#include "stellwerk/bound/network.hpp"

namespace stellwerk::bound {

/// An entry link with the time (ps) that data needs from its tail to the nearest target.
struct Entry {
  NodeId tail;
  std::int64_t bandwidth;
  std::int64_t after;
};

/// Those of `links` from whose heads a target can be reached; `to_target` by node.
inline std::vector<Entry> entries_towards(const std::vector<LinkId>& links,
                                          const std::vector<std::int64_t>& to_target,
                                          const Network& network) {
  std::vector<Entry> result;
  for (const LinkId id : links) {
    const Link& link = network.topology().link(id);
    const std::int64_t rest = to_target[link.to.index()];
    if (rest >= graph::kUnreachable) continue;
    result.push_back({link.from, link.bandwidth.bytes_per_second, link.latency.ps + rest});
  }
  return result;
}

}  // namespace stellwerk::bound
