// The timelines of everything a send may have to share: links, injection and ejection caps, multicast groups; and of
// transit buffers, which what a node receives and sends fills for as long as it stays.
#pragma once

#include <cstdint>
#include <vector>

#include "stellwerk/core/send.hpp"
#include "stellwerk/core/topology.hpp"
#include "stellwerk/plan/timeline.hpp"

namespace stellwerk {

/// What a send (or a part of one) occupies, relative to its start.
struct Occupation {
  int resource;
  Time offset;
  Time duration;
  std::int64_t amount;
};
using Footprint = std::vector<Occupation>;

class Reservations {
 public:
  explicit Reservations(const Topology& topology);

  /// The footprint of a whole send, without its stay in transit buffers.
  Footprint footprint(const Send& send) const;
  /// The same into `result`, which is cleared first: for inner loops.
  void footprint(const Send& send, Footprint& result) const;

  /// The earliest start >= from at which all of it fits; Time::max() when it never does.
  Time earliest(const Footprint& footprint, Time from) const;
  bool fits(const Footprint& footprint, Time start) const {
    return earliest(footprint, start) == start;
  }

  void add(const Footprint& footprint, Time start);
  void remove(const Footprint& footprint, Time start);
  void clear();

  // Numbers of the resources, -1 where there is no such limit.
  int link(LinkId id) const { return static_cast<int>(id.value); }
  int injection(NodeId id) const { return injection_[id]; }
  int ejection(NodeId id) const { return ejection_[id]; }
  int groups(NodeId id) const { return groups_[id]; }
  int buffer(NodeId id) const { return buffer_[id]; }

 private:
  const Topology* topology_;
  std::vector<Timeline> timelines_;
  IdVector<NodeId, int> injection_, ejection_, groups_, buffer_;
};

}  // namespace stellwerk
